package events

import "slices"

// Tier is where a memory lives and who owns it (spec 1.5, given).
type Tier string

const (
	TierIndividual Tier = "individual" // a member in a program
	TierPerson     Tier = "person"     // a member anywhere in the organisation
	TierRole       Tier = "role"       // everyone who holds a workbench role
)

var tiers = [...]Tier{TierIndividual, TierPerson, TierRole}

// Valid reports whether t is one of the three tiers.
func (t Tier) Valid() bool { return slices.Contains(tiers[:], t) }

// MemoryKind says what sort of thing is remembered (spec 1.2).
type MemoryKind string

const (
	KindEpisodic         MemoryKind = "episodic" // a reference and a summary, never the thing itself
	KindPreference       MemoryKind = "preference"
	KindVocabulary       MemoryKind = "vocabulary"
	KindRubricAdjustment MemoryKind = "rubric_adjustment"
	KindLesson           MemoryKind = "lesson"
	KindRubricVersion    MemoryKind = "rubric_version"
)

// Valid reports whether k is one of the six kinds.
func (k MemoryKind) Valid() bool {
	switch k {
	case KindEpisodic, KindPreference, KindVocabulary, KindRubricAdjustment, KindLesson, KindRubricVersion:
		return true
	}
	return false
}

// Admits reports whether tier t may hold kind k (spec 1.5, given).
func (t Tier) Admits(k MemoryKind) bool {
	switch t {
	case TierIndividual:
		return k.Valid() && k != KindRubricVersion
	case TierPerson:
		return k == KindPreference || k == KindVocabulary || k == KindRubricAdjustment
	case TierRole:
		return k == KindRubricVersion || k == KindVocabulary || k == KindLesson
	}
	return false
}

// Category is what a memory is about, out of twenty-nine (spec 1.4, given). It is personal by itself: in clear it stands
// nowhere but in the member's own answers.
type Category string

const (
	CategoryFact                 Category = "fact"
	CategoryPreference           Category = "preference"
	CategoryGoal                 Category = "goal"
	CategoryRelationship         Category = "relationship"
	CategoryCommitment           Category = "commitment"
	CategoryIdentity             Category = "identity"
	CategorySpatial              Category = "spatial"
	CategoryWork                 Category = "work"
	CategoryFamily               Category = "family"
	CategoryOther                Category = "other"
	CategoryPoseAlignment        Category = "pose_alignment"
	CategoryBiometric            Category = "biometric"
	CategorySpiritual            Category = "spiritual"
	CategoryMedical              Category = "medical"
	CategorySexual               Category = "sexual"
	CategoryFinancial            Category = "financial"
	CategoryLegal                Category = "legal"
	CategorySafety               Category = "safety"
	CategoryPhysicalHealth       Category = "physical_health"
	CategoryMentalHealth         Category = "mental_health"
	CategorySubstanceUse         Category = "substance_use"
	CategorySexuality            Category = "sexuality"
	CategoryGenderIdentity       Category = "gender_identity"
	CategoryReligionUserRedacted Category = "religion_user_redacted"
	CategoryAbuseHistory         Category = "abuse_history"
	CategoryImmigrationStatus    Category = "immigration_status"
	CategoryFinancialDistress    Category = "financial_distress"
	CategoryRelationshipViolence Category = "relationship_violence"
	CategoryLegalJeopardy        Category = "legal_jeopardy"
)

// ordinary come first, then the nineteen sensitive ones (spec 1.4).
var categories = [...]Category{
	CategoryFact, CategoryPreference, CategoryGoal, CategoryRelationship, CategoryCommitment, CategoryIdentity,
	CategorySpatial, CategoryWork, CategoryFamily, CategoryOther,
	CategoryPoseAlignment, CategoryBiometric, CategorySpiritual, CategoryMedical, CategorySexual, CategoryFinancial,
	CategoryLegal, CategorySafety, CategoryPhysicalHealth, CategoryMentalHealth, CategorySubstanceUse, CategorySexuality,
	CategoryGenderIdentity, CategoryReligionUserRedacted, CategoryAbuseHistory, CategoryImmigrationStatus,
	CategoryFinancialDistress, CategoryRelationshipViolence, CategoryLegalJeopardy,
}

const ordinaryCategories = 10

// Categories returns all twenty-nine, ordinary ones first.
func Categories() []Category { return slices.Clone(categories[:]) }

// Valid reports whether c is one of the twenty-nine.
func (c Category) Valid() bool { return slices.Contains(categories[:], c) }

// Sensitive reports whether c is one of the nineteen that recall opens only with consent and in a relevant context.
func (c Category) Sensitive() bool { return slices.Contains(categories[ordinaryCategories:], c) }

// ConsentKey is what a member consents to: one of five purposes or one of the twenty-nine categories (spec 2.1).
type ConsentKey string

const (
	PurposeDataProcessing ConsentKey = "data_processing"
	PurposeDataStorage    ConsentKey = "data_storage"
	PurposeSensitiveData  ConsentKey = "sensitive_data"
	PurposeCrossDomain    ConsentKey = "cross_domain"
	PurposeCrossDevice    ConsentKey = "cross_device"
)

var purposes = [...]ConsentKey{
	PurposeDataProcessing, PurposeDataStorage, PurposeSensitiveData, PurposeCrossDomain, PurposeCrossDevice,
}

