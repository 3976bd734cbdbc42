// Package policy holds the one versioned document behind every number and list that recall, the books and the workers use
// (spec 8). A value marked *given* in the specification may be made stricter, never weaker: Parse refuses a document that
// tries, naming the JSON pointer and why. There is no override.
//
// The package is pure. A Document is read only once it is parsed; its methods hand out what they were asked for and nothing
// that a caller could not have read from the JSON.
package policy

import (
	"time"

	"iris.example/iris/events"
)

// ID is the policy every recall names in its envelope (spec 3.3, given).
const ID = "iris-memory-recall-v1"

// Document is the policy of one organisation at one version. Keys that a source document names keep that name (spec 8).
type Document struct {
	Version string `json:"version"`

	// Who may ask for what, under which consent, and for how long it is kept (spec 1.3).
	Scopes map[events.AdapterScope]ScopeRow `json:"scopes"`
	Crisis CrisisOverlay                    `json:"crisis"`

	// When a sensitive memory is relevant (spec 1.4).
	SensitiveContexts  map[events.Category][]Context `json:"sensitiveContexts"`
	MultiActorContexts []Context                     `json:"multiActorContexts"`

	// How much a recall returns, in which order, to whom and what for (spec 3.1, 3.2).
	Budgets  map[string]Budget            `json:"DEFAULT_BUDGETS"`
	Weights  Weights                      `json:"DEFAULT_WEIGHTS"`
	Ranker   Ranker                       `json:"ranker"`
	Surfaces map[string][]events.Consumer `json:"surfaces"`
	Purposes []Purpose                    `json:"purposes"`

	// What the books decide by (spec 1.2, 1.5, 1.8, 9.2).
	Proposal           ProposalRules `json:"proposal"`
	Forget             ForgetRules   `json:"forget"`
	Membership         *LeavingRules `json:"membership,omitempty"` // absent: the given 90 days
	Role               RoleRules     `json:"role"`
	PromotionThreshold int           `json:"IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD"`
	AutoKeep           bool          `json:"USER_SETTING_MEMORY_AUTOKEEP"` // what holds until a member opts in; always false (given)
}

// ProposalRules say when an unanswered proposal lapses (spec 1.5).
type ProposalRules struct {
	LapseDays int `json:"lapseDays"`
}

// ForgetRules say how long a member's forget can be taken back (spec 1.2).
type ForgetRules struct {
	GraceDays int `json:"graceDays"`
}

// LeavingRules say how long what a member kept in a program outlives the membership (spec 1.5).
type LeavingRules struct {
	ForgetDays int `json:"forgetDays"`
}

// givenForgetDays: 90 days after the membership ends (spec 1.5, given); a policy may only shorten it.
const givenForgetDays = 90

// RoleRules say how many contributors a role version must keep (spec 1.8).
type RoleRules struct {
	MinContributors int `json:"minContributors"`
}

// Budget is what one surface gets (spec 3.1, stage 8). The rationale is made and recorded whether the caller sees it or not.
type Budget struct {
	MaxEntries       int  `json:"maxEntries"`
	RationaleVisible bool `json:"rationaleVisible"`
}

// Weights of the four factors of the score; they sum to exactly 1 (spec 3.2).
type Weights struct {
	Recency    Decimal `json:"recency"`
	Semantic   Decimal `json:"semantic"`
	References Decimal `json:"references"`
	Origin     Decimal `json:"origin"`
}

// Ranker holds what the factors are made from (spec 3.2).
type Ranker struct {
	Scorer              string                    `json:"scorer"`
	RecencyHalfLifeDays int                       `json:"recencyHalfLifeDays"`
	ReferencesHalf      int                       `json:"referencesHalf"` // n/(n+half)
	OriginFactors       map[events.Origin]Decimal `json:"originFactors"`
}

// ScorerJaccard compares token sets. It needs no corpus and is what the pure ranker does without another scorer (spec 3.2).
const ScorerJaccard = "jaccard"

// Surfaces that the shipped policy names. A surface it doesn't know gets shell's budget (spec 3.1, given).
const (
	SurfaceAssistant = "assistant"
	SurfaceShell     = "shell"
	SurfaceNotebook  = "notebook"
	SurfaceAdmin     = "admin"
	SurfaceBrief     = "brief"
)

// Purpose is what a recall is for. Training, tuning, evaluation and scoring of people have no name here (spec 3.1).
type Purpose string

const (
	PurposeAssist     Purpose = "assist"
	PurposeBrief      Purpose = "brief"
	PurposeResume     Purpose = "resume"
	PurposeInspection Purpose = "inspection"
	PurposeDSAR       Purpose = "dsar"
)

// Context is what a request is about, as far as it opens sensitive memory (spec 1.4).
type Context string

const (
	ContextHealth    Context = "health"
	ContextIdentity  Context = "identity"
	ContextSpiritual Context = "spiritual"
	ContextPractice  Context = "practice"
	ContextSexuality Context = "sexuality"
	ContextFinancial Context = "financial"
	ContextLegal     Context = "legal"
	ContextSafety    Context = "safety"
	ContextCrisis    Context = "crisis"
)

// Valid reports whether c is one of the nine contexts.
func (c Context) Valid() bool {
	switch c {
	case ContextHealth, ContextIdentity, ContextSpiritual, ContextPractice, ContextSexuality, ContextFinancial, ContextLegal,
		ContextSafety, ContextCrisis:
		return true
	}
	return false
}

const day = 24 * time.Hour

// ProposalLapse is how long a proposal waits for the member's answer.
func (d *Document) ProposalLapse() time.Duration { return time.Duration(d.Proposal.LapseDays) * day }

// ForgetGrace is how long a softly forgotten memory can be restored.
func (d *Document) ForgetGrace() time.Duration { return time.Duration(d.Forget.GraceDays) * day }

// MembershipForget is how long after the end of a membership the program's own memory is softly forgotten.
func (d *Document) MembershipForget() time.Duration {
	if d.Membership == nil {
		return givenForgetDays * day
	}
	return time.Duration(d.Membership.ForgetDays) * day
}

// RecencyHalfLife is the age at which recency is one half.
func (d *Document) RecencyHalfLife() time.Duration {
	return time.Duration(d.Ranker.RecencyHalfLifeDays) * day
}
