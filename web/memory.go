package web

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/reader"
)

// visibleWithin is how long a page waits for the change that it follows, before it says that it is being saved.
const visibleWithin = 300 * time.Millisecond

// listing is which part of the memory a page shows. The address holds all of it.
type listing struct {
	Forgotten bool
	Ahead     bool // only what was kept without asking, and not answered since
	Tier      events.Tier
	State     events.Lifecycle // empty: all that can be used again
	Category  events.Category
	Program   string
	Words     string // what is searched for
	Before    string // where the page begins: position-id, as the page before named it; nothing secret is in it
	Waiting   string // the same for the proposals
}

func listingOf(q url.Values) listing {
	return listing{
		Forgotten: q.Get("show") == "forgotten", Ahead: q.Get("kept") == "unasked", Tier: events.Tier(q.Get("tier")), State: stateOf(q.Get("state")),
		Category: events.Category(q.Get("category")), Program: q.Get("program"),
		Words:  strings.TrimSpace(q.Get("q")),
		Before: q.Get("before"), Waiting: q.Get("waiting"),
	}
}

// stateOf takes no draft: what waits for an answer has a form of its own.
func stateOf(word string) events.Lifecycle {
	switch state := events.Lifecycle(word); state {
	case events.LifecycleActive, events.LifecyclePaused, events.LifecycleSuperseded:
		return state
	}
	return ""
}

