package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"iris.example/iris/internal/keyfile"
	"iris.example/iris/vault"
)

// wrappedKey reads a key that stands in its file wrapped by the master key, or makes it the first time. The store that it
// encrypts can't be opened without the master key (spec 9.2).
func wrappedKey(ctx context.Context, master vault.Master, path string) (string, error) {
	box, err := os.ReadFile(path)
	if err == nil {
		key, err := master.Unwrap(ctx, box)
		if err != nil {
			return "", fmt.Errorf("unwrap %s: the master key is another one than it was made with: %w", path, err)
		}
		return hex.EncodeToString(key), nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read %s: %w", path, err)
	}
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return "", err
	}
	if box, err = master.Wrap(ctx, key); err != nil {
		return "", fmt.Errorf("wrap a key for %s: %w", path, err)
	}
	return hex.EncodeToString(key), keyfile.Keep(path, box)
}
