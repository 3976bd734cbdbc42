package projector

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
)

// reading is a stream of an organisation and a line's source of it, in time that passes only while everybody waits.
type reading struct {
	t      *testing.T
	ctx    context.Context
	log    *log.Memory
	source engine.Source
}

func newReading(t *testing.T) *reading {
	r := &reading{t: t, ctx: t.Context(), log: log.NewMemory("acme")}
	var err error
	r.source, err = paced(engine.Followed(r.log))(r.ctx, events.StreamFor("acme"), 0)
	require.NoError(t, err)
	t.Cleanup(r.source.Close)
	return r
}

func (r *reading) append(commits int) {
	r.t.Helper()
	head, err := r.log.Head(r.ctx, "acme", events.Organisation())
	require.NoError(r.t, err)
	for range commits {
		head, err = r.log.Append(r.ctx, "acme", events.Organisation(), head, []byte("{}"))
		require.NoError(r.t, err)
	}
}

// next says what a reading brought, and how long it took.
func (r *reading) next(limit int) (brought int, took time.Duration) {
	r.t.Helper()
	began := time.Now()
	messages, err := r.source.Next(r.ctx, limit)
	require.NoError(r.t, err)
	return len(messages), time.Since(began)
}

func TestABusyLineLetsCommitsGather(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t)
		for _, c := range []struct {
			commits int
			rest    time.Duration // before they are read, for what was read before
		}{{1, 0}, {1, 0}, {5, 0}, {2, 5 * gatherEach}, {400, 2 * gatherEach}, {3, gatherMost}, {1, 3 * gatherEach}, {1, 0}} {
			r.append(c.commits)
			brought, took := r.next(500)
			require.Equal(t, c.commits, brought)
			require.Equal(t, c.rest, took, "%d commits", c.commits)
		}
	})
}

func TestALineThatIsFarBehindDoesNotRest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t)
		r.append(30)
		for range 3 {
			brought, took := r.next(10)
			require.Equal(t, 10, brought)
			require.Zero(t, took)
		}
	})
}

// The end of its context ends a rest, too: a stop doesn't wait for commits to gather.
func TestAStopEndsARest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newReading(t)
		r.append(20)
		r.next(500)
		ctx, stop := context.WithCancel(r.ctx)
		began := time.Now()
		time.AfterFunc(time.Millisecond, stop)
		_, err := r.source.Next(ctx, 500)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, time.Millisecond, time.Since(began))
	})
}
