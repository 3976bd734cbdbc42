package events

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

// Placed is a sealed field together with all that it takes to open it away from its event. It is what a read model keeps of a
// text: nothing in it is personal.
type Placed struct {
	Field     string
	Key       KeyRef
	Aggregate Aggregate
	Event     ID
	Previous  uint64 // the position that the box is bound to
	Sealed    Sealed
}

// Placed returns the event's sealed fields by name.
func (r Recorded) Placed() map[string]Placed {
	ref := memberRef(r.Organisation, r.Aggregate)
	placed := map[string]Placed{}
	for _, s := range r.Event.slots(ref) {
		placed[s.field] = r.place(s)
	}
	return placed
}

func (r Recorded) place(s slot) Placed {
	sealed, _ := s.value.sealed()
	return Placed{s.field, s.key, r.Aggregate, r.ID, r.PreviousSequence, *sealed}
}

// Kept is a Placed as a read model stores it, in less than half of what JSON takes: ids and boxes are bytes. It is read by this
// package alone. Nil is none.
type Kept []byte

// keptField is one of an event's, by its name.
type keptField struct {
	name string
	kept Kept
}

// Kept returns a sealed field as it is stored; nil: the event has none of that name. Of a commit that a codec which keeps has opened
// it is made already, and the same bytes for whoever asks.
func (r Recorded) Kept(field string) Kept {
	kept := r.kept
	if kept == nil {
		kept = r.keep()
	}
	for _, k := range kept {
		if k.name == field {
			return k.kept
		}
	}
	return nil
}

func (r Recorded) keep() []keptField {
	slots := r.Event.slots(memberRef(r.Organisation, r.Aggregate))
	kept := make([]keptField, len(slots))
	for i, s := range slots {
		kept[i] = keptField{s.field, r.place(s).Keep()}
	}
	return kept
}

// Open opens a kept field of type T.
func Open[T any](ctx context.Context, keys Keys, k Kept) (T, error) {
	p, err := k.Placed()
	if err != nil {
		var none T
		return none, err
	}
	return openPlaced[T](ctx, keys, p)
}

func openPlaced[T any](ctx context.Context, keys Keys, p Placed) (T, error) {
	secret := Secret[T]{Sealed: p.Sealed}
	s := slot{p.Field, p.Key, &secret}
	if err := open(ctx, keys, s, aad(p.Key.Organisation, p.Aggregate, p.Event, s, p.Previous)); err != nil {
		return secret.Plain, fmt.Errorf("event %s: %w", p.Event, err)
	}
	return secret.Plain, nil
}

// keptVersion begins what is kept. The migration that made bytes of JSON writes the same (projections/migrations).
const keptVersion = 1

// Keep writes it: a version, and the members in one order. A text is its length (as encoding/binary writes a uvarint) and its bytes; an
// id that is a UUID is a zero and sixteen bytes, and any other text with one added to its length; a box is twice its length and its
// bytes, and what isn't base64url the text, with one added to that. The name of the key is left out where it follows from the others.
func (p Placed) Keep() Kept {
	b := make([]byte, 1, 192+len(p.Sealed.Box))
	b[0] = keptVersion
	b = keepText(b, p.Field)
	b = keepText(b, p.Key.Organisation)
	b = keepText(b, string(p.Key.Class))
	b = keepID(b, string(p.Key.Member))
	b = keepText(b, string(p.Key.Tier))
	b = keepID(b, string(p.Key.Row))
	b = keepID(b, p.Key.Entry)
	b = keepText(b, string(p.Aggregate.Kind))
	b = keepID(b, string(p.Aggregate.ID))
	b = keepID(b, string(p.Event))
	b = binary.AppendUvarint(b, p.Previous)
	b = keepBox(b, p.Sealed.Box)
	b = keepBox(b, p.Sealed.Commitment)
	if p.Sealed.Key == p.Key.String() {
		return keepText(b, "")
	}
	return keepText(b, p.Sealed.Key)
}

func keepText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func keepID(b []byte, s string) []byte {
	if raw, is := rawUUID(s); is {
		return append(append(b, 0), raw[:]...)
	}
	return append(binary.AppendUvarint(b, uint64(len(s)+1)), s...)
}

func keepBox(b []byte, s string) []byte {
	n := base64.RawURLEncoding.DecodedLen(len(s))
	begun := len(b)
	b = binary.AppendUvarint(b, uint64(2*n))
	decoded, err := strictBase64.AppendDecode(b, []byte(s))
	if err == nil && len(decoded) == len(b)+n && base64.RawURLEncoding.EncodedLen(n) == len(s) { // it reads over line breaks
		return decoded
	}
	return append(binary.AppendUvarint(b[:begun], uint64(2*len(s)+1)), s...)
}

// strictBase64 decodes only what encoding gives back as it was.
var strictBase64 = base64.RawURLEncoding.Strict()

// rawUUID takes the canonical form only, which writing gives back.
func rawUUID(s string) (raw [16]byte, is bool) {
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return raw, false
	}
	at := 0
	for i := 0; i < len(s); {
		if s[i] == '-' {
			i++
			continue
		}
		high, low := nibble(s[i]), nibble(s[i+1])
		if high > 15 || low > 15 {
			return raw, false
		}
		raw[at] = high<<4 | low
		at, i = at+1, i+2
	}
	return raw, true
}

func nibble(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// Placed reads it back. Whatever isn't of the form is ErrMalformed.
func (k Kept) Placed() (Placed, error) {
	r := keptReader{rest: k}
	if version := r.take(1); len(version) != 1 || version[0] != keptVersion {
		return Placed{}, fmt.Errorf("read a kept field: %w: of no known version", ErrMalformed)
	}
	p := Placed{
		Field: r.text(),
		Key:   KeyRef{Organisation: r.text(), Class: KeyClass(r.text()), Member: r.id(), Tier: Tier(r.text()), Row: r.id(), Entry: string(r.id())},
	}
	p.Aggregate = Aggregate{AggregateKind(r.text()), r.id()}
	p.Event, p.Previous = r.id(), r.uvarint()
	p.Sealed = Sealed{Box: r.box(), Commitment: r.box(), Key: r.text()}
	if p.Sealed.Key == "" {
		p.Sealed.Key = p.Key.String()
	}
	if r.failed || len(r.rest) > 0 {
		return Placed{}, fmt.Errorf("read a kept field: %w", ErrMalformed)
	}
	return p, nil
}

// keptReader fails once and for all.
type keptReader struct {
	rest   []byte
	failed bool
}

func (r *keptReader) take(n uint64) []byte {
	if r.failed || n > uint64(len(r.rest)) {
		r.failed = true
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *keptReader) uvarint() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.failed = true
		return 0
	}
	r.take(uint64(size))
	return n
}

func (r *keptReader) text() string { return string(r.take(r.uvarint())) }

func (r *keptReader) id() ID {
	n := r.uvarint()
	if n > 0 {
		return ID(r.take(n - 1))
	}
	raw := r.take(16)
	if len(raw) != 16 {
		return ""
	}
	var s [36]byte
	for i, part := range [...]struct{ at, begin, end int }{{0, 0, 4}, {9, 4, 6}, {14, 6, 8}, {19, 8, 10}, {24, 10, 16}} {
		hex.Encode(s[part.at:], raw[part.begin:part.end])
		if i > 0 {
			s[part.at-1] = '-'
		}
	}
	return ID(s[:])
}

func (r *keptReader) box() string {
	n := r.uvarint()
	if n%2 == 1 {
		return string(r.take(n / 2))
	}
	return base64.RawURLEncoding.EncodeToString(r.take(n / 2))
}
