package web

import (
	"net/http"
	"net/url"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

type consentsPage struct {
	page
	Groups []consentGroup
	Terms  *acts.Terms
}

// Busy reports whether the page waits for a change of its own reader.
func (p consentsPage) Busy() bool { return p.Status != nil && p.Status.Saving > 0 }

type consentGroup struct {
	ID, Title string
	Consents  []consentView
}

// consentView is where one consent stands, in words, with one button to give it and one to take it back.
type consentView struct {
	acts.Consent
	Name, Question, StateWords, Effect, Matches string
	CanGrant, CanDeny, CanWithdraw              bool
	Key                                         string // of the form
}

func (v *visit) showConsents() { v.consents(http.StatusOK, nil) }

func (v *visit) consents(code int, p *problem) {
	data := consentsPage{page: v.page("Consents", "consents")}
	data.Problem, data.Status = p, v.settle()
	list, err := v.site.cfg.Acts.Consents(v.r.Context(), v.caller)
	if err != nil {
		v.fail(err)
		return
	}
	data.Terms = terms(v.site.cfg.Acts.CurrentTerms(v.caller))
	purposes := consentGroup{ID: "purposes", Title: "What it may be used for"}
	categories := consentGroup{ID: "categories", Title: "What it may be about"}
	for _, c := range list {
		view, err := describeConsent(c, data.Terms != nil)
		if err != nil {
			v.fail(err)
			return
		}
		if c.Kind == "purpose" {
			purposes.Consents = append(purposes.Consents, view)
		} else {
			categories.Consents = append(categories.Consents, view)
		}
	}
	data.Groups = []consentGroup{purposes, categories}
	v.render(code, "consents", data)
}

// describeConsent offers no question that has no text to be answered under.
func describeConsent(c acts.Consent, askable bool) (consentView, error) {
	key, err := freshKey()
	granted := c.State == events.StateGranted
	view := consentView{
		Consent: c, Name: consentName(c.Key), Question: member.ConsentQuestion(c.Key), StateWords: stateWords(c.State), Key: key,
		CanWithdraw: granted, CanGrant: !granted && askable, CanDeny: !granted && c.State != events.StateDenied && askable,
	}
	if !granted && c.State != events.StateNever {
		view.Effect = withoutConsent(c.Key)
	}
	if c.FingerprintMatches != nil {
		view.Matches = "It matches the text that is served now."
		if !*c.FingerprintMatches {
			view.Matches = "It does not match the text that is served now. Ask your organisation why."
		}
	}
	return view, err
}

func (v *visit) decide() {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return
	}
	decision := form.Get("decision")
	if decision != "grant" && decision != "deny" {
		v.consents(http.StatusUnprocessableEntity, unpressed("You pressed neither “Grant” nor “Deny”."))
		return
	}
	key := events.ConsentKey(form.Get("consent"))
	request.Route += " " + decision
	done, err := v.site.cfg.Acts.Decide(v.r.Context(), v.caller, request, acts.Decision{
		ConsentRef: acts.ConsentRef{Key: key, TermsID: form.Get("termsId"), TermsVersion: form.Get("termsVersion")},
		Decision:   decision, Source: events.SourceSettingsToggle, Locale: "en", Shown: member.ConsentQuestion(key),
	})
	if err != nil {
		v.refuseConsent(err)
		return
	}
	v.answered(done, key)
}

func (v *visit) withdraw() {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return
	}
	id, ok := v.id()
	if !ok {
		v.nothingHere()
		return
	}
	done, err := v.site.cfg.Acts.Withdraw(v.r.Context(), v.caller, request, id)
	if err != nil {
		v.refuseConsent(err)
		return
	}
	v.answered(done, events.ConsentKey(form.Get("consent")))
}

func (v *visit) refuseConsent(err error) {
	p := v.problem(err)
	p.What, p.Field = "Nothing was changed.", ""
	v.consents(p.Status, p)
}

func (v *visit) answered(done acts.ConsentDone, key events.ConsentKey) {
	v.done("/consents", url.Values{"id": {string(key)}}, string(done.State), done.Position)
}

// saidOfConsent tells the effect, and where a category was taken back, where to forget what is about it (spec 2.2).
func (v *visit) saidOfConsent(done events.ConsentState, key events.ConsentKey) (*status, error) {
	list, err := v.site.cfg.Acts.Consents(v.r.Context(), v.caller)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		if c.Key != key || c.State != done {
			continue
		}
		said := &status{Text: stateWords(done) + ": " + consentName(key) + "."}
		if done != events.StateGranted {
			said.Text += " " + withoutConsent(key)
			if !key.Purpose() {
				said.Link = (&url.URL{Path: "/memory", RawQuery: url.Values{"category": {string(key)}}.Encode()}).String()
				said.LinkText = "See what is remembered about it, and forget it if you like"
			}
		}
		return said, nil
	}
	return nil, nil
}