func (l listing) query() url.Values {
	q := url.Values{}
	if l.Forgotten {
		q.Set("show", "forgotten")
	}
	if l.Ahead {
		q.Set("kept", "unasked")
	}
	for name, value := range map[string]string{
		"tier": string(l.Tier), "state": string(l.State), "category": string(l.Category), "program": l.Program, "before": l.Before, "waiting": l.Waiting, "q": l.Words,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q
}

// URL is the address of the listing.
func (l listing) URL() string {
	return (&url.URL{Path: "/memory", RawQuery: l.query().Encode()}).String()
}

// Query is what a form on the page carries to come back here.
func (l listing) Query() string { return l.query().Encode() }

// Filtered reports whether the listing leaves memories out that it could show.
func (l listing) Filtered() bool {
	return l.Ahead || l.Tier != "" || l.State != "" || l.Category != "" || l.Program != "" || l.Words != ""
}

// Everything is the address of the same list with nothing left out.
func (l listing) Everything() string { return listing{Forgotten: l.Forgotten}.URL() }

func (l listing) with(change func(*listing)) string {
	l.Before, l.Waiting = "", ""
	change(&l)
	return l.URL()
}

func pageOf(mark string) reader.Page {
	position, id, ok := strings.Cut(mark, "-")
	at, err := strconv.ParseInt(position, 10, 64)
	if !ok || err != nil || at < 0 || boundary.UUID("id", id) != nil {
		return reader.Page{}
	}
	return reader.Page{Before: &reader.Key{Position: uint64(at), ID: events.ID(id)}}
}

func markOf(next *reader.Key) string {
	if next == nil {
		return ""
	}
	return fmt.Sprintf("%d-%s", next.Position, next.ID)
}

type memoryPage struct {
	page
	Listing   listing
	Counts    string
	Waiting   []proposalView
	MoreAsked string // address of the older proposals
	Days      []day
	Older     string // address of the older memories
	Empty     string // nothing, filter, forgotten, paused or unforgotten; empty: there is something
	Paused    []string
	Filters   []filterGroup
	Chosen    []string // the filters that are set, in words
	Unsent    string   // what was typed into a form that is not there any more
}

// Busy reports whether the page waits for a change of its own reader.
func (p memoryPage) Busy() bool { return p.Status != nil && p.Status.Saving > 0 }

type day struct {
	Date     string
	Memories []memoryView
}

type filterGroup struct {
	Name  string
	ID    string
	Clear string // address without this filter; empty: it isn't set
	Links []filterLink
}

type filterLink struct {
	Text, URL string
	Current   bool
}

// memoryView is one memory in words.
type memoryView struct {
	acts.Memory
	About, CameFrom, Kept, Where, Thing string
	NotUsed                             string // why it is not used now; empty: it is
	Sources                             []string
	Forgettable                         bool
	Editable, Resumable, Restorable     bool
	Promotable, Shareable               bool
	Key, Back, Shown                    string
}

func (v *visit) showMemory() {
	v.memory(http.StatusOK, listingOf(v.r.URL.Query()), nil)
}

// sent is a form that was refused: it is shown again with all that was typed.
type sent struct {
	problem  *problem
	proposal events.ID // whose answer it was; empty: no proposal's
	form     url.Values
	key      string
}

// memory shows the list; refused is what a POST could not do.
func (v *visit) memory(code int, l listing, refused *sent) {
	data := memoryPage{page: v.page("What Iris remembers", "memory"), Listing: l}
	if l.Forgotten {
		data.page = v.page("Forgotten", "forgotten")
	}
	data.Status = v.settle()
	read := []func(*memoryPage) error{v.readMemories, v.readConsents}
	if !l.Forgotten && !l.Filtered() && l.Before == "" {
		read = append(read, func(p *memoryPage) error { return v.readWaiting(p, refused) })
	}
	for _, part := range read {
		if err := part(&data); err != nil {
			v.fail(err)
			return
		}
	}
	if err := v.readEmpty(&data); err != nil {
		v.fail(err)
		return
	}
	if refused != nil {
		data.Problem = refused.problem
		if data.asks(refused.proposal) {
			data.Problem = refused.problem.at(string(refused.proposal))
		} else {
			data.Problem.Field, data.Unsent = "", refused.form.Get("body")
		}
	}
	data.Counts, data.Filters = counts(data), v.filters(l)
	data.Chosen = chosen(data.Filters)
	v.render(code, "memory", data)
}

// at points a problem to the field of one form among many.
func (p *problem) at(form string) *problem {
	moved := *p
	if p.Field != "" {
		moved.Field = "f-" + form + "-" + p.Field
	}
	return &moved
}

func (p memoryPage) asks(id events.ID) bool {
	return slices.ContainsFunc(p.Waiting, func(w proposalView) bool { return w.ProposalID == id })
}

// counts are of this page, never of the member (spec 1.1). Where nothing was looked for there is nothing to count.
func counts(p memoryPage) string {
	if p.Problem != nil && p.Problem.Code == "query_without_words" {
		return ""
	}
	n := 0
	for _, d := range p.Days {
		n += len(d.Memories)
	}
	if p.Listing.Forgotten {
		return count(n, "memory", "memories") + " on this page, being forgotten"
	}
	text := count(n, "memory", "memories")
	if p.Listing.Filtered() {
		text = count(n, "memory matches", "memories match") + " what you asked to see"
	}
	if p.Older != "" || p.Listing.Before != "" {
		text += ", on this page"
	}
	if !p.Listing.Filtered() && p.Listing.Before == "" {
		text += fmt.Sprintf(", %d waiting for your decision", len(p.Waiting))
	}
	return text
}

func (v *visit) readMemories(p *memoryPage) error {
	l := p.Listing
	list, err := v.site.cfg.Acts.Memories(v.r.Context(), v.caller,
		memories.Filter{Tier: l.Tier, Lifecycle: l.State, AutoKept: l.Ahead, Category: l.Category, Program: l.Program, Forgotten: l.Forgotten}, l.Words, pageOf(l.Before))
	if refusal, ok := aggregates.AsRefusal(err); ok && refusal.Code == "query_without_words" {
		p.Problem = v.problem(err)
		return nil
	}
	if err != nil {
		return err
	}
	for _, m := range list.Items {
		view, err := v.describeMemory(m, l)
		if err != nil {
			return err
		}
		date := m.UpdatedAt.Format("Monday, 2 January 2006")
		if n := len(p.Days); n == 0 || p.Days[n-1].Date != date {
			p.Days = append(p.Days, day{Date: date})
		}
		last := &p.Days[len(p.Days)-1]
		last.Memories = append(last.Memories, view)
	}
	if list.Next != nil {
		p.Older = l.with(func(n *listing) { n.Before = markOf(list.Next) })
	}
	return nil
}

func (v *visit) describeMemory(m acts.Memory, l listing) (memoryView, error) {
	key, err := freshKey()
	there := m.ForgetAt == nil
	living := there && m.Lifecycle != events.LifecycleSuperseded
	return memoryView{
		Memory: m, About: categoryWords(m.Category), CameFrom: originWords(m.Origin), Kept: tierWords(m.Tier, m.Program),
		Where: scopeWords(m.Scope), Thing: kindWords(m.Kind), Sources: sourceWords(m.SourceRefs), NotUsed: notUsed(m),
		Forgettable: there, Editable: living, Restorable: !there,
		Promotable: living && v.mayManage() && m.Tier == events.TierIndividual && events.TierPerson.Admits(m.Kind),
		Shareable:  living && v.mayManage() && len(v.caller.Defined.Roles) > 0 && member.MayBeShared(m.Tier, m.Kind, m.Category),
		Resumable:  living && (m.Lifecycle == events.LifecyclePaused || m.Suppression != nil),
		Key:        key, Back: l.Query(), Shown: events.At(v.site.cfg.Now()).String(),
	}, err
}

// notUsed says why a memory isn't used, as far as the memory itself knows. What the ledger adds, readConsents says.
func notUsed(m acts.Memory) string {
	switch {
	case m.ForgetAt != nil:
		return "You had it forgotten."
	case m.Lifecycle == events.LifecycleSuperseded:
		return "Something newer has taken its place."
	case m.Lifecycle == events.LifecyclePaused:
		return "You paused it."
	case m.Suppression != nil && m.Suppression.EndsAt != nil:
		return "You paused it until " + dateWords(*m.Suppression.EndsAt) + "."
	case m.Suppression != nil:
		return suppressedWords(m.Suppression.Reason)
	case m.DerivedSuppression != nil:
		return suppressedWords(*m.DerivedSuppression)
	}
	return ""
}

func suppressedWords(reason events.SuppressionReason) string {
	switch reason {
	case events.SuppressedUserPause:
		return "You paused it, or took back the consent to store it."
	case events.SuppressedSensitiveCategory:
		return "A consent that it needs is not granted now."
	case events.SuppressedCrisisFrame:
		return "It is held back in a crisis."
	case events.SuppressedTenantQuarantine:
		return "The institution that it belongs to is closed off."
	}
	return string(reason)
}

// readConsents says what pauses everything, and gives a memory the consent that it lacks as the reason why it isn't used: the one
// of the ledger now, not of the day it was kept.
func (v *visit) readConsents(p *memoryPage) error {
	list, err := v.site.cfg.Acts.Consents(v.r.Context(), v.caller)
	if err != nil {
		return err
	}
	states := map[events.ConsentKey]events.ConsentState{}
	for _, c := range list {
		states[c.Key] = c.State
		if (c.Key == events.PurposeDataProcessing || c.Key == events.PurposeDataStorage) && takenBack(c.State) {
			p.Paused = append(p.Paused, withoutConsent(c.Key))
		}
	}
	for _, d := range p.Days {
		for i := range d.Memories {
			if m := &d.Memories[i]; m.DerivedSuppression != nil || m.NotUsed == "" {
				m.NotUsed = lacked(m.Memory, states, m.NotUsed)
			}
		}
	}
	return nil
}

func takenBack(s events.ConsentState) bool { return s != events.StateGranted && s != events.StateNever }

// lacked names the first consent that the memory rests on and that doesn't stand; a category may be taken back that was never
// needed (spec 2.2).
func lacked(m acts.Memory, states map[events.ConsentKey]events.ConsentState, otherwise string) string {
	for _, c := range m.Consent {
		if states[c.Category] != events.StateGranted {
			return lackedWords(c.Category)
		}
	}
	if key := events.ConsentKey(m.Category); m.DerivedSuppression != nil && takenBack(states[key]) {
		return lackedWords(key)
	}
	return otherwise
}

func lackedWords(key events.ConsentKey) string {
	return fmt.Sprintf("The consent “%s” is not granted now.", consentName(key))
}

// readEmpty finds which of the texts an empty list gets. Lagging never looks like empty: the page then says that it is saving.
func (v *visit) readEmpty(p *memoryPage) error {
	if len(p.Days) > 0 || p.Busy() {
		return nil
	}
	switch {
	case p.Listing.Filtered() || p.Listing.Before != "":
		p.Empty = "filter"
	case p.Listing.Forgotten:
		p.Empty = "unforgotten"
	case len(p.Paused) > 0:
		p.Empty = "paused"
	default:
		forgotten, err := v.site.cfg.Acts.Memories(v.r.Context(), v.caller, memories.Filter{Forgotten: true}, "", reader.Page{Limit: 1})
		if err != nil {
			return err
		}
		p.Empty = "nothing"
		if len(forgotten.Items) > 0 {
			p.Empty = "forgotten"
		}
	}
	return nil
}

func (v *visit) filters(l listing) []filterGroup {
	ahead := l.filter("How it was kept", l.query().Get("kept"), func(n *listing, value string) { n.Ahead = value != "" })
	ahead.add("Without asking you", "unasked")
	tier := l.filter("Whose it is", string(l.Tier), func(n *listing, value string) { n.Tier = events.Tier(value) })
	tier.add("Of one program", string(events.TierIndividual))
	tier.add("Of every program", string(events.TierPerson))
	state := l.filter("State", string(l.State), func(n *listing, value string) { n.State = events.Lifecycle(value) })
	state.add("In use", string(events.LifecycleActive))
	state.add("Paused", string(events.LifecyclePaused))
	state.add("Replaced by something newer", string(events.LifecycleSuperseded))
	program := l.filter("Program", l.Program, func(n *listing, value string) { n.Program = value })
	for _, name := range slices.Sorted(maps.Keys(v.caller.Defined.Programs)) {
		program.add(name, name)
	}
	category := l.filter("Category", string(l.Category), func(n *listing, value string) { n.Category = events.Category(value) })
	for _, c := range events.Categories() {
		category.add(categoryWords(c), string(c))
	}
	return []filterGroup{ahead.filterGroup, tier.filterGroup, state.filterGroup, program.filterGroup, category.filterGroup}
}

// chosen says which filters are set. The list stands below them, so they are closed, and say it in their heading.
func chosen(groups []filterGroup) (words []string) {
	for _, group := range groups {
		for _, link := range group.Links {
			if link.Current {
				words = append(words, link.Text)
			}
		}
	}
	return words
}

// filtering builds one group of links that each change one part of the listing.
type filtering struct {
	filterGroup
	l      listing
	chosen string
	set    func(*listing, string)
}

func (l listing) filter(name, chosen string, set func(*listing, string)) *filtering {
	f := &filtering{filterGroup{Name: name, ID: strings.ReplaceAll(strings.ToLower(name), " ", "-")}, l, chosen, set}
	if chosen != "" {
		f.Clear = f.address("")
	}
	return f
}

func (f *filtering) address(value string) string {
	return f.l.with(func(n *listing) { f.set(n, value) })
}

func (f *filtering) add(text, value string) {
	f.Links = append(f.Links, filterLink{text, f.address(value), value == f.chosen})
}

func (v *visit) forget() {
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
	back, _ := url.ParseQuery(form.Get("back"))
	if form.Get("answer") != "forget" {
		p := unpressed("You didn’t press “Forget”.")
		v.memory(p.Status, listingOf(back), &sent{problem: p, form: form})
		return
	}
	done, err := v.site.cfg.Acts.Forget(v.r.Context(), v.caller, request, id, form.Get("never") == "yes")
	if err != nil {
		p := v.problem(err)
		v.memory(p.Status, listingOf(back), &sent{problem: p, form: form})
		return
	}
	query := listingOf(back).query()
	query.Set("id", string(id))
	v.done("/memory", query, "forgotten", done.Position)
}

// settle waits for the change that the page follows, and says what was done once it can be seen: never before.
func (v *visit) settle() *status {
	query := v.r.URL.Query()
	position, err := strconv.ParseUint(query.Get("at"), 10, 64)
	if err != nil || v.r.Method == http.MethodPost {
		return nil
	}
	ctx, cancel := context.WithTimeout(v.r.Context(), visibleWithin)
	defer cancel()
	if err := v.site.cfg.Acts.Visible(ctx, v.caller, position); err != nil {
		return &status{Saving: position, Refresh: v.r.URL.RequestURI()}
	}
	said, err := v.said(query)
	if err != nil {
		v.site.cfg.Logger.Warn("say what was done", "route", v.route.Pattern, "error", err)
		return nil
	}
	return said
}

// said puts what was done into words, from what can be read now and not from what the address claims.
func (v *visit) said(query url.Values) (*status, error) {
	switch query.Get("done") {
	case "kept", "kept-existing", "duplicate", "promoted", "offered", "forgotten", "edited", "paused", "resumed", "restored":
		return v.saidOfMemory(query.Get("done"), events.ID(query.Get("id")))
	case "declined":
		return v.saidOfProposal(events.ID(query.Get("id")), query.Get("again") == "yes")
	case "settings":
		return &status{Text: "Saved. It holds from now on."}, nil
	case "accept":
		return &status{Text: "Accepted. It waits for somebody else who holds the role to confirm it."}, nil
	case "confirm":
		return &status{Text: "Confirmed. Everybody who holds the role has it now."}, nil
	case "reject":
		return &status{Text: "Rejected. Nobody is shown it any more."}, nil
	case "lifted":
		return &status{Text: "It may be proposed again. You are asked first."}, nil
	case "granted", "withdrawn", "denied":
		return v.saidOfConsent(events.ConsentState(query.Get("done")), events.ConsentKey(query.Get("id")))
	}
	return nil, nil
}

func (v *visit) saidOfMemory(done string, id events.ID) (*status, error) {
	if boundary.UUID("id", string(id)) != nil {
		return nil, nil
	}
	m, err := v.site.cfg.Acts.Memory(v.r.Context(), v.caller, id)
	if errors.Is(err, acts.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	link := "#m-" + string(id)
	switch {
	case done == "offered":
		return &status{Text: "Offered. It waits for a curator, and then for somebody who holds the role.", Link: link, LinkText: "Go to it"}, nil
	case done == "promoted":
		return &status{Text: "It may be used in every program now.", Link: link, LinkText: "Go to it"}, nil
	case done == "edited":
		return &status{Text: "Saved, word for word as you see it below.", Link: link, LinkText: "Go to it"}, nil
	case done == "paused" && (m.Lifecycle == events.LifecyclePaused || m.Suppression != nil):
		return &status{Text: "Paused. It is not used until you resume it, or the pause ends.", Link: link, LinkText: "Go to it"}, nil
	case done == "resumed" && m.Lifecycle == events.LifecycleActive:
		return &status{Text: "Resumed. It may be used again.", Link: link, LinkText: "Go to it"}, nil
	case done == "restored" && m.ForgetAt == nil:
		return &status{Text: "Restored. It is as it was before you had it forgotten.", Link: link, LinkText: "Go to it"}, nil
	case done == "forgotten" && m.ForgetAt != nil:
		key, err := freshKey()
		if err != nil {
			return nil, err
		}
		return &status{Link: "/memory?show=forgotten", LinkText: "See what is being forgotten",
			Undo: &undo{"/memory/" + string(id) + "/restore", key},
			Text: fmt.Sprintf("Forgotten. It is no longer used. The text is due to be destroyed on %s.", dateWords(*m.ForgetAt))}, nil
	case done == "kept" && m.Lifecycle == events.LifecycleActive:
		return &status{Text: "Remembered, word for word as you see it below.", Link: link, LinkText: "Go to it"}, nil
	case done == "duplicate" && m.Lifecycle == events.LifecycleDraft:
		return &status{Text: "Nothing was changed: these words wait for your decision already.", Link: "#p-" + string(id), LinkText: "Decide"}, nil
	case done == "duplicate":
		return &status{Text: "Nothing was changed: you have these words kept already.", Link: link, LinkText: "Go to them"}, nil
	case done == "kept-existing":
		return &status{Text: "Nothing was changed: what you had kept before counts for more.", Link: link, LinkText: "Go to it"}, nil
	}
	return nil, nil
}

// saidOfProposal asks the book itself.
func (v *visit) saidOfProposal(id events.ID, again bool) (*status, error) {
	waits, err := v.site.cfg.Acts.Waits(v.r.Context(), v.caller, id)
	if err != nil || waits {
		return nil, err
	}
	text := "Not remembered. You will not be asked about it again."
	if again {
		text = "Not remembered. You may be asked about it again."
	}
	return &status{Text: text}, nil
}

func dateWords(t events.Time) string { return t.Format("2 January 2006, 15:04") + " UTC" }
