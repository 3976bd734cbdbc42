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
	"iris.example/iris/projections/reader"
	"iris.example/iris/screening"
)

// rolesPage is what the roles share that the reader holds or curates, and what waits for one of the two people that it takes
// (spec 1.5). Nobody is shown who offered a text.
type rolesPage struct {
	page
	Roles []roleView
	One   bool   // only one of the reader's roles is shown
	More  string // address of the roles after these
}

type roleView struct {
	Name           string
	Held, Curated  bool
	Versions       []versionView // that stand
	Gone           []versionView // that were withdrawn, so that whoever read them knows
	ToAccept       []candidateView
	ToConfirm      []candidateView
	WaitForConfirm []candidateView // accepted; for a curator to see, and to reject

	OlderGone, OlderToAccept, OlderAccepted string // addresses; empty: the list is shown to its end
}

// shownAtOnce bounds the roles of a page, and each list of a role.
const shownAtOnce = 20

// The lists of a role that may be longer, as the address names them.
const (
	listGone     = "gone"
	listToAccept = "waiting"
	listAccepted = "accepted"
)

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
	var mine []string
	for _, option := range v.roleOptions("") {
		if curates || slices.Contains(held, option.Value) && v.caller.Principal.Has(identity.RoleMemoryRead) {
			mine = append(mine, option.Value)
		}
	}
	for _, name := range data.choose(mine, v.r.URL.Query()) {
		role := roleView{Name: name, Held: slices.Contains(held, name), Curated: curates}
		if err := v.readRole(&role); err != nil {
			v.fail(err)
			return
		}
		data.Roles = append(data.Roles, role)
	}
	if data.One && len(data.Roles) == 0 {
		v.nothingHere()
		return
	}
	v.render(code, "roles", data)
}

// choose is the one role that the address names, or the next few.
func (p *rolesPage) choose(mine []string, asked url.Values) []string {
	if asked.Has("role") {
		p.One = true
		return slices.DeleteFunc(mine, func(name string) bool { return name != asked.Get("role") })
	}
	from, _ := slices.BinarySearch(mine, asked.Get("from"))
	mine = mine[from:]
	if len(mine) > shownAtOnce {
		p.More = (&url.URL{Path: "/roles", RawQuery: url.Values{"from": {mine[shownAtOnce]}}.Encode()}).String()
		mine = mine[:shownAtOnce]
	}
	return mine
}

// pageOfRole is where a list of the role begins: the address names one role, and where each of its lists goes on.
func (v *visit) pageOfRole(role, list string) reader.Page {
	mark := ""
	if asked := v.r.URL.Query(); asked.Get("role") == role {
		mark = asked.Get(list)
	}
	page := pageOf(mark)
	page.Limit = shownAtOnce
	return page
}

func olderOfRole(role, list string, next *reader.Key) string {
	if next == nil {
		return ""
	}
	return (&url.URL{Path: "/roles", RawQuery: url.Values{"role": {role}, list: {markOf(next)}}.Encode()}).String()
}

// readRole reads what the reader may see of a role. One version of each kind stands, so that those are whole.
func (v *visit) readRole(role *roleView) error {
	standing := map[events.MemoryKind]string{}
	reads := role.Held && v.caller.Principal.Has(identity.RoleMemoryRead)
	if reads {
		if err := v.readVersions(role, standing); err != nil {
			return err
		}
	}
	if role.Curated {
		published, err := v.candidates(role.Name, reader.Page{}, rolememory.StagePublished)
		for _, c := range published.Items {
			standing[c.Kind] = c.Body
		}
		if err != nil {
			return err
		}
		waiting, err := v.candidates(role.Name, v.pageOfRole(role.Name, listToAccept), rolememory.StageSubmitted, rolememory.StageReopened)
		if err != nil {
			return err
		}
		role.OlderToAccept = olderOfRole(role.Name, listToAccept, waiting.Next)
		if role.ToAccept, err = compared(waiting.Items, standing); err != nil {
			return err
		}
	}
	return v.readAccepted(role, reads, standing)
}

func (v *visit) readVersions(role *roleView, standing map[events.MemoryKind]string) error {
	ctx, acts := v.r.Context(), v.site.cfg.Acts
	published, err := acts.RoleMemory(ctx, v.caller, role.Name, "published", reader.Page{})
	if err != nil {
		return err
	}
	for _, version := range published.Items {
		role.Versions = append(role.Versions, versionView{version, kindWords(version.Kind)})
		standing[version.Kind] = *version.Body
	}
	gone, err := acts.RoleMemory(ctx, v.caller, role.Name, "withdrawn", v.pageOfRole(role.Name, listGone))
	for _, version := range gone.Items {
		role.Gone = append(role.Gone, versionView{version, kindWords(version.Kind)})
	}
	role.OlderGone = olderOfRole(role.Name, listGone, gone.Next)
	return err
}

// readAccepted puts what is accepted where it waits: before the reader, who holds the role, or before others.
func (v *visit) readAccepted(role *roleView, reads bool, standing map[events.MemoryKind]string) error {
	page := v.pageOfRole(role.Name, listAccepted)
	var accepted acts.Page[acts.Candidate]
	var err error
	into := &role.WaitForConfirm
	if reads {
		accepted, err = v.site.cfg.Acts.ToConfirm(v.r.Context(), v.caller, role.Name, page)
		into = &role.ToConfirm
	} else {
		accepted, err = v.candidates(role.Name, page, rolememory.StageAccepted)
	}
	if err != nil {
		return err
	}
	role.OlderAccepted = olderOfRole(role.Name, listAccepted, accepted.Next)
	*into, err = compared(accepted.Items, standing)
	return err
}

func (v *visit) candidates(role string, page reader.Page, stages ...rolememory.Stage) (acts.Page[acts.Candidate], error) {
	return v.site.cfg.Acts.Candidates(v.r.Context(), v.caller, role, page, stages...)
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
