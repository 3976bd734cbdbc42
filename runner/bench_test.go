package runner_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// One writer, a log in memory: what the runner itself takes for a command that is stored, for one that is so already, and for a look.
func BenchmarkRun(b *testing.B) {
	ctx := context.Background()
	setup := func(b *testing.B) (*bench, *members) {
		on := setup()
		r := on.process(b, on.log)
		on.open(b, r)
		b.ReportAllocs()
		return on, r
	}
	b.Run("committed", func(b *testing.B) {
		on, r := setup(b)
		n := 0
		for b.Loop() {
			n++
			implicit := n%2 == 0
			done, err := r.Run(ctx, on.command(fmt.Sprint("toggle ", n), member.ChangeSettings{ImplicitPromotion: &implicit}))
			require.NoError(b, err)
			require.Len(b, done.Events, 1)
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		on, r := setup(b)
		command := on.command("again", member.Join{Program: "default"})
		for b.Loop() {
			_, err := r.Run(ctx, command)
			require.NoError(b, err)
		}
	})
	b.Run("look", func(b *testing.B) {
		_, r := setup(b)
		for b.Loop() {
			require.NoError(b, r.Look(ctx, org, events.Member(person), func(*member.State, uint64) error { return nil }))
		}
	})
}
