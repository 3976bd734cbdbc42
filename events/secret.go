package events

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The codec's errors. Whoever reads stops at ErrKeyUnavailable and ErrTampered; nothing is skipped (spec 5.3).
var (
	ErrMalformed      = errors.New("event_malformed")
	ErrUnknownType    = errors.New("event_type_unknown")
	ErrContract       = errors.New("event_breaks_contract")
	ErrTampered       = errors.New("seal_does_not_match")
	ErrKeyUnavailable = errors.New("key_unavailable")
)

// KeyClass says what a key is for. Each class of a member is a key of its own (spec 5.3).
type KeyClass string

const (
	KeyMemory       KeyClass = "memory"       // one memory: HKDF(member's tier key, row, entry)
	KeyConsent      KeyClass = "consent"      // the ledger of one consent key: HKDF(member's case key, row, entry)
	KeyCase         KeyClass = "case"         // a member's free text that no other key covers
	KeyRegister     KeyClass = "register"     // fingerprints, request digests
	KeyRecall       KeyClass = "recall"       // recall envelopes
	KeySession      KeyClass = "session"      // one session: HKDF(member's tier key, row, session)
	KeyOrganisation KeyClass = "organisation" // what belongs to no member
)

// KeyRef names the key of a sealed field. Row and Entry are set for the classes that have a row of their own; destroying
// either half destroys the key.
type KeyRef struct {
	Organisation string   `json:"organisation"`
	Class        KeyClass `json:"class"`
	Member       ID       `json:"member"`
	Tier         Tier     `json:"tier"`
	Row          ID       `json:"row"`
	Entry        string   `json:"entry"`
}

// String is what stands beside the box, in clear: class, tier and row, all opaque.
func (r KeyRef) String() string {
	s := string(r.Class)
	if r.Tier != "" {
		s += "/" + string(r.Tier)
	}
	if r.Row != "" {
		s += "/" + string(r.Row)
	}
	return s
}

// Keys seals and opens under keys that the caller never sees. Open returns ErrKeyUnavailable when the key isn't there and
// ErrTampered when the box doesn't open.
type Keys interface {
	Seal(ctx context.Context, ref KeyRef, aad, plain []byte) (box []byte, err error)
	Open(ctx context.Context, ref KeyRef, aad, box []byte) (plain []byte, err error)
}

// Sealed is how a secret stands on the wire: which key, the box, and a commitment whose salt is inside the box. The
// commitment hides and binds: it proves the text to whoever is given (text, salt) and says nothing to anyone else.
type Sealed struct { // in the order of RFC 8785, which is then no work to write
	Box        string `json:"box"`
	Commitment string `json:"commitment"`
	Key        string `json:"key"`
}

// Secret is personal: plain in memory, sealed on the wire. Salt is known once sealed or opened.
type Secret[T any] struct {
	Plain  T
	Sealed Sealed
	Salt   []byte
}

// Hide wraps a plain value that is not sealed yet.
func Hide[T any](plain T) Secret[T] { return Secret[T]{Plain: plain} }

// Close lets go of what was opened; the sealed form stays.
func (s *Secret[T]) Close() { *s = Secret[T]{Sealed: s.Sealed} }

// MarshalJSON writes the sealed form only. There is no way to write the plain one.
func (s Secret[T]) MarshalJSON() ([]byte, error) { return json.Marshal(s.Sealed) }

// MarshalJSONTo is the same without writing twice.
func (s Secret[T]) MarshalJSONTo(e *jsontext.Encoder) error {
	return strict.MarshalEncode(e, &s.Sealed)
}

// UnmarshalJSON reads the sealed form; Plain stays empty until the codec opens it.
func (s *Secret[T]) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &s.Sealed) }

