package events

// The facts of a member's book (spec 9.2): one aggregate, so that no consent changes under a write. Clear are ids, tier, kind,
// program, times; what a memory says and what it is about is sealed under the memory's own key.

const (
	TypeMemberRegistered  Type = "iris.member.registered.v1"
	TypeMembershipStarted Type = "iris.membership.started.v1"
	TypeProposalRecorded  Type = "iris.proposal.recorded.v1"
	TypeProposalRefused   Type = "iris.proposal.refused.v1"
	TypeProposalDeclined  Type = "iris.proposal.declined.v1"
	TypeMemoryKept        Type = "iris.memory.kept.v1"
	TypeMemoryStated      Type = "iris.memory.stated.v1"
	TypeMemoryForgotten   Type = "iris.memory.forgotten.v1"
	TypeMemorySuperseded  Type = "iris.memory.superseded.v1"
	TypeConsentGranted    Type = "iris.consent.granted.v1"
	TypeConsentWithdrawn  Type = "iris.consent.withdrawn.v1"
	TypeConsentDenied     Type = "iris.consent.denied.v1"
)

// Labels are personal by themselves: what a memory is about, without what it says.
type Labels struct {
	Category     Category       `json:"category"`
	Subject      string         `json:"subject"`
	Scope        Scope          `json:"scope"`
	AdapterScope AdapterScope   `json:"adapterScope"`
	TenantID     *string        `json:"tenantId"`
	Consents     []EntryConsent `json:"consents"`
}

// EntryConsent is a consent as it stood when the revision was made (spec 1.2). RevokedAt is derived later, never stored.
type EntryConsent struct {
	Key       ConsentKey    `json:"key"`
	GrantedAt Time          `json:"grantedAt"`
	Source    ConsentSource `json:"source"`
}

// Details are everything else that is personal about a memory.
type Details struct {
	MultiActor *MultiActor `json:"multiActor"`
	Ref        string      `json:"ref"`
	SourceRefs []SourceRef `json:"sourceRefs"`
	Prints     Prints      `json:"prints"`
}

// Prints are keyed fingerprints under the member's register key (spec 1.8): Fact over category, subject and token set, Text
// over the token set alone. They let the book know a text again without holding it.
type Prints struct {
	Fact string `json:"fact"`
	Text string `json:"text"`
}

// Entry is what every event that begins a memory says of it in clear.
type Entry struct {
	MemoryID   ID         `json:"memoryId"`
	RevisionID ID         `json:"revisionId"`
	KeyID      ID         `json:"keyId"` // the row that holds the entry's half of its data key
	Tier       Tier       `json:"tier"`
	Kind       MemoryKind `json:"kind"`
	Program    string     `json:"program"`
	Origin     Origin     `json:"origin"`
	OnBehalfOf ID         `json:"onBehalfOf"` // empty: nobody
}

func (e Entry) key(ref KeyRef) KeyRef {
	ref.Class, ref.Tier, ref.Row, ref.Entry = KeyMemory, e.Tier, e.KeyID, string(e.MemoryID)
	return ref
}

// Revised is what every event that mints a further revision says of it in clear. Tier and KeyID repeat the entry's, so that an
// event can be opened without the one before it.
type Revised struct {
	MemoryID           ID   `json:"memoryId"`
	RevisionID         ID   `json:"revisionId"`
	PreviousRevisionID ID   `json:"previousRevisionId"`
	KeyID              ID   `json:"keyId"`
	Tier               Tier `json:"tier"`
}

func (r Revised) key(ref KeyRef) KeyRef {
	ref.Class, ref.Tier, ref.Row, ref.Entry = KeyMemory, r.Tier, r.KeyID, string(r.MemoryID)
	return ref
}

// ProposedBy is who claimed: a producer over NATS or a client over HTTP, and the consumer it is registered for.
type ProposedBy struct {
	Producer string   `json:"producer"` // empty over HTTP
	Client   string   `json:"client"`   // empty over NATS
	Consumer Consumer `json:"consumer"`
}

