package acts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/projections/reader"
	recallrows "iris.example/iris/projections/recalls"
	"iris.example/iris/recalls"
)

// Stream reads single messages of a stream.
type Stream interface {
	Last(ctx context.Context, stream string) (uint64, error)
	At(ctx context.Context, stream string, sequence uint64) (eventlog.Message, error)
}

// ProveRecall computes a recall again and compares (spec 3.3). The read model only says where the envelope stands; what is
// compared comes from the streams.
func (a *Acts) ProveRecall(ctx context.Context, c Caller, recall events.ID) (recalls.Proof, error) {
	if !c.Principal.Has(identity.AuditRead) {
		return recalls.Proof{}, fmt.Errorf("prove a recall: %w", &NotPermitted{identity.AuditRead})
	}
	row, err := a.awaitRecall(ctx, c.Organisation, func(s *reader.Session) (recallrows.Row, error) { return recallrows.Find(ctx, s, recall) })
	if err != nil {
		return recalls.Proof{}, notFound(err)
	}
	message, err := a.Stream.At(ctx, events.AccessStreamFor(c.Organisation), row.Position)
	if err != nil {
		return recalls.Proof{}, fmt.Errorf("read the envelope of recall %s: %w", recall, err)
	}
	commit, err := a.Codec.Decode(ctx, message.Sequence, message.Body)
	if err != nil {
		return recalls.Proof{}, fmt.Errorf("read the envelope of recall %s: %w", recall, err)
	}
	envelope, ok := commit.Events[0].Event.(*events.RecallResolved)
	if !ok || envelope.RecallID != recall {
		return recalls.Proof{}, fmt.Errorf("%w: position %d holds no envelope of recall %s", events.ErrMalformed, row.Position, recall)
	}
	return a.Recalls.Prove(ctx, c.Organisation, envelope)
}

// awaitRecall finds the row of a recall. One that was answered a moment ago may not be in the read model yet: before it counts as
// unknown, the read model stands where the access stream ends, or the error is engine.ErrBehind (spec 10.5).
func (a *Acts) awaitRecall(ctx context.Context, org string, find func(*reader.Session) (recallrows.Row, error)) (row recallrows.Row, err error) {
	look := func() error {
		return a.Read.Models.WithOrganisation(ctx, org, func(s *reader.Session) (err error) { row, err = find(s); return err })
	}
	if err := look(); !errors.Is(err, reader.ErrNotFound) {
		return row, err
	}
	stream := events.AccessStreamFor(org)
	last, err := a.Stream.Last(ctx, stream)
	if err != nil {
		return row, err
	}
	limited, cancel := context.WithTimeout(ctx, rowWait)
	defer cancel()
	behind := a.Read.Wait.Wait(limited, org, stream, last)
	if err = look(); behind != nil && errors.Is(err, reader.ErrNotFound) { // it may be there, although others behind it aren't
		return row, behind
	}
	return row, err
}

// rowWait is how long a recall's row is waited for (spec 10.5).
const rowWait = time.Second
