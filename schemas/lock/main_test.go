package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/schemas"
)

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func TestLockAddsAndNeverChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "events/iris.a.b.v1.schema.json", "{}")
	write(t, dir, "examples/iris.a.b.v1/valid/one.json", "1")
	write(t, dir, "examples/iris.a.b.v1/invalid/two.json", "2")
	write(t, dir, "api/propose.schema.json", "{}")
	write(t, dir, "events/envelope.schema.json", "{}")
	require.NoError(t, run(dir))
	first, err := schemas.ReadLock(os.DirFS(dir))
	require.NoError(t, err)
	require.Len(t, first, 2)

	write(t, dir, "api/propose.schema.json", `{"title": "grown"}`)
	write(t, dir, "events/iris.a.b.v2.schema.json", "{}")
	require.NoError(t, run(dir))
	second, err := schemas.ReadLock(os.DirFS(dir))
	require.NoError(t, err)
	require.Len(t, second, 3)
	require.Empty(t, first.Broken(second))

	write(t, dir, "events/iris.a.b.v1.schema.json", `{"title": "changed"}`)
	write(t, dir, "events/iris.a.b.v3.schema.json", "{}")
	require.ErrorContains(t, run(dir), "events/iris.a.b.v1.schema.json")
	require.NoError(t, os.Remove(filepath.Join(dir, "examples/iris.a.b.v1/valid/one.json")))
	require.ErrorContains(t, run(dir), "examples/iris.a.b.v1/valid/one.json")
	after, err := schemas.ReadLock(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, second, after)

	write(t, dir, schemas.LockFile, "not JSON")
	require.Error(t, run(dir))
}
