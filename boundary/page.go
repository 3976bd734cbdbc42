package boundary

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"strconv"
	"strings"
)

const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Limit reads a list's ?limit=: 1 to 200 in plain digits, 50 when absent.
func Limit(s string) (int, error) {
	if s == "" {
		return DefaultLimit, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > MaxLimit || strconv.Itoa(n) != s {
		return 0, &Error{Code: InvalidLimit, Detail: "limit must be 1 to " + strconv.Itoa(MaxLimit)}
	}
	return n, nil
}

// Cursor is the place in a list after which the next page begins: the keyset
// (position, id) of the last item shown.
type Cursor struct {
	Position uint64
	ID       string
}

// Cursors signs cursors, so that a forged one is refused instead of searched
// for. A cursor holds for one scope: the caller names organisation, member,
// list and filters there, and a cursor taken to another list is refused too.
type Cursors struct {
	key []byte
}

const (
	cursorVersion = 1
	cursorHead    = 1 + 8
	cursorTag     = 16
	maxCursorID   = 128
)

// NewCursors takes a secret of at least 32 bytes.
func NewCursors(key []byte) (Cursors, error) {
	if len(key) < sha256.Size {
		return Cursors{}, errors.New("boundary: new cursors: the key is shorter than 32 bytes")
	}
	return Cursors{key: append([]byte(nil), key...)}, nil
}

// Encode gives version, position, id and tag as base64url. The id is ours, at
// most 128 bytes; a longer one gives a cursor that Decode refuses.
func (c Cursors) Encode(scope string, at Cursor) string {
	body := binary.BigEndian.AppendUint64([]byte{cursorVersion}, at.Position)
	body = append(body, at.ID...)
	return base64.RawURLEncoding.EncodeToString(append(body, c.tag(scope, body)...))
}

// Decode answers invalid_cursor for anything Encode didn't make for this scope.
func (c Cursors) Decode(scope, s string) (Cursor, error) {
	refused := &Error{Code: InvalidCursor, Detail: "not a cursor of this list"}
	long := len(s) > base64.RawURLEncoding.EncodedLen(cursorHead+maxCursorID+cursorTag)
	if long || len(c.key) == 0 || strings.ContainsAny(s, "\r\n") { // the decoder skips line breaks
		return Cursor{}, refused
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(raw) < cursorHead+cursorTag || raw[0] != cursorVersion {
		return Cursor{}, refused
	}
	body, tag := raw[:len(raw)-cursorTag], raw[len(raw)-cursorTag:]
	if !hmac.Equal(tag, c.tag(scope, body)) {
		return Cursor{}, refused
	}
	return Cursor{Position: binary.BigEndian.Uint64(body[1:]), ID: string(body[cursorHead:])}, nil
}

// tag puts the scope's length first, so no scope can borrow from the body.
func (c Cursors) tag(scope string, body []byte) []byte {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte("iris.cursor.v1\x00"))
	mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(scope))))
	mac.Write([]byte(scope))
	mac.Write(body)
	return mac.Sum(nil)[:cursorTag]
}
