package web

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// settingsPage is what the member said once for everything that comes after: what is kept without asking, what is not asked about
// at all, and which single facts are not proposed again (spec 1.5, 1.8).
type settingsPage struct {
	page
	Key      string
	Programs []programSetting
	Implicit bool
	OptOuts  []optOutView
	Offers   []offer
	Declined []declinedView
	Older    string // address of older facts
}

type programSetting struct {
	Name string
	On   bool
}

// optOutView is one thing that is switched off, with the form that switches it on again.
type optOutView struct{ Kind, Value, Text, Key string }

// offer is the form that switches off one of a kind.
type offer struct {
	Kind, Label, Button, Key string
	Options                  []option
}

// declinedView is one fact that is not proposed again. Its words are not shown: the register holds a fingerprint of them only.
type declinedView struct {
	acts.Declined
	What, How, Key string
}

func (v *visit) showSettings() { v.settings(http.StatusOK, nil) }

func (v *visit) settings(code int, p *problem) {
	data := settingsPage{page: v.page("Settings", "settings")}
	data.Problem, data.Status = p, v.settle()
	read := []func(*settingsPage) error{v.readSettings, v.readOptOuts, v.readDeclined}
	for _, part := range read {
		if err := part(&data); err != nil {
			v.fail(err)
			return
		}
	}
	v.render(code, "settings", data)
}

func (v *visit) readSettings(p *settingsPage) error {
	settings, err := v.site.cfg.Acts.Settings(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(settings.AutoKeep)) {
		p.Programs = append(p.Programs, programSetting{name, settings.AutoKeep[name]})
	}
	p.Implicit = settings.ImplicitPromotion
	p.Key, err = freshKey()
	return err
}

func (v *visit) readOptOuts(p *settingsPage) error {
	all, err := v.site.cfg.Acts.OptOuts(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	for _, o := range all {
		key, err := freshKey()
		if err != nil {
			return err
		}
		p.OptOuts = append(p.OptOuts, optOutView{string(o.Kind), o.Key, optOutWords(o), key})
	}
	p.Offers, err = v.offers(all)
	return err
}

// offers lists what can still be switched off.
func (v *visit) offers(off []events.OptOut) ([]offer, error) {
	var categories, claimants, programs []option
	for _, c := range events.Categories() {
		categories = append(categories, option{Value: string(c), Text: categoryWords(c)})
	}
	for _, name := range v.caller.Defined.Claimants() {
		claimants = append(claimants, option{Value: name, Text: name})
	}
	for _, name := range slices.Sorted(maps.Keys(v.caller.Defined.Programs)) {
		programs = append(programs, option{Value: name, Text: name})
	}
	var all []offer
	for _, o := range []offer{
		{Kind: string(events.OptOutCategory), Label: "Never ask about", Button: "Switch this category off", Options: categories},
		{Kind: string(events.OptOutProducer), Label: "Never let propose", Button: "Switch this assistant off", Options: claimants},
		{Kind: string(events.OptOutProgram), Label: "Never remember anything in", Button: "Switch this program off", Options: programs},
	} {
		o.Options = slices.DeleteFunc(o.Options, func(one option) bool {
			return slices.Contains(off, events.OptOut{Kind: events.OptOutKind(o.Kind), Key: one.Value})
		})
		if len(o.Options) == 0 {
			continue
		}
		var err error
		if o.Key, err = freshKey(); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func optOutWords(o events.OptOut) string {
	switch o.Kind {
	case events.OptOutCategory:
		return "Nothing about " + member.CategoryWords(events.Category(o.Key)) + " is proposed or kept."
	case events.OptOutProducer:
		return o.Key + " may propose nothing."
	case events.OptOutProgram:
		return "Nothing is proposed or kept in the program " + o.Key + "."
	}
	return o.Key
}

func (v *visit) readDeclined(p *settingsPage) error {
	list, err := v.site.cfg.Acts.Declined(v.r.Context(), v.caller, pageOf(v.r.URL.Query().Get("before")))
	if err != nil {
		return err
	}
	for _, d := range list.Items {
		key, err := freshKey()
		if err != nil {
			return err
		}
		p.Declined = append(p.Declined, declinedView{d, declinedWhat(d), declinedHow(d), key})
	}
	if list.Next != nil {
		p.Older = (&url.URL{Path: "/settings", RawQuery: url.Values{"before": {markOf(list.Next)}}.Encode()}).String()
	}
	return nil
}

func declinedWhat(d acts.Declined) string {
	if d.Category == nil {
		return kindWords(d.Kind)
	}
	return kindWords(d.Kind) + " in the category " + member.CategoryWords(*d.Category)
}

func declinedHow(d acts.Declined) string {
	if d.How == member.HowForgotten {
		return "You had it forgotten, and asked not to be asked again"
	}
	return "You said no when " + cmp.Or(d.ProposedBy, "an assistant") + " proposed it"
}

func (v *visit) changeSettings() {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return
	}
	if form.Get("answer") != "save" {
		v.refuseSettings(unpressed("You didn’t press “Save”."))
		return
	}
	keep, implicit := map[string]bool{}, form.Get("implicit") == "yes"
	for _, program := range form["autoKeep"] {
		keep[program] = true
	}
	_, done, err := v.site.cfg.Acts.ChangeSettings(v.r.Context(), v.caller, request, acts.SettingsChange{AutoKeep: &keep, ImplicitPromotion: &implicit})
	v.settled(done, err)
}

// optOut switches one thing off, or on again, and leaves the rest of the list as it stands in the book.
func (v *visit) optOut() {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return
	}
	changed := events.OptOut{Kind: events.OptOutKind(form.Get("kind")), Key: form.Get("value")}
	off := form.Get("answer") == "off"
	if !off && form.Get("answer") != "on" {
		v.refuseSettings(unpressed("You pressed no button."))
		return
	}
	all, err := v.site.cfg.Acts.OptOuts(v.r.Context(), v.caller)
	if err != nil {
		v.fail(err)
		return
	}
	all = slices.DeleteFunc(all, func(o events.OptOut) bool { return o == changed })
	if off {
		all = append(all, changed)
	}
	_, done, err := v.site.cfg.Acts.SetOptOuts(v.r.Context(), v.caller, request, all)
	v.settled(done, err)
}

func (v *visit) liftDeclined() {
	_, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	done, err := v.site.cfg.Acts.LiftDeclined(v.r.Context(), v.caller, request, id)
	if err != nil {
		v.refuseSettings(v.problem(err))
		return
	}
	v.done("/settings", url.Values{}, "lifted", done.Position)
}

func (v *visit) settled(done acts.Done, err error) {
	if err != nil {
		v.refuseSettings(v.problem(err))
		return
	}
	v.done("/settings", url.Values{}, "settings", done.Position)
}

func (v *visit) refuseSettings(p *problem) {
	p.What, p.Field = "Nothing was changed.", ""
	v.settings(p.Status, p)
}
