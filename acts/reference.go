package acts

import (
	"context"
	"errors"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/reader"
	recallrows "iris.example/iris/projections/recalls"
	"iris.example/iris/runner"
)

// UsedMemories is the body of POST /v1/recall/{id}/used (spec 10.5).
type UsedMemories struct {
	MemoryIDs []events.ID `json:"memoryIds"`
}

// Referenced is how many memories a report has counted: those that no report of the same recall had counted before.
type Referenced struct {
	Done
	Counted int
}

// Used counts what an assistant used of a recall of the token's member.
func (a *Acts) Used(ctx context.Context, c Caller, r Request, recall events.ID, in UsedMemories) (Referenced, error) {
	id, err := a.concerned(ctx, c, nil)
	if err != nil {
		return Referenced{}, err
	}
	row, err := a.awaitRecall(ctx, c.Organisation, func(s *reader.Session) (recallrows.Row, error) { return recallrows.Get(ctx, s, id, recall) })
	if errors.Is(err, engine.ErrBehind) { // what isn't there after the wait is not found
		err = reader.ErrNotFound
	}
	if err != nil {
		return Referenced{}, notFound(err)
	}
	outcome, err := a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: c.asClient(), Trace: r.Trace, Setting: setting(c.Defined),
		Body: member.Reference{RecallID: recall, MemoryIDs: in.MemoryIDs, Returned: row.ReturnedIDs},
	}, in)
	if err != nil {
		return Referenced{}, err
	}
	done := Referenced{Done: Done{outcome.Position}}
	for _, e := range outcome.Events {
		if counted, ok := e.Event.(*events.MemoryReferenced); ok {
			done.Counted = len(counted.MemoryIDs)
		}
	}
	return done, nil
}
