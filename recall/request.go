package recall

import (
	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Candidate is the current revision of one entry, opened. A caller gives one revision for each entry (spec 3.1).
type Candidate struct {
	MemoryID   events.ID `json:"memoryId"`
	RevisionID events.ID `json:"revisionId"`

	// Where it lives and who may reach it.
	Organisation string              `json:"organizationId"`
	TenantID     *string             `json:"tenantId"`
	Tier         events.Tier         `json:"tier"`
	Program      string              `json:"program"` // of tier individual; empty is the default program
	MemoryKind   events.MemoryKind   `json:"kind"`
	Scope        events.Scope        `json:"scope"`
	ScopeKey     string              `json:"scopeKey"`
	AdapterScope events.AdapterScope `json:"adapterScope"` // empty is the one of the scope's kind

	// What it says.
	Category events.Category `json:"category"`
	Subject  string          `json:"subject"`
	Body     string          `json:"body"`
	Origin   events.Origin   `json:"origin"`

	// What keeps it from being said.
	Lifecycle   events.Lifecycle         `json:"lifecycle"`
	ForgetAt    *events.Time             `json:"forgetAt"` // set while softly forgotten, whether due or not
	Suppression *events.Suppression      `json:"suppression"`
	Derived     events.SuppressionReason `json:"derivedSuppression"` // follows from consent; empty for none
	MultiActor  *events.MultiActor       `json:"multiActor"`

	// What it is ranked and proved by.
	ReferenceCount   int          `json:"referenceCount"`
	UpdatedAt        events.Time  `json:"updatedAt"`
	BodyCommitment   string       `json:"bodyCommitment"`
	LabelsCommitment string       `json:"labelsCommitment"`
	ProvenanceChain  []Provenance `json:"provenanceChain"`
}

// Provenance is one event that made the revision (spec 1.2).
type Provenance struct {
	EventID   string           `json:"eventId"`
	Type      events.Type      `json:"type"`
	ActorKind events.ActorKind `json:"actorKind"`
	Time      events.Time      `json:"time"`
}

func (c *Candidate) sensitiveInteraction() bool {
	return c.MultiActor != nil && c.MultiActor.SensitiveInteraction
}

func (c *Candidate) actorHandle() string {
	if c.MultiActor == nil {
		return ""
	}
	return c.MultiActor.ActorHandle
}

// Request is one question to a member's memory.
type Request struct {
	Organisation string          `json:"organizationId"`
	Member       events.ID       `json:"memberId"`
	Surface      string          `json:"surface"`
	Consumer     events.Consumer `json:"consumer"`
	Purpose      policy.Purpose  `json:"purpose"`

	Scope        events.Scope        `json:"scope"`
	AdapterScope events.AdapterScope `json:"adapterScope"` // empty is the one of the scope's kind
	Program      string              `json:"program"`      // empty is the default program
	TenantID     *string             `json:"tenantId"`     // nil is a consumer's request

	Query                 string           `json:"query"`
	CrisisFrame           bool             `json:"crisisFrame"`
	SafetyCriticalContext bool             `json:"safetyCriticalContext"`
	Contexts              []policy.Context `json:"contexts"`

	// Suspected are entries in which the screening found an injection when they were about to leave (spec 1.7).
	Suspected []events.ID `json:"suspected,omitempty"`

	// ConsentedCategories narrows the ledger to the categories it names; nil leaves it as it is. Nothing widens it.
	ConsentedCategories []events.Category `json:"consentedCategories"`
	// Consents are the ledger's states at the instant of the recall; a key that isn't there was never given.
	Consents map[events.ConsentKey]events.ConsentState `json:"consents"`
}

func (r *Request) granted(key events.ConsentKey) bool {
	return r.Consents[key] == events.StateGranted
}

// adapterOf fills in the adapter scope that an entry or request didn't name (spec 1.3).
func adapterOf(scope events.Scope, named events.AdapterScope) events.AdapterScope {
	if named == "" {
		return events.DefaultAdapterScope(scope.Kind)
	}
	return named
}

func programOf(named string) string {
	if named == "" {
		return events.DefaultProgram
	}
	return named
}
