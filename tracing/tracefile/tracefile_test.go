package tracefile_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/tracing"
	"iris.example/iris/tracing/tracefile"
)

const outside = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func lines(t *testing.T, path string) map[string]tracefile.Line {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	all := map[string]tracefile.Line{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var l tracefile.Line
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &l))
		all[l.Step] = l
	}
	return all
}

// What an outside span began goes on through the envelope's traceparent, in one trace.
func TestOneTrace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "traces")
	traces, err := tracefile.Open(path)
	require.NoError(t, err)
	tracer := traces.Tracer()
	require.True(t, tracer.On())
	ctx, intake := tracer.Continue(context.Background(), outside, tracing.Intake, tracing.Position(7))
	inner, act := tracer.Begin(ctx, tracing.Act, tracing.Aggregate("member"))
	envelope := tracing.Parent(inner, "")
	act.Note(tracing.Outcome("refused"))
	act.End("opted_out")
	intake.End("")
	_, project := tracer.Continue(context.Background(), envelope, tracing.Project)
	project.End("")
	require.NoError(t, traces.Stop(context.Background()))

	written := lines(t, path)
	require.Len(t, written, 3)
	for _, l := range written {
		require.Equal(t, "4bf92f3577b34da6a3ce929d0e0e4736", l.Trace)
		require.GreaterOrEqual(t, l.Took.Nanoseconds(), int64(0))
	}
	require.Equal(t, "00f067aa0ba902b7", written["intake"].Parent)
	require.Equal(t, map[string]any{"iris.position": 7.0}, written["intake"].Attributes)
	require.Equal(t, written["intake"].Span, written["act"].Parent)
	require.Equal(t, "opted_out", written["act"].Code)
	require.Equal(t, written["act"].Span, written["project"].Parent)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
}

// Without a provider nothing happens, and what came from outside is carried on as it came.
func TestOff(t *testing.T) {
	t.Parallel()
	var off tracing.Tracer
	require.False(t, off.On())
	ctx, span := off.Continue(context.Background(), outside, tracing.HTTP, tracing.Status(200))
	require.Equal(t, outside, tracing.Parent(ctx, outside))
	span.Note(tracing.Attempt(1))
	span.End("internal")
}

// A traceparent that isn't one begins a trace of its own.
func TestABrokenParentBeginsATrace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "traces")
	traces, err := tracefile.Open(path)
	require.NoError(t, err)
	for _, parent := range []string{"", "00-0-0-0", "00-00000000000000000000000000000000-00f067aa0ba902b7-01"} {
		ctx, span := traces.Tracer().Continue(context.Background(), parent, tracing.HTTP)
		require.Len(t, tracing.Parent(ctx, ""), len(outside))
		span.End("")
	}
	require.NoError(t, traces.Stop(context.Background()))
	require.Empty(t, lines(t, path)["http"].Parent)
	_, err = tracefile.Open(filepath.Join(t.TempDir(), "no", "such", "folder"))
	require.Error(t, err)
}
