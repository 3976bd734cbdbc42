package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/runner"
)

// answered is what a call in the background came to.
type answered struct {
	outcome runner.Outcome
	err     error
}

func inBackground(call func() (runner.Outcome, error)) <-chan answered {
	answer := make(chan answered, 1)
	go func() {
		outcome, err := call()
		answer <- answered{outcome, err}
	}()
	return answer
}

// running runs a command in the background.
func (b *bench) running(ctx context.Context, r *members, name string, body member.Command) <-chan answered {
	command := b.command(name, body)
	return inBackground(func() (runner.Outcome, error) { return r.Run(ctx, command) })
}

var errGone = errors.New("the caller has gone")

// Everything that waits for a book ends with its own context, and says that nothing was stored. The command of who holds the book counts,
// and who stays gets the book after it.
func TestWhoWaitsForABookGoesWithTheirContext(t *testing.T) {
	t.Parallel()
	look := func(*member.State, uint64) error { return errors.New("looked") }
	book := events.Member(person)
	for name, wait := range map[string]func(context.Context, *bench, *members) error{
		"run": func(ctx context.Context, b *bench, r *members) error {
			return (<-b.running(ctx, r, "gone", words("Prefers milk."))).err
		},
		"view": func(ctx context.Context, _ *bench, r *members) error { return r.View(ctx, org, book, look) },
		"look": func(ctx context.Context, _ *bench, r *members) error { return r.Look(ctx, org, book, look) },
		"read": func(ctx context.Context, _ *bench, r *members) error {
			return r.Read(ctx, org, book, func(*member.State) []events.ID { return nil }, look)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := setup()
				faulty := eventlog.NewFaulty(b.log)
				r := b.process(t, faulty)
				b.open(t, r)
				before := b.commits(t)
				come, goOn := faulty.HangNext(eventlog.OpAppend)
				holder := b.running(t.Context(), r, "holder", words("Prefers tea."))
				<-come

				ctx, cancel := context.WithCancelCause(t.Context())
				gone := inBackground(func() (runner.Outcome, error) { return runner.Outcome{}, wait(ctx, b, r) })
				timed, stop := context.WithTimeout(t.Context(), time.Second)
				defer stop()
				late := inBackground(func() (runner.Outcome, error) { return runner.Outcome{}, wait(timed, b, r) })
				stays := b.running(t.Context(), r, "stays", words("Prefers cake."))
				synctest.Wait()
				require.Empty(t, gone)
				cancel(errGone)
				nothingStored(t, (<-gone).err, errGone)
				nothingStored(t, (<-late).err, context.DeadlineExceeded)
				require.Equal(t, before, b.commits(t), "the broker still owes the holder its answer")

				goOn()
				first, second := <-holder, <-stays
				require.NoError(t, first.err)
				require.EqualValues(t, before+1, first.outcome.Position)
				require.NoError(t, second.err)
				require.EqualValues(t, before+2, second.outcome.Position)
				require.Equal(t, before+2, b.commits(t))

				again := <-b.running(t.Context(), r, "gone", words("Prefers milk."))
				require.NoError(t, again.err)
				require.False(t, again.outcome.Repeated)
				require.EqualValues(t, before+3, again.outcome.Position)
			})
		})
	}
}

func nothingStored(t *testing.T, err, cause error) {
	t.Helper()
	require.ErrorIs(t, err, runner.ErrUnavailable)
	require.ErrorIs(t, err, cause)
	require.NotErrorIs(t, err, runner.ErrOutcomeUnknown)
}

