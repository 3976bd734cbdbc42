package events

import "fmt"

// Type names an event and its version: iris.<aggregate>.<fact>.v<n> (spec 9.3).
type Type string

// Event is one fact. The set is closed: only this package makes events, New knows them all, and every one has a schema with
// examples in schemas/.
type Event interface {
	EventType() Type
	// slots lists the sealed fields. ref comes filled with organisation and member; each slot says which of their keys it takes.
	slots(ref KeyRef) []slot
}

// Types lists every event type, in the order in which a newcomer should read them.
func Types() []Type {
	return []Type{
		TypeOrganisationFounded, TypeProgramDefined, TypeTermsPublished, TypeProducerRegistered, TypeProducerRevoked, TypeClientRegistered, TypePolicyApplied,
		TypeRoleDefined,
		TypeClientRemoved, TypeTenantDefined, TypeTenantRemoved, TypeTenantQuarantined, TypeTenantReleased,
		TypeMemberRegistered, TypeMembershipStarted,
		TypeMembershipEnded, TypeMembershipResumed, TypeRoleGiven, TypeRoleTaken, TypeInspectionRoleGiven, TypeInspectionRoleTaken, TypeMemberRemoved,
		TypeConsentGranted, TypeConsentWithdrawn, TypeConsentDenied,
		TypeProposalRecorded, TypeProposalRefused, TypeProposalDeclined,
		TypeMemoryKept, TypeMemoryStated, TypeMemoryForgotten, TypeMemorySuperseded,
		TypeMemoryRevised, TypeMemoryPaused, TypeMemoryResumed, TypeMemoryRestored,
		TypeSettingsChanged, TypeOptOutsChanged, TypeDeclinedLifted, TypeMemoryAutoKept, TypeMemoryPromoted, TypeMemoriesForgotten, TypeMemoryReferenced,
		TypeRecallResolved,
		TypeShareProposed, TypeShareWithdrawn, TypeCurationAccepted, TypeCurationConfirmed,
		TypeCandidateSubmitted, TypeCandidateSeconded, TypeCandidateAccepted, TypeCandidateRejected, TypeCandidateReopened, TypeContributionWithdrawn, TypeVersionPublished, TypeVersionRetired,
		TypeSessionOpened, TypeSessionTurnAdded, TypeSessionItemAdded, TypeSessionClosed, TypeSessionItemKept, TypeSessionItemSettled, TypeSessionEntriesDue,
	}
}

