package screening

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Runs shorter than these hold no instruction worth hiding.
const (
	minBase64 = 20 // characters
	minOctets = 8  // bytes of hex or binary
)

// run is a piece of the clean text that reads as text once decoded.
type run struct {
	text     string
	from, to int
}

// decoded finds the runs of base64, hex and binary in s. Each is decoded once; what comes out is not decoded again.
func decoded(s string) []run {
	var runs []run
	var octets []byte
	start, end, base := 0, 0, 0
	flush := func() {
		if len(octets) >= minOctets && prose(octets) {
			runs = append(runs, run{string(octets), start, end})
		}
		octets = nil
	}
	for from, to := range words(s) {
		if to-from < minBase64 && !octetHead(s[from]) {
			flush()
			continue
		}
		word, lead := unquoted(s[from:to])
		from += lead
		to = from + len(word)
		if b, kind := octet(word); kind != 0 {
			if kind != base || octets == nil {
				flush()
				start, base = from, kind
			}
			octets, end = append(octets, b...), to
			continue
		}
		flush()
		if plain, ok := unbase64(word); ok {
			runs = append(runs, run{plain, from, to})
		}
	}
	flush()
	return runs
}

// words yields the bounds of what stands between white space, commas and quotation marks.
func words(s string) func(func(int, int) bool) {
	return func(yield func(int, int) bool) {
		start := -1
		for i := range len(s) + 1 {
			if i == len(s) || betweenWords(s[i]) {
				if start >= 0 && !yield(start, i) {
					return
				}
				start = -1
			} else if start < 0 {
				start = i
			}
		}
	}
}

func betweenWords(c byte) bool {
	switch c {
	case ' ', '\n', '\t', ',', ';', '\'', '"', '`', '(', ')', '<', '>', ':':
		return true
	}
	return false
}

// unquoted cuts the typographic quotes and the full stop off a word; lead is what it cut in front.
func unquoted(word string) (cut string, lead int) {
	cut = strings.TrimLeft(word, "“‘«[{*")
	lead = len(word) - len(cut)
	return strings.TrimRight(cut, "”’».?!]}*"), lead
}

// octet reads a word as bytes written in hex (kind 16) or in binary (kind 2); kind is 0 where it is neither.
func octet(word string) (b []byte, kind int) {
	if !maybeOctet(word) {
		return nil, 0
	}
	switch len(word) {
	case 7, 8:
		if n, err := strconv.ParseUint(word, 2, 8); err == nil {
			return []byte{byte(n)}, 2
		}
	}
	bare := strings.ReplaceAll(strings.TrimPrefix(strings.ToLower(word), "0x"), `\x`, "")
	if len(bare) < 2 || len(bare)%2 != 0 {
		return nil, 0
	}
	if b, err := hex.DecodeString(bare); err == nil {
		return b, 16
	}
	return nil, 0
}

// octetHead reports whether a word that octet reads may begin with c, or the quotation mark before it.
func octetHead(c byte) bool {
	return hexDigit(rune(c)) || strings.IndexByte("xX\\[{*\xc2\xe2", c) >= 0
}

// maybeOctet spares most words the rest of octet.
func maybeOctet(word string) bool {
	for i := range len(word) {
		if c := word[i]; !hexDigit(rune(c)) && c != 'x' && c != 'X' && c != '\\' {
			return false
		}
	}
	return len(word) > 1
}

func unbase64(word string) (string, bool) {
	bare := strings.TrimRight(word, "=")
	if len(bare) < minBase64 || strings.ContainsFunc(bare, notBase64) {
		return "", false
	}
	encoding := base64.RawStdEncoding
	if strings.ContainsAny(bare, "-_") {
		encoding = base64.RawURLEncoding
	}
	b, err := encoding.DecodeString(bare)
	if err != nil || !prose(b) {
		return "", false
	}
	return string(b), true
}

func notBase64(r rune) bool { return !asciiAlnum(r) && strings.IndexRune("+/-_", r) < 0 }

// prose reports whether b is text: UTF-8, and nine in ten of it letters and spaces.
func prose(b []byte) bool {
	if !utf8.Valid(b) {
		return false
	}
	n, plain := 0, 0
	for _, r := range string(b) {
		n++
		if unicode.IsLetter(r) || unicode.IsMark(r) || r == ' ' || r == '\n' {
			plain++
		}
	}
	return plain*10 >= n*8
}

// unescaped resolves character references, percent signs and \u escapes, once; ok is false where s has none.
func unescaped(s string) (text string, ok bool) {
	text = html.UnescapeString(s)
	if strings.IndexByte(text, '%') >= 0 || strings.IndexByte(text, '\\') >= 0 {
		text = unescapedCodes(text)
	}
	return text, text != s
}

func unescapedCodes(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := code(s[i:])
		if n == 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteRune(r)
		i += n
	}
	return strings.ToValidUTF8(b.String(), " ")
}

// code reads %XX, \xXX or \uXXXX at the head of s and says how long it was; 0 where there is none. Only ASCII is worth it.
func code(s string) (r rune, n int) {
	digits, head := 2, 1
	switch {
	case s[0] == '%':
	case strings.HasPrefix(s, `\x`):
		head = 2
	case strings.HasPrefix(s, `\u`):
		digits, head = 4, 2
	default:
		return 0, 0
	}
	if len(s) < head+digits {
		return 0, 0
	}
	v, err := strconv.ParseUint(s[head:head+digits], 16, 16)
	if err != nil || v < 0x20 || v >= 0x7f {
		return 0, 0
	}
	return rune(v), head + digits
}
