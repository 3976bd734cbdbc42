package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Master wraps the organisations' keys. It takes no additional data, since key services behind gocloud.dev/secrets don't:
// whatever binds a wrapped key to its place is inside the plaintext and compared after unwrapping.
type Master interface {
	Wrap(ctx context.Context, plain []byte) (box []byte, err error)
	Unwrap(ctx context.Context, box []byte) (plain []byte, err error)
}

// fileMaster is a Master whose key is a file of this machine.
type fileMaster struct{ aead cipher.AEAD }

// OpenMasterKey reads the master key from a file of 32 bytes that only its owner may read, and makes it when there is none.
// Processes that start at once agree on one. It never repairs or replaces a file.
func OpenMasterKey(path string) (Master, error) {
	key, err := readMasterKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err = createMasterKey(path); err == nil {
			key, err = readMasterKey(path)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open master key %s: %w: %w", path, ErrMaster, err)
	}
	aead, err := derive(key, "iris/master/v1")
	if err != nil {
		return nil, fmt.Errorf("open master key %s: %w: %w", path, ErrMaster, err)
	}
	return fileMaster{aead}, nil
}

func readMasterKey(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file; name the file itself")
	case info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("others may read it (mode %04o); run chmod 600 on it, and if they may have read it, replace the vault", info.Mode().Perm())
	case info.Size() != keySize:
		return nil, fmt.Errorf("%d bytes instead of %d; restore it from its backup, a new one opens nothing", info.Size(), keySize)
	}
	key := make([]byte, keySize)
	_, err = io.ReadFull(f, key)
	return key, err
}

// createMasterKey writes aside and links, so that nobody ever sees half a key; who links second keeps the first one's.
func createMasterKey(path string) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".master-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	key := newKey()
	_, err = f.Write(key[:])
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (m fileMaster) Wrap(_ context.Context, plain []byte) ([]byte, error) {
	return m.aead.Seal(nil, nil, plain, nil), nil
}

func (m fileMaster) Unwrap(_ context.Context, box []byte) ([]byte, error) {
	return m.aead.Open(nil, nil, box, nil)
}

// newKey can't fail: crypto/rand ends the process rather than return less than it was asked for.
func newKey() (key [keySize]byte) {
	rand.Read(key[:])
	return key
}
