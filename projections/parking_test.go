package projections_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/recalls"
)

// read finds one message again.
func (s *stream) read(_ context.Context, _ string, position uint64) (log.Message, error) {
	for _, m := range s.messages {
		if m.Sequence == position {
			return m, nil
		}
	}
	return log.Message{}, log.ErrUnavailable
}

// parkingLine is the access stream's line over recalls of two members, the second commit's key not to be had.
func parkingLine(t *testing.T) (b *bundle, s *stream, line *engine.Line, fix func()) {
	b, s = setup(t), newStream("acme")
	one, two := s.id(), s.id()
	for _, member := range []events.ID{one, one, two, one, two} {
		s.recall(s.resolved(member))
	}
	whole := s.messages[1].Body
	s.messages[1].Body = replaceOnce(whole, `"irisprevseq":"1"`, `"irisprevseq":"0"`) // readable, and its seals fit no longer
	tries := 0
	b.project(s, overAccess(s), func(c *engine.Config) {
		c.Report = func(status engine.Status) {
			if status.State == engine.Retrying {
				tries++
				require.ErrorIs(t, status.Err, events.ErrTampered)
			}
		}
	})
	require.Equal(t, 2, tries, "tried three times, twice after a pause, and then set aside")
	line, err := engine.New(b.config(s, overAccess(s)))
	require.NoError(t, err)
	return b, s, line, func() { s.messages[1].Body = whole }
}

func (b *bundle) rowsAt() (positions []uint64) {
	b.t.Helper()
	rows, err := b.super.Query(context.Background(), "SELECT position FROM recalls ORDER BY 1")
	require.NoError(b.t, err)
	for rows.Next() {
		var p uint64
		require.NoError(b.t, rows.Scan(&p))
		positions = append(positions, p)
	}
	require.NoError(b.t, rows.Err())
	return positions
}

func parkedAt(t *testing.T, line *engine.Line) map[uint64]string {
	t.Helper()
	all, err := line.Parked(t.Context())
	require.NoError(t, err)
	codes := map[uint64]string{}
	for _, p := range all {
		codes[p.Position] = p.State + " " + p.Code
		require.WithinDuration(t, time.Now(), p.FirstSeen, time.Hour)
	}
	return codes
}

func TestPoisonIsSetAsideWithWhatItsAggregateHasBehindIt(t *testing.T) {
	t.Parallel()
	b, s, line, fix := parkingLine(t)
	want := map[uint64]string{2: "parked seal_does_not_match", 4: "parked " + engine.QueuedBehind}
	require.Equal(t, []uint64{1, 3, 5}, b.rowsAt(), "others go on")
	require.Equal(t, want, parkedAt(t, line))
	require.EqualValues(t, s.last, b.position(events.AccessStreamFor("acme")))

	// What comes later of that aggregate queues too, in whatever process.
	member := s.commits[0].Aggregate.ID
	s.recall(s.resolved(member))
	b.project(s, overAccess(s))
	want[6] = "parked " + engine.QueuedBehind
	require.Equal(t, want, parkedAt(t, line))

	// In vain: nothing moved but the count.
	err := line.Retry(t.Context(), 4)
	require.ErrorIs(t, err, engine.ErrStillBad)
	require.ErrorIs(t, err, events.ErrTampered)
	all, err := line.Parked(t.Context())
	require.NoError(t, err)
	require.Equal(t, 4, all[0].Attempts)
	require.Equal(t, []uint64{1, 3, 5}, b.rowsAt())

	fix()
	require.NoError(t, line.Retry(t.Context(), 2))
	require.Empty(t, parkedAt(t, line))
	require.EqualValues(t, 6, b.position(events.AccessStreamFor("acme")), "the cursor stays where it was")
	require.ErrorIs(t, line.Retry(t.Context(), 2), engine.ErrNotParked)
	got := b.dump()
	b.clear()
	b.project(s, overAccess(s))
	require.Equal(t, b.dump(), got, "as if nothing had been wrong")

	s.recall(s.resolved(member))
	b.project(s, overAccess(s))
	require.Empty(t, parkedAt(t, line), "and it goes on by itself")
}

