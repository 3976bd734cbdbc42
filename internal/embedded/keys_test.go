package embedded

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAKeyFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	made, err := keyFile(path)
	require.NoError(t, err)
	require.Len(t, made, 32)
	again, err := keyFile(path)
	require.NoError(t, err)
	require.Equal(t, made, again)

	require.NoError(t, os.WriteFile(path, made[:31], 0o600))
	_, err = keyFile(path)
	require.EqualError(t, err, "read "+path+": not a key of 32 bytes, but of 31; move it away to have a new one made")
}
