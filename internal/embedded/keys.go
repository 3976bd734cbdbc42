package embedded

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"iris.example/iris/vault"
)

// keyFile reads a 32-byte key, or makes it the first time.
func keyFile(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	switch {
	case err == nil && len(key) == 32:
		return key, nil
	case err == nil:
		return nil, fmt.Errorf("read %s: not a key of 32 bytes, but of %d; move it away to have a new one made", path, len(key))
	case !errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	key = make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	return key, keep(path, key)
}

// keep writes a key to the disk before anything is sealed under it: what is sealed is synced, and would outlast a power loss alone.
func keep(path string, key []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(key)
	return errors.Join(err, f.Sync(), f.Close())
}

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
	return hex.EncodeToString(key), keep(path, box)
}
