package vault_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/vault"
)

func TestTheMasterKeyFileIsMadeOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "master.key")
	masters := make([]vault.Master, 16)
	var group errgroup.Group
	for i := range masters {
		group.Go(func() (err error) {
			masters[i], err = vault.OpenMasterKey(path)
			return err
		})
	}
	require.NoError(t, group.Wait())
	box, err := masters[0].Wrap(t.Context(), text)
	require.NoError(t, err)
	for _, m := range masters {
		plain, err := m.Unwrap(t.Context(), box)
		require.NoError(t, err)
		require.Equal(t, text, plain)
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	require.EqualValues(t, 32, info.Size())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1)
}

func TestABadMasterKeyFileIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]struct {
		bytes int
		mode  os.FileMode
		says  string
	}{
		"group reads":   {32, 0o640, "chmod 600"},
		"others read":   {32, 0o604, "chmod 600"},
		"others write":  {32, 0o602, "chmod 600"},
		"empty":         {0, 0o600, "restore it"},
		"a byte short":  {31, 0o600, "restore it"},
		"a byte longer": {33, 0o600, "restore it"},
	} {
		path := filepath.Join(t.TempDir(), "master.key")
		content := bytes.Repeat([]byte{0xA7}, file.bytes)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		require.NoError(t, os.Chmod(path, file.mode))
		_, err := vault.OpenMasterKey(path)
		require.ErrorIs(t, err, vault.ErrMaster, name)
		require.ErrorContains(t, err, file.says, name)
		kept, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, content, kept)
	}
	_, err := vault.OpenMasterKey(t.TempDir())
	require.ErrorIs(t, err, vault.ErrMaster)
	_, err = vault.OpenMasterKey(filepath.Join(t.TempDir(), "no", "such", "folder"))
	require.ErrorIs(t, err, vault.ErrMaster)
}

func TestALostMasterKeyStopsTheStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	another, err := vault.OpenMasterKey(filepath.Join(t.TempDir(), "master.key"))
	require.NoError(t, err)
	_, err = vault.Open(t.Context(), vault.Config{URL: b.db.URL(vault.Role), Master: another})
	require.ErrorIs(t, err, vault.ErrMaster)
	require.ErrorContains(t, err, "restore it")
}