// Half of those who wait go at the very moment at which the book becomes free. Whoever stays has their turn, and whoever goes either
// had theirs or stored nothing.
func TestNoTurnIsLost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup()
		faulty := eventlog.NewFaulty(b.log)
		r := b.process(t, faulty)
		b.open(t, r)
		before := b.commits(t)
		come, goOn := faulty.HangNext(eventlog.OpAppend)
		holder := b.running(t.Context(), r, "holder", words("Prefers tea."))
		<-come

		leaving, leave := context.WithCancelCause(t.Context())
		var stay, leaves []<-chan answered
		for n := range 40 {
			stay = append(stay, b.running(t.Context(), r, fmt.Sprint("stays ", n), words(fmt.Sprintf("Likes the number %d.", n))))
			leaves = append(leaves, b.running(leaving, r, fmt.Sprint("goes ", n), words(fmt.Sprintf("Dislikes the number %d.", n))))
		}
		synctest.Wait()
		var both sync.WaitGroup
		both.Go(goOn)
		both.Go(func() { leave(errGone) })
		both.Wait()
		require.NoError(t, (<-holder).err)
		stored := 1
		for _, answer := range stay {
			require.NoError(t, (<-answer).err)
			stored++
		}
		for _, answer := range leaves {
			if left := <-answer; left.err != nil {
				nothingStored(t, left.err, errGone)
			} else {
				stored++
			}
		}
		require.Equal(t, before+stored, b.commits(t))
	})
}

// A decision that waits for its second role leaves the first, and its own book, when its caller goes.
func TestAJoinThatIsGivenUpLeavesWhatItTook(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := setup()
		faulty := eventlog.NewFaulty(b.log)
		c := b.curating(t, faulty)
		c.people()
		const statistician = "statistician" // after reviewer
		memory, first := c.offer(proposer, "a", "Check the units of every table before the numbers.")
		shared := c.do(proposer, "share b", member.ProposeShare{MemoryID: memory, Program: "default", Role: statistician})
		candidate := shared.Events[0].Event.(*events.ShareProposed).Link.Plain.CandidateID
		before := b.commits(t)

		come, goOn := faulty.HangNext(eventlog.OpTogether)
		accepting := c.as(curator, "accept", member.AcceptCandidate{Role: statistician, CandidateID: candidate})
		holder := inBackground(func() (runner.Outcome, error) { return c.members.Run(t.Context(), accepting) })
		<-come
		ctx, cancel := context.WithCancelCause(t.Context())
		forgetting := c.as(proposer, "forget", member.Forget{MemoryID: memory})
		gone := inBackground(func() (runner.Outcome, error) { return c.members.Run(ctx, forgetting) })
		synctest.Wait()
		waits := inBackground(func() (runner.Outcome, error) {
			return runner.Outcome{}, c.roles.Look(t.Context(), org, events.Role(reviewer), func(*rolememory.State, uint64) error { return nil })
		})
		synctest.Wait()
		require.Empty(t, waits, "the forget holds the first role while it waits for the second")
		cancel(errGone)
		nothingStored(t, (<-gone).err, errGone)
		require.NoError(t, (<-waits).err)
		require.Equal(t, rolememory.StageSubmitted, c.stage(first))
		require.NoError(t, c.members.Look(t.Context(), org, events.Member(proposer), func(s *member.State, _ uint64) error {
			require.Nil(t, s.Entries[memory].ForgetAt)
			return nil
		}))
		require.Equal(t, before, b.commits(t))

		goOn()
		require.NoError(t, (<-holder).err)
		require.Equal(t, before+2, b.commits(t))
		done, err := c.members.Run(t.Context(), forgetting)
		require.NoError(t, err)
		require.False(t, done.Repeated)
		require.Equal(t, before+5, b.commits(t), "both roles' and the book's")
	})
}

// Who gives up between two attempts, the first of which certainly stored nothing, hears the same.
func TestWhoGoesAfterAConflictStoredNothing(t *testing.T) {
	t.Parallel()
	b := setup()
	faulty := eventlog.NewFaulty(b.log)
	r := b.process(t, faulty)
	b.open(t, r)
	before := b.commits(t)
	faulty.FailNextWith(eventlog.OpAppend, eventlog.ErrorBefore, eventlog.ErrConflict)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errGone)
	_, err := r.Run(ctx, b.command("gone", words("Prefers tea.")))
	nothingStored(t, err, errGone)
	require.Equal(t, before, b.commits(t))

	faulty.FailNext(eventlog.OpAppend, eventlog.ErrorBefore)
	_, err = r.Run(ctx, b.command("unknown", words("Prefers tea.")))
	require.ErrorIs(t, err, runner.ErrOutcomeUnknown, "for all that is known the append may have arrived")
}
