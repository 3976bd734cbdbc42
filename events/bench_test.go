package events_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func BenchmarkEncode(b *testing.B) {
	c, _ := codec(b)
	for b.Loop() {
		_, err := c.Encode(context.Background(), commitOf(canary, 41))
		require.NoError(b, err)
	}
}

func BenchmarkDecode(b *testing.B) {
	c, _ := codec(b)
	body, err := c.Encode(context.Background(), commitOf(canary, 41))
	require.NoError(b, err)
	for b.Loop() {
		_, err := c.Decode(context.Background(), 42, body)
		require.NoError(b, err)
	}
}

// BenchmarkDecodeLabels is what the projector does with a claim.
func BenchmarkDecodeLabels(b *testing.B) {
	c, _ := codec(b)
	body, err := c.Encode(context.Background(), commitOf(canary, 41))
	require.NoError(b, err)
	labels := c.Opening("labels")
	for b.Loop() {
		_, err := labels.Decode(context.Background(), 42, body)
		require.NoError(b, err)
	}
}
