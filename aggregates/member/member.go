// Package member decides about a member's book: memories, proposals and consents of one person are one aggregate, so that no
// consent can change under a write (spec 9.2). Decide is the only way in which anything comes to be remembered, and every rule
// of the write path stands here; what may be said back is decided in recall.
//
// State hardly needs a memory's text to decide: it knows texts by keyed fingerprint. Bodies stand in it so that a recall finds
// them, and are absent in a state that came from a snapshot until somebody brings them in (texts.go).
package member

import (
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// State is the book at one position. It has one owner; Evolve changes it in place and Decide never does.
type State struct {
	Organisation string
	ID           events.ID
	Registered   bool
	Removed      bool
	Programs     map[string]events.Time // since when the member belongs to it
	Left         map[string]Leaving     // memberships that ended, of programs that the member isn't in again

	Roles           map[string]events.Time // workbench roles, held since
	InspectionRoles map[string]events.Time // of an operator, held since
	Shares          map[events.ID][]Share  // what was offered to roles, by memory, while the offer stands

	Entries  map[events.ID]*Entry
	ByText   map[string][]events.ID         // entries that have, or had, a text of this print: where to look, not what is so
	ByAbout  map[string][]events.ID         // the same by conflict key
	Consents map[events.ConsentKey]*Consent // the newest event of each key
	Declined map[string]DeclinedFact        // by fact print: what must not be proposed again (spec 1.8)
	Settings Settings
	OptOuts  []events.OptOut           // in order (spec 1.8)
	Used     map[events.ID][]events.ID // by recall: the memories that an assistant reported as used

	Occurrences map[string][]Occurrence           // of facts that sessions guessed at, by fact print (spec 1.5)
	SessionsDue map[events.ID][]events.EntriesDue // when the entries of closed sessions end
}

// Entry is a memory's current revision with what the revisions before left behind.
type Entry struct {
	MemoryID, RevisionID, PreviousRevisionID, KeyID events.ID
	Revision                                        int
	Tier                                            events.Tier
	Kind                                            events.MemoryKind
	Program                                         string
	Origin                                          events.Origin
	OnBehalfOf                                      events.ID
	Lifecycle                                       events.Lifecycle
	Labels                                          events.Labels
	Details                                         events.Details
	Body                                            string `snapshot:"-"` // empty: buried, or not brought in yet (texts.go)
	BodyAt                                          uint64 // position of the event that carries it; 0: there is none any more
	BodyCommitment, LabelsCommitment                string // of the events that carry them
	Suppression                                     *events.Suppression
	ProposedBy                                      events.ProposedBy
	ExpiresAt                                       *events.Time     // a draft's lapse
	ForgetAt                                        *events.Time     // set while softly forgotten
	EndsAt                                          *events.Time     // of what a closed session left in its own scope
	BeforeForget                                    events.Lifecycle // what a restore returns to; empty when not forgotten
	LeavesAt                                        *events.Time     // set by the end of the membership: from then on softly forgotten
	ReferenceCount                                  int
	SweptBy                                         events.ID // the sweep that has hidden the entry and has not named it yet
	PromotedFrom                                    events.ID // of tier person: the memory of the program that it was
	AutoKept                                        bool      // kept ahead of an answer, and nothing said about it since
	CreatedAt, UpdatedAt                            events.Time
	Provenance                                      []Provenance
}

// Provenance is one event that made the current revision what it is, oldest first (spec 1.2).
type Provenance struct {
	EventID   events.ID
	Type      events.Type
	ActorKind events.ActorKind
	At        events.Time
}

// Consent is the newest ledger event of a key.
type Consent struct {
	EventID events.ID
	State   events.ConsentState // granted, withdrawn or denied; expired is derived
	KeyID   events.ID
	Record  events.ConsentRecord
}

// Initial is the book before its first event.
func Initial(org string, id events.ID) *State {
	return &State{
		Organisation: org, ID: id, Programs: map[string]events.Time{}, Entries: map[events.ID]*Entry{},
		ByText: map[string][]events.ID{}, ByAbout: map[string][]events.ID{}, Consents: map[events.ConsentKey]*Consent{}, Declined: map[string]DeclinedFact{},
		Occurrences: map[string][]Occurrence{}, SessionsDue: map[events.ID][]events.EntriesDue{},
		Left: map[string]Leaving{}, Roles: map[string]events.Time{}, InspectionRoles: map[string]events.Time{},
		Used:     map[events.ID][]events.ID{},
		Settings: Settings{AutoKeep: map[string]bool{}, ImplicitPromotion: true},
		Shares:   map[events.ID][]Share{},
	}
}

// Living reports whether the entry counts as known: draft, active, paused or suppressed, never softly forgotten (spec 1.8).
// A draft that has lapsed is no longer; nor is anything of a program that was left long enough ago, or that ended with its session.
func (e *Entry) Living(now events.Time) bool {
	if e.left(now) || e.EndsAt.Passed(now) {
		return false
	}
	switch e.Lifecycle {
	case events.LifecycleDraft:
		return !e.ExpiresAt.Passed(now)
	case events.LifecycleActive, events.LifecyclePaused:
		return e.ForgetAt == nil
	}
	return false
}

// Kept reports whether the entry is living memory: the member said yes to it and has not taken it back.
func (e *Entry) Kept(now events.Time) bool {
	return e.Lifecycle != events.LifecycleDraft && e.Living(now)
}

func (e *Entry) sensitiveInteraction() bool {
	return e.Details.MultiActor != nil && e.Details.MultiActor.SensitiveInteraction
}

func (e *Entry) actorHandle() string {
	if e.Details.MultiActor == nil {
		return ""
	}
	return e.Details.MultiActor.ActorHandle
}

// Consent is the state of a key at an instant (spec 2.1): its newest event, or expired once its end is past.
func (s *State) Consent(key events.ConsentKey, now events.Time) events.ConsentState {
	c, ok := s.Consents[key]
	if !ok {
		return events.StateNever
	}
	if c.State == events.StateGranted && c.Record.ExpiresAt.Passed(now) {
		return events.StateExpired
	}
	return c.State
}

// Missing lists the keys that are not granted, in order.
func (s *State) Missing(keys []events.ConsentKey, now events.Time) []events.ConsentKey {
	var missing []events.ConsentKey
	for _, key := range keys {
		if s.Consent(key, now) != events.StateGranted {
			missing = append(missing, key)
		}
	}
	return missing
}

// Revoked lists the keys that were answered and are not granted: withdrawn, denied or expired (spec 2.2). A key that was never
// asked for is not among them.
func (s *State) Revoked(keys []events.ConsentKey, now events.Time) []events.ConsentKey {
	var revoked []events.ConsentKey
	for _, key := range keys {
		if state := s.Consent(key, now); state != events.StateGranted && state != events.StateNever {
			revoked = append(revoked, key)
		}
	}
	return revoked
}

// DerivedSuppression is what follows for an entry from the ledger alone; it is no revision and lifts when the grant returns
// (spec 2.2). Empty: nothing.
func (s *State) DerivedSuppression(e *Entry, now events.Time) events.SuppressionReason {
	about := []events.ConsentKey{events.ConsentKey(e.Labels.Category)}
	if e.Labels.Category.Sensitive() || e.sensitiveInteraction() {
		about = append(about, events.PurposeSensitiveData)
	}
	if len(s.Revoked(about, now)) > 0 {
		return events.SuppressedSensitiveCategory
	}
	if len(s.Revoked([]events.ConsentKey{events.PurposeDataStorage}, now)) > 0 {
		return events.SuppressedUserPause
	}
	return ""
}

// Command is what a book can be asked. Each says how many fresh data keys it may need.
type Command interface{ KeysNeeded() int }

type (
	// Register opens the book.
	Register struct{}
	// Propose is a claim, over NATS or HTTP.
	Propose struct {
		Draft
		ProposedBy         events.ProposedBy
		PromotionCandidate bool
		// ByMessage: the claimant waits for no answer, so that every refusal has to be recorded for it to be read later.
		ByMessage bool
	}
	// StateWords are the member's own words, kept at once.
	StateWords struct{ Draft }
	// Accept is the member's yes to a proposal. Nil fields: as proposed.
	Accept struct {
		ProposalID events.ID
		Body       *string
		Category   *events.Category
		Scope      *events.Scope // the proposal's session: "this session only"; nil: what is proposed in a session is kept in the profile
		Consents   []Answer
	}
	// Decline is the member's no. AskAgain lets the same fact be proposed again.
	Decline struct {
		ProposalID events.ID
		AskAgain   bool
	}
	// Forget hides a memory at once, to be shredded after the grace window. DontAskAgain keeps it from being proposed again.
	Forget struct {
		MemoryID     events.ID
		DontAskAgain bool
		Program      string // the memory must be the member's own tier 1 of it; empty: any of the member's
	}
	// Grant gives a consent under a published text.
	Grant struct {
		Answer
		Source    events.ConsentSource
		Locale    string
		Shown     string
		ExpiresAt *events.Time
	}
	// Deny says no to a consent that was asked for.
	Deny struct {
		Answer
		Source events.ConsentSource
		Locale string
		Shown  string
	}
	// Withdraw takes back the grant that EventID names.
	Withdraw struct{ EventID events.ID }
)

// Draft is what a claim or the member's own words say.
type Draft struct {
	Tier         events.Tier
	Kind         events.MemoryKind
	Program      string
	Scope        events.Scope
	AdapterScope events.AdapterScope // empty: the default of the scope's kind
	TenantID     *string
	Category     events.Category
	Subject      string
	Body         string
	Origin       events.Origin
	MultiActor   *events.MultiActor
	Ref          string
	SourceRefs   []events.SourceRef
	OnBehalfOf   events.ID
}

// Answer names a consent key and the text that the member saw.
type Answer struct {
	Key          events.ConsentKey
	TermsID      string
	TermsVersion string
}

func (Register) KeysNeeded() int   { return 0 }
func (Propose) KeysNeeded() int    { return 1 }
func (StateWords) KeysNeeded() int { return 1 }
func (a Accept) KeysNeeded() int   { return len(a.Consents) }
func (Decline) KeysNeeded() int    { return 0 }
func (Forget) KeysNeeded() int     { return 0 }
func (Grant) KeysNeeded() int      { return 1 }
func (Deny) KeysNeeded() int       { return 1 }
func (Withdraw) KeysNeeded() int   { return 0 }

// Decide says what follows from a command, for the book and for what was offered to roles. What is so already yields no event and no
// error.
func Decide(s *State, c Command, env aggregates.Env) ([]events.Event, error) {
	if err := env.Readable(); err != nil && !narrows(s, c, env) {
		return nil, err
	}
	decided, err := decide(s, c, env)
	if err != nil {
		return nil, err
	}
	return append(decided, s.climb(decided, env)...), nil
}

func decide(s *State, c Command, env aggregates.Env) ([]events.Event, error) {
	if _, opening := c.(Register); s.Removed || !opening && !s.Registered {
		return nil, aggregates.Refuse("member_unknown", "spec 9.5")
	}
	if decided, was, err := belong(s, c, env); was {
		return decided, err
	}
	if decided, was, err := curate(s, c, env); was {
		return decided, err
	}
	switch c := c.(type) {
	case Register:
		if s.Registered {
			return nil, nil
		}
		return []events.Event{&events.MemberRegistered{MemberID: s.ID}}, nil
	case Propose:
		return propose(s, c, env)
	case StateWords:
		return stateWords(s, c, env)
	case Accept:
		return accept(s, c, env)
	case Decline:
		return decline(s, c, env)
	case Forget:
		return forget(s, c, env)
	case Edit:
		return edit(s, c, env)
	case Pause:
		return pause(s, c, env)
	case Resume:
		return resume(s, c, env)
	case Restore:
		return restore(s, c, env)
	case PromoteItem:
		return promoteItem(s, c, env)
	case EndSession:
		return endSession(s, c)
	case Grant:
		return grant(s, c, env)
	case Deny:
		return deny(s, c, env)
	case Withdraw:
		return withdraw(s, c, env)
	case ChangeSettings:
		return changeSettings(s, c, env)
	case OptOut:
		return optOut(s, c, env)
	case LiftDeclined:
		return liftDeclined(s, c)
	case Reference:
		return reference(s, c)
	case ForgetMany:
		return forgetMany(s, c, env)
	case Promote:
		return promote(s, c, env)
	}
	return nil, aggregates.Refuse("command_unknown", "spec 9.2")
}

// lapse is when a proposal made now is no longer asked about (spec 1.5).
func lapse(env aggregates.Env) events.Time { return plus(env.Now, env.Policy.ProposalLapse()) }

func plus(t events.Time, d time.Duration) events.Time { return t.Plus(d) }
