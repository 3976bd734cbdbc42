package schemas

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// document is a JSON document laid flat: a value stands before what is in it, a member's name before its value. It says what the
// strict decoder would make of the same bytes, without a map for each object.
type document []value

type value struct {
	kind  kinds  // one of them
	text  []byte // of a string what it says, of a number its digits, of a boolean and null the word
	count int    // of an array's items, of an object's members
	next  int    // where the value behind it and all that is in it stands, if there is one
}

const (
	maxDepth     = 64 // as deep as package boundary lets anything in
	maxDigits    = 15 // of an integer: whatever decodes it, it stays the same
	maxUnordered = 64 // members of an object whose names don't ascend: each is compared with all before it
)

// lay lays data behind what is in d. It is strict and knows less than JSON: no document, two members of one name, and what is seldom (a
// number that is no short integer, a great depth) are all the same to it. The strict decoder tells them apart.
func lay(d document, data []byte) (document, bool) {
	r := reader{d, data}
	ok := utf8.Valid(data) && r.value(0)
	r.space()
	return r.document, ok && len(r.rest) == 0
}

type reader struct {
	document
	rest []byte
}

func (r *reader) value(depth int) (ok bool) {
	r.space()
	if len(r.rest) == 0 || depth > maxDepth {
		return false
	}
	at := len(r.document)
	r.document = append(r.document, value{})
	var v value
	switch r.rest[0] {
	case '"':
		v.kind = aString
		v.text, ok = r.quoted()
	case '{':
		v.kind = anObject
		v.count, ok = r.members(depth + 1)
	case '[':
		v.kind = anArray
		v.count, ok = r.items(depth + 1)
	case 't':
		v.kind = aBoolean
		v.text, ok = r.word("true")
	case 'f':
		v.kind = aBoolean
		v.text, ok = r.word("false")
	case 'n':
		v.kind = aNull
		v.text, ok = r.word("null")
	default:
		v.kind = aNumber
		v.text, ok = r.integer()
	}
	v.next = len(r.document)
	r.document[at] = v
	return ok
}

// members are those of an object. Where their names ascend, as in all that we write ourselves, no two can be the same.
func (r *reader) members(depth int) (n int, ok bool) {
	first, greatest := len(r.document), []byte(nil)
	for r.take(1); !r.sign('}'); n++ {
		if n > 0 && !r.sign(',') {
			return n, false
		}
		r.space()
		name, ok := r.quoted()
		switch {
		case !ok:
			return n, false
		case n == 0 || bytes.Compare(name, greatest) > 0:
			greatest = name
		case n > maxUnordered || r.named(first, name):
			return n, false
		}
		r.document = append(r.document, value{kind: aString, text: name, next: len(r.document) + 1})
		if !r.sign(':') || !r.value(depth) {
			return n, false
		}
	}
	return n, true
}

// named tells whether a member from first on has the name.
func (d document) named(first int, name []byte) bool {
	for i := first; i < len(d); i = d[i+1].next {
		if bytes.Equal(d[i].text, name) {
			return true
		}
	}
	return false
}

func (r *reader) items(depth int) (n int, ok bool) {
	for r.take(1); !r.sign(']'); n++ {
		if n > 0 && !r.sign(',') || !r.value(depth) {
			return n, false
		}
	}
	return n, true
}

// quoted is what a string says.
func (r *reader) quoted() ([]byte, bool) {
	if len(r.rest) == 0 || r.rest[0] != '"' {
		return nil, false
	}
	escapes := false
	for i := 1; ; i++ {
		i += ordinary(r.rest[i:])
		switch {
		case i == len(r.rest) || r.rest[i] < ' ':
			return nil, false
		case r.rest[i] == '"':
			whole := r.take(i + 1)
			if !escapes {
				return whole[1:i], true
			}
			text, err := jsontext.AppendUnquote(nil, whole)
			return text, err == nil
		case r.rest[i] == '\\' && i+1 < len(r.rest):
			escapes = true
			i++
		}
	}
}

// ordinary counts the bytes before a quote, a backslash, a control character or the end. It takes them by eight: most of an event are long
// boxes, and one by one they were a fifth of the time that a check takes.
func ordinary(s []byte) (n int) {
	const each, top = 0x0101010101010101, 0x8080808080808080
	for ; n+8 <= len(s); n += 8 {
		eight := binary.LittleEndian.Uint64(s[n:])
		quote, backslash := eight^each*'"', eight^each*'\\' // zero where it is one
		if ((eight-each*' ')&^eight|(quote-each)&^quote|(backslash-each)&^backslash)&top != 0 {
			break
		}
	}
	for n < len(s) && s[n] >= ' ' && s[n] != '"' && s[n] != '\\' {
		n++
	}
	return n
}

// integer has no fraction, no exponent, no sign before a zero and no zero before a digit.
func (r *reader) integer() ([]byte, bool) {
	first, n := 0, 0
	if r.rest[0] == '-' {
		first, n = 1, 1
	}
	for n < len(r.rest) && '0' <= r.rest[n] && r.rest[n] <= '9' {
		n++
	}
	text := r.take(n)
	return text, first < n && n-first <= maxDigits && (text[first] != '0' || n == 1)
}

func (r *reader) word(word string) ([]byte, bool) {
	text := r.take(min(len(word), len(r.rest)))
	return text, string(text) == word
}

// sign takes c, if it comes next.
func (r *reader) sign(c byte) bool {
	r.space()
	is := len(r.rest) > 0 && r.rest[0] == c
	if is {
		r.take(1)
	}
	return is
}

func (r *reader) space() {
	for len(r.rest) > 0 && (r.rest[0] == ' ' || r.rest[0] == '\t' || r.rest[0] == '\n' || r.rest[0] == '\r') {
		r.take(1)
	}
}

func (r *reader) take(n int) []byte {
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}
