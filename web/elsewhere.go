package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/screening"
)

// elsewherePage takes a memory beyond its program: to the member in every program, or before those who curate a role (spec 1.5).
// Both show the words first, and what in them stops them from leaving.
type elsewherePage struct {
	page
	ID, Key  string
	Act      string // promote or share: the last part of the address
	Says     []string
	Words    []passage
	Found    []string
	Roles    []option // of a share
	Button   string
	EditFrom string // address of the page that edits the words; empty: nothing stops them
}

// passage is a piece of the words; Found names what the scrubber found in it.
type passage struct{ Text, Found string }

func (v *visit) showPromote() { v.showElsewhere("promote") }

func (v *visit) showShare() { v.showElsewhere("share") }

func (v *visit) showElsewhere(act string) {
	id, ok := v.id()
	if !ok || !v.mayManage() {
		v.nothingHere()
		return
	}
	v.elsewhere(http.StatusOK, act, id, nil, nil)
}

// mayManage is what the program's routes ask for, too (spec 9.5).
func (v *visit) mayManage() bool { return v.caller.Principal.Has(identity.AgentMemoryManage) }

func (v *visit) elsewhere(code int, act string, id events.ID, form url.Values, refused error) {
	m, err := v.site.cfg.Acts.Memory(v.r.Context(), v.caller, id)
	if err != nil {
		v.fail(err)
		return
	}
	key, err := freshKey()
	if err != nil {
		v.fail(err)
		return
	}
	data := elsewherePage{ID: string(id), Key: key, Act: act, Words: []passage{{Text: m.Body}}}
	switch act {
	case "promote":
		data.page = v.page("Use it in every program", "")
		data.Says = []string{
			"It stays yours alone, and may be used in every program of your organisation. In " + m.Program + " this one takes the place of the one that is there.",
			"First the words are searched for what names a person, a place or a program. What is found stops them.",
		}
		data.Button = "Use it in every program"
	default:
		data.page = v.page("Offer it to a role", "")
		data.Says = []string{
			"Everybody who holds the role may be helped by it, once a curator and somebody who holds the role have both said yes. Your name is not with it, and nobody who reads it learns whose it was.",
			"Forget the memory, and your offer is taken back with it.",
			"First the words are searched for what names a person, a place or a program. What is found is taken out, and its kind named in its place: “[email address]”.",
		}
		data.Button, data.Roles = "Offer it", v.roleOptions(form.Get("role"))
	}
	if refused != nil {
		data.Problem = v.problem(refused)
		if findings, field, ok := acts.AsScrubFindings(refused); ok {
			data.EditFrom = "/memory/" + string(id) + "/edit"
			for _, f := range findings {
				data.Found = once(data.Found, f.Item.Words())
			}
			if field == "" || field == "body" {
				data.Words = marked(m.Body, findings)
			}
		}
		if data.Problem.SameKey {
			data.Key = form.Get("key")
		}
	}
	v.render(code, "elsewhere", data)
}

func (v *visit) roleOptions(chosen string) []option {
	var all []option
	for _, name := range slices.Sorted(maps.Keys(v.caller.Defined.Roles)) {
		all = append(all, option{name, name, name == chosen})
	}
	return all
}

// marked cuts the words where findings begin and end; overlapping ones are marked as the first.
func marked(text string, findings []screening.Leak) []passage {
	runes, at := []rune(text), 0
	var all []passage
	for _, f := range findings {
		if f.Start < at || f.End > len(runes) {
			continue
		}
		all = append(all, passage{Text: string(runes[at:f.Start])}, passage{string(runes[f.Start:f.End]), f.Item.Words()})
		at = f.End
	}
	return append(all, passage{Text: string(runes[at:])})
}

func once(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}

func (v *visit) promote() {
	form, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	m, err := v.mayTake(id)
	if err != nil {
		v.fail(err)
		return
	}
	promoted, err := v.site.cfg.Acts.Promote(v.r.Context(), v.caller, request, m.Program, id)
	if err != nil {
		v.elsewhere(v.problem(err).Status, "promote", id, form, err)
		return
	}
	done := "promoted"
	if promoted.Outcome != events.OutcomeKept {
		done = string(promoted.Outcome)
	}
	v.done("/memory", url.Values{"id": {string(promoted.MemoryID)}}, done, promoted.Position)
}

// mayTake is the memory, to whoever may take it elsewhere.
func (v *visit) mayTake(id events.ID) (acts.Memory, error) {
	if !v.mayManage() {
		return acts.Memory{}, acts.ErrNotFound
	}
	return v.site.cfg.Acts.Memory(v.r.Context(), v.caller, id)
}

func (v *visit) share() {
	form, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	m, err := v.mayTake(id)
	if err != nil {
		v.fail(err)
		return
	}
	offered, err := v.site.cfg.Acts.ProposeShare(v.r.Context(), v.caller, request, m.Program, id, acts.Offer{Role: form.Get("role")})
	if err != nil {
		v.elsewhere(v.problem(err).Status, "share", id, form, err)
		return
	}
	v.done("/memory", url.Values{"id": {string(id)}}, "offered", offered.Position)
}