// New makes an empty event of a type, to decode into.
func New(t Type) (Event, error) {
	switch t {
	case TypeOrganisationFounded:
		return &OrganisationFounded{}, nil
	case TypeProgramDefined:
		return &ProgramDefined{}, nil
	case TypeTermsPublished:
		return &TermsPublished{}, nil
	case TypeProducerRegistered:
		return &ProducerRegistered{}, nil
	case TypeProducerRevoked:
		return &ProducerRevoked{}, nil
	case TypeClientRegistered:
		return &ClientRegistered{}, nil
	case TypePolicyApplied:
		return &PolicyApplied{}, nil
	case TypeMemberRegistered:
		return &MemberRegistered{}, nil
	case TypeMembershipStarted:
		return &MembershipStarted{}, nil
	case TypeConsentGranted:
		return &ConsentGranted{}, nil
	case TypeConsentWithdrawn:
		return &ConsentWithdrawn{}, nil
	case TypeConsentDenied:
		return &ConsentDenied{}, nil
	case TypeProposalRecorded:
		return &ProposalRecorded{}, nil
	case TypeProposalRefused:
		return &ProposalRefused{}, nil
	case TypeProposalDeclined:
		return &ProposalDeclined{}, nil
	case TypeMemoryKept:
		return &MemoryKept{}, nil
	case TypeMemoryStated:
		return &MemoryStated{}, nil
	case TypeMemoryForgotten:
		return &MemoryForgotten{}, nil
	case TypeMemorySuperseded:
		return &MemorySuperseded{}, nil
	case TypeMemoryRevised:
		return &MemoryRevised{}, nil
	case TypeMemoryPaused:
		return &MemoryPaused{}, nil
	case TypeMemoryResumed:
		return &MemoryResumed{}, nil
	case TypeMemoryRestored:
		return &MemoryRestored{}, nil
	case TypeSettingsChanged:
		return &SettingsChanged{}, nil
	case TypeOptOutsChanged:
		return &OptOutsChanged{}, nil
	case TypeDeclinedLifted:
		return &DeclinedLifted{}, nil
	case TypeMemoryReferenced:
		return &MemoryReferenced{}, nil
	case TypeMemoriesForgotten:
		return &MemoriesForgotten{}, nil
	case TypeMemoryPromoted:
		return &MemoryPromoted{}, nil
	case TypeMemoryAutoKept:
		return &MemoryAutoKept{}, nil
	case TypeShareProposed:
		return &ShareProposed{}, nil
	case TypeShareWithdrawn:
		return &ShareWithdrawn{}, nil
	case TypeCurationAccepted:
		return &CurationAccepted{}, nil
	case TypeCurationConfirmed:
		return &CurationConfirmed{}, nil
	case TypeCandidateSubmitted:
		return &CandidateSubmitted{}, nil
	case TypeCandidateSeconded:
		return &CandidateSeconded{}, nil
	case TypeCandidateAccepted:
		return &CandidateAccepted{}, nil
	case TypeCandidateRejected:
		return &CandidateRejected{}, nil
	case TypeCandidateReopened:
		return &CandidateReopened{}, nil
	case TypeContributionWithdrawn:
		return &ContributionWithdrawn{}, nil
	case TypeVersionPublished:
		return &VersionPublished{}, nil
	case TypeVersionRetired:
		return &VersionRetired{}, nil
	case TypeRecallResolved:
		return &RecallResolved{}, nil
	case TypeRoleDefined:
		return &RoleDefined{}, nil
	}
	if e := newBelonging(t); e != nil {
		return e, nil
	}
	if e := newTenant(t); e != nil {
		return e, nil
	}
	if e := newOfSession(t); e != nil {
		return e, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownType, string(t))
}

// ActorKind is the sort of party that acted. With the opaque id it stands in clear.
type ActorKind string

const (
	ActorMember   ActorKind = "member"
	ActorClient   ActorKind = "client" // an assistant or service over HTTP
	ActorProducer ActorKind = "producer"
	ActorAdmin    ActorKind = "admin"
	ActorSystem   ActorKind = "system" // a worker of Iris itself
)

// Actor is who acted, by opaque id: a member id, a client id or a producer slug; never a token's subject.
type Actor struct {
	ID   string
	Kind ActorKind
}

// Trace ties a commit to what caused it, three hops or more: the request that began it all, and the step just before.
type Trace struct {
	Correlation ID
	Causation   ID
	Parent      string // W3C traceparent; empty: not traced
}

// Meta is the envelope of one event. Position is not in the bytes: it is where the stream put them.
type Meta struct {
	ID           ID
	Type         Type
	Organisation string
	Aggregate    Aggregate
	Time         Time // when it happened, to the one who says so
	RecordedAt   Time // when it was decided
	Actor        Actor
	Policy       string // version that the decision was made under
	Trace        Trace

	Commit           ID     // the command's id
	Version          uint64 // how many commits the aggregate has with this one
	PreviousSequence uint64 // position of the aggregate's commit before; 0: none
	PreviousHash     string // SHA-256, hex, of that commit's stored body; empty: none
	Position         uint64
}

// Recorded is an event with its envelope.
type Recorded struct {
	Meta
	Event Event

	kept []keptField // see Kept
}

// Commit is what one decision appends: one message.
type Commit struct {
	Organisation     string
	Aggregate        Aggregate
	Command          ID
	RequestDigest    string // HMAC of the canonical request under the register key; stands sealed on the wire
	Version          uint64
	PreviousSequence uint64
	PreviousHash     string
	Events           []Recorded
	Position         uint64
}
