package web

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// proposalView is a proposal in words, with the form that answers it. What the form shows is what is kept.
type proposalView struct {
	acts.Pending
	About, Where, Kept, Thing string
	Sources                   []string
	Replaced                  string // the text that it would take the place of
	SessionOnly               bool   // the member may keep it for the session alone
	Typed                     answerForm
	Categories                []option
	Consents                  []consentAsk
	Terms                     *acts.Terms // the text that the consents are given under
	Sum                       string      // of the proposed text: the same text back means "as is"
	Field                     string      // id of the field to correct
}

// answerForm is what the form holds, typed or fresh.
type answerForm struct {
	Key      string
	Body     string
	Keep     string // profile or session
	AskAgain bool
}

// consentAsk is a consent that is still missing. Ticked only by the member.
type consentAsk struct {
	Key            events.ConsentKey
	Name, Question string
	Ticked         bool
}

func (v *visit) readWaiting(p *memoryPage, refused *sent) error {
	list, err := v.site.cfg.Acts.PendingProposals(v.r.Context(), v.caller, pageOf(p.Listing.Waiting))
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		var again *sent
		if refused != nil && refused.proposal == item.ProposalID {
			again = refused
		}
		view, err := v.ask(item, again)
		if err != nil {
			return err
		}
		p.Waiting = append(p.Waiting, view)
	}
	if list.Next != nil {
		p.MoreAsked = p.Listing.with(func(n *listing) { n.Waiting = markOf(list.Next) })
	}
	return nil
}

// ask makes the question; again is the member's answer that was refused.
func (v *visit) ask(item acts.Pending, again *sent) (proposalView, error) {
	key, err := freshKey()
	if err != nil {
		return proposalView{}, err
	}
	view := proposalView{
		Pending: item, About: categoryWords(item.Category), Where: scopeWords(item.KeptScope), Kept: tierWords(item.Tier, item.Program),
		Thing: kindWords(item.Kind), Sources: sourceWords(item.SourceRefs), SessionOnly: item.Scope != item.KeptScope,
		Typed: answerForm{Key: key, Body: item.Body}, Sum: sum(item.Body),
	}
	category, missing, ticked := item.Category, item.RequiredConsents, []string(nil)
	if again != nil {
		form := again.form
		category, ticked = events.Category(form.Get("category")), form["consent"]
		view.Typed = answerForm{Key: key, Body: form.Get("body"), Keep: form.Get("keep"), AskAgain: form.Get("askAgain") == "yes"}
		if again.problem.SameKey {
			view.Typed.Key = again.key
		}
		missing = union(missing, again.problem.Missing)
		view.Field = again.problem.Field
	}
	view.Categories, view.Consents = categoryOptions(category), asks(missing, ticked)
	view.Terms = terms(v.site.cfg.Acts.CurrentTerms(v.caller))
	if item.Replaces != nil {
		if view.Replaced, err = v.replaced(*item.Replaces); err != nil {
			return proposalView{}, err
		}
	}
	return view, nil
}

func (v *visit) replaced(id events.ID) (string, error) {
	m, err := v.site.cfg.Acts.Memory(v.r.Context(), v.caller, id)
	if errors.Is(err, acts.ErrNotFound) {
		return "something that is not listed yet", nil
	}
	return m.Body, err
}

// Rows shows the whole text without scrolling.
func (f answerForm) Rows() int { return rows(f.Body) }

func rows(text string) int {
	n := 1
	for line := range strings.Lines(text) {
		n += 1 + len([]rune(line))/60
	}
	return min(max(n, 3), 80)
}

func categoryOptions(chosen events.Category) []option {
	var all []option
	for _, c := range events.Categories() {
		all = append(all, option{string(c), categoryWords(c), c == chosen})
	}
	return all
}

func asks(missing []events.ConsentKey, ticked []string) []consentAsk {
	var all []consentAsk
	for _, key := range missing {
		all = append(all, consentAsk{key, consentName(key), member.ConsentQuestion(key), slices.Contains(ticked, string(key))})
	}
	return all
}

// terms picks the text that consents are given under: the one about memory, or the only one there is.
func terms(all []acts.Terms) *acts.Terms {
	for i := range all {
		if all[i].ID == "memory" {
			return &all[i]
		}
	}
	if len(all) == 0 {
		return nil
	}
	return &all[0]
}

func union(a, b []events.ConsentKey) []events.ConsentKey {
	all := slices.Clone(a)
	for _, key := range b {
		if !slices.Contains(all, key) {
			all = append(all, key)
		}
	}
	return all
}

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

// answer takes the member's yes or no. A form that was sent without pressing either button says neither.
func (v *visit) answer() {
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
	switch form.Get("answer") {
	case "remember":
		v.accept(id, form, request)
	case "decline":
		v.decline(id, form, request)
	default:
		v.refuseAnswer(id, form, unpressed("You pressed neither “Remember” nor “Don’t remember”."))
	}
}

func (v *visit) refuseAnswer(id events.ID, form url.Values, p *problem) {
	v.memory(p.Status, listing{Waiting: form.Get("waiting")}, &sent{p, id, form, form.Get("key")})
}

func (v *visit) accept(id events.ID, form url.Values, request acts.Request) {
	in, p := v.acceptance(form)
	if p != nil {
		v.refuseAnswer(id, form, p)
		return
	}
	request.Route += " remember"
	kept, err := v.site.cfg.Acts.Accept(v.r.Context(), v.caller, request, id, in)
	if err != nil {
		v.refuseAnswer(id, form, v.problem(err))
		return
	}
	v.done("/memory", url.Values{"id": {string(kept.MemoryID)}}, string(kept.Outcome), kept.Position)
}

// acceptance reads the form. Text that came back as it was proposed is accepted as it is.
func (v *visit) acceptance(form url.Values) (acts.Acceptance, *problem) {
	in := acts.Acceptance{Consents: consentRefs(form)}
	if body := form.Get("body"); sum(body) != form.Get("sum") {
		in.Body = &body
	}
	category := events.Category(form.Get("category"))
	in.Category = &category
	if session := form.Get("session"); session != "" {
		switch form.Get("keep") {
		case "session":
			in.Scope = &events.Scope{Kind: events.ScopeSession, SessionID: session}
		case "profile":
		default:
			return in, &problem{Status: http.StatusUnprocessableEntity, Code: "keep_missing", What: "Nothing was kept.", Field: "keep",
				Why: "You didn’t say for how long to keep it.", Next: "Choose your profile, or this session only."}
		}
	}
	return in, nil
}

// consentRefs are the ticked consents, under the terms that the form showed.
func consentRefs(form url.Values) []acts.ConsentRef {
	var refs []acts.ConsentRef
	for _, key := range keysOf(form["consent"]) {
		refs = append(refs, acts.ConsentRef{Key: key, TermsID: form.Get("termsId"), TermsVersion: form.Get("termsVersion")})
	}
	return refs
}

func (v *visit) decline(id events.ID, form url.Values, request acts.Request) {
	request.Route += " decline"
	again := form.Get("askAgain") == "yes"
	done, err := v.site.cfg.Acts.Decline(v.r.Context(), v.caller, request, id, acts.Refusal{AskAgain: again})
	if err != nil {
		v.refuseAnswer(id, form, v.problem(err))
		return
	}
	query := url.Values{"id": {string(id)}}
	if again {
		query.Set("again", "yes")
	}
	v.done("/memory", query, "declined", done.Position)
}

// Label names the form among the others of the page.
func (p proposalView) Label() string { return fmt.Sprintf("%s proposes: %s", p.ProposedBy, p.About) }
