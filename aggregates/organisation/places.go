package organisation

import (
	"slices"

	"iris.example/iris/events"
)

// Place is where a definition stands among those of its kind: at the position that defined it first. What is changed, removed or
// defined again keeps its place, so that nothing moves under who reads a list page by page.
type Place struct {
	Key      string
	Position uint64
}

// Places are the definitions of each kind, oldest first.
type Places struct{ Programs, Roles, Terms, Clients, Tenants []Place }

// placed are the places after the event.
func (s *State) placed(e events.Recorded) Places {
	p := s.Places
	switch ev := e.Event.(type) {
	case *events.ProgramDefined:
		p.Programs = place(p.Programs, s.Programs, ev.Program, e.Position)
	case *events.RoleDefined:
		p.Roles = place(p.Roles, s.Roles, ev.Role, e.Position)
	case *events.TermsPublished:
		p.Terms = place(p.Terms, s.Current, ev.TermsID, e.Position)
	case *events.ClientRegistered:
		p.Clients = place(p.Clients, s.Clients, ev.Client, e.Position)
	case *events.TenantDefined:
		p.Tenants = place(p.Tenants, s.Tenants, ev.Tenant, e.Position)
	}
	return p
}

// place adds what isn't known yet, to a copy.
func place[V any](all []Place, known map[string]V, key string, position uint64) []Place {
	if _, is := known[key]; is {
		return all
	}
	return append(slices.Clip(all), Place{key, position})
}
