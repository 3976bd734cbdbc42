package member

import (
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

type (
	// PromoteItem asks the promotion rules about one candidate of a session that is being closed (spec 1.5). It is never refused:
	// whatever is decided is recorded as the candidate's outcome.
	PromoteItem struct {
		Draft
		SessionID, ItemID events.ID
		Turn              int
		Intent            events.Intent
		ProposedBy        events.ProposedBy
	}
	// EndSession says when what a closed session left in the book ends.
	EndSession struct {
		SessionID events.ID
		Entries   []events.EntriesDue
	}
)

func (PromoteItem) KeysNeeded() int { return 1 }
func (EndSession) KeysNeeded() int  { return 0 }

// Reasons of outcomes that no rule refused (spec 1.5).
const (
	reasonExplicit = "explicit-intent"
	reasonRecurred = "repeated-occurrence"
	reasonAutoKept = "auto-keep"

	reasonNotRecurred     = "repeated-occurrence-threshold-not-met" // given
	reasonImplicitBlocked = "implicit-promotion-blocked"            // given
)

// Occurrence is one turn of one session in which a fact came up.
type Occurrence struct {
	SessionID events.ID
	Turn      int
}

// weighed is what the rules say of a candidate: the events that follow, and its outcome.
type weighed struct {
	follows []events.Event
	outcome events.ItemOutcome
	reason  string
	memory  events.ID
	print   string // of the fact, where this occurrence of it is counted
	notes   events.RefusalNotes
}

// promoteItem decides about one candidate, by the rules of every durable write and those of spec 1.5. Exactly one outcome follows.
func promoteItem(s *State, c PromoteItem, env aggregates.Env) ([]events.Event, error) {
	w, err := weigh(s, c, env)
	if err != nil {
		if w, err = turnedDown(err); err != nil {
			return nil, err
		}
	}
	if c.Category.Valid() {
		w.notes.Category = c.Category
	}
	return append(w.follows, &events.SessionItemSettled{
		SessionID: c.SessionID, ItemID: c.ItemID, Turn: c.Turn, Intent: c.Intent, Outcome: w.outcome, Reason: w.reason, MemoryID: w.memory,
		Print: events.Hide(w.print), Notes: events.Hide(filled(w.notes)),
	}), nil
}

func weigh(s *State, c PromoteItem, env aggregates.Env) (weighed, error) {
	draft, err := admitClaim(s, Propose{Draft: c.Draft, ProposedBy: c.ProposedBy}, env)
	if err != nil {
		return weighed{}, err
	}
	if err := s.mayWrite(c.Program, draft.labels, c.ProposedBy, env); err != nil {
		return weighed{}, err
	}
	if _, declined := s.Declined[draft.details.Prints.Fact]; declined {
		return weighed{}, aggregates.Refuse("declined_before", "spec 1.8")
	}
	if known := s.livingText(draft.details.Prints.Text, env.Now); known != nil {
		return weighed{}, &aggregates.Refusal{Code: string(events.OutcomeDuplicate), Rule: "spec 1.8", Existing: known.MemoryID}
	}
	if c.Intent == events.IntentExplicit {
		return keepItem(s, c, draft, env)
	}
	return weighGuess(s, c, draft, env)
}

// turnedDown is the outcome that a refusal comes to.
func turnedDown(err error) (weighed, error) {
	refusal, ok := aggregates.AsRefusal(err)
	if !ok {
		return weighed{}, err
	}
	w := weighed{
		outcome: events.ItemBlocked, reason: refusal.Code,
		notes: events.RefusalNotes{Missing: refusal.Missing, Patterns: refusal.Patterns, Existing: refusal.Existing},
	}
	switch events.ClaimOutcome(refusal.Code) {
	case events.OutcomeDuplicate:
		w.outcome = events.ItemKeptExisting
	case events.OutcomeKeptExisting:
		w.outcome, w.reason = events.ItemKeptExisting, refusal.Rule
	}
	if len(refusal.Missing) > 0 { // a consent or an opt-out of its category: held back, with a warning (spec 1.5, given)
		w.outcome = events.ItemSuppressed
	}
	return w, nil
}

// keepItem keeps what the member wished for, at once, under all consents of a durable write (spec 1.5, 2.2). The wish is told by
// the assistant, so the memory keeps the origin of an inference: it never takes the place of what the member stated or confirmed
// (docs/decisions/explicit-intent-is-told.md).
func keepItem(s *State, c PromoteItem, draft admitted, env aggregates.Env) (weighed, error) {
	if err := s.consented(kept{labels: draft.labels, details: draft.details}, nil, env); err != nil {
		return weighed{}, err
	}
	draft.labels.Consents = s.entryConsents(required(draft.labels, draft.details, env), nil)
	event := &events.SessionItemKept{
		Entry: c.entry(env), SessionID: c.SessionID, ItemID: c.ItemID,
		Body: events.Hide(draft.body), Labels: events.Hide(draft.labels), Details: events.Hide(draft.details),
	}
	asEntry := &Entry{MemoryID: event.MemoryID, Tier: c.Tier, Program: c.Program, Details: draft.details}
	claim := recall.Claim{Origin: event.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(asEntry, draft.labels, claim, env.Now)
	if winner != nil {
		return weighed{}, &aggregates.Refusal{Code: string(events.OutcomeKeptExisting), Rule: rule, Existing: winner.MemoryID}
	}
	return weighed{
		follows: append([]events.Event{event}, s.supersede(superseded, event.MemoryID, rule, env, 2)...),
		outcome: events.ItemPromoted, reason: reasonExplicit, memory: event.MemoryID,
	}, nil
}

// weighGuess lets a guess pass once its fact has come up in as many turns as the policy says, and then asks the member, unless
// they opted into auto-keep. An occurrence counts only here, where nothing else stands in the way: what the member declined,
// switched off or took a consent back for leaves no trace in the register.
func weighGuess(s *State, c PromoteItem, draft admitted, env aggregates.Env) (weighed, error) {
	if !s.Settings.ImplicitPromotion {
		return weighed{outcome: events.ItemBlocked, reason: reasonImplicitBlocked}, nil
	}
	if err := claimMayBeAsked(s, draft, env); err != nil {
		return weighed{}, err
	}
	fact := draft.details.Prints.Fact
	before := s.Occurrences[fact]
	recurred := len(before)
	if !slices.Contains(before, Occurrence{c.SessionID, c.Turn}) {
		recurred++
	}
	if recurred < env.Policy.PromotionThreshold {
		return weighed{outcome: events.ItemBlocked, reason: reasonNotRecurred, print: fact}, nil
	}
	proposal := &events.ProposalRecorded{
		Entry: c.entry(env), ProposedBy: c.ProposedBy, ExpiresAt: lapse(env), PromotionCandidate: true,
		Body: events.Hide(draft.body), Labels: events.Hide(draft.labels), Details: events.Hide(draft.details),
	}
	w := weighed{follows: []events.Event{proposal}, outcome: events.ItemProposed, reason: reasonRecurred, memory: proposal.MemoryID, print: fact}
	ahead := keptAhead(s, proposal, env)
	switch {
	case len(ahead) == 1: // kept ahead, it would lose to what stands
		refused := ahead[0].(*events.ProposalRefused)
		return weighed{}, &aggregates.Refusal{Code: string(events.OutcomeKeptExisting), Rule: refused.Reason, Existing: refused.Notes.Plain.Existing}
	case len(ahead) > 1:
		w.follows, w.outcome, w.reason = ahead, events.ItemPromoted, reasonAutoKept
	}
	return w, nil
}

func (c PromoteItem) entry(env aggregates.Env) events.Entry {
	return events.Entry{
		MemoryID: env.NewID(0), RevisionID: env.NewID(1), KeyID: env.Keys[0], Tier: c.Tier, Kind: c.Kind, Program: c.Program,
		Origin: events.OriginSummarizedFromSession, OnBehalfOf: c.OnBehalfOf,
	}
}

// Settled reads a candidate's outcome back from what was recorded.
func Settled(recorded []events.Recorded) (events.ItemSettled, bool) {
	for _, r := range recorded {
		if e, ok := r.Event.(*events.SessionItemSettled); ok {
			memory := e.MemoryID
			if memory == "" {
				memory = e.Notes.Plain.Existing
			}
			return events.ItemSettled{ItemID: e.ItemID, Outcome: e.Outcome, Reason: e.Reason, Memory: memory, Missing: e.Notes.Plain.Missing}, true
		}
	}
	return events.ItemSettled{}, false
}

// endSession records when the entries of a session end, where there are any. What is known already isn't recorded again.
func endSession(s *State, c EndSession) ([]events.Event, error) {
	if _, known := s.SessionsDue[c.SessionID]; known || !s.holdsOf(c) {
		return nil, nil
	}
	return []events.Event{&events.SessionEntriesDue{SessionID: c.SessionID, Entries: c.Entries}}, nil
}

func (s *State) holdsOf(c EndSession) bool {
	for _, e := range s.Entries {
		scope := e.Labels.Scope
		if scope.Kind == events.ScopeSession && scope.SessionID == string(c.SessionID) &&
			slices.ContainsFunc(c.Entries, func(due events.EntriesDue) bool { return due.AdapterScope == e.Labels.AdapterScope }) {
			return true
		}
	}
	return false
}

// ended applies what sessions leave behind; events of anything else change nothing here.
func (s *State) ended(r events.Recorded) {
	switch e := r.Event.(type) {
	case *events.SessionItemKept:
		s.begin(e.Entry, r, e.Body, e.Labels, e.Details.Plain).Lifecycle = events.LifecycleActive
	case *events.SessionItemSettled:
		s.occurred(e)
	case *events.SessionEntriesDue:
		s.SessionsDue[e.SessionID] = e.Entries
		for _, entry := range s.Entries {
			s.endsWithSession(entry)
		}
	}
}

// occurred counts an occurrence. Once the member was asked, counting begins anew: a question that was left unanswered isn't put
// again at the next mention.
func (s *State) occurred(e *events.SessionItemSettled) {
	fact := e.Print.Plain
	switch at := (Occurrence{e.SessionID, e.Turn}); {
	case fact == "":
	case e.Outcome != events.ItemBlocked:
		delete(s.Occurrences, fact)
	case !slices.Contains(s.Occurrences[fact], at):
		s.Occurrences[fact] = append(s.Occurrences[fact], at)
	}
}

// endsWithSession gives an entry of a closed session its end, and takes it from one that has moved out of the session.
func (s *State) endsWithSession(e *Entry) {
	e.EndsAt = nil
	if e.Labels.Scope.Kind != events.ScopeSession {
		return
	}
	for _, due := range s.SessionsDue[events.ID(e.Labels.Scope.SessionID)] {
		if due.AdapterScope == e.Labels.AdapterScope {
			at := due.At
			e.EndsAt = &at
		}
	}
}

// Converse says whether an assistant may go on with a session of the member's in a program: the member belongs to it, and the
// consents of the session's scope are current (spec 1.3). What is said meanwhile is kept for as long as the session lasts.
func (s *State) Converse(program string, p *policy.Document, now events.Time) error {
	if !s.Registered || s.Removed {
		return aggregates.Refuse("member_unknown", "spec 9.5")
	}
	if !s.In(program) {
		return aggregates.Refuse("not_in_program", "spec 1.1")
	}
	if missing := s.sessionConsents(p, now); len(missing) > 0 {
		return &aggregates.Refusal{Code: "consent_required", Rule: "spec 1.3, 2.2", Missing: missing}
	}
	return nil
}

func (s *State) sessionConsents(p *policy.Document, now events.Time) []events.ConsentKey {
	return s.Missing(p.RequiredConsents(events.AdapterSession, events.CategoryOther, false), now)
}

// WithholdsSession says why nothing of a session may leave for an assistant now; empty: it may (spec 2.2).
func (s *State) WithholdsSession(program string, p *policy.Document, now events.Time) string {
	if !s.In(program) || len(s.sessionConsents(p, now)) > 0 {
		return recall.ReasonScopeConsentMissing
	}
	return ""
}

// WithholdsItem says why a session's item of a category may not leave now; empty: it may. The context in which it is relevant is
// the session that it came up in.
func (s *State) WithholdsItem(category events.Category, now events.Time) string {
	about := []events.ConsentKey{events.ConsentKey(category)}
	if category.Sensitive() {
		about = append(about, events.PurposeSensitiveData)
		if len(s.Missing(about, now)) > 0 {
			return recall.ReasonWithoutConsent
		}
	}
	if len(s.Revoked(about, now)) > 0 {
		return string(events.SuppressedSensitiveCategory)
	}
	return ""
}