// MemberRegistered opens a book. The identity behind the id is known to the directory alone.
type MemberRegistered struct {
	MemberID ID `json:"memberId"`
}

// MembershipStarted says that the member belongs to a program from the event's time on.
type MembershipStarted struct {
	Program string `json:"program"`
}

// ProposalRecorded is revision 1 of a memory, a draft, until the member answers or it lapses (spec 1.5).
type ProposalRecorded struct {
	Entry
	ProposedBy         ProposedBy      `json:"proposedBy"`
	ExpiresAt          Time            `json:"expiresAt"`
	PromotionCandidate bool            `json:"promotionCandidate"`
	Body               Secret[string]  `json:"body"`
	Labels             Secret[Labels]  `json:"labels"`
	Details            Secret[Details] `json:"details"`
}

// ClaimOutcome is what became of a claim (spec 10.1).
type ClaimOutcome string

const (
	OutcomePending      ClaimOutcome = "pending"
	OutcomeKept         ClaimOutcome = "kept"
	OutcomeSuppressed   ClaimOutcome = "suppressed"
	OutcomeRejected     ClaimOutcome = "rejected"
	OutcomeKeptExisting ClaimOutcome = "kept-existing"
	OutcomeDuplicate    ClaimOutcome = "duplicate"
)

// RefusalNotes say more of a refusal than its reason, and would tell the category: sealed under the member's case key.
type RefusalNotes struct {
	Category Category     `json:"category"`
	Missing  []ConsentKey `json:"missing"`  // keys that are not in the state that the write needs
	Patterns []string     `json:"patterns"` // ids of the screening's patterns that hit
	Existing ID           `json:"existing"` // the memory that the claim repeats, if any
}

// ProposalRefused records that a claim was not taken, and why, without its body (spec 2.2, 1.7).
type ProposalRefused struct {
	ProposalID ID                   `json:"proposalId"`
	Outcome    ClaimOutcome         `json:"outcome"`
	Reason     string               `json:"reason"`
	ProposedBy ProposedBy           `json:"proposedBy"`
	Notes      Secret[RefusalNotes] `json:"notes"`
}

// ProposalDeclined ends a draft. Print, when not empty, keeps the same fact from being proposed again (spec 1.8).
type ProposalDeclined struct {
	Revised
	AskAgain bool           `json:"askAgain"`
	Print    Secret[string] `json:"print"`
}

// MemoryKept is the member's yes: revision 2, active. Body is nil where the member kept the text as it was proposed; Labels
// always stand anew, because an answer may change category and scope and names the consents it rests on.
type MemoryKept struct {
	Revised
	Origin  Origin           `json:"origin"`
	Edited  bool             `json:"edited"`
	Body    *Secret[string]  `json:"body"`
	Labels  Secret[Labels]   `json:"labels"`
	Details *Secret[Details] `json:"details"`
}

// MemoryStated is the member's own words: revision 1, active.
type MemoryStated struct {
	Entry
	Body    Secret[string]  `json:"body"`
	Labels  Secret[Labels]  `json:"labels"`
	Details Secret[Details] `json:"details"`
}

// MemoryForgotten hides an entry at once; at ForgetAt it is tombstoned and shredded (spec 1.2).
type MemoryForgotten struct {
	Revised
	ForgetAt Time           `json:"forgetAt"`
	Print    Secret[string] `json:"print"`
}

// MemorySuperseded names the rule of spec 1.6 that decided and the entry that won.
type MemorySuperseded struct {
	Revised
	Rule   string `json:"rule"`
	Winner ID     `json:"winner"`
}

