package web

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/receipts"
)

// editPage is the form for what a kept memory says. Current is what another page made of it meanwhile: both texts are shown, and
// sending the form again changes that one.
type editPage struct {
	page
	ID, IfMatch, Key, Body, Subject string
	Categories                      []option
	Consents                        []consentAsk
	Terms                           *acts.Terms
	Current                         *acts.Revision
}

// Rows shows the whole text without scrolling.
func (p editPage) Rows() int { return max(rows(p.Body), 5) }

func (v *visit) showEdit() {
	id, ok := v.id()
	if !ok {
		v.nothingHere()
		return
	}
	m, err := v.site.cfg.Acts.Memory(v.r.Context(), v.caller, id)
	if err != nil {
		v.fail(err)
		return
	}
	v.edit(http.StatusOK, id, url.Values{
		"body": {m.Body}, "subject": {m.Subject}, "category": {string(m.Category)}, "ifMatch": {string(m.RevisionID)},
	}, nil, nil)
}

// edit shows the form with what was typed, or what is kept.
func (v *visit) edit(code int, id events.ID, form url.Values, p *problem, current *acts.Revision) {
	key, err := freshKey()
	if err != nil {
		v.fail(err)
		return
	}
	if p != nil && p.SameKey {
		key = form.Get("key")
	}
	data := editPage{
		page: v.page("Edit a memory", ""), ID: string(id), IfMatch: form.Get("ifMatch"), Key: key, Body: form.Get("body"),
		Subject: form.Get("subject"), Categories: categoryOptions(events.Category(form.Get("category"))),
		Terms: terms(v.site.cfg.Acts.CurrentTerms(v.caller)), Current: current,
	}
	if current != nil {
		data.IfMatch = string(current.RevisionID)
	}
	if p != nil {
		data.Problem, data.Consents = p, asks(union(keysOf(form["consent"]), p.Missing), form["consent"])
	}
	v.render(code, "edit", data)
}

// revise saves an edit. Ticked consents are granted first, as with the member's own words.
func (v *visit) revise() {
	form, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	if form.Get("answer") != "save" {
		p := unpressed("You didn’t press “Save”.")
		v.edit(p.Status, id, form, p, nil)
		return
	}
	ifMatch := events.ID(form.Get("ifMatch"))
	if boundary.UUID("ifMatch", string(ifMatch)) != nil {
		v.nothingHere()
		return
	}
	for _, ref := range consentRefs(form) {
		grant := request
		grant.Route += " grant " + string(ref.Key)
		_, err := v.site.cfg.Acts.Decide(v.r.Context(), v.caller, grant, acts.Decision{
			ConsentRef: ref, Decision: "grant", Source: events.SourceInlinePrompt, Locale: "en", Shown: member.ConsentQuestion(ref.Key),
		})
		if err != nil {
			p := v.problem(err)
			v.edit(p.Status, id, form, p, nil)
			return
		}
	}
	body, subject, category := form.Get("body"), form.Get("subject"), events.Category(form.Get("category"))
	kept, err := v.site.cfg.Acts.Revise(v.r.Context(), v.caller, request, id, ifMatch, acts.Edits{Body: &body, Subject: &subject, Category: &category})
	if err != nil {
		p := v.problem(err)
		var current *acts.Revision
		if conflict, ok := acts.AsRevisionConflict(err); ok {
			current = conflict.Current
		}
		v.edit(p.Status, id, form, p, current)
		return
	}
	done := "edited"
	if kept.Outcome != events.OutcomeKept {
		done = string(kept.Outcome)
	}
	v.done("/memory", url.Values{"id": {string(kept.MemoryID)}}, done, kept.Position)
}

// aboutOne reads the form of an act on one memory. Not ok: it was answered.
func (v *visit) aboutOne() (url.Values, acts.Request, events.ID, bool) {
	form, request, p := v.command()
	if p != nil {
		v.message(p)
		return nil, request, "", false
	}
	id, ok := v.id()
	if !ok {
		v.nothingHere()
	}
	return form, request, id, ok
}

// pauses are how long a pause can be asked for; 0: until it is resumed.
func pauses() map[string]time.Duration {
	return map[string]time.Duration{"": 0, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "month": 30 * 24 * time.Hour}
}

func (v *visit) pause() {
	form, request, id, ok := v.aboutOne()
	if !ok {
		return
	}
	var in acts.Break
	// The end counts from the day that the page was shown on, so that the same form sent twice is the same request.
	if length := pauses()[form.Get("for")]; length > 0 {
		shown, err := events.ParseTime(form.Get("shown"))
		if err != nil {
			v.nothingHere()
			return
		}
		until := shown.Plus(length)
		in.Until = &until
	}
	moved, err := v.site.cfg.Acts.Pause(v.r.Context(), v.caller, request, id, in)
	v.moved(form, moved, "paused", err)
}

func (v *visit) resume() {
	if form, request, id, ok := v.aboutOne(); ok {
		moved, err := v.site.cfg.Acts.Resume(v.r.Context(), v.caller, request, id)
		v.moved(form, moved, "resumed", err)
	}
}

