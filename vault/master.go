package vault

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"fmt"

	"iris.example/iris/internal/keyfile"
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
	key, err := keyfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open master key: %w: %w", ErrMaster, err)
	}
	aead, err := derive(key, "iris/master/v1")
	if err != nil {
		return nil, fmt.Errorf("open master key %s: %w: %w", path, ErrMaster, err)
	}
	return fileMaster{aead}, nil
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
