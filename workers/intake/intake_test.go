package intake_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/schemas"
	"iris.example/iris/workers/intake"
)

// book carries claims out, and holds the first of them until several are in hand: with one at a time it would wait for ever.
type book struct {
	mu       sync.Mutex
	inHand   int
	together chan struct{} // closed when enough were in hand at once
	order    map[string][]string
}

const atOnce = 4

func (b *book) Claimed(ctx context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
	b.mu.Lock()
	b.inHand++
	if b.inHand == atOnce {
		close(b.together)
	}
	b.order[c.Proposal.Member.Subject] = append(b.order[c.Proposal.Member.Subject], c.ID)
	b.mu.Unlock()
	select {
	case <-b.together:
	case <-ctx.Done():
	}
	return acts.ClaimAnswer{Outcome: events.OutcomePending}, ctx.Err()
}

func (b *book) Park(context.Context, acts.Unread) error  { return nil }
func (b *book) SweepParked(context.Context) (int, error) { return 0, nil }
func (b *book) Publish(string, []byte) error             { return nil }

// Claims of several members are carried out at once, those of one member in the order in which they came, each once.
func TestManyMembersAtOnceAndEachInOrder(t *testing.T) {
	t.Parallel()
	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	log, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, log.CreateInbox(t.Context()))
	const members, each = 24, 8
	want := map[string][]string{}
	for n := range members * each {
		subject, id := fmt.Sprintf("member-%d", n%members), fmt.Sprintf("c-%d", n)
		want[subject] = append(want[subject], id)
		require.NoError(t, log.Resubmit(t.Context(), "acme", "notes", []byte(fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/n","type":"iris.memory.proposed.v1",
			"data":{"member":{"subject":%q},"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":"x","origin":"model-inferred"}}`, id, subject))))
	}
	inbox, err := log.Claims(t.Context(), "intake")
	require.NoError(t, err)
	contract, err := schemas.Compile()
	require.NoError(t, err)
	b := &book{together: make(chan struct{}), order: map[string][]string{}}
	settled := make(chan struct{}, members*each)
	worker, err := intake.New(intake.Config{
		Source: inbox, Contract: contract, Claims: b, Outcomes: b, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
		Observe: func(intake.Observation) { settled <- struct{}{} },
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	for range members * each {
		<-settled
	}
	stop()
	require.NoError(t, <-done)
	inbox.Close()
	_, waiting, err := log.OldestClaim(t.Context())
	require.NoError(t, err)
	require.False(t, waiting, "every claim is acknowledged: a stop waits for that too")
	require.Equal(t, want, b.order)
}
