package proposals

import (
	"fmt"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// Projection fills proposals from an organisation's stream.
type Projection struct{}

func (Projection) Name() string { return "proposals" }

// Begin makes the empty changes of one transaction.
func (Projection) Begin(org string) engine.Changes { return NewChanges(org) }

// Changes are the rows of one transaction. Rows holds what was loaded and what was made, by id.
type Changes struct {
	org      string
	expected []string
	Rows     map[events.ID]*Row
	changed  map[events.ID]bool
}

// NewChanges makes the empty changes; with nothing loaded, applying a whole stream folds it from scratch.
func NewChanges(org string) *Changes {
	return &Changes{org: org, Rows: map[events.ID]*Row{}, changed: map[events.ID]bool{}}
}

// Expect notes the proposal that an event answers.
func (c *Changes) Expect(e events.Recorded) {
	switch event := e.Event.(type) {
	case *events.ProposalRefused:
		c.expected = append(c.expected, string(event.ProposalID))
	case *events.ProposalDeclined:
		c.expected = append(c.expected, string(event.MemoryID))
	case *events.MemoryKept:
		c.expected = append(c.expected, string(event.MemoryID))
	case *events.MemoriesForgotten:
		for _, draft := range event.Drafts {
			c.expected = append(c.expected, string(draft.MemoryID))
		}
	case *events.MemoryAutoKept:
		c.expected = append(c.expected, string(event.MemoryID))
	}
}

// Apply is pure. What becomes of a memory after the answer changes nothing here.
func (c *Changes) Apply(e events.Recorded) error {
	switch event := e.Event.(type) {
	case *events.ProposalRecorded:
		return c.record(e, event)
	case *events.ProposalRefused:
		return c.refuse(e, event)
	case *events.MemoryKept:
		return c.answer(e, event.MemoryID, Accepted)
	case *events.MemoriesForgotten:
		for _, draft := range event.Drafts {
			if err := c.answer(e, draft.MemoryID, Declined); err != nil {
				return err
			}
		}
	case *events.MemoryAutoKept:
		return c.answer(e, event.MemoryID, Accepted)
	case *events.ProposalDeclined:
		return c.answer(e, event.MemoryID, Declined)
	}
	return nil
}

func (c *Changes) record(e events.Recorded, event *events.ProposalRecorded) error {
	if c.Rows[event.MemoryID] != nil {
		return fmt.Errorf("%w: proposal %s is recorded twice", engine.ErrInconsistent, event.MemoryID)
	}
	r := claimed(e, event.MemoryID, event.ProposedBy)
	r.State, r.Outcome = Pending, events.OutcomePending
	labels := event.Labels.Plain
	taken := struct { // copied in one piece: a row lives longer than the event, and a fold holds all of them
		events.Entry
		expires        time.Time
		namespace, key string
		scope          events.ScopeKind
		adapter        events.AdapterScope
		category       events.Category
	}{
		event.Entry, event.ExpiresAt.Time, events.Namespace(c.org, event.Tier, event.Program, r.MemberID), labels.Scope.Key(r.MemberID),
		labels.Scope.Kind, labels.AdapterScope, labels.Category,
	}
	r.PromotionCandidate, r.ExpiresAt = event.PromotionCandidate, &taken.expires
	r.Namespace, r.Tier, r.Kind, r.Program, r.Origin = &taken.namespace, &taken.Tier, &taken.Kind, &taken.Program, &taken.Origin
	r.ScopeKind, r.ScopeKey, r.AdapterScope, r.TenantID, r.Category = &taken.scope, &taken.key, &taken.adapter, labels.TenantID, &taken.category
	if taken.OnBehalfOf != "" {
		r.OnBehalfOf = &taken.OnBehalfOf
	}
	r.Body, r.Labels, r.Details = e.Kept("body"), e.Kept("labels"), e.Kept("details")
	c.put(r)
	return nil
}

// refuse records a claim that was not taken, or ends a pending one that lost when the member answered.
func (c *Changes) refuse(e events.Recorded, event *events.ProposalRefused) error {
	r := c.Rows[event.ProposalID]
	switch {
	case r == nil:
		r = claimed(e, event.ProposalID, event.ProposedBy)
	case r.State != Pending || r.MemberID != e.Aggregate.ID:
		return fmt.Errorf("%w: proposal %s is not pending", engine.ErrInconsistent, event.ProposalID)
	default:
		r.answered(e.RecordedAt.Time, e.Position)
	}
	r.State, r.Outcome, r.Reason, r.Notes = Refused, event.Outcome, event.Reason, e.Kept("notes")
	c.put(r)
	return nil
}

func (c *Changes) answer(e events.Recorded, id events.ID, state State) error {
	r := c.Rows[id]
	if r == nil || r.State != Pending || r.MemberID != e.Aggregate.ID {
		return fmt.Errorf("%w: proposal %s is not pending", engine.ErrInconsistent, id)
	}
	r.State = state
	r.answered(e.RecordedAt.Time, e.Position)
	if state == Accepted && r.CommandID == e.Commit {
		r.Outcome = events.OutcomeKept // claim and answer in one commit: kept by the member's setting, and so told to the claimant
	}
	c.put(r)
	return nil
}

func (r *Row) answered(at time.Time, position uint64) {
	r.AnsweredAt, r.AnsweredPosition = &at, &position
}

func claimed(e events.Recorded, id events.ID, by events.ProposedBy) *Row {
	return &Row{
		MemberID: e.Aggregate.ID, ProposalID: id, CommandID: e.Commit,
		Producer: by.Producer, Client: by.Client, Consumer: by.Consumer,
		RecordedAt: e.RecordedAt.Time, Position: e.Position,
	}
}

func (c *Changes) put(r *Row) {
	c.Rows[r.ProposalID] = r
	c.changed[r.ProposalID] = true
}
