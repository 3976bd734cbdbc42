//go:build unix

package dirlock_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/dirlock"
)

func TestOneHolderAtATime(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := dirlock.Take(path)
	require.NoError(t, err)
	_, err = dirlock.Take(path)
	require.ErrorIs(t, err, dirlock.ErrHeld)
	first.Release()
	first.Release()
	second, err := dirlock.Take(path)
	require.NoError(t, err)
	second.Release()
	(*dirlock.Lock)(nil).Release()
}
