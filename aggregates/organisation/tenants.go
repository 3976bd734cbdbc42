package organisation

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// Tenant is an institution that is, or was, served inside the organisation.
type Tenant struct{ Quarantined, Removed bool }

type (
	// DefineTenant lets the organisation serve a tenant, or serve it again.
	DefineTenant struct{ Tenant string }
	// RemoveTenant ends that. What the tenant's entries say is no longer said.
	RemoveTenant struct{ Tenant string }
	// Quarantine suppresses the tenant's entries until Release.
	Quarantine struct{ Tenant string }
	Release    struct{ Tenant string }
	// RemoveClient takes every consumer from a client.
	RemoveClient struct{ Client string }
)

func (DefineTenant) command() {}
func (RemoveTenant) command() {}
func (Quarantine) command()   {}
func (Release) command()      {}
func (RemoveClient) command() {}

// Shut reports whether the tenant's entries are suppressed. A tenant that nobody defined is served as its token says.
func (s *State) Shut(tenant string) bool {
	t := s.Tenants[tenant]
	return t.Quarantined || t.Removed
}

// Suppression is what follows for an entry from its tenant alone (spec 1.2): it stands in no book, and lifts with its cause.
func (s *State) Suppression(tenant *string) events.SuppressionReason {
	if tenant != nil && s.Shut(*tenant) {
		return events.SuppressedTenantQuarantine
	}
	return ""
}

// serve decides about tenants and the end of clients. False: the command is another's.
func serve(s *State, c Command) ([]events.Event, bool, error) {
	switch c := c.(type) {
	case DefineTenant:
		t, known := s.Tenants[c.Tenant]
		return only(!known || t.Removed, &events.TenantDefined{Tenant: c.Tenant}), true, nil
	case RemoveTenant:
		t, err := s.tenant(c.Tenant)
		return only(err == nil && !t.Removed, &events.TenantRemoved{Tenant: c.Tenant}), true, err
	case Quarantine:
		t, err := s.tenant(c.Tenant)
		return only(err == nil && !t.Quarantined, &events.TenantQuarantined{Tenant: c.Tenant}), true, err
	case Release:
		t, err := s.tenant(c.Tenant)
		return only(err == nil && t.Quarantined, &events.TenantReleased{Tenant: c.Tenant}), true, err
	case RemoveClient:
		consumers, known := s.Clients[c.Client]
		if !known {
			return nil, true, aggregates.Refuse("client_unknown", "spec 1.1")
		}
		return only(len(consumers) > 0, &events.ClientRemoved{Client: c.Client}), true, nil
	}
	return nil, false, nil
}

func (s *State) tenant(id string) (Tenant, error) {
	t, known := s.Tenants[id]
	if !known {
		return Tenant{}, aggregates.Refuse("tenant_unknown", "spec 1.1")
	}
	return t, nil
}

func only(news bool, e events.Event) []events.Event {
	if !news {
		return nil
	}
	return []events.Event{e}
}

// serves applies an event about tenants and the end of clients. Other events change nothing here.
func (s *State) serves(e events.Event) {
	change := func(id string, to func(*Tenant)) {
		t := s.Tenants[id]
		to(&t)
		s.Tenants = with(s.Tenants, id, t)
	}
	switch e := e.(type) {
	case *events.TenantDefined:
		change(e.Tenant, func(t *Tenant) { t.Removed = false })
	case *events.TenantRemoved:
		change(e.Tenant, func(t *Tenant) { t.Removed = true })
	case *events.TenantQuarantined:
		change(e.Tenant, func(t *Tenant) { t.Quarantined = true })
	case *events.TenantReleased:
		change(e.Tenant, func(t *Tenant) { t.Quarantined = false })
	case *events.ClientRemoved:
		s.Clients = with(s.Clients, e.Client, nil) // it stays known: a hand of an assistant never becomes a member's own
	}
}
