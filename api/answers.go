package api

import (
	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
	"iris.example/iris/receipts"
)

// The answers that are made here (spec 10). Fields may be added, never renamed; acts has the others.

type list[T any] struct {
	Items []T     `json:"items"`
	Next  *string `json:"next"`
}

// claimAnswer is what became of a claim (spec 10.1).
type claimAnswer struct {
	ProposalID events.ID           `json:"proposalId"`
	Outcome    events.ClaimOutcome `json:"outcome"`
	Reason     string              `json:"reason,omitempty"`
	Warnings   []acts.Warning      `json:"warnings,omitempty"`
}

// keptAnswer is what a yes left (spec 10.2). With kept-existing and duplicate the memory is the one that stands, and there is no
// revision.
type keptAnswer struct {
	MemoryID   events.ID           `json:"memoryId"`
	RevisionID *events.ID          `json:"revisionId"`
	Outcome    events.ClaimOutcome `json:"outcome"`
	Reason     string              `json:"reason,omitempty"`
}

type declinedAnswer struct {
	ProposalID events.ID `json:"proposalId"`
	Outcome    string    `json:"outcome"`
}

type forgottenAnswer struct {
	MemoryID events.ID `json:"memoryId"`
	Outcome  string    `json:"outcome"`
}

// consentAnswer is an event of the consent ledger.
type consentAnswer struct {
	EventID     events.ID           `json:"eventId"`
	Key         events.ConsentKey   `json:"key"`
	State       events.ConsentState `json:"state"`
	At          events.Time         `json:"at"`
	ExpiresAt   *events.Time        `json:"expiresAt"`
	Fingerprint string              `json:"fingerprint"`
	SHA256      string              `json:"sha256"`
	Terms       termsRef            `json:"terms"`
	Receipt     receipts.Receipt    `json:"receipt"`
}

type termsRef struct {
	ID      string `json:"id"`
	Version string `json:"version"`
}

// recallAnswer is what may be said back (spec 10.5).
type recallAnswer struct {
	RecallID     events.ID     `json:"recallId"`
	AsOf         string        `json:"asOf"`
	Heads        []events.Head `json:"heads"`
	Engine       string        `json:"engine"`
	Policy       policyRef     `json:"policy"`
	Entries      []recallEntry `json:"entries"`
	Audit        recallAudit   `json:"audit"`
	ResultSHA256 string        `json:"resultSha256"`
}

type policyRef struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// recallEntry has its score, factors and rationale only where the surface shows them.
type recallEntry struct {
	MemoryID         events.ID           `json:"memoryId"`
	RevisionID       events.ID           `json:"revisionId"`
	Body             string              `json:"body"`
	Category         events.Category     `json:"category"`
	ScopeKey         string              `json:"scopeKey"`
	Tier             events.Tier         `json:"tier"`
	Score            policy.Decimal      `json:"score,omitempty"`
	Factors          *recall.Factors     `json:"factors,omitempty"`
	SurfaceRationale string              `json:"surfaceRationale,omitempty"`
	ProvenanceChain  []recall.Provenance `json:"provenanceChain"`
}

type recallAudit struct {
	ScopeKey          string         `json:"scopeKey"`
	ReturnedIDs       []events.ID    `json:"returnedIds"`
	EvaluatedCount    int            `json:"evaluatedCount"`
	SuppressionCounts map[string]int `json:"suppressionCounts"`
}

// replayAnswer is a proof without any text (spec 10.8). Recorded and recomputed are digests of the result.
type replayAnswer struct {
	RecallID   events.ID     `json:"recallId"`
	Result     string        `json:"result"`
	Matches    bool          `json:"matches"`
	Reason     *string       `json:"reason"`
	Recorded   string        `json:"recorded"`
	Recomputed string        `json:"recomputed"`
	Erased     []events.ID   `json:"erased"`
	Heads      []events.Head `json:"heads"`
	AsOf       string        `json:"asOf"`
	Engine     string        `json:"engine"`
	Policy     policyRef     `json:"policy"`
}

type aboutAnswer struct {
	Name        string `json:"name"`
	Version     string `json:"version"`
	NoTraining  string `json:"noTraining"`
	FixedPhrase string `json:"fixedPhrase"`
	Engine      string `json:"engine"`
	PolicyID    string `json:"policyId"`
	ClockOffset string `json:"clockOffset,omitempty"`
}

type healthAnswer struct {
	Status string `json:"status"`
}