// UnmarshalJSONFrom is the same without reading twice.
func (s *Secret[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	return strict.UnmarshalDecode(d, &s.Sealed)
}

// Commit chooses the salt ahead of sealing and returns the commitment that the sealed field will carry, for a digest that
// covers it.
func (s *Secret[T]) Commit(field string) (string, error) {
	if err := saltOnce(&s.Salt); err != nil {
		return "", err
	}
	value, err := s.plain()
	if err != nil {
		return "", err
	}
	return Commitment(s.Salt, field, value), nil
}

// Recommit computes the commitment that another value would have under the salt of s: what a replay holds against the record.
func (s *Secret[T]) Recommit(field string, other T) (string, error) {
	value, err := Canonical(other)
	if err != nil {
		return "", err
	}
	return Commitment(s.Salt, field, value), nil
}

func (s *Secret[T]) plain() ([]byte, error)     { return Canonical(s.Plain) }
func (s *Secret[T]) setPlain(b []byte) error    { return strict.Unmarshal(b, &s.Plain) }
func (s *Secret[T]) sealed() (*Sealed, *[]byte) { return &s.Sealed, &s.Salt }

// secret is a Secret of whatever type.
type secret interface {
	plain() ([]byte, error)
	setPlain([]byte) error
	sealed() (*Sealed, *[]byte)
}

// slot is one sealed field of an event: its name, its key and where it stands.
type slot struct {
	field string
	key   KeyRef
	value secret
}

// isOpen says of a field that was read whether somebody has opened it.
func (s slot) isOpen() bool {
	_, salt := s.value.sealed()
	return len(*salt) > 0
}

const saltSize = 32

// sealedContent is what is inside a box.
type sealedContent struct {
	Salt  string          `json:"salt"`
	Value json.RawMessage `json:"value"`
}

// Commitment computes the commitment of a field's canonical value under salt: base64url HMAC-SHA-256, keyed by the salt.
func Commitment(salt []byte, field string, value []byte) string {
	mac := hmac.New(sha256.New, salt)
	writePart(mac, []byte("iris/commitment/v1"))
	writePart(mac, []byte(field))
	writePart(mac, value)
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func seal(ctx context.Context, keys Keys, s slot, aad []byte) error {
	value, err := s.value.plain()
	if err != nil {
		return err
	}
	sealed, salt := s.value.sealed()
	if err := saltOnce(salt); err != nil {
		return err
	}
	content := slices.Concat([]byte(beforeSalt), base64.RawURLEncoding.AppendEncode(nil, *salt), []byte(beforeValue), value, []byte(`}`))
	box, err := keys.Seal(ctx, s.key, aad, content)
	if err != nil {
		return fmt.Errorf("seal %s under %s: %w", s.field, s.key, err)
	}
	*sealed = Sealed{Box: base64.RawURLEncoding.EncodeToString(box), Commitment: Commitment(*salt, s.field, value), Key: s.key.String()}
	return nil
}

func saltOnce(salt *[]byte) error {
	if len(*salt) > 0 {
		return nil
	}
	*salt = make([]byte, saltSize)
	_, err := rand.Read(*salt)
	return err
}

// open verifies the commitment too: AES-GCM alone does not commit to one plaintext.
func open(ctx context.Context, keys Keys, s slot, aad []byte) error {
	sealed, salt := s.value.sealed()
	if sealed.Key != s.key.String() {
		return fmt.Errorf("open %s: %w: it names another key", s.field, ErrTampered)
	}
	box, err := base64.RawURLEncoding.DecodeString(sealed.Box)
	if err != nil {
		return fmt.Errorf("open %s: %w", s.field, ErrTampered)
	}
	plain, err := keys.Open(ctx, s.key, aad, box)
	if err != nil {
		return fmt.Errorf("open %s under %s: %w", s.field, s.key, err)
	}
	content, ok := contentOf(plain)
	if !ok {
		return fmt.Errorf("open %s: %w", s.field, ErrTampered)
	}
	opened, err := base64.RawURLEncoding.DecodeString(content.Salt)
	if err != nil || Commitment(opened, s.field, content.Value) != sealed.Commitment {
		return fmt.Errorf("open %s: %w: the commitment differs", s.field, ErrTampered)
	}
	if s.value.setPlain(content.Value) != nil {
		return fmt.Errorf("open %s: %w: its value is of another form", s.field, ErrMalformed) // a decoder's error could quote it
	}
	*salt = opened // last: it says that the field is open
	return nil
}

const (
	beforeSalt  = `{"salt":"`
	beforeValue = `","value":`
)

// contentOf takes apart what seal has put together, without a parser where it is of the very form that seal writes. The commitment holds
// every byte of it.
func contentOf(plain []byte) (sealedContent, bool) {
	salted, is := bytes.CutPrefix(plain, []byte(beforeSalt))
	if end := base64.RawURLEncoding.EncodedLen(saltSize); is && len(salted) > end {
		value, is := bytes.CutPrefix(salted[end:], []byte(beforeValue))
		if value, closed := bytes.CutSuffix(value, []byte("}")); is && closed {
			return sealedContent{string(salted[:end]), value}, true
		}
	}
	var content sealedContent
	err := strict.Unmarshal(plain, &content)
	return content, err == nil
}

type byteWriter interface{ Write([]byte) (int, error) }

// writePart length-prefixes, so that no two lists of parts have the same bytes.
func writePart(w byteWriter, part []byte) {
	var length [8]byte
	binary.BigEndian.PutUint64(length[:], uint64(len(part)))
	w.Write(length[:])
	w.Write(part)
}
