package keyfile_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/keyfile"
)

func TestAKeyIsMadeOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "key")
	keys := make([][]byte, 8)
	var starts sync.WaitGroup
	for i := range keys {
		starts.Go(func() {
			key, err := keyfile.Open(path)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	starts.Wait()
	for _, key := range keys {
		require.Len(t, key, 32)
		require.Equal(t, keys[0], key, "those who start at once agree")
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing lies beside it")
}

func TestAKeyIsNeverReplaced(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	require.NoError(t, keyfile.Keep(path, []byte("a wrapped key")))
	require.ErrorIs(t, keyfile.Keep(path, []byte("another")), fs.ErrExist)
	_, err := keyfile.Open(path)
	require.ErrorContains(t, err, "13 bytes instead of 32; restore it")
	kept, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "a wrapped key", string(kept))
	_, err = keyfile.Open(filepath.Join(path, "below a file"))
	require.Error(t, err)
	_, err = keyfile.Open(t.TempDir())
	require.ErrorContains(t, err, "not a regular file")
}

func TestAKeyThatOthersMayReadIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	_, err := keyfile.Open(path)
	require.NoError(t, err)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o602} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = keyfile.Open(path)
		require.ErrorContains(t, err, "chmod 600")
	}
}

func TestReadMakesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	_, err := keyfile.Read(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.NoFileExists(t, path)
}
