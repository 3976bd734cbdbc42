//go:build unix

package pgserver

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAClosedParentDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	closed := filepath.Join(t.TempDir(), "closed")
	require.NoError(t, os.Mkdir(closed, 0o700))
	stranger := owner{name: "stranger", uid: 54321, gid: 54321, handOver: true}

	err := stranger.checkWay(filepath.Join(closed, "postgres"))
	require.ErrorIs(t, err, ErrUnreachable)
	require.ErrorContains(t, err, closed)
	require.ErrorContains(t, err, "chmod o+x")

	require.NoError(t, os.Chmod(closed, 0o711))
	err = stranger.checkWay(filepath.Join(closed, "postgres"))
	if err != nil { // the test's own parents may be closed too; never this one
		require.NotContains(t, err.Error(), closed+" ")
	}
}

func TestNewestComesFirst(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, v := range []string{"9", "16", "15"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgresql", v, "bin"), 0o700))
	}
	got := newestFirst(filepath.Join(dir, "postgresql", "*", "bin"))
	require.Len(t, got, 3)
	require.Equal(t, filepath.Join(dir, "postgresql", "16", "bin"), got[0])
	require.Equal(t, filepath.Join(dir, "postgresql", "9", "bin"), got[2])
}

func TestADeadOrDyingPredecessorIsKnownByItsLog(t *testing.T) {
	t.Parallel()
	for tail, want := range map[string]bool{
		`FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use`: true,
		`FATAL:  lock file "postmaster.pid" already exists`:                      true,
		`FATAL:  could not create any Unix-domain sockets`:                       false,
		``: false,
	} {
		require.Equal(t, want, predecessorAlive(tail), tail)
	}
}
