package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/schemas/growth"
)

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func TestTwoFilesAreComparedBothWays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	before, now := write(t, dir, "old/a.json", `{"enum": ["a"]}`), write(t, dir, "new/a.json", `{"$ref": "../b.json"}`)
	write(t, dir, "b.json", `{"enum": ["a", "b"]}`)
	var out bytes.Buffer
	err := run(dir, []string{before, now}, &out)
	require.ErrorIs(t, err, growth.ErrBroken)
	require.ErrorContains(t, err, `"b"`)
	require.Equal(t, "as input: 0 breaking\nas events: 1 breaking\n", out.String())

	out.Reset()
	document := write(t, dir, "openapi.json", `{"openapi": "3.1.0", "paths": {}}`)
	require.NoError(t, run(dir, []string{document, document}, &out))
	require.Equal(t, "as document: 0 breaking\n", out.String())
	require.NoError(t, run(dir, []string{before, before}, &out))
	require.Error(t, run(dir, []string{document, before}, &out))
	err = run(dir, []string{before, filepath.Join(dir, "none.json")}, &out)
	require.Error(t, err)
	require.NotErrorIs(t, err, growth.ErrBroken)
}

func TestAFolderIsVerifiedAndReleased(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write(t, dir, "lock.json", `{}`)
	write(t, dir, "api/ask.schema.json", `{"enum": ["a", "b"]}`)
	var out bytes.Buffer
	require.NoError(t, run(dir, nil, &out))
	require.Equal(t, "not released yet: api/ask.schema.json\n", out.String())
	out.Reset()
	require.NoError(t, run(dir, []string{"-release"}, &out))
	require.Equal(t, "released api/ask.schema.json\n", out.String())

	write(t, dir, "api/ask.schema.json", `{"enum": ["a"]}`)
	require.ErrorIs(t, run(dir, nil, &out), growth.ErrBroken)
	require.ErrorIs(t, run(dir, []string{"-release"}, &out), growth.ErrBroken)
}

func TestArgumentsThatMeanNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	for _, args := range [][]string{{"one.json"}, {"-release", "a.json", "b.json"}, {"-x"}} {
		require.Error(t, run(t.TempDir(), args, &out), args)
	}
}
