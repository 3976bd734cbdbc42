package vault

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// A box is one version byte, the 16-byte id of the key used, and nonce and ciphertext of AES-256-GCM. The id names the
// member's or the organisation's key, not the derived one, and is what Open looks up: nothing is tried.
const (
	boxVersion = 1
	boxHeader  = 1 + 16
	boxGrowth  = boxHeader + 12 + 16

	keySize = 32
)

// sealBox is safe up to 2^32 boxes per derived key: nonces are random.
func sealBox(id uuid.UUID, aead cipher.AEAD, aad, plain []byte) []byte {
	box := make([]byte, boxHeader, boxGrowth+len(plain))
	box[0] = boxVersion
	copy(box[1:], id[:])
	return aead.Seal(box, nil, plain, aad)
}

// boxKey reads which key a box names.
func boxKey(box []byte) (uuid.UUID, error) {
	if len(box) < boxGrowth || box[0] != boxVersion {
		return uuid.Nil, fmt.Errorf("%w: not a box", events.ErrTampered)
	}
	return uuid.UUID(box[1:boxHeader]), nil
}

// openBox drops the cipher's own error, which says nothing more.
func openBox(aead cipher.AEAD, aad, box []byte) ([]byte, error) {
	plain, err := aead.Open(nil, nil, box[boxHeader:], aad)
	if err != nil {
		return nil, events.ErrTampered
	}
	return plain, nil
}

// derive makes the AEAD of one purpose from key material; no two purposes share an info.
func derive(secret []byte, info string) (cipher.AEAD, error) {
	key, err := deriveKey(secret, info)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func deriveKey(secret []byte, info string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, nil, info, keySize)
}

// joined length-prefixes, so that no two lists of parts have the same bytes.
func joined(parts ...string) []byte {
	size := 0
	for _, part := range parts {
		size += 4 + len(part)
	}
	out := make([]byte, 0, size)
	for _, part := range parts {
		out = binary.BigEndian.AppendUint32(out, uint32(len(part)))
		out = append(out, part...)
	}
	return out
}

func newMAC(key []byte, parts ...string) hash.Hash {
	mac := hmac.New(sha256.New, key)
	mac.Write(joined(parts...))
	return mac
}
