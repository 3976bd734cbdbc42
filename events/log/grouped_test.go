package log

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/natsserver"
)

func grouped(t testing.TB, unsafe bool) *Grouped {
	t.Helper()
	dir := t.TempDir()
	s, err := natsserver.Start(context.Background(), natsserver.Config{
		StoreDir: filepath.Join(dir, "nats"), KeyDir: filepath.Join(dir, "keys"), Port: natsserver.NoPort, UnsafeNoSync: unsafe,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop(context.Background())) })
	conn, err := s.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	l, err := New(conn, Config{})
	require.NoError(t, err)
	require.NoError(t, l.CreateOrganisation(context.Background(), "acme"))
	return NewGrouped(l)
}

func someone() events.Aggregate { return events.Member(events.ID(uuid.NewString())) }

// hold keeps the line busy, as an append under way does, until the returned function lets what waits go.
func hold(g *Grouped, org string) (release func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l := newLine()
	l.busy = true
	g.lines[org] = l
	return func() { g.next(org, l) }
}

// waits blocks until n appends wait in the line.
func waits(t *testing.T, g *Grouped, org string, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return len(g.lines[org].queue) == n
	}, time.Minute, time.Millisecond)
}

// What waits together is stored together; who was stale hears it alone; two of one aggregate keep their order.
func TestGroupedStoresWhatWaits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n     int // 5 go alone, 40 together
		stale bool
	}{{5, false}, {5, true}, {40, false}, {40, true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			g := grouped(t, true)
			ctx := context.Background()
			known := someone()
			first, err := g.Append(ctx, "acme", known, 0, []byte("0"))
			require.NoError(t, err)
			release := hold(g, "acme")
			n, stale := c.n, c.stale
			aggregates, sequences, errs := make([]events.Aggregate, n), make([]uint64, n), make([]error, n)
			var group sync.WaitGroup
			for i := range n {
				aggregates[i] = someone()
				group.Go(func() { sequences[i], errs[i] = g.Append(ctx, "acme", aggregates[i], 0, fmt.Append(nil, i)) })
			}
			waits(t, g, "acme", n)
			expected := first
			if stale {
				expected = 0
			}
			var knownErr error
			group.Go(func() { _, knownErr = g.Append(ctx, "acme", known, expected, []byte("1")) })
			waits(t, g, "acme", n+1)
			var second error
			group.Go(func() { _, second = g.Append(ctx, "acme", known, expected, []byte("2")) })
			waits(t, g, "acme", n+2)
			release()
			group.Wait()

			for i := range n {
				require.NoError(t, errs[i])
				message, err := g.At(ctx, events.StreamFor("acme"), sequences[i])
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(i), string(message.Body), "each hears the sequence of its own message")
				require.Equal(t, events.Subject("acme", aggregates[i]), message.Subject)
			}
			if stale {
				require.ErrorIs(t, knownErr, ErrConflict)
			} else {
				require.NoError(t, knownErr)
			}
			require.ErrorIs(t, second, ErrConflict, "two under one expectation: the second lost")
			last, err := g.Last(ctx, events.StreamFor("acme"))
			require.NoError(t, err)
			want := uint64(1 + n + 1)
			if stale {
				want--
			}
			require.Equal(t, want, last, "nothing is stored twice, and nothing of a refused batch")
		})
	}
}

// After many, as many are taken to come again. Where fewer come they go all the same, alone or in the batch that was opened for them.
func TestGroupedAfterMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, opensAt - 1, opensAt, 10} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			g := grouped(t, true)
			release := hold(g, "acme")
			release()
			g.mu.Lock()
			g.lines["acme"].lately = maxGroup
			g.mu.Unlock()
			sequences := make([]uint64, n)
			var group sync.WaitGroup
			for i := range n {
				group.Go(func() {
					var err error
					if sequences[i], err = g.Append(context.Background(), "acme", someone(), 0, fmt.Append(nil, i)); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			for i, sequence := range sequences {
				message, err := g.At(context.Background(), events.StreamFor("acme"), sequence)
				require.NoError(t, err)
				require.Equal(t, fmt.Sprint(i), string(message.Body))
			}
			last, err := g.Last(context.Background(), events.StreamFor("acme"))
			require.NoError(t, err)
			require.EqualValues(t, n, last, "each stands there once")
		})
	}
}

// A batch that others may still join is closed by a stale one as one that was whole from the start.
func TestGroupedOpenedAndStale(t *testing.T) {
	t.Parallel()
	g := grouped(t, true)
	ctx := context.Background()
	stale := someone()
	_, err := g.Append(ctx, "acme", stale, 0, []byte("0"))
	require.NoError(t, err)
	hold(g, "acme")()
	g.mu.Lock()
	g.lines["acme"].lately = maxGroup
	g.mu.Unlock()
	var group sync.WaitGroup
	errs := make([]error, 3*opensAt)
	for i := range errs {
		a := someone()
		if i == opensAt {
			a = stale
		}
		group.Go(func() { _, errs[i] = g.Append(ctx, "acme", a, 0, []byte("1")) })
	}
	group.Wait()
	for i, err := range errs {
		if i == opensAt {
			require.ErrorIs(t, err, ErrConflict)
			continue
		}
		require.NoError(t, err)
	}
	last, err := g.Last(ctx, events.StreamFor("acme"))
	require.NoError(t, err)
	require.EqualValues(t, len(errs), last)
}

func TestGroupedTakesBackWhatIsNotSent(t *testing.T) {
	t.Parallel()
	g := grouped(t, true)
	release := hold(g, "acme")
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, err := g.Append(ctx, "acme", someone(), 0, []byte("x"))
		failed <- err
	}()
	waits(t, g, "acme", 1)
	cancel()
	require.ErrorIs(t, <-failed, ErrUnavailable, "it was not sent, and so isn't unknown")
	release()
	_, err := g.Append(context.Background(), "acme", someone(), 0, []byte("y"))
	require.NoError(t, err, "the line is free again")
	last, err := g.Last(context.Background(), events.StreamFor("acme"))
	require.NoError(t, err)
	require.EqualValues(t, 1, last)
}

// Run with -bench Writers: commits a second with one writer and with many, each with an aggregate of its own.
func BenchmarkWriters(b *testing.B) {
	for _, writers := range []int{1, 32, 100} {
		b.Run(fmt.Sprint(writers), func(b *testing.B) {
			g := grouped(b, false)
			body := make([]byte, 2000)
			var group sync.WaitGroup
			each := b.N/writers + 1
			b.ResetTimer()
			for range writers {
				group.Go(func() {
					a, head := someone(), uint64(0)
					for range each {
						var err error
						if head, err = g.Append(context.Background(), "acme", a, head, body); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(each*writers)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}
