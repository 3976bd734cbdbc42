// Package session decides about one session of a member's assistant: what is said in it, what it remembers meanwhile, and that it
// ends (spec 3.7). It guarantees: history is append-only; nothing is added to a session that has ended, by its close or by a day
// without a turn; a close carries exactly one outcome for each candidate, or is refused. What outlives a session is not decided
// here: that is the member's book, and there is no other way into it.
//
// Whose session it is stands in the state; who may go on with it is for the acts to compare with the credential.
package session

import (
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/screening"
)

// Limits of one session (chosen). A turn of the greatest length fits its message many times over; the text of a whole session can
// be answered at once.
const (
	MaxTurn  = 8000 // code points of one turn
	MaxTurns = 1000
	MaxItems = 200
	MaxText  = 1 << 20 // bytes of all turns
)

const (
	idle     = 24 * time.Hour // without a turn, until it counts as closed (chosen)
	lifetime = 24 * time.Hour // after its close, until it is shredded (chosen)
)

// State is a session at one position. It has one owner; Evolve changes it in place and Decide never does.
type State struct {
	ID         events.ID
	Member     events.ID // empty: there is no such session
	KeyID      events.ID
	Program    string
	TenantID   *string
	OpenedBy   events.ProposedBy
	OnBehalfOf events.ID
	Turns      []Turn
	Items      []Item
	Text       int         // bytes of all turns
	Spoken     events.Time // when it was opened, or the last turn was added
	Closed     *Close
}

// Turn is one turn of the history; its number is its place, counted from 1.
type Turn struct {
	Role     events.SessionRole
	Text     string
	Patterns []string // that hit it when it was added
	At       events.Time
}

// Item is one piece of ephemeral memory.
type Item struct {
	ID        events.ID
	Turn      int
	Kind      events.MemoryKind
	Candidate bool
	Intent    events.Intent
	events.SessionItem
}

// Close is how a session ended.
type Close struct {
	At       events.Time
	DueAt    events.Time
	Entries  []events.EntriesDue
	Outcomes []events.ItemSettled
}

// Initial is a session before its first event.
func Initial(id events.ID) *State { return &State{ID: id} }

// EndedAt is when the session was closed, or had been without a turn for a day; false: it goes on (spec 2.1, 3.7).
func (s *State) EndedAt(now events.Time) (events.Time, bool) {
	if s.Closed != nil {
		return s.Closed.At, true
	}
	end := s.Spoken.Plus(idle)
	return end, end.Passed(now)
}

// Gone reports whether the session is past the instant at which it is shredded, whether the sweep has come by or not.
func (s *State) Gone(now events.Time) bool {
	end, ended := s.EndedAt(now)
	due := end.Plus(lifetime)
	if s.Closed != nil {
		due = s.Closed.DueAt
	}
	return ended && due.Passed(now)
}

// Candidates are the items that the promotion rules are asked about, in the order of their turns.
func (s *State) Candidates() []Item {
	var all []Item
	for _, item := range s.Items {
		if item.Candidate {
			all = append(all, item)
		}
	}
	slices.SortStableFunc(all, func(a, b Item) int { return a.Turn - b.Turn })
	return all
}

// EntriesDue says when the entries of a session that ended at an instant end, for each adapter scope whose retention counts from
// there (spec 1.3).
func EntriesDue(p *policy.Document, ended events.Time) []events.EntriesDue {
	due := []events.EntriesDue{}
	for _, scope := range []events.AdapterScope{events.AdapterSession, events.AdapterConversation} {
		if row, ok := p.ScopeOf(events.ScopeSession, scope); ok && row.Retention.Rule == policy.RetainAfterClose {
			due = append(due, events.EntriesDue{AdapterScope: scope, At: ended.Plus(row.Retention.Period())})
		}
	}
	return due
}

// Command is what a session can be asked. Each says how many fresh data keys it may need.
type Command interface{ KeysNeeded() int }

