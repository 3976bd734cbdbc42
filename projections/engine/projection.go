// Package engine carries one stream of one organisation into the read models (spec 9.4).
//
// It guarantees: rows, cursor and gaps change in one transaction, and the cursor row is the lock, so that delivery at least
// once has its effect exactly once, however many lines run; a commit at or below the cursor changes nothing; a position that
// the stream no longer has is recorded, never a stall; nothing is skipped. What can't be decoded or doesn't follow from the
// rows before it stops the line, after everything before it has been applied, and the line says so; a line that says nothing
// about what may be used parks it instead, with whatever its aggregate has behind it. What the database or the network did is
// tried again from the cursor until the context ends.
//
// A projection has no clock, randomness or effect: the same events give the same rows in any batching.
package engine

import (
	"errors"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

var (
	ErrConfig       = errors.New("projector_config")
	ErrPoison       = errors.New("projector_stopped") // the line can't pass this commit; it won't be skipped
	ErrLostLock     = errors.New("projector_lost_lock")
	ErrBehind       = errors.New("projection_behind")
	ErrInconsistent = errors.New("event_does_not_follow") // it builds upon a row that isn't there, or makes one that is
	ErrForeign      = errors.New("commit_of_another_stream")
)

// Projection is one read model.
type Projection interface {
	// Name stands in errors.
	Name() string
	// Begin makes the empty changes of one transaction in one organisation.
	Begin(org string) Changes
}

// Changes collects what one transaction does to a read model. The engine expects every event of the transaction, loads, applies
// every event in order, and writes, each of them once.
type Changes interface {
	// Expect notes the rows that e builds upon.
	Expect(e events.Recorded)
	// Load queues the reads of those rows, locked.
	Load(b *pgx.Batch)
	// Apply is pure: the rows so far and e make the rows after it.
	Apply(e events.Recorded) error
	// Write queues the writes: one row per key, however often it changed.
	Write(b *pgx.Batch)
}

// Column is one column of rows, as unnest takes it.
func Column[R, T any](rows []R, value func(R) T) []T {
	column := make([]T, len(rows))
	for i, row := range rows {
		column[i] = value(row)
	}
	return column
}

// Appending is what Changes embed that only ever add rows: their events build upon nothing.
type Appending struct{}

func (Appending) Expect(events.Recorded) {}
func (Appending) Load(*pgx.Batch)        {}
