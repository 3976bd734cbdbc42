package acts

import (
	"context"
	"errors"
	"time"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
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
	row, err := a.recallOf(ctx, c.Organisation, id, recall)
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

// usedWait bounds how long a report waits for the row of its recall, which is made a moment after the answer (spec 10.5).
const usedWait = time.Second

func (a *Acts) recallOf(ctx context.Context, org string, member, recall events.ID) (recallrows.Row, error) {
	find := func() (row recallrows.Row, err error) {
		err = a.Read.Models.WithOrganisation(ctx, org, func(s *reader.Session) error {
			row, err = recallrows.Get(ctx, s, member, recall)
			return err
		})
		return row, err
	}
	row, err := find()
	if !errors.Is(err, reader.ErrNotFound) {
		return row, err
	}
	stream := events.AccessStreamFor(org)
	last, err := a.Stream.Last(ctx, stream)
	if err != nil {
		return recallrows.Row{}, err
	}
	limited, cancel := context.WithTimeout(ctx, usedWait)
	defer cancel()
	_ = a.Read.Wait.Wait(limited, org, stream, last) // behind or not: what isn't there after it is not found
	return find()
}
