// Package memories is the read model of what is remembered: memory_records, one row per memory with its current revision, and
// memory_revisions, one row per revision with the event that made it (spec 9.4, 1.2).
//
// Text stands here only sealed, as events.Kept; category, scope, adapter scope and tenant stand as columns, so that a list
// can be filtered, and go with the text when a memory is erased. Accept and recall never read this (spec 9.1).
package memories

import (
	"time"

	"iris.example/iris/events"
)

// Record is a memory as its current revision left it. Times are UTC. The label fields and the sealed ones are nil once erased;
// AdapterScope and the rest of the labels stand anew with every revision that changes them.
type Record struct {
	MemberID           events.ID            `db:"member_id"`
	MemoryID           events.ID            `db:"memory_id"`
	Namespace          string               `db:"namespace"`
	Tier               events.Tier          `db:"tier"`
	Kind               events.MemoryKind    `db:"kind"`
	Program            string               `db:"program"`
	ScopeKind          *events.ScopeKind    `db:"scope_kind"`
	ScopeKey           *string              `db:"scope_key"`
	AdapterScope       *events.AdapterScope `db:"adapter_scope"`
	TenantID           *string              `db:"tenant_id"`
	Category           *events.Category     `db:"category"`
	Origin             events.Origin        `db:"origin"`
	Lifecycle          events.Lifecycle     `db:"lifecycle"`
	Revision           int                  `db:"revision"`
	RevisionID         events.ID            `db:"revision_id"`
	PreviousRevisionID *events.ID           `db:"previous_revision_id"`
	OnBehalfOf         *events.ID           `db:"on_behalf_of"`
	Body               events.Kept          `db:"body"`
	Labels             events.Kept          `db:"labels"`
	Details            events.Kept          `db:"details"`
	ForgetAt           *time.Time           `db:"forget_at"`
	AutoKept           bool                 `db:"auto_kept"`   // kept ahead of an answer, and nothing said about it since
	PromotedTo         *events.ID           `db:"promoted_to"` // the memory of tier person that this one became
	CreatedAt          time.Time            `db:"created_at"`
	UpdatedAt          time.Time            `db:"updated_at"`
	Position           uint64               `db:"position"` // of the commit of the current revision
}

// Revision is one link of the provenance chain. A sealed field is nil where the revision kept the one before.
type Revision struct {
	MemberID           events.ID        `db:"member_id"`
	MemoryID           events.ID        `db:"memory_id"`
	Revision           int              `db:"revision"`
	RevisionID         events.ID        `db:"revision_id"`
	PreviousRevisionID *events.ID       `db:"previous_revision_id"`
	Lifecycle          events.Lifecycle `db:"lifecycle"` // as the revision left the memory
	EventID            events.ID        `db:"event_id"`
	EventType          events.Type      `db:"event_type"`
	ActorKind          events.ActorKind `db:"actor_kind"`
	ActorID            string           `db:"actor_id"`
	At                 time.Time        `db:"at"`
	Body               events.Kept      `db:"body"`
	Labels             events.Kept      `db:"labels"`
	Details            events.Kept      `db:"details"`
	Position           uint64           `db:"position"`
}
