package log

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCosts(t *testing.T) {
	t.Parallel()
	c := newCosts(false)
	require.False(t, c.worthABatch(12))
	require.True(t, c.worthABatch(13))
	for range 20 { // a busy disk: a batch costs forty appends
		c.wentTogether(40 * c.single)
	}
	require.False(t, c.worthABatch(32))
	require.True(t, c.worthABatch(41))
	for range 200 { // nobody measures what isn't tried: it is forgotten
		c.wentAlone(10, 10*c.single)
	}
	require.True(t, c.worthABatch(15))
	for range 50 { // a slower disk makes a batch worth it sooner
		c.wentAlone(10, 10*time.Millisecond)
	}
	require.InDelta(t, float64(time.Millisecond), float64(c.single), float64(50*time.Microsecond))

	c = newCosts(true)
	require.True(t, c.worthABatch(3))
	require.False(t, c.worthABatch(1), "one is never a batch")
}
