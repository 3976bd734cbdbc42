// Package keyfile keeps keys in files of their own that only their owner may read. What it returns is on the disk, the name in its
// folder too: what is sealed or signed under a key is synced, and would outlast a power loss alone. A file is never repaired or
// replaced, and nobody ever sees half of one.
package keyfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// size of the keys that are made here.
const size = 32

// Open reads a key of 32 bytes, or makes it the first time. Processes that start at once agree on one.
func Open(path string) ([]byte, error) {
	key, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		made := make([]byte, size)
		_, _ = rand.Read(made) // never fails (crypto/rand)
		if err = Keep(path, made); err == nil || errors.Is(err, fs.ErrExist) {
			key, err = os.ReadFile(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open key %s: %w", path, err)
	}
	if len(key) != size {
		return nil, fmt.Errorf("read %s: not a key of %d bytes, but of %d; move it away to have a new one made", path, size, len(key))
	}
	return key, nil
}

// Keep writes a key, wrapped or plain, into a file that isn't there yet: fs.ErrExist if it is. It writes aside and links. Who links
// second syncs the folder too: the first may not have come to it.
func Keep(path string, key []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".key-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(key)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	linked := os.Link(f.Name(), path)
	if linked != nil && !errors.Is(linked, fs.ErrExist) {
		return linked
	}
	if err := syncDir(dir); err != nil {
		return err
	}
	return linked
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
