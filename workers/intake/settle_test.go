package intake_test

import (
	"context"
	"encoding/json"
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
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/workers/intake"
)

// desk is a real inbox with an intake whose claims are carried out by a function.
type desk struct {
	t       *testing.T
	log     *eventlog.JetStream
	claimed func(ctx context.Context, c acts.Claim) (acts.ClaimAnswer, error)
	parked  chan string // why
	told    chan string // claim and outcome, as its producer hears it
	stop    func()      // stops intake and waits for its end
}

func (d *desk) Claimed(ctx context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
	return d.claimed(ctx, c)
}
func (d *desk) Park(_ context.Context, u acts.Unread) error {
	d.parked <- u.Code
	return nil
}
func (d *desk) SweepParked(context.Context) (int, error) { return 0, nil }

// Publish holds the order as it goes: recorded, told, acknowledged. What is told of stands in the inbox still.
func (d *desk) Publish(_ string, data []byte) error {
	_, waiting, err := d.log.OldestClaim(d.t.Context())
	if err != nil || !waiting {
		d.t.Errorf("acknowledged before it was told: %v", err)
	}
	var heard struct {
		Data struct{ Claim, Outcome string }
	}
	err = json.Unmarshal(data, &heard)
	d.told <- heard.Data.Claim + " " + heard.Data.Outcome
	return err
}

func newDesk(t *testing.T, claimed func(context.Context, acts.Claim) (acts.ClaimAnswer, error)) *desk {
	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	d := &desk{t: t, claimed: claimed, parked: make(chan string, 1000), told: make(chan string, 1000)}
	d.log, err = eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, d.log.CreateInbox(t.Context()))
	inbox, err := d.log.Claims(t.Context(), "intake")
	require.NoError(t, err)
	contract, err := schemas.Compile()
	require.NoError(t, err)
	worker, err := intake.New(intake.Config{
		Source: inbox, Contract: contract, Claims: d, Outcomes: d, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
	})
	require.NoError(t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	d.stop = sync.OnceFunc(func() {
		stop()
		require.NoError(t, <-done)
		inbox.Close()
	})
	t.Cleanup(d.stop)
	return d
}

func (d *desk) claims(id, member string) {
	d.t.Helper()
	require.NoError(d.t, d.log.Resubmit(d.t.Context(), "acme", "notes", fmt.Appendf(nil, `{"specversion":"1.0","id":%q,"source":"/n","type":"iris.memory.proposed.v1",
		"data":{"member":{"subject":%q},"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":"x","origin":"model-inferred"}}`, id, member)))
}

func (d *desk) empty() {
	d.t.Helper()
	_, waiting, err := d.log.OldestClaim(d.t.Context())
	require.NoError(d.t, err)
	require.False(d.t, waiting, "everything is acknowledged")
}

// A member whose claim takes long, and who has many, stands in nobody's way.
func TestOneMembersClaimsHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	let := make(chan struct{})
	d := newDesk(t, func(ctx context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
		if c.Proposal.Member.Subject == "ada" {
			<-let
		}
		return acts.ClaimAnswer{Outcome: events.OutcomePending}, nil
	})
	const many = 40
	for n := range many {
		d.claims(fmt.Sprint("ada-", n), "ada")
	}
	for n := range many {
		d.claims(fmt.Sprint("bob-", n), "bob")
	}
	for n := range many {
		require.Equal(t, fmt.Sprintf("bob-%d pending", n), <-d.told)
	}
	close(let)
	for n := range many {
		require.Equal(t, fmt.Sprintf("ada-%d pending", n), <-d.told)
	}
	d.stop()
	d.empty()
}

// Error returned, effect persisted: a claim whose recording nobody can be sure of comes again, is found recorded, and its producer
// hears of it once, as of a claim that was recorded at once. Later claims of other members don't wait for it.
func TestAClaimThatMayBeRecordedComesAgain(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	recorded := map[string]int{}
	heard := make(chan struct{}) // the other member's claim was
	d := newDesk(t, func(_ context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
		mu.Lock()
		again := recorded[c.ID] > 0
		mu.Unlock()
		if again {
			<-heard
		}
		mu.Lock()
		defer mu.Unlock()
		answer := acts.ClaimAnswer{Outcome: events.OutcomePending, Repeated: recorded[c.ID] > 0}
		if recorded[c.ID]++; c.ID == "c-1" && recorded[c.ID] == 1 {
			return acts.ClaimAnswer{}, runner.ErrOutcomeUnknown
		}
		return answer, nil
	})
	d.claims("c-1", "ada")
	d.claims("c-2", "bob")
	require.Equal(t, "c-2 pending", <-d.told)
	close(heard)
	require.Equal(t, "c-1 pending", <-d.told, "not as a duplicate: its producer sent it once")
	d.claims("c-1", "ada")
	require.Equal(t, "c-1 duplicate", <-d.told)
	d.stop()
	d.empty()
	require.Equal(t, map[string]int{"c-1": 3, "c-2": 1}, recorded)
	require.Empty(t, d.told)
}

// A claim that makes an event which breaks its schema is our fault, and no repetition mends it: it is parked at its first delivery,
// with its reason, and neither comes again nor is dropped by the inbox unseen. While an attempt may still be stored it comes again.
func TestAClaimThatBreaksOurContractIsParkedAtOnce(t *testing.T) {
	t.Parallel()
	breaks := fmt.Errorf("event: %w: %w", events.ErrContract, schemas.ErrViolation)
	var mu sync.Mutex
	came := map[string]int{}
	d := newDesk(t, func(_ context.Context, c acts.Claim) (acts.ClaimAnswer, error) {
		mu.Lock()
		defer mu.Unlock()
		if came[c.ID]++; c.ID == "c-2" && came[c.ID] == 1 {
			return acts.ClaimAnswer{}, fmt.Errorf("%w: %w", runner.ErrOutcomeUnknown, breaks)
		}
		return acts.ClaimAnswer{}, breaks
	})
	d.claims("c-1", "ada")
	require.Equal(t, "c-1 rejected", <-d.told)
	require.Equal(t, "event_breaks_contract", <-d.parked)
	d.claims("c-2", "ada")
	require.Equal(t, "c-2 rejected", <-d.told)
	require.Equal(t, "event_breaks_contract", <-d.parked)
	d.stop()
	require.Eventually(t, func() bool {
		_, waiting, err := d.log.OldestClaim(t.Context())
		return err == nil && !waiting
	}, time.Minute, 10*time.Millisecond, "they are ended, and nobody waits for the broker to know it")
	require.Equal(t, map[string]int{"c-1": 1, "c-2": 2}, came)
}
