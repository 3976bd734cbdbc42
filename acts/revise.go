package acts

import (
	"context"
	"errors"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
)

// Edits are the body of a PATCH (spec 10.3). Nil: as it is.
type Edits struct {
	Body     *string          `json:"body,omitempty"`
	Category *events.Category `json:"category,omitempty"`
	Subject  *string          `json:"subject,omitempty"`
}

// Break is the body of a pause (spec 10.3). Nil: until it is resumed.
type Break struct {
	Until *events.Time `json:"until,omitempty"`
}

// Moved is a memory after a pause, a resume or a restore.
type Moved struct {
	Done
	MemoryID   events.ID
	RevisionID events.ID
}

// RevisionConflict says that a memory has changed since the caller read it (412). Named is the revision that the caller named;
// nil where the memory has none of that id, or it can't be read now. Current is nil in the latter case only.
type RevisionConflict struct {
	Current, Named *Revision
	cause          error
}

func (c *RevisionConflict) Error() string { return "edit a memory: " + c.cause.Error() }

func (c *RevisionConflict) Unwrap() error { return c.cause }

// Revise edits a memory that stands at the revision ifMatch.
func (a *Acts) Revise(ctx context.Context, c Caller, r Request, memory, ifMatch events.ID, in Edits) (Kept, error) {
	known, err := a.known(ctx, c)
	if err != nil {
		return Kept{}, err
	}
	command := member.Edit{MemoryID: memory, IfMatch: ifMatch, Body: in.Body, Category: in.Category, Subject: in.Subject, Known: known}
	outcome, err := a.own(ctx, c, r, struct {
		Edits
		IfMatch events.ID `json:"ifMatch"`
	}{in, ifMatch}, command)
	if refusal, ok := aggregates.AsRefusal(err); ok && refusal.Code == "revision_conflict" {
		return Kept{}, a.conflict(ctx, c, memory, ifMatch, err)
	}
	if err != nil {
		return keptAlready(unknown(err, "memory_unknown"))
	}
	kept := Kept{Done: Done{outcome.Position}, MemoryID: memory, RevisionID: ifMatch, Outcome: events.OutcomeKept}
	for _, e := range outcome.Events {
		if revised, ok := e.Event.(*events.MemoryRevised); ok {
			kept.RevisionID = revised.RevisionID
		}
	}
	return kept, nil
}

// conflict reads both revisions from the read model, once it has the newer. That it can't be read takes nothing from the refusal.
func (a *Acts) conflict(ctx context.Context, c Caller, memory, named events.ID, cause error) error {
	conflict := &RevisionConflict{cause: cause}
	position := uint64(0)
	err := a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(_ *member.State, at uint64) error {
		position = at
		return nil
	})
	if err != nil {
		return conflict
	}
	limited, cancel := context.WithTimeout(ctx, rowWait)
	defer cancel()
	if a.Visible(limited, c, position) != nil {
		return conflict
	}
	newest, err := a.History(ctx, c, memory, reader.Page{Limit: 1})
	if err != nil {
		return conflict
	}
	conflict.Current = &newest.Items[0]
	if of, err := a.revision(ctx, c, memory, named); err == nil {
		conflict.Named = of
	}
	return conflict
}

// Pause stops a memory from being used, until an instant or until it is resumed.
func (a *Acts) Pause(ctx context.Context, c Caller, r Request, memory events.ID, in Break) (Moved, error) {
	return a.move(ctx, c, r, memory, in, member.Pause{MemoryID: memory, Until: in.Until})
}

// Resume ends a pause.
func (a *Acts) Resume(ctx context.Context, c Caller, r Request, memory events.ID) (Moved, error) {
	return a.move(ctx, c, r, memory, struct{}{}, member.Resume{MemoryID: memory})
}

// Restore takes a forget back.
func (a *Acts) Restore(ctx context.Context, c Caller, r Request, memory events.ID) (Moved, error) {
	return a.move(ctx, c, r, memory, struct{}{}, member.Restore{MemoryID: memory})
}

func (a *Acts) move(ctx context.Context, c Caller, r Request, memory events.ID, in any, command member.Command) (Moved, error) {
	outcome, err := a.own(ctx, c, r, in, command)
	if err != nil {
		return Moved{}, unknown(err, "memory_unknown")
	}
	moved := Moved{Done: Done{outcome.Position}, MemoryID: memory, RevisionID: movedTo(outcome)}
	if moved.RevisionID != "" {
		return moved, nil
	}
	// Nothing to do: the revision is the one that stands.
	err = a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		if e, ok := book.Entries[memory]; ok {
			moved.RevisionID = e.RevisionID
		}
		return nil
	})
	return moved, err
}

func movedTo(o runner.Outcome) events.ID {
	for _, e := range o.Events {
		switch e := e.Event.(type) {
		case *events.MemoryPaused:
			return e.RevisionID
		case *events.MemoryResumed:
			return e.RevisionID
		case *events.MemoryRestored:
			return e.RevisionID
		}
	}
	return ""
}

// AsRevisionConflict unwraps one.
func AsRevisionConflict(err error) (*RevisionConflict, bool) {
	var c *RevisionConflict
	ok := errors.As(err, &c)
	return c, ok
}
