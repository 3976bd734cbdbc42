package events

// The facts of one session of a member's assistant (spec 3.7), an aggregate of its own, and what its close leaves in the
// member's book. A session is sealed under a key row of its own, is in no read model, and is shredded after its close.

const (
	TypeSessionOpened    Type = "iris.session.opened.v1"
	TypeSessionTurnAdded Type = "iris.session.turn-added.v1"
	TypeSessionItemAdded Type = "iris.session.item-added.v1"
	TypeSessionClosed    Type = "iris.session.closed.v1"

	TypeSessionItemKept    Type = "iris.session-item.kept.v1"
	TypeSessionItemSettled Type = "iris.session-item.settled.v1"
	TypeSessionEntriesDue  Type = "iris.session-entries.due.v1"
)

// InSession is what every event of a session says in clear. Member and row repeat those of the first, so that an event can be
// opened without the one before it.
type InSession struct {
	SessionID ID `json:"sessionId"`
	MemberID  ID `json:"memberId"`
	KeyID     ID `json:"keyId"` // the row that holds the session's half of its key
}

func (s InSession) key(ref KeyRef) KeyRef {
	ref.Class, ref.Member, ref.Row, ref.Entry = KeySession, s.MemberID, s.KeyID, string(s.SessionID)
	return ref
}

// sealing is the key of the whole session: its commits' request digests are sealed under it too.
func (s InSession) sealing(ref KeyRef) KeyRef { return s.key(ref) }

// SessionAbout is what of an opening is a personal label.
type SessionAbout struct {
	TenantID *string `json:"tenantId"`
}

// SessionOpened begins a session in a program. Only the client that opened it, for the same member, may go on with it.
type SessionOpened struct {
	InSession
	Program    string               `json:"program"`
	OpenedBy   ProposedBy           `json:"openedBy"`
	OnBehalfOf ID                   `json:"onBehalfOf"` // empty: nobody
	About      Secret[SessionAbout] `json:"about"`
}

// SessionRole is who spoke in a turn.
type SessionRole string

const (
	RoleUser      SessionRole = "user" // the member
	RoleAssistant SessionRole = "assistant"
	RoleTool      SessionRole = "tool"
)

// Valid reports whether r is one of the three. There is no system: history is data, and nothing in it instructs.
func (r SessionRole) Valid() bool { return r == RoleUser || r == RoleAssistant || r == RoleTool }

// Said is one turn's text, and the ids of the screening's patterns that hit it. A turn is history, so a hit doesn't refuse it; it
// keeps it from leaving again.
type Said struct {
	Text     string   `json:"text"`
	Patterns []string `json:"patterns"`
}

// SessionTurnAdded is one turn of the conversation, append-only. Turns are counted from 1.
type SessionTurnAdded struct {
	InSession
	Turn int          `json:"turn"`
	Role SessionRole  `json:"role"`
	Said Secret[Said] `json:"said"`
}

// Intent says whose wish it is that an item outlives its session: the member's, said in so many words, or the assistant's guess.
type Intent string

const (
	IntentExplicit Intent = "explicit"
	IntentImplicit Intent = "implicit"
)

// Valid reports whether i is one of the two.
func (i Intent) Valid() bool { return i == IntentExplicit || i == IntentImplicit }

// SessionItem is one piece of a session's ephemeral memory.
type SessionItem struct {
	Category Category `json:"category"`
	Subject  string   `json:"subject"`
	Body     string   `json:"body"`
}

// SessionItemAdded puts an item into the session's memory, where it ends with the session unless it is a candidate. Turn is the
// turn that it came up in, as the assistant says.
type SessionItemAdded struct {
	InSession
	ItemID             ID                  `json:"itemId"`
	Turn               int                 `json:"turn"`
	Kind               MemoryKind          `json:"kind"`
	PromotionCandidate bool                `json:"promotionCandidate"`
	Intent             Intent              `json:"intent"`
	Item               Secret[SessionItem] `json:"item"`
}

// ItemOutcome is what became of a candidate at the close of its session (spec 3.7).
type ItemOutcome string

const (
	ItemPromoted     ItemOutcome = "promoted"
	ItemProposed     ItemOutcome = "proposed"
	ItemSuppressed   ItemOutcome = "suppressed"
	ItemBlocked      ItemOutcome = "blocked"
	ItemKeptExisting ItemOutcome = "kept-existing"
)

// Valid reports whether o is one of the five.
func (o ItemOutcome) Valid() bool {
	switch o {
	case ItemPromoted, ItemProposed, ItemSuppressed, ItemBlocked, ItemKeptExisting:
		return true
	}
	return false
}

