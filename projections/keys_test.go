package projections_test

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"sync"

	"iris.example/iris/events"
)

// testKeys seals everything under one fixed key. Rows in gone answer key_unavailable, and down is an outage of the whole vault.
type testKeys struct {
	mu   sync.Mutex
	gone map[events.ID]bool
	down error
}

func (k *testKeys) aead() cipher.AEAD {
	block, err := aes.NewCipher(make([]byte, 32))
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

func (k *testKeys) Seal(_ context.Context, _ events.KeyRef, aad, plain []byte) ([]byte, error) {
	nonce := make([]byte, 12)
	rand.Read(nonce)
	return k.aead().Seal(nonce, nonce, plain, aad), nil
}

func (k *testKeys) Open(_ context.Context, ref events.KeyRef, aad, box []byte) ([]byte, error) {
	k.mu.Lock()
	gone, down := k.gone[ref.Row], k.down
	k.mu.Unlock()
	if down != nil {
		return nil, down
	}
	if gone {
		return nil, events.ErrKeyUnavailable
	}
	plain, err := k.aead().Open(nil, box[:12], box[12:], aad)
	if err != nil {
		return nil, events.ErrTampered
	}
	return plain, nil
}

// SearchTokens keys by member, so that the same word of two members has nothing in common.
func (k *testKeys) SearchTokens(_ context.Context, org string, member events.ID) (func(parts ...string) string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.down != nil {
		return nil, k.down
	}
	return func(parts ...string) string {
		mac := hmac.New(sha256.New, []byte(org+string(member)))
		mac.Write([]byte(strings.Join(parts, "\x00")))
		return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	}, nil
}

func (k *testKeys) set(change func(*testKeys)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	change(k)
}

// anyContract accepts every event: the schemas are another room's.
type anyContract struct{}

func (anyContract) Check(events.Type, []byte) error { return nil }
