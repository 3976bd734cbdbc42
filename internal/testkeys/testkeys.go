// Package testkeys holds keys in memory, for fast tests of rooms that seal and open but are not about the vault: real AES-GCM
// under a key for each reference. Tests of the whole use the vault itself.
package testkeys

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"iris.example/iris/events"
)

// Keys is safe for concurrent use. Destroy makes a key unavailable.
type Keys struct {
	mu        sync.Mutex
	destroyed map[events.KeyRef]bool
	refuse    error
}

// New makes an empty set.
func New() *Keys { return &Keys{destroyed: map[events.KeyRef]bool{}} }

var _ events.Keys = (*Keys)(nil)

// Destroy takes a key away.
func (k *Keys) Destroy(ref events.KeyRef) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.destroyed[ref] = true
}

// Refuse makes every call fail with err; nil ends it.
func (k *Keys) Refuse(err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refuse = err
}

func (k *Keys) aead(ref events.KeyRef) (cipher.AEAD, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.refuse != nil {
		return nil, k.refuse
	}
	if k.destroyed[ref] {
		return nil, events.ErrKeyUnavailable
	}
	name, err := events.Canonical(ref)
	if err != nil {
		return nil, err
	}
	key := sha256.Sum256(name)
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal seals under the reference's key.
func (k *Keys) Seal(_ context.Context, ref events.KeyRef, aad, plain []byte) ([]byte, error) {
	aead, err := k.aead(ref)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, plain, aad), nil
}

// Open opens what Seal sealed.
func (k *Keys) Open(_ context.Context, ref events.KeyRef, aad, box []byte) ([]byte, error) {
	aead, err := k.aead(ref)
	if err != nil {
		return nil, err
	}
	plain, err := aead.Open(nil, nil, box, aad)
	if err != nil {
		return nil, events.ErrTampered
	}
	return plain, nil
}

// Allocate hands out a fresh id.
func (k *Keys) Allocate(context.Context, string) (events.ID, error) { return events.RandomID() }

// MAC is keyed by the reference.
func (k *Keys) MAC(_ context.Context, ref events.KeyRef, data []byte) ([]byte, error) {
	name, err := events.Canonical(ref)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, name)
	mac.Write(data)
	return mac.Sum(nil), nil
}

// Fingerprinter is keyed by the member.
func (k *Keys) Fingerprinter(_ context.Context, org string, member events.ID) (func(parts ...string) string, error) {
	return func(parts ...string) string {
		mac := hmac.New(sha256.New, []byte(org+"/"+string(member)))
		for _, part := range parts {
			mac.Write([]byte(hex.EncodeToString([]byte(part)) + "."))
		}
		return hex.EncodeToString(mac.Sum(nil))
	}, nil
}
