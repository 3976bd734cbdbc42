package bench

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/runner"
)

// BenchmarkCommit and BenchmarkTogether are figures of `iris bench` alone, to look at with -cpuprofile and -blockprofile.
func BenchmarkCommit(b *testing.B) {
	r, ctx := measuring(b)
	for b.Loop() {
		_, err := r.propose(ctx, r.alone)
		require.NoError(b, err)
	}
}

func BenchmarkTogether(b *testing.B) {
	r, ctx := measuring(b)
	r.cfg = Config{Rounds: 3, Each: 200}
	for b.Loop() {
		f, err := r.together(ctx, 32, 2)
		require.NoError(b, err)
		b.ReportMetric(f.Ratio, "ratio")
	}
}

// BenchmarkCold is a cold load: of a small book before its first snapshot, with it, and with some events after it; and of a large one.
func BenchmarkCold(b *testing.B) {
	r, ctx := measuring(b)
	r.cfg = Config{Rounds: 5, Each: 20}
	var err error
	r.other, err = r.write(ctx, "other", 0)
	require.NoError(b, err)
	small, err := r.write(ctx, "small", smallBook)
	require.NoError(b, err)
	load := func(name string, k book, snapshots runner.Snapshots) {
		p, err := r.process(snapshots)
		require.NoError(b, err)
		defer p.Close()
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _, err := r.cold(ctx, p, k)
				require.NoError(b, err)
			}
		})
	}
	load("folded", small, unsaved{r.instance.Snapshots})
	require.NoError(b, r.first(ctx, small))
	load("snapshot", small, r.instance.Snapshots)
	require.NoError(b, r.grow(ctx, &small, smallBook+tailOfSmall))
	load("tail", small, r.instance.Snapshots)
	large, err := r.write(ctx, "large", largeBook)
	require.NoError(b, err)
	load("large", large, r.instance.Snapshots)
}

func measuring(b *testing.B) (*run, context.Context) {
	b.Helper()
	dir, err := os.MkdirTemp("", "iris-bench-")
	require.NoError(b, err)
	require.NoError(b, os.Chmod(dir, 0o711))
	b.Cleanup(func() { require.NoError(b, os.RemoveAll(dir)) })
	ctx := context.Background()
	instance, err := embedded.Start(ctx, embedded.Config{DataDir: filepath.Join(dir, "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, instance.Stop(ctx)) })
	r, err := begin(ctx, Config{}, instance)
	require.NoError(b, err)
	b.Cleanup(func() { r.close(ctx) })
	return r, ctx
}