// Purpose reports whether k is a purpose; otherwise it is a category, if valid.
func (k ConsentKey) Purpose() bool { return slices.Contains(purposes[:], k) }

// Valid reports whether k is a purpose or a category.
func (k ConsentKey) Valid() bool { return k.Purpose() || Category(k).Valid() }

// ConsentKeys returns every key: purposes first, then categories.
func ConsentKeys() []ConsentKey {
	keys := slices.Clone(purposes[:])
	for _, c := range categories {
		keys = append(keys, ConsentKey(c))
	}
	return keys
}

// ConsentState is where a key stands: its newest event, or expired once its end is past (spec 2.1).
type ConsentState string

const (
	StateGranted   ConsentState = "granted"
	StateWithdrawn ConsentState = "withdrawn"
	StateExpired   ConsentState = "expired"
	StateDenied    ConsentState = "denied"
	StateNever     ConsentState = "never"
)

// ConsentSource is where the member gave the answer (spec 1.2).
type ConsentSource string

const (
	SourceInlinePrompt   ConsentSource = "inline-prompt"
	SourceSettingsToggle ConsentSource = "settings-toggle"
	SourceDSARImport     ConsentSource = "dsar-import"
)

// Valid reports whether s is one of the three sources.
func (s ConsentSource) Valid() bool {
	return s == SourceInlinePrompt || s == SourceSettingsToggle || s == SourceDSARImport
}

// Origin is how a memory came to be (spec 1.2).
type Origin string

const (
	OriginUserStated            Origin = "user-stated"
	OriginUserConfirmed         Origin = "user-confirmed"
	OriginModelInferred         Origin = "model-inferred"
	OriginOperatorCopilot       Origin = "operator-copilot"
	OriginSummarizedFromSession Origin = "summarized-from-session"
	OriginImported              Origin = "imported"
)

// Lifecycle of an entry. Only tombstoned is terminal (spec 1.2, given).
type Lifecycle string

const (
	LifecycleDraft      Lifecycle = "draft"
	LifecycleActive     Lifecycle = "active"
	LifecyclePaused     Lifecycle = "paused"
	LifecycleSuperseded Lifecycle = "superseded"
	LifecycleTombstoned Lifecycle = "tombstoned"
)

// SuppressionReason says why an entry isn't used although it is kept (spec 1.2, given).
type SuppressionReason string

const (
	SuppressedCrisisFrame       SuppressionReason = "crisis-frame"
	SuppressedUserPause         SuppressionReason = "user-pause"
	SuppressedSensitiveCategory SuppressionReason = "sensitive-category"
	SuppressedTenantQuarantine  SuppressionReason = "tenant-quarantine"
)

// Suppression is an entry's own; what follows from consent is derived in the fold and kept apart (spec 1.2).
type Suppression struct {
	Reason    SuppressionReason `json:"reason"`
	StartedAt Time              `json:"startedAt"`
	EndsAt    *Time             `json:"endsAt"`
	Notes     string            `json:"notes"`
}

// MultiActor names a third person by handle and describes the relationship, never the person (spec 1.2).
type MultiActor struct {
	ActorHandle          string `json:"actorHandle"`
	RelationshipNote     string `json:"relationshipNote"`
	SensitiveInteraction bool   `json:"sensitiveInteraction"`
}

// SourceRef is provenance: where the claim came from (spec 1.2). Turns is an inclusive pair, or empty.
type SourceRef struct {
	Kind  string `json:"kind"`
	Ref   string `json:"ref"`
	Turns []int  `json:"turns"`
}

// Consumer is the domain surface that asks for memory, bound to the client that authenticates (spec 1.1).
type Consumer string

const (
	ConsumerAssistant   Consumer = "assistant"
	ConsumerTara        Consumer = "tara"
	ConsumerVeritas     Consumer = "veritas"
	ConsumerNyx         Consumer = "nyx"
	ConsumerArete       Consumer = "arete"
	ConsumerNisaba      Consumer = "nisaba"
	ConsumerMetis       Consumer = "metis"
	ConsumerStudio      Consumer = "studio"
	ConsumerLivingScene Consumer = "living-scene"
	ConsumerShell       Consumer = "shell"
	ConsumerAdmin       Consumer = "admin"
	ConsumerSupport     Consumer = "support"
)

var consumers = [...]Consumer{
	ConsumerAssistant, ConsumerTara, ConsumerVeritas, ConsumerNyx, ConsumerArete, ConsumerNisaba, ConsumerMetis,
	ConsumerStudio, ConsumerLivingScene, ConsumerShell, ConsumerAdmin, ConsumerSupport,
}

// Valid reports whether c is one of the twelve consumers.
func (c Consumer) Valid() bool { return slices.Contains(consumers[:], c) }

// MemberSurface reports whether c serves members, which admin and support don't.
func (c Consumer) MemberSurface() bool {
	return c.Valid() && c != ConsumerAdmin && c != ConsumerSupport
}

// FixedPhrase stands wherever memory is introduced (spec 1.1, given).
const FixedPhrase = "Your twin saves nothing unless you say so."

// NoTraining stands on the memory page, in every export and in /v1/about (spec 1.1, given).
const NoTraining = "Human decisions, inbox feedback, lens scorecards and memory are never used to train or tune any model."

// DefaultProgram is the program of everything that names none (spec 1.1).
const DefaultProgram = "default"
