package web

import (
	"net/http"
	"net/url"
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/screening"
)

// rolesPage is what the roles share that the reader holds or curates, and what waits for one of the two people that it takes
// (spec 1.5). Nobody is shown who offered a text.
type rolesPage struct {
	page
	Roles []roleView
}

type roleView struct {
	Name           string
	Held, Curated  bool
	Versions       []versionView // that stand
	Gone           []versionView // that were withdrawn, so that whoever read them knows
	ToAccept       []candidateView
	ToConfirm      []candidateView
	WaitForConfirm []candidateView // accepted; for a curator to see, and to reject
}

// Empty reports that the role has nothing to show.
func (r roleView) Empty() bool {
	return len(r.Versions)+len(r.Gone)+len(r.ToAccept)+len(r.ToConfirm)+len(r.WaitForConfirm) == 0
}

type versionView struct {
	acts.RoleVersion
	Thing string
}

// candidateView is a text that waits, beside the version of its kind that it would supersede.
type candidateView struct {
	acts.Candidate
	Thing      string
	Difference []acts.Piece // to the version that stands; empty: none does
	Found      []string     // what the scrubber took out
	Key        string
}

// readsRoles reports whether role memory is for the reader at all.
func (v *visit) readsRoles() bool {
	return v.caller.Principal.Has(identity.RoleMemoryRead) || v.caller.Principal.Has(identity.RoleMemoryManage)
}

func (v *visit) showRoles() { v.roles(http.StatusOK, nil) }

func (v *visit) roles(code int, p *problem) {
	if !v.readsRoles() {
		v.nothingHere()
		return
	}
	data := rolesPage{page: v.page("Role memory", "roles")}
	data.Problem, data.Status = p, v.settle()
	held, err := v.site.cfg.Acts.RolesHeld(v.r.Context(), v.caller)
	if err != nil {
		v.fail(err)
		return
	}
	curates := v.caller.Principal.Has(identity.RoleMemoryManage)
	for _, option := range v.roleOptions("") {
		role := roleView{Name: option.Value, Held: slices.Contains(held, option.Value), Curated: curates}
		if err := v.readRole(&role); err != nil {
			v.fail(err)
			return
		}
		if role.Held || role.Curated {
			data.Roles = append(data.Roles, role)
		}
	}
	v.render(code, "roles", data)
}

func (v *visit) readRole(role *roleView) error {
	var candidates []acts.Candidate
	standing := map[events.MemoryKind]string{}
	if role.Curated {
		var err error
		if candidates, err = v.site.cfg.Acts.Candidates(v.r.Context(), v.caller, role.Name); err != nil {
			return err
		}
		for _, c := range candidates {
			if c.State == rolememory.StagePublished {
				standing[c.Kind] = c.Body
			}
		}
	}
	if role.Held && v.caller.Principal.Has(identity.RoleMemoryRead) {
		memory, err := v.site.cfg.Acts.RoleMemory(v.r.Context(), v.caller, role.Name)
		if err != nil {
			return err
		}
		for _, version := range memory.Items {
			switch version.State {
			case "published":
				role.Versions = append(role.Versions, versionView{version, kindWords(version.Kind)})
				standing[version.Kind] = *version.Body
			case "withdrawn":
				role.Gone = append(role.Gone, versionView{version, kindWords(version.Kind)})
			}
		}
		if role.ToConfirm, err = compared(memory.ToConfirm, standing); err != nil {
			return err
		}
	}
	return role.sort(candidates, standing)
}

// sort puts what a curator sees where it waits. What the reader may confirm is shown once.
func (r *roleView) sort(candidates []acts.Candidate, standing map[events.MemoryKind]string) error {
	views, err := compared(candidates, standing)
	for _, c := range views {
		switch c.State {
		case rolememory.StageSubmitted, rolememory.StageReopened:
			r.ToAccept = append(r.ToAccept, c)
		case rolememory.StageAccepted:
			if !slices.ContainsFunc(r.ToConfirm, func(one candidateView) bool { return one.CandidateID == c.CandidateID }) {
				r.WaitForConfirm = append(r.WaitForConfirm, c)
			}
		}
	}
	return err
}

func compared(candidates []acts.Candidate, standing map[events.MemoryKind]string) ([]candidateView, error) {
	var all []candidateView
	for _, c := range candidates {
		key, err := freshKey()
		if err != nil {
			return nil, err
		}
		view := candidateView{Candidate: c, Thing: kindWords(c.Kind), Key: key}
		for _, f := range c.Findings {
			view.Found = once(view.Found, screening.Item(f.Item).Words())
		}
		if before, ok := standing[c.Kind]; ok {
			view.Difference = acts.Compare(before, c.Body)
		}
		all = append(all, view)
	}
	return all, nil
}

// curate takes a curator's or a holder's answer.
func (v *visit) curate() {
	form, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	role := v.r.PathValue("role")
	if !v.readsRoles() || boundary.Slug("role", role) != nil {
		v.nothingHere()
		return
	}
	var curated acts.Curated
	var err error
	answer := form.Get("answer")
	request.Route += " " + answer
	switch answer {
	case "accept":
		curated, err = v.site.cfg.Acts.AcceptCandidate(v.r.Context(), v.caller, request, role, id)
	case "confirm":
		curated, err = v.site.cfg.Acts.ConfirmCandidate(v.r.Context(), v.caller, request, role, id)
	case "reject":
		curated, err = v.site.cfg.Acts.RejectCandidate(v.r.Context(), v.caller, request, role, id)
	default:
		p := unpressed("You pressed no button.")
		v.roles(p.Status, p)
		return
	}
	if err != nil {
		p := v.problem(err)
		p.Field = ""
		v.roles(p.Status, p)
		return
	}
	v.done("/roles", url.Values{}, answer, curated.Position)
}
