package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// newPage is the form for the member's own words: the one write that nobody proposed.
type newPage struct {
	page
	Key, Body, Subject          string
	Kinds, Categories, Programs []option
	Consents                    []consentAsk
	Terms                       *acts.Terms
}

// Rows shows the whole text without scrolling.
func (p newPage) Rows() int { return max(rows(p.Body), 5) }

func (v *visit) showNew() { v.own(http.StatusOK, nil) }

func (v *visit) own(code int, refused *sent) {
	key, err := freshKey()
	if err != nil {
		v.fail(err)
		return
	}
	form, p := url.Values{}, (*problem)(nil)
	if refused != nil {
		form, p = refused.form, refused.problem
		if p.SameKey {
			key = refused.key
		}
	}
	data := newPage{
		page: v.page("Add your own words", "new"), Key: key, Body: form.Get("body"), Subject: form.Get("subject"),
		Kinds: kindOptions(events.MemoryKind(form.Get("kind"))), Categories: categoryOptions(events.Category(form.Get("category"))),
		Programs: v.programOptions(form.Get("program")), Terms: terms(v.site.cfg.Acts.CurrentTerms(v.caller)),
	}
	if p != nil {
		data.Problem, data.Consents = p, asks(union(keysOf(form["consent"]), p.Missing), form["consent"])
	}
	v.render(code, "new", data)
}

// keysOf are the consents that a form names, each once: there are only so many, however long the form.
func keysOf(values []string) []events.ConsentKey {
	var keys []events.ConsentKey
	for _, value := range values {
		if key := events.ConsentKey(value); key.Valid() && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// kindOptions leaves out what needs more than words: an episode points to the thing itself (spec 1.2).
func kindOptions(chosen events.MemoryKind) []option {
	var all []option
	for _, k := range []events.MemoryKind{events.KindPreference, events.KindVocabulary, events.KindLesson, events.KindRubricAdjustment} {
		all = append(all, option{string(k), kindWords(k), k == chosen})
	}
	return all
}

func (v *visit) programOptions(chosen string) []option {
	if chosen == "" {
		chosen = events.DefaultProgram
	}
	var all []option
	for _, name := range slices.Sorted(maps.Keys(v.caller.Defined.Programs)) {
		all = append(all, option{name, name, name == chosen})
	}
	return all
}

// stateWords keeps the member's own words. Consents that were ticked are granted first, each as an act of its own: they are the
// member's answer whatever becomes of the words.
func (v *visit) stateWords() {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return
	}
	if form.Get("answer") != "remember" {
		v.refuseWords(form, unpressed("You didn’t press “Remember my words”."))
		return
	}
	for _, ref := range consentRefs(form) {
		grant := request
		grant.Route += " grant " + string(ref.Key)
		decision := acts.Decision{
			ConsentRef: ref, Decision: "grant", Source: events.SourceInlinePrompt, Locale: "en", Shown: member.ConsentQuestion(ref.Key),
		}
		if _, err := v.site.cfg.Acts.Decide(v.r.Context(), v.caller, grant, decision); err != nil {
			v.refuseWords(form, v.problem(err))
			return
		}
	}
	kept, err := v.site.cfg.Acts.Remember(v.r.Context(), v.caller, request, acts.Words{
		Program: form.Get("program"), Kind: events.MemoryKind(form.Get("kind")), Category: events.Category(form.Get("category")),
		Subject: form.Get("subject"), Body: form.Get("body"),
	})
	if err != nil {
		v.refuseWords(form, v.problem(err))
		return
	}
	v.done("/memory", url.Values{"id": {string(kept.MemoryID)}}, string(kept.Outcome), kept.Position)
}

func (v *visit) refuseWords(form url.Values, p *problem) {
	v.own(p.Status, &sent{problem: p, form: form, key: form.Get("key")})
}
