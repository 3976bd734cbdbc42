package runner_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/runner"
)

// Every command is observed once, with what became of it and what stood in its way.
func TestObservations(t *testing.T) {
	t.Parallel()
	b := setup()
	faulty := eventlog.NewFaulty(b.log)
	c, err := contract()
	require.NoError(t, err)
	var seen []runner.Observation
	r, err := runner.Members(runner.Config{
		Log: faulty, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Screen: screen(), Now: b.clock,
		Observe: func(o runner.Observation) { seen = append(seen, o) },
	})
	require.NoError(t, err)
	b.open(t, r)
	require.Len(t, seen, 4)
	last := func() runner.Observation {
		o := seen[len(seen)-1]
		require.Equal(t, events.AggregateMember, o.Aggregate)
		require.Positive(t, o.Took)
		return o
	}
	require.Equal(t, runner.Committed, last().Result)

	faulty.FailNextWith(eventlog.OpAppend, eventlog.ErrorBefore, eventlog.ErrConflict)
	spoken := b.command("words", words("Prefers tea."))
	_, err = r.Run(context.Background(), spoken)
	require.NoError(t, err)
	require.Equal(t, runner.Committed, last().Result)
	require.Equal(t, 1, last().Conflicts)
	_, err = r.Run(context.Background(), spoken)
	require.NoError(t, err)
	require.Equal(t, runner.Repeated, last().Result)

	faulty.FailNextWith(eventlog.OpAppend, eventlog.ErrorAfter, eventlog.ErrAmbiguous)
	_, err = r.Run(context.Background(), b.command("more words", words("Prefers milk.")))
	require.NoError(t, err)
	require.Equal(t, 1, last().Ambiguous)
	require.Equal(t, runner.Committed, last().Result, "its own commit was found")

	_, err = r.Run(context.Background(), b.command("no words", words("")))
	require.Error(t, err)
	require.ErrorIs(t, last().Err, err)
	require.Empty(t, last().Result)
	require.Len(t, seen, 8)
}
