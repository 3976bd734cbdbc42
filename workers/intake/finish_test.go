package intake_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
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

// slow holds a claim in hand until it is let go.
type slow struct {
	book
	took, let chan struct{}
}

func (s *slow) Claimed(ctx context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
	s.took <- struct{}{}
	select {
	case <-s.let:
		return acts.ClaimAnswer{Outcome: events.OutcomePending}, nil
	case <-ctx.Done():
		return acts.ClaimAnswer{}, ctx.Err()
	}
}

// A stop takes nothing more in and finishes what is in hand; what wasn't in hand is there for the next one.
func TestAStopFinishesWhatIsInHand(t *testing.T) {
	t.Parallel()
	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	log, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, log.CreateInbox(t.Context()))
	for _, id := range []string{"c-1", "c-2"} { // of one member: the second waits behind the first
		require.NoError(t, log.Resubmit(t.Context(), "acme", "notes", []byte(fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/n","type":"iris.memory.proposed.v1",
			"data":{"member":{"subject":"ada"},"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":"x","origin":"model-inferred"}}`, id))))
	}
	inbox, err := log.Claims(t.Context(), "intake")
	require.NoError(t, err)
	contract, err := schemas.Compile()
	require.NoError(t, err)
	s := &slow{took: make(chan struct{}, 2), let: make(chan struct{})}
	var outcomes []string
	worker, err := intake.New(intake.Config{
		Source: inbox, Contract: contract, Claims: s, Outcomes: s, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
		Observe: func(o intake.Observation) { outcomes = append(outcomes, o.Outcome) },
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	<-s.took
	stop()
	select {
	case <-done:
		require.Fail(t, "it ended with a claim in hand")
	case <-time.After(100 * time.Millisecond):
	}
	close(s.let)
	require.NoError(t, <-done)
	require.Equal(t, []string{"pending"}, outcomes)
	inbox.Close()
	_, waiting, err := log.OldestClaim(t.Context())
	require.NoError(t, err)
	require.True(t, waiting, "the second claim is still there")
}
