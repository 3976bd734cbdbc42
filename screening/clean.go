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
	if strings.ContainsFunc(s, unsettled) {
		s = norm.NFC.String(stripped(s))
	}
	return strings.TrimFunc(s, blank), true
}

// unsettled is false for what is neither stripped nor composed, whatever stands beside it: most characters of most texts.
func unsettled(r rune) bool {
	switch {
	case r < 0x7f:
		return r < 0x20 && r != '\n' && r != '\t'
	case r < 0x300:
		return r < 0xa0 || r == 0xad
	case r < 0x590: // Greek, Cyrillic, Armenian
		return r < 0x388 || r >= 0x483 && r <= 0x489
	case r < 0x700: // Arabic
		return r < 0x620 || r > 0x64a && r < 0x671 || r > 0x6d5
	case r < 0x2000: // Devanagari, Bengali, Thai
		return r < 0x904 || r > 0x939 && r < 0x985 || r > 0x9b9 && r < 0xe01 || r > 0xe30
	case r < 0x3100: // dashes and quotation marks; kana
		return r < 0x2010 || r > 0x2027 && r < 0x3001 || r > 0x3029 && r < 0x3041 || r > 0x3096 && r < 0x309b
	}
	return (r < 0x3400 || r > 0x9fff) && (r < 0xac00 || r > 0xd7a3) && (r < 0xff01 || r > 0xff9d) && (r < 0x1f300 || r > 0x1faff)
}

// stripped answers s itself where there is nothing to strip.
func stripped(s string) string {
	if toStrip(s) == len(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	marks := 0
	for i, r := range s {
		switch {
		case !unsettled(r):
			marks = 0
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

// toStrip is where the first character stands that is not kept as it is; the length of s where there is none.
func toStrip(s string) int {
	marks := 0
	for i, r := range s {
		switch {
		case !unsettled(r):
			marks = 0
		case lineBreak(r), invisible(r), marks == maxMarks:
			return i
		case unicode.Is(unicode.M, r):
			marks++
		default:
			marks = 0
		}
	}
	return len(s)
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
