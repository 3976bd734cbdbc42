//go:build unix

package dirlock

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Between its fork and its program a child has a copy of every open file. It held the lock on after Release.
func TestACopyOfTheFileHoldsNoLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Take(path)
	require.NoError(t, err)
	copied, err := syscall.Dup(int(first.file.Fd()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = syscall.Close(copied) })
	first.Release()
	second, err := Take(path)
	require.NoError(t, err)
	second.Release()
}
