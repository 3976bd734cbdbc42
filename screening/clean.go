package screening

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is how many combining marks may follow one another: more than any language needs, and few enough that the NFC
// implementation never puts in the joiner (U+034F) with which it breaks up longer piles.
const maxMarks = 8

// clean strips what can't be seen and composes the rest; ok is false for U+0000 and for bytes that are not UTF-8.
func clean(s string) (text string, ok bool) {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return "", false
	}
	if !plainASCII(s) {
		s = norm.NFC.String(stripped(s))
	}
	return strings.TrimFunc(s, blank), true
}

// plainASCII reports whether nothing in s needs stripping or composing.
func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

func stripped(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i, r := range s {
		switch {
		case lineBreak(r):
			if r != '\r' || !strings.HasPrefix(s[i+1:], "\n") {
				b.WriteByte('\n')
			}
			marks = 0
			continue
		case invisible(r):
			continue
		case unicode.Is(unicode.M, r):
			marks++
		default:
			marks = 0
		}
		if marks <= maxMarks {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func lineBreak(r rune) bool {
	switch r {
	case '\r', '\v', '\f', 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}

// blank is what shows as nothing at the edge of a text: white space, and the empty Braille cell.
func blank(r rune) bool { return unicode.IsSpace(r) || r == 0x2800 }

// invisible says what clean strips (spec 1.7).
func invisible(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r <= 0x9f, r == 0xad, r == 0x34f, r == 0x61c: // C1, soft hyphen, grapheme joiner, Arabic letter mark
		return true
	case r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0: // Hangul fillers
		return true
	case r == 0x17b4, r == 0x17b5, r >= 0x180b && r <= 0x180f: // Khmer inherent vowels, Mongolian selectors and separator
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f: // zero width, bidi, invisible operators
		return true
	case r >= 0xfe00 && r <= 0xfe0f, r == 0xfeff, r >= 0xfff0 && r <= 0xfffb: // variation selectors, BOM, annotations
		return true
	case r >= 0x1bca0 && r <= 0x1bca3, r >= 0x1d173 && r <= 0x1d17a: // shorthand and music format controls
		return true
	case r >= 0xe0000 && r <= 0xe0fff: // tags, more variation selectors
		return true
	}
	return privateUse(r) || nonCharacter(r)
}

func privateUse(r rune) bool { return r >= 0xe000 && r <= 0xf8ff || r >= 0xf0000 }

func nonCharacter(r rune) bool { return r >= 0xfdd0 && r <= 0xfdef || r&0xfffe == 0xfffe }
