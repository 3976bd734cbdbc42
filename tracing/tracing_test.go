package tracing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/tracing"
)

// TestOnlyATraceParentIsCarriedOn: a producer says what it likes in a claim's traceparent, and the envelope stands in clear.
func TestOnlyATraceParentIsCarriedOn(t *testing.T) {
	t.Parallel()
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	require.Equal(t, good, tracing.Parent(context.Background(), good))
	for _, bad := range []string{
		"", "Ada takes 20 mg at night", good + " ", good + "-00", "01" + good[2:], "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
	} {
		require.Empty(t, tracing.Parent(context.Background(), bad), bad)
	}
}
