package acts

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/runner"
)

// head is an organisation whose head is looked at only when the test lets a look go on.
type head struct {
	looks int
	goOn  chan error
}

func (h *head) at(ctx context.Context, org string) (*organisation.State, error) {
	h.looks++
	seen := &organisation.State{Organisation: fmt.Sprint(org, "-", h.looks)}
	select {
	case err := <-h.goOn:
		return seen, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type seen struct {
	state *organisation.State
	err   error
}

func ask(ctx context.Context, l *looks, h *head) chan seen {
	answer := make(chan seen, 1)
	go func() {
		state, err := l.at(ctx, "acme", h.at)
		answer <- seen{state, err}
	}()
	synctest.Wait()
	return answer
}

// Who comes while a look is away is not given what that look saw: they all share the next (spec 8).
func TestALookAnswersOnlyWhoAskedBeforeItLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, h := &looks{}, &head{goOn: make(chan error)}
		first := ask(t.Context(), l, h)
		var later []chan seen
		for range 20 {
			later = append(later, ask(t.Context(), l, h))
		}
		require.Equal(t, 1, h.looks)
		h.goOn <- nil
		require.Equal(t, "acme-1", (<-first).state.Organisation)
		synctest.Wait()
		require.Equal(t, 2, h.looks)
		for _, answer := range later {
			require.Empty(t, answer, "no answer of a look that left before they came")
		}
		last := ask(t.Context(), l, h)
		h.goOn <- nil
		for _, answer := range later {
			require.Equal(t, "acme-2", (<-answer).state.Organisation)
		}
		h.goOn <- nil
		require.Equal(t, "acme-3", (<-last).state.Organisation)
		synctest.Wait()
		require.Empty(t, l.away)
		require.Empty(t, l.next)
	})
}

// An error is for those who waited for that look, and one who gives up takes nothing from the others.
func TestALookThatFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, h := &looks{}, &head{goOn: make(chan error)}
		ctx, giveUp := context.WithCancel(t.Context())
		first := ask(ctx, l, h)
		second := ask(t.Context(), l, h)
		giveUp()
		require.ErrorIs(t, (<-first).err, runner.ErrUnavailable)
		failed := errors.New("lost")
		h.goOn <- failed
		synctest.Wait()
		require.Empty(t, second, "the failure was of the look before")
		h.goOn <- nil
		require.NoError(t, (<-second).err)
		third := ask(t.Context(), l, h)
		h.goOn <- failed
		require.ErrorIs(t, (<-third).err, failed)
	})
}