func (v *visit) restore() {
	if form, request, id, ok := v.aboutOne(); ok {
		moved, err := v.site.cfg.Acts.Restore(v.r.Context(), v.caller, request, id)
		v.moved(form, moved, "restored", err)
	}
}

// moved goes back to the list that the form was on; a restored memory is in the list of what is remembered.
func (v *visit) moved(form url.Values, m acts.Moved, done string, err error) {
	back, _ := url.ParseQuery(form.Get("back"))
	l := listingOf(back)
	if err != nil {
		p := v.problem(err)
		v.memory(p.Status, l, &sent{problem: p, form: form})
		return
	}
	if done == "restored" {
		l.Forgotten = false
	}
	query := l.query()
	query.Set("id", string(m.MemoryID))
	v.done("/memory", query, done, m.Position)
}

// historyPage is a memory's chain, newest first.
type historyPage struct {
	page
	ID        string
	Revisions []revisionView
	Older     string // address of older revisions
}

// First is the number that the page's list begins with.
func (p historyPage) First() int { return p.Revisions[0].Revision.Revision }

type revisionView struct {
	acts.Revision
	What, By string
	Changes  []string
}

func (v *visit) showHistory() {
	id, ok := v.id()
	if !ok {
		v.nothingHere()
		return
	}
	found, err := v.site.cfg.Acts.History(v.r.Context(), v.caller, id, pageOf(v.r.URL.Query().Get("before")))
	if err != nil {
		v.fail(err)
		return
	}
	data := historyPage{page: v.page("How a memory came to be what it is", ""), ID: string(id)}
	for _, r := range found.Items {
		made := r.ProvenanceChain[len(r.ProvenanceChain)-1]
		view := revisionView{Revision: r, What: eventWords(r.Event), By: actorWords(made.ActorKind)}
		if r.Difference != nil {
			for _, change := range r.Difference.Labels {
				view.Changes = append(view.Changes, labelWords(change))
			}
		}
		data.Revisions = append(data.Revisions, view)
	}
	if found.Next != nil {
		data.Older = (&url.URL{Path: v.r.URL.Path, RawQuery: url.Values{"before": {markOf(found.Next)}}.Encode()}).String()
	}
	v.render(http.StatusOK, "history", data)
}

func eventWords(t events.Type) string {
	switch t {
	case events.TypeProposalRecorded:
		return "It was proposed"
	case events.TypeMemoryStated:
		return "You said it"
	case events.TypeMemoryKept:
		return "You said yes to it"
	case events.TypeMemoryAutoKept:
		return "Kept without asking, as you have set it"
	case events.TypeMemoryPromoted:
		return "Taken from a program to you"
	case events.TypeSessionItemKept:
		return "Your assistant heard you ask for it to be kept"
	case events.TypeMemoryRevised:
		return "You edited it"
	case events.TypeMemoryPaused:
		return "You paused it"
	case events.TypeMemoryResumed:
		return "You resumed it"
	case events.TypeMemoryForgotten, events.TypeMemoriesForgotten:
		return "You had it forgotten"
	case events.TypeMemoryRestored:
		return "You took the forgetting back"
	case events.TypeMemorySuperseded:
		return "Something newer took its place"
	case events.TypeProposalDeclined:
		return "You said no to it"
	}
	return string(t)
}

func actorWords(k events.ActorKind) string {
	switch k {
	case events.ActorMember:
		return "by you"
	case events.ActorClient, events.ActorProducer:
		return "by an assistant"
	}
	return "by Iris"
}

func labelWords(c acts.LabelChange) string {
	named := func(s string) string {
		switch {
		case s == "":
			return "nothing"
		case c.Label == "category":
			return categoryWords(events.Category(s))
		case c.Label == "lifecycle":
			return lifecycleWords(events.Lifecycle(s))
		}
		return s
	}
	switch c.Label {
	case "scope":
		return "Where it is kept has changed."
	case "lifecycle":
		return capital(named(c.To)) + "; before: " + named(c.From) + "."
	}
	return capital(c.Label) + ": from " + named(c.From) + " to " + named(c.To) + "."
}

// receiptPage is a receipt for people, and for paper; Document is the receipt itself.
type receiptPage struct {
	page
	Receipt               receipts.Receipt
	Name, State, Document string
}

func (v *visit) showReceipt() {
	id, ok := v.id()
	if !ok {
		v.nothingHere()
		return
	}
	receipt, err := v.site.cfg.Acts.Receipt(v.r.Context(), v.caller, id)
	if err != nil {
		v.fail(err)
		return
	}
	document, err := json.MarshalIndent(receipt, "", "  ")
	if err != nil {
		v.fail(err)
		return
	}
	v.render(http.StatusOK, "receipt", receiptPage{
		page: v.page("Receipt", ""), Receipt: receipt, Name: consentName(receipt.Process.Key),
		State: strings.TrimPrefix(receipt.Status.Type, "dpv:Consent"), Document: string(document),
	})
}
