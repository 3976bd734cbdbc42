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
		l := newLine()
		for i := range 60 {
			l.join(&waiting{aggregate: events.Role(string(rune('a' + i%different)))})
		}
		return l
	}
	taken, many := g.take(waiters(1))
	require.Len(t, taken.waiting, 1)
	require.False(t, many)

	taken, many = g.take(waiters(20))
	require.Len(t, taken.waiting, 20)
	require.True(t, many)
}