type (
	// Open begins a session.
	Open struct {
		Member     events.ID
		Program    string
		TenantID   *string
		By         events.ProposedBy
		OnBehalfOf events.ID
	}
	// AddTurn adds what was said.
	AddTurn struct {
		Role events.SessionRole
		Text string
	}
	// AddItem remembers something for as long as the session lasts.
	AddItem struct {
		events.SessionItem
		Turn      *int // as the assistant counts them; nil: the newest
		Kind      events.MemoryKind
		Candidate bool
		Intent    events.Intent
	}
	// Settle ends the session with what became of its candidates.
	Settle struct{ Outcomes []events.ItemSettled }
)

func (Open) KeysNeeded() int    { return 1 }
func (AddTurn) KeysNeeded() int { return 0 }
func (AddItem) KeysNeeded() int { return 0 }
func (Settle) KeysNeeded() int  { return 0 }

// Decide says what follows from a command. What is so already yields no event and no error.
func Decide(s *State, c Command, env aggregates.Env) ([]events.Event, error) {
	if err := env.Readable(); err != nil {
		return nil, err
	}
	if open, ok := c.(Open); ok {
		return opened(s, open, env)
	}
	if s.Member == "" || s.Gone(env.Now) {
		return nil, aggregates.Refuse("session_unknown", "spec 9.5")
	}
	if settle, ok := c.(Settle); ok {
		return settled(s, settle, env)
	}
	if _, ended := s.EndedAt(env.Now); ended {
		return nil, aggregates.Refuse("session_closed", "spec 3.7")
	}
	switch c := c.(type) {
	case AddTurn:
		return turnAdded(s, c, env)
	case AddItem:
		return itemAdded(s, c, env)
	}
	return nil, aggregates.Refuse("command_unknown", "spec 9.2")
}

func opened(s *State, c Open, env aggregates.Env) ([]events.Event, error) {
	if s.Member != "" {
		return nil, aggregates.Refuse("session_unknown", "spec 9.5") // its id is the command's: only another command's could be taken
	}
	if !env.Defined.HasProgram(c.Program) {
		return nil, aggregates.Refuse("program_unknown", "spec 1.1")
	}
	row, ok := env.Policy.ScopeOf(events.ScopeSession, events.AdapterSession)
	if !ok || !row.Allows(c.By.Consumer) {
		return nil, aggregates.Refuse("consumer_not_allowed", "spec 1.3")
	}
	return []events.Event{&events.SessionOpened{
		InSession: events.InSession{SessionID: s.ID, MemberID: c.Member, KeyID: env.Keys[0]}, Program: c.Program, OpenedBy: c.By,
		OnBehalfOf: c.OnBehalfOf, About: events.Hide(events.SessionAbout{TenantID: c.TenantID}),
	}}, nil
}

// turnAdded keeps what was said, cleaned. A hit is no refusal: it was said. It is kept from leaving again (spec 1.7).
func turnAdded(s *State, c AddTurn, env aggregates.Env) ([]events.Event, error) {
	if !c.Role.Valid() {
		return nil, aggregates.Refuse("speaker_unknown", "spec 3.7")
	}
	text, findings := env.Screen.Text(c.Text)
	switch {
	case len(findings) > 0 && findings[0].Kind == screening.KindInvalid:
		return nil, aggregates.Refuse("invalid_text", "spec 1.2")
	case text == "":
		return nil, aggregates.Refuse("turn_empty", "spec 3.7")
	case utf8.RuneCountInString(text) > MaxTurn:
		return nil, aggregates.Refuse("turn_too_long", "spec 3.7")
	case len(s.Turns) >= MaxTurns || s.Text+len(text) > MaxText:
		return nil, aggregates.Refuse("session_full", "spec 3.7")
	}
	return []events.Event{&events.SessionTurnAdded{
		InSession: s.in(), Turn: len(s.Turns) + 1, Role: c.Role, Said: events.Hide(events.Said{Text: text, Patterns: patterns(findings)}),
	}}, nil
}

