// Package proposals is the read model of what was claimed: one row per claim, taken or refused, until and after its answer
// (spec 1.5, 10.1, 10.2). It has the same events as memories and a folder of its own, because it answers other questions: by
// claim, by state, by when it lapses.
//
// Text stands here only sealed. A proposal that has lapsed still reads pending: whoever lists names the instant (spec 2.1).
package proposals

import (
	"time"

	"iris.example/iris/events"
)

// State is what became of a proposal.
type State string

const (
	Pending  State = "pending" // waits for the member, unless past ExpiresAt
	Accepted State = "accepted"
	Declined State = "declined"
	Refused  State = "refused" // never came before the member
)

// Row is one proposal. From Namespace to Details all is nil where the claim was refused, because a refusal keeps nothing of what
// was claimed; the labels, from ScopeKind to Category, and the sealed fields are nil once erased. Times are UTC.
type Row struct {
	MemberID           events.ID            `db:"member_id"`
	ProposalID         events.ID            `db:"proposal_id"`
	CommandID          events.ID            `db:"command_id"`
	State              State                `db:"state"`
	Outcome            events.ClaimOutcome  `db:"outcome"` // of the claim; the member's answer doesn't change what the claimant was told (spec 10.1)
	Reason             string               `db:"reason"`  // the refusal's code; empty: none
	Producer           string               `db:"producer"`
	Client             string               `db:"client"`
	Consumer           events.Consumer      `db:"consumer"`
	PromotionCandidate bool                 `db:"promotion_candidate"`
	Namespace          *string              `db:"namespace"`
	Tier               *events.Tier         `db:"tier"`
	Kind               *events.MemoryKind   `db:"kind"`
	Program            *string              `db:"program"`
	Origin             *events.Origin       `db:"origin"`
	ScopeKind          *events.ScopeKind    `db:"scope_kind"`
	ScopeKey           *string              `db:"scope_key"`
	AdapterScope       *events.AdapterScope `db:"adapter_scope"`
	TenantID           *string              `db:"tenant_id"`
	Category           *events.Category     `db:"category"`
	OnBehalfOf         *events.ID           `db:"on_behalf_of"`
	Body               events.Kept          `db:"body"`
	Labels             events.Kept          `db:"labels"`
	Details            events.Kept          `db:"details"`
	Notes              events.Kept          `db:"notes"` // events.RefusalNotes, the warnings
	RecordedAt         time.Time            `db:"recorded_at"`
	ExpiresAt          *time.Time           `db:"expires_at"`
	AnsweredAt         *time.Time           `db:"answered_at"`
	Position           uint64               `db:"position"` // of the commit that recorded the claim
	AnsweredPosition   *uint64              `db:"answered_position"`
}