func TestWhatIsDiscardedIsRememberedAndHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	b, s, line, fix := parkingLine(t)
	for _, words := range []string{"", "because Ada said so", "-", string(make([]byte, 65))} {
		require.ErrorIs(t, line.Discard(t.Context(), 2, words), engine.ErrReason)
	}
	require.ErrorIs(t, line.Discard(t.Context(), 3, "ticket-7"), engine.ErrNotParked)
	require.NoError(t, line.Discard(t.Context(), 2, "ticket-7"))
	require.Equal(t, []uint64{1, 3, 4, 5}, b.rowsAt())
	all, err := line.Parked(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, [2]string{"discarded", "ticket-7"}, [2]string{all[0].State, all[0].Reason})
	require.ErrorIs(t, line.Retry(t.Context(), 2), engine.ErrNotParked)

	// It stays given up when everything comes again, also once it could be read.
	b.exec("UPDATE cursors SET position = 0")
	b.exec("DELETE FROM recalls")
	fix()
	b.project(s, overAccess(s))
	require.Equal(t, []uint64{1, 3, 4, 5}, b.rowsAt())
}

func TestACommitThatCannotBeReadIsParkedAlone(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	for range 3 {
		s.recall(s.resolved(member))
	}
	s.messages[1].Body = []byte(`[{"type":"iris.recall.dreamt.v1"}]`)
	for _, size := range []int{1, 500} {
		b.clear()
		b.project(s, overAccess(s), func(c *engine.Config) { c.MaxBatch = size })
		require.Equal(t, []uint64{1, 3}, b.rowsAt())
	}
	line, err := engine.New(b.config(s, overAccess(s)))
	require.NoError(t, err)
	require.Equal(t, map[uint64]string{2: "parked event_type_unknown"}, parkedAt(t, line))
}

func TestAnOutageOfKeysParksNothing(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	s.recall(s.resolved(s.id()))
	down := errors.New("vault unreachable")
	s.keys.set(func(k *testKeys) { k.down = down })
	failed := make(chan error, 1000)
	run := b.start(b.config(s, overAccess(s), func(c *engine.Config) {
		c.Report = func(status engine.Status) {
			if status.State == engine.Retrying {
				failed <- status.Err
			}
		}
	}))
	for range 5 {
		require.ErrorIs(t, <-failed, down)
	}
	require.Empty(t, parkedAt(t, run.line))
	s.keys.set(func(k *testKeys) { k.down = nil })
	b.await(b.marks, b.config(s, overAccess(s)), 1)
	require.Equal(t, []uint64{1}, b.rowsAt())
	run.stop()
	require.NoError(t, <-run.done)
}

// A projection that fails on one commit among many, whatever the batch.
type refusing struct {
	engine.Appending
	at *uint64
}

func (refusing) Name() string                  { return "refusing" }
func (r refusing) Begin(string) engine.Changes { return r }
func (r refusing) Apply(e events.Recorded) error {
	if e.Position == *r.at {
		return engine.ErrInconsistent
	}
	return nil
}
func (refusing) Write(*pgx.Batch) {}

func TestWhatDoesNotFollowIsParkedInAnyBatching(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	one, two := s.id(), s.id()
	for range 5 {
		s.recall(s.resolved(one))
		s.recall(s.resolved(two))
	}
	at := uint64(5)
	with := func(c *engine.Config) {
		c.Projections = []engine.Projection{refusing{at: &at}, recalls.Projection{}, refusing{at: &at}}
	}
	for _, size := range []int{1, 3, 500} {
		b.clear()
		at = 5
		b.project(s, overAccess(s), with, func(c *engine.Config) { c.MaxBatch = size })
		require.Equal(t, []uint64{1, 2, 3, 4, 6, 8, 10}, b.rowsAt())
		line, err := engine.New(b.config(s, overAccess(s), with))
		require.NoError(t, err)
		at = 7 // the next one that fails is another
		require.ErrorIs(t, line.Retry(t.Context(), 9), engine.ErrStillBad)
		require.Equal(t, []uint64{1, 2, 3, 4, 5, 6, 8, 10}, b.rowsAt(), "as far as it goes")
		require.Equal(t, map[uint64]string{7: "parked event_does_not_follow", 9: "parked " + engine.QueuedBehind}, parkedAt(t, line))
		at = 0
		require.NoError(t, line.Retry(t.Context(), 7))
		require.Len(t, b.rowsAt(), 10)
	}
}