func patterns(findings []screening.Finding) []string {
	ids := []string{}
	for _, f := range findings {
		ids = append(ids, f.Pattern)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// itemAdded screens as a proposal is screened: what is remembered, even for a moment, is plain text (spec 1.7).
func itemAdded(s *State, c AddItem, env aggregates.Env) ([]events.Event, error) {
	body, err := env.Screen.Body(c.Body)
	if err != nil {
		return nil, refusedText(err)
	}
	subject := ""
	if c.Subject != "" {
		if subject, err = env.Screen.Short(c.Subject, screening.MaxSubject); err != nil {
			return nil, refusedText(err)
		}
	}
	turn := len(s.Turns)
	if c.Turn != nil {
		turn = *c.Turn
	}
	switch {
	case !c.Category.Valid():
		return nil, aggregates.Refuse("category_unknown", "spec 1.4")
	case !c.Intent.Valid():
		return nil, aggregates.Refuse("intent_unknown", "spec 1.5")
	case !events.TierIndividual.Admits(kindOf(c)):
		return nil, aggregates.Refuse("kind_not_admitted", "spec 1.5")
	case kindOf(c) == events.KindEpisodic: // an episodic memory is a reference, which an item has none of
		return nil, aggregates.Refuse("ref_required", "spec 1.2")
	case turn < 0:
		return nil, aggregates.Refuse("turn_unknown", "spec 3.7")
	case len(s.Items) >= MaxItems:
		return nil, aggregates.Refuse("session_items_full", "spec 3.7")
	}
	return []events.Event{&events.SessionItemAdded{
		InSession: s.in(), ItemID: env.NewID(0), Turn: turn, Kind: kindOf(c), PromotionCandidate: c.Candidate, Intent: c.Intent,
		Item: events.Hide(events.SessionItem{Category: c.Category, Subject: subject, Body: body}),
	}}, nil
}

// kindOf is what an item would be kept as, where it doesn't say.
func kindOf(c AddItem) events.MemoryKind {
	switch {
	case c.Kind != "":
		return c.Kind
	case c.Category == events.CategoryPreference:
		return events.KindPreference
	}
	return events.KindLesson
}

// settled ends the session, once every candidate has its outcome. What was added meanwhile has none: whoever closes looks again.
func settled(s *State, c Settle, env aggregates.Env) ([]events.Event, error) {
	if s.Closed != nil {
		return nil, nil
	}
	candidates := s.Candidates()
	if len(candidates) != len(c.Outcomes) {
		return nil, aggregates.Refuse("session_changed", "spec 3.7")
	}
	for i, candidate := range candidates {
		if c.Outcomes[i].ItemID != candidate.ID || !c.Outcomes[i].Outcome.Valid() {
			return nil, aggregates.Refuse("session_changed", "spec 3.7")
		}
	}
	at, ended := s.EndedAt(env.Now)
	if !ended {
		at = env.Now
	}
	return []events.Event{&events.SessionClosed{
		InSession: s.in(), ClosedAt: at, DueAt: at.Plus(lifetime), Entries: EntriesDue(env.Policy, at), Outcomes: events.Hide(c.Outcomes),
	}}, nil
}

func (s *State) in() events.InSession {
	return events.InSession{SessionID: s.ID, MemberID: s.Member, KeyID: s.KeyID}
}

func refusedText(err error) error {
	var refusal *screening.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	return &aggregates.Refusal{Code: string(refusal.Code), Rule: "spec 1.2, 1.7", Patterns: patterns(refusal.Findings)}
}

// Evolve applies an event to the session, in place. It never refuses: what is on the stream happened.
func Evolve(s *State, r events.Recorded) *State {
	switch e := r.Event.(type) {
	case *events.SessionOpened:
		s.Member, s.KeyID, s.Program, s.OpenedBy, s.OnBehalfOf = e.MemberID, e.KeyID, e.Program, e.OpenedBy, e.OnBehalfOf
		s.TenantID, s.Spoken = e.About.Plain.TenantID, r.RecordedAt
	case *events.SessionTurnAdded:
		s.Turns = append(s.Turns, Turn{e.Role, e.Said.Plain.Text, e.Said.Plain.Patterns, r.RecordedAt})
		s.Text += len(e.Said.Plain.Text)
		s.Spoken = r.RecordedAt
	case *events.SessionItemAdded:
		s.Items = append(s.Items, Item{e.ItemID, e.Turn, e.Kind, e.PromotionCandidate, e.Intent, e.Item.Plain})
	case *events.SessionClosed:
		s.Closed = &Close{e.ClosedAt, e.DueAt, e.Entries, e.Outcomes.Plain}
	}
	return s
}