// ConsentRecord is one line of the ledger with everything that its fingerprint covers (spec 2.1). Fingerprint and SHA256 are
// over the canonical JSON of the other fields with the terms' text itself inside.
type ConsentRecord struct {
	Key          ConsentKey    `json:"key"`
	At           Time          `json:"at"`
	ExpiresAt    *Time         `json:"expiresAt"`
	TermsID      string        `json:"termsId"`
	TermsVersion string        `json:"termsVersion"`
	Source       ConsentSource `json:"source"`
	Locale       string        `json:"locale"`
	Shown        string        `json:"shown"`
	Fingerprint  string        `json:"fingerprint"`
	SHA256       string        `json:"sha256"`
}

// Consent is what grant, withdrawal and denial have in common. Supersedes is the event before it of the same key, if any; a
// withdrawal names its grant. KeyID is the row that seals every event of this consent key, so that one category of the
// ledger can be purged.
type Consent struct {
	RecordVersion int                   `json:"recordVersion"`
	KeyID         ID                    `json:"keyId"`
	Supersedes    ID                    `json:"supersedes"`
	Record        Secret[ConsentRecord] `json:"record"`
}

func (c *Consent) slots(ref KeyRef) []slot {
	ref.Class, ref.Row, ref.Entry = KeyConsent, c.KeyID, string(c.KeyID)
	return []slot{{"record", ref, &c.Record}}
}

// ConsentGranted, ConsentWithdrawn and ConsentDenied are the ledger's kinds; an expiry is read from ExpiresAt.
type (
	ConsentGranted   struct{ Consent }
	ConsentWithdrawn struct{ Consent }
	ConsentDenied    struct{ Consent }
)

func (*MemberRegistered) EventType() Type  { return TypeMemberRegistered }
func (*MembershipStarted) EventType() Type { return TypeMembershipStarted }
func (*ProposalRecorded) EventType() Type  { return TypeProposalRecorded }
func (*ProposalRefused) EventType() Type   { return TypeProposalRefused }
func (*ProposalDeclined) EventType() Type  { return TypeProposalDeclined }
func (*MemoryKept) EventType() Type        { return TypeMemoryKept }
func (*MemoryStated) EventType() Type      { return TypeMemoryStated }
func (*MemoryForgotten) EventType() Type   { return TypeMemoryForgotten }
func (*MemorySuperseded) EventType() Type  { return TypeMemorySuperseded }
func (*ConsentGranted) EventType() Type    { return TypeConsentGranted }
func (*ConsentWithdrawn) EventType() Type  { return TypeConsentWithdrawn }
func (*ConsentDenied) EventType() Type     { return TypeConsentDenied }

func (*MemberRegistered) slots(KeyRef) []slot  { return nil }
func (*MembershipStarted) slots(KeyRef) []slot { return nil }
func (*MemorySuperseded) slots(KeyRef) []slot  { return nil }

func (e *ProposalRecorded) slots(ref KeyRef) []slot {
	k := e.key(ref)
	return []slot{{"body", k, &e.Body}, {"labels", k, &e.Labels}, {"details", k, &e.Details}}
}

func (e *MemoryStated) slots(ref KeyRef) []slot {
	k := e.key(ref)
	return []slot{{"body", k, &e.Body}, {"labels", k, &e.Labels}, {"details", k, &e.Details}}
}

func (e *MemoryKept) slots(ref KeyRef) []slot {
	k := e.key(ref)
	all := []slot{{"labels", k, &e.Labels}}
	if e.Body != nil {
		all = append(all, slot{"body", k, e.Body})
	}
	if e.Details != nil {
		all = append(all, slot{"details", k, e.Details})
	}
	return all
}

func (e *ProposalRefused) slots(ref KeyRef) []slot {
	ref.Class = KeyCase
	return []slot{{"notes", ref, &e.Notes}}
}

func (e *ProposalDeclined) slots(ref KeyRef) []slot {
	ref.Class = KeyRegister
	return []slot{{"print", ref, &e.Print}}
}

func (e *MemoryForgotten) slots(ref KeyRef) []slot {
	ref.Class = KeyRegister
	return []slot{{"print", ref, &e.Print}}
}
