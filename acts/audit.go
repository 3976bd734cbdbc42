package acts

import (
	"context"
	"fmt"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/projections/reader"
	recallrows "iris.example/iris/projections/recalls"
	"iris.example/iris/recalls"
)

// Stream reads single messages of a stream.
type Stream interface {
	At(ctx context.Context, stream string, sequence uint64) (eventlog.Message, error)
}

// ProveRecall computes a recall again and compares (spec 3.3). The read model only says where the envelope stands; what is
// compared comes from the streams.
func (a *Acts) ProveRecall(ctx context.Context, c Caller, recall events.ID) (recalls.Proof, error) {
	if !c.Principal.Has(identity.AuditRead) {
		return recalls.Proof{}, fmt.Errorf("proving a recall takes %s: %w", identity.AuditRead, ErrPermission)
	}
	var row recallrows.Row
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		row, err = recallrows.Find(ctx, s, recall)
		return err
	})
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
