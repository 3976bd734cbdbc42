package memories

import (
	"fmt"
	"slices"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// Projection fills memory_records and memory_revisions from an organisation's stream.
type Projection struct{}

func (Projection) Name() string { return "memories" }

// Begin makes the empty changes of one transaction.
func (Projection) Begin(org string) engine.Changes { return NewChanges(org) }

// Changes are the rows of one transaction. Records holds what was loaded and what was made, by id.
type Changes struct {
	org       string
	expected  []string // ids of records that the events build upon
	Records   map[events.ID]*Record
	changed   map[events.ID]bool
	Revisions []Revision
}

// NewChanges makes the empty changes; with nothing loaded, applying a whole stream folds it from scratch.
func NewChanges(org string) *Changes {
	return &Changes{org: org, Records: map[events.ID]*Record{}, changed: map[events.ID]bool{}}
}

// Expect notes the record that a further revision builds upon. Loading one twice does no harm.
func (c *Changes) Expect(e events.Recorded) {
	if refused, ok := e.Event.(*events.ProposalRefused); ok {
		c.expected = append(c.expected, string(refused.ProposalID))
	}
	if swept, ok := e.Event.(*events.MemoriesForgotten); ok {
		for _, one := range slices.Concat(swept.Memories, swept.Drafts) {
			c.expected = append(c.expected, string(one.MemoryID))
		}
	}
	if revised := revisedBy(e.Event); revised != nil {
		c.expected = append(c.expected, string(revised.MemoryID))
	}
}

func revisedBy(e events.Event) *events.Revised {
	switch event := e.(type) {
	case *events.ProposalDeclined:
		return &event.Revised
	case *events.MemoryKept:
		return &event.Revised
	case *events.MemoryForgotten:
		return &event.Revised
	case *events.MemorySuperseded:
		return &event.Revised
	case *events.MemoryRevised:
		return &event.Revised
	case *events.MemoryPaused:
		return &event.Revised
	case *events.MemoryResumed:
		return &event.Revised
	case *events.MemoryRestored:
		return &event.Revised
	case *events.MemoryAutoKept:
		return &event.Revised
	case *events.MemoryPromoted:
		return &event.From
	}
	return nil
}

// Apply is pure. Events about anything else change nothing here.
func (c *Changes) Apply(e events.Recorded) error {
	switch event := e.Event.(type) {
	case *events.ProposalRecorded:
		return c.begin(e, event.Entry, event.Labels.Plain, events.LifecycleDraft)
	case *events.MemoryStated:
		return c.begin(e, event.Entry, event.Labels.Plain, events.LifecycleActive)
	case *events.SessionItemKept:
		return c.begin(e, event.Entry, event.Labels.Plain, events.LifecycleActive)
	case *events.MemoryKept:
		return c.revise(e, event.Revised, func(r *Record) {
			r.Lifecycle, r.Origin = events.LifecycleActive, event.Origin
			r.label(event.Labels.Plain)
		})
	case *events.MemoriesForgotten:
		return c.sweep(e, event)
	case *events.MemoryPromoted:
		return c.promote(e, event)
	case *events.MemoryAutoKept:
		return c.revise(e, event.Revised, func(r *Record) {
			r.Lifecycle, r.AutoKept = events.LifecycleActive, true
			r.label(event.Labels.Plain)
		})
	case *events.ProposalDeclined:
		return c.revise(e, event.Revised, func(r *Record) { r.Lifecycle = events.LifecycleTombstoned })
	case *events.ProposalRefused:
		c.bury(event.ProposalID)
	case *events.MemoryForgotten:
		return c.revise(e, event.Revised, func(r *Record) { r.forget(event.ForgetAt.Time) })
	case *events.MemorySuperseded:
		return c.revise(e, event.Revised, func(r *Record) { r.Lifecycle = events.LifecycleSuperseded })
	case *events.MemoryRevised:
		return c.revise(e, event.Revised, func(r *Record) {
			r.Origin, r.AutoKept = event.Origin, false // an edit is a yes
			r.label(event.Labels.Plain)
		})
	case *events.MemoryPaused:
		return c.revise(e, event.Revised, func(r *Record) { r.pause(event.Until) })
	case *events.MemoryResumed:
		return c.revise(e, event.Revised, func(r *Record) { r.Lifecycle = events.LifecycleActive })
	case *events.MemoryRestored:
		return c.revise(e, event.Revised, func(r *Record) { r.Lifecycle, r.ForgetAt = event.Lifecycle, nil })
	}
	return nil
}

func (c *Changes) begin(e events.Recorded, entry events.Entry, labels events.Labels, lifecycle events.Lifecycle) error {
	if c.Records[entry.MemoryID] != nil {
		return fmt.Errorf("%w: memory %s begins twice", engine.ErrInconsistent, entry.MemoryID)
	}
	member := e.Aggregate.ID
	r := &Record{
		MemberID: member, MemoryID: entry.MemoryID, Namespace: events.Namespace(c.org, entry.Tier, entry.Program, member),
		Tier: entry.Tier, Kind: entry.Kind, Program: entry.Program, Origin: entry.Origin, Lifecycle: lifecycle,
		Revision: 1, RevisionID: entry.RevisionID, OnBehalfOf: optional(entry.OnBehalfOf), CreatedAt: e.RecordedAt.Time,
	}
	r.label(labels)
	c.Records[r.MemoryID] = r
	c.minted(e, r, sealed(e))
	return nil
}

// promote begins the memory of tier person, and ends the one that it came from: the texts in the event are the new one's.
func (c *Changes) promote(e events.Recorded, event *events.MemoryPromoted) error {
	if err := c.begin(e, event.Entry, event.Labels.Plain, events.LifecycleActive); err != nil {
		return err
	}
	became := event.MemoryID
	return c.reviseWith(e, event.From, texts{}, func(r *Record) {
		r.Lifecycle, r.PromotedTo = events.LifecycleSuperseded, &became
	})
}

// revise checks that the event follows from the row: same member, and the revision that it says it follows.
func (c *Changes) revise(e events.Recorded, revised events.Revised, change func(*Record)) error {
	return c.reviseWith(e, revised, sealed(e), change)
}

func (c *Changes) reviseWith(e events.Recorded, revised events.Revised, said texts, change func(*Record)) error {
	r := c.Records[revised.MemoryID]
	switch {
	case r == nil || r.MemberID != e.Aggregate.ID:
		return fmt.Errorf("%w: memory %s is not in the book", engine.ErrInconsistent, revised.MemoryID)
	case r.RevisionID != revised.PreviousRevisionID:
		return fmt.Errorf("%w: memory %s stands at revision %s, not %s", engine.ErrInconsistent, r.MemoryID, r.RevisionID, revised.PreviousRevisionID)
	}
	change(r)
	r.Revision++
	r.RevisionID, r.PreviousRevisionID = revised.RevisionID, &revised.PreviousRevisionID
	c.minted(e, r, said)
	return nil
}

// sweep revises what the part names, from whatever revision it stands at.
func (c *Changes) sweep(e events.Recorded, event *events.MemoriesForgotten) error {
	end := func(all []events.Swept, change func(*Record)) error {
		for _, one := range all {
			revised := events.Revised{MemoryID: one.MemoryID, RevisionID: one.RevisionID}
			if r := c.Records[one.MemoryID]; r != nil {
				revised.PreviousRevisionID = r.RevisionID
			}
			if err := c.reviseWith(e, revised, texts{}, change); err != nil {
				return err
			}
		}
		return nil
	}
	if err := end(event.Memories, func(r *Record) { r.forget(event.ForgetAt.Time) }); err != nil {
		return err
	}
	return end(event.Drafts, func(r *Record) { r.Lifecycle = events.LifecycleTombstoned })
}

// bury ends the draft that lost its conflict when the member answered (spec 1.6). It is no revision, and every other refusal has
// no draft.
func (c *Changes) bury(proposal events.ID) {
	if r := c.Records[proposal]; r != nil && r.Lifecycle == events.LifecycleDraft {
		r.Lifecycle = events.LifecycleTombstoned
		c.changed[r.MemoryID] = true
	}
}

// minted stamps the record and writes the revision down.
func (c *Changes) minted(e events.Recorded, r *Record, said texts) {
	r.UpdatedAt, r.Position = e.RecordedAt.Time, e.Position
	r.Body, r.Labels, r.Details = newer(said.body, r.Body), newer(said.labels, r.Labels), newer(said.details, r.Details)
	c.changed[r.MemoryID] = true
	c.Revisions = append(c.Revisions, Revision{
		MemberID: r.MemberID, MemoryID: r.MemoryID, Revision: r.Revision, RevisionID: r.RevisionID,
		PreviousRevisionID: r.PreviousRevisionID, Lifecycle: r.Lifecycle, EventID: e.ID, EventType: e.Type,
		ActorKind: e.Actor.Kind, ActorID: e.Actor.ID, At: e.RecordedAt.Time, Body: said.body, Labels: said.labels, Details: said.details,
		Position: e.Position,
	})
}

// texts are what an event says of a memory. Nil: what it said before stays.
type texts struct{ body, labels, details events.Kept }

// sealed takes the text out of an event. What else it seals is not a memory's: a print belongs to the register.
func sealed(e events.Recorded) texts {
	return texts{e.Kept("body"), e.Kept("labels"), e.Kept("details")}
}

func newer(now, before events.Kept) events.Kept {
	if now != nil {
		return now
	}
	return before
}

// label copies what it takes, in one piece: a record lives longer than the event that it is of, and a fold holds all of them.
func (r *Record) label(labels events.Labels) {
	taken := struct {
		kind     events.ScopeKind
		key      string
		adapter  events.AdapterScope
		category events.Category
	}{labels.Scope.Kind, labels.Scope.Key(r.MemberID), labels.AdapterScope, labels.Category}
	r.ScopeKind, r.ScopeKey, r.AdapterScope = &taken.kind, &taken.key, &taken.adapter
	r.TenantID, r.Category = labels.TenantID, &taken.category
}

func (r *Record) forget(at time.Time) {
	r.ForgetAt = &at
	if r.Lifecycle != events.LifecycleSuperseded { // nothing leads back from there (spec 1.2)
		r.Lifecycle = events.LifecyclePaused
	}
}

// pause: one with an end is a suppression, which the book knows and no row does, and leaves or makes the lifecycle active.
func (r *Record) pause(until *events.Time) {
	r.Lifecycle = events.LifecyclePaused
	if until != nil {
		r.Lifecycle = events.LifecycleActive
	}
}

func optional(id events.ID) *events.ID {
	if id == "" {
		return nil
	}
	return &id
}
