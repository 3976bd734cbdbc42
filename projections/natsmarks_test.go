package projections_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/natsmarks"
)

// counting is the cursor row, and how often it answered: who stopped waiting first asks again.
type counting struct {
	engine.Cursors
	answered atomic.Int64
}

func (c *counting) Position(ctx context.Context, org, stream string) (uint64, error) {
	position, err := c.Cursors.Position(ctx, org, stream)
	if err == nil {
		c.answered.Add(1)
	}
	return position, err
}

// elsewhere is a process that only reads: its own connection and marks, and no patience for the cursor row.
func elsewhere(t *testing.T, b *bundle, connect func(...nats.Option) (*nats.Conn, error)) (*engine.Watermarks, *counting, *nats.Conn) {
	t.Helper()
	conn, err := connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	cursors := &counting{Cursors: b.reader}
	marks := engine.NewWatermarks(cursors, time.Hour)
	stop, err := natsmarks.Subscribe(conn, marks)
	require.NoError(t, err)
	t.Cleanup(stop)
	require.NoError(t, conn.Flush())
	return marks, cursors, conn
}

func TestWhoReadsElsewhereWaitsForTheLine(t *testing.T) {
	t.Parallel()
	b, s, server := setup(t), story("acme"), testkit.NATS(t)
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	marks, cursors, there := elsewhere(t, b, server.Connect)
	memory := log.NewMemory("acme")
	run := b.start(b.config(s, func(c *engine.Config) {
		c.Follow = engine.Followed(memory)
		c.Announce = natsmarks.Publisher{Conn: conn, Here: b.marks}
	}))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stream := events.StreamFor("acme")
	for i, m := range s.messages {
		sequence, err := memory.Append(ctx, "acme", s.commits[i].Aggregate, s.commits[i].PreviousSequence, m.Body)
		require.NoError(t, err)
		require.NoError(t, marks.Wait(ctx, "acme", stream, sequence))
		position, err := b.reader.Position(ctx, "acme", stream)
		require.NoError(t, err)
		require.GreaterOrEqual(t, position, sequence, "told only what is committed")
	}
	require.LessOrEqual(t, cursors.answered.Load(), int64(1), "at most the first look was at the row")

	// Nonsense moves nothing.
	for _, body := range []string{"", "7", `{"line":"","position":"99"}`, `{"line":"IRIS_ACME","position":"-1"}`} {
		require.NoError(t, conn.Publish(natsmarks.Subject("acme"), []byte(body)))
	}
	require.NoError(t, conn.Flush())
	require.NoError(t, there.Flush())
	short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	require.ErrorIs(t, marks.Wait(short, "acme", stream, s.last+1), engine.ErrBehind)
	run.stop()
	require.NoError(t, <-run.done)
}

func TestAfterAReconnectTheRowIsAskedOnce(t *testing.T) {
	t.Parallel()
	b, s, server := setup(t), story("acme"), testkit.NATS(t)
	marks, cursors, conn := elsewhere(t, b, server.Connect)
	stream := events.StreamFor("acme")
	require.NoError(t, conn.Publish(natsmarks.Subject("acme"), []byte(`{"line":"`+stream+`","position":"1"}`)))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	require.NoError(t, conn.Flush())
	b.project(s) // and tells nobody here
	require.NoError(t, conn.ForceReconnect())
	for {
		short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
		err := marks.Wait(short, "acme", stream, s.last)
		stop()
		if err == nil {
			break
		}
		require.NoError(t, ctx.Err())
	}
	require.EqualValues(t, 1, cursors.answered.Load())
}

// Marks go back only where a line says that it begins there.
func TestADatabaseThatWasDroppedIsNotTakenForVisible(t *testing.T) {
	t.Parallel()
	b, server := setup(t), testkit.NATS(t)
	marks, _, _ := elsewhere(t, b, server.Connect)
	conn, err := server.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	line := natsmarks.Publisher{Conn: conn, Here: b.marks}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	line.Announce("acme", "L", 7)
	line.Announce("acme", "L", 5)
	require.NoError(t, marks.Wait(ctx, "acme", "L", 7))
	line.Resumed("acme", "L", 0)
	for _, w := range []*engine.Watermarks{b.marks, marks} {
		for err := error(nil); err == nil; require.NoError(t, ctx.Err()) { // until it was heard
			short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
			err = w.Wait(short, "acme", "L", 7)
			stop()
		}
	}
	line.Announce("acme", "L", 7)
	require.NoError(t, marks.Wait(ctx, "acme", "L", 7))
}