// ItemSettled is one candidate's outcome. Reason is a code or the rule of a conflict; Memory is what was kept or proposed, or
// what stands in the way, if the member may know it; Missing are the consents for want of which nothing was kept.
type ItemSettled struct {
	ItemID  ID           `json:"itemId"`
	Outcome ItemOutcome  `json:"outcome"`
	Reason  string       `json:"reason"`
	Memory  ID           `json:"memoryId"`
	Missing []ConsentKey `json:"missing"`
}

// EntriesDue says when the entries that a session left in one adapter scope end (spec 1.3, retention).
type EntriesDue struct {
	AdapterScope AdapterScope `json:"adapterScope"`
	At           Time         `json:"at"`
}

// SessionClosed ends a session, with one outcome for each candidate. ClosedAt lies before the event's own time where the session
// had ended by itself. At DueAt its key is shredded, and Entries say when what it left in the member's book ends.
type SessionClosed struct {
	InSession
	ClosedAt Time                  `json:"closedAt"`
	DueAt    Time                  `json:"dueAt"`
	Entries  []EntriesDue          `json:"entries"`
	Outcomes Secret[[]ItemSettled] `json:"outcomes"`
}

// SessionItemKept is a memory that a session left in the member's book: revision 1, active. Its origin is
// summarized-from-session, so that it never takes the place of what the member stated or confirmed (spec 1.6).
type SessionItemKept struct {
	Entry
	SessionID ID              `json:"sessionId"`
	ItemID    ID              `json:"itemId"`
	Body      Secret[string]  `json:"body"`
	Labels    Secret[Labels]  `json:"labels"`
	Details   Secret[Details] `json:"details"`
}

// SessionItemSettled records, in the member's book, what was decided about one candidate. Print, when not empty, is one
// occurrence of the fact in that turn.
type SessionItemSettled struct {
	SessionID ID                   `json:"sessionId"`
	ItemID    ID                   `json:"itemId"`
	Turn      int                  `json:"turn"`
	Intent    Intent               `json:"intent"`
	Outcome   ItemOutcome          `json:"outcome"`
	Reason    string               `json:"reason"`
	MemoryID  ID                   `json:"memoryId"` // what was kept or proposed; empty: nothing
	Print     Secret[string]       `json:"print"`
	Notes     Secret[RefusalNotes] `json:"notes"`
}

// SessionEntriesDue gives the book's entries of a session their end, those that come later included: an entry of that session and
// adapter scope counts as ended from its instant on.
type SessionEntriesDue struct {
	SessionID ID           `json:"sessionId"`
	Entries   []EntriesDue `json:"entries"`
}

func newOfSession(t Type) Event {
	switch t {
	case TypeSessionOpened:
		return &SessionOpened{}
	case TypeSessionTurnAdded:
		return &SessionTurnAdded{}
	case TypeSessionItemAdded:
		return &SessionItemAdded{}
	case TypeSessionClosed:
		return &SessionClosed{}
	case TypeSessionItemKept:
		return &SessionItemKept{}
	case TypeSessionItemSettled:
		return &SessionItemSettled{}
	case TypeSessionEntriesDue:
		return &SessionEntriesDue{}
	}
	return nil
}

func (*SessionOpened) EventType() Type      { return TypeSessionOpened }
func (*SessionTurnAdded) EventType() Type   { return TypeSessionTurnAdded }
func (*SessionItemAdded) EventType() Type   { return TypeSessionItemAdded }
func (*SessionClosed) EventType() Type      { return TypeSessionClosed }
func (*SessionItemKept) EventType() Type    { return TypeSessionItemKept }
func (*SessionItemSettled) EventType() Type { return TypeSessionItemSettled }
func (*SessionEntriesDue) EventType() Type  { return TypeSessionEntriesDue }

func (e *SessionOpened) slots(ref KeyRef) []slot {
	return []slot{{"about", e.key(ref), &e.About}}
}

func (e *SessionTurnAdded) slots(ref KeyRef) []slot {
	return []slot{{"said", e.key(ref), &e.Said}}
}

func (e *SessionItemAdded) slots(ref KeyRef) []slot {
	return []slot{{"item", e.key(ref), &e.Item}}
}

func (e *SessionClosed) slots(ref KeyRef) []slot {
	return []slot{{"outcomes", e.key(ref), &e.Outcomes}}
}

func (e *SessionItemKept) slots(ref KeyRef) []slot {
	k := e.key(ref)
	return []slot{{"body", k, &e.Body}, {"labels", k, &e.Labels}, {"details", k, &e.Details}}
}

func (e *SessionItemSettled) slots(ref KeyRef) []slot {
	register, notes := ref, ref
	register.Class, notes.Class = KeyRegister, KeyCase
	return []slot{{"print", register, &e.Print}, {"notes", notes, &e.Notes}}
}

func (*SessionEntriesDue) slots(KeyRef) []slot { return nil }
