package log

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// Those that race for one aggregate can't go together, however many they are: waiting to batch them would be for a batch of one.
func TestRacersAreNotABatch(t *testing.T) {
	t.Parallel()
	g := NewGrouped(&JetStream{})
	waiters := func(different int) *line {
		l := &line{arrived: make(chan struct{}, 1)}
		for i := range 60 {
			l.queue = append(l.queue, &waiting{aggregate: events.Role(string(rune('a' + i%different)))})
		}
		return l
	}
	waits, _, worth := g.look(waiters(1))
	require.Equal(t, 1, waits)
	require.False(t, worth)
	require.Len(t, g.take(waiters(1)), 1)

	waits, _, worth = g.look(waiters(20))
	require.Equal(t, 20, waits)
	require.True(t, worth)
	require.Len(t, g.take(waiters(20)), 20)
}
