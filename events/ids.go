package events

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"strconv"

	"github.com/google/uuid"
)

// ID is a UUID in canonical lower-case form. Entity ids are version 7, command ids version 8 (spec 9.2).
type ID string

// CommandID is UUIDv8 over SHA-256 of the length-prefixed parts: organisation, principal, route and Idempotency-Key for a
// request; organisation, producer and CloudEvents id for a claim (spec 9.2).
func CommandID(parts ...string) ID {
	h := sha256.New()
	for _, part := range parts {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:])
		h.Write([]byte(part))
	}
	return shaped(8, h.Sum(nil))
}

// EntityID is UUIDv7 from the instant at which the command was received and HMAC(command id, index): a retry makes the same
// id, another command can't (spec 9.2).
func EntityID(received Time, command ID, index int) ID {
	mac := hmac.New(sha256.New, []byte(command))
	mac.Write([]byte(strconv.Itoa(index)))
	sum := mac.Sum(nil)
	millis := uint64(received.UnixMilli())
	for i := range 6 {
		sum[i] = byte(millis >> (8 * (5 - i)))
	}
	return shaped(7, sum)
}

// RandomID is a fresh version 7 id, for what no command names: a request without a key, a key row.
func RandomID() (ID, error) {
	id, err := uuid.NewV7()
	return ID(id.String()), err
}

func shaped(version byte, sum []byte) ID {
	var u uuid.UUID
	copy(u[:], sum)
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
	return ID(u.String())
}
