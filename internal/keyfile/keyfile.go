// Package keyfile keeps keys in files of their own that only their owner may read. What it returns is on the disk, the name in its
// folder too: what is sealed or signed under a key is synced, and would outlast a power loss alone. A file is never repaired or
// replaced, and nobody ever sees half of one.
package keyfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// size of the keys that are made here.
const size = 32

// Open reads a key of 32 bytes, or makes it the first time. Processes that start at once agree on one.
func Open(path string) ([]byte, error) {
	key, err := Read(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	made := make([]byte, size)
	_, _ = rand.Read(made) // never fails (crypto/rand)
	if err := Keep(path, made); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make key %s: %w", path, err)
	}
	return Read(path)
}

// Read reads a key that Open made: fs.ErrNotExist where there is none.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read key: %w", err)
	}
	defer f.Close()
	if err := check(f); err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, err)
	}
	key := make([]byte, size)
	if _, err := io.ReadFull(f, key); err != nil {
		return nil, fmt.Errorf("read key %s: %w", path, err)
	}
	return key, nil
}

func check(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("not a regular file; name the file itself")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may read it (mode %04o); run chmod 600 on it, and if they may have read it, replace it and what it protects", info.Mode().Perm())
	case info.Size() != size:
		return fmt.Errorf("%d bytes instead of %d; restore it from its backup: a new one opens nothing of what it protects", info.Size(), size)
	}
	return nil
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
