package serving

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Migrating again changes no key, and says so where one can't be read, before a process is started with it.
func TestMigrateKeepsTheKeysItFinds(t *testing.T) {
	t.Parallel()
	c := MigrateConfig{Keys: filepath.Join(t.TempDir(), "keys")}
	_, err := c.makeKeys()
	require.NoError(t, err)
	made, err := readCursorKey(c.Keys)
	require.NoError(t, err)
	_, err = c.makeKeys()
	require.NoError(t, err)
	again, err := readCursorKey(c.Keys)
	require.NoError(t, err)
	require.Equal(t, made, again)

	require.NoError(t, os.WriteFile(filepath.Join(c.Keys, cursorKeyFile), made[:7], 0o600)) // as a power loss might leave it
	_, err = c.makeKeys()
	require.ErrorContains(t, err, "7 bytes instead of 32")
}
