package screening

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

//go:embed confusables.json
var confusablesJSON []byte

// dense is where the table of folded runes ends; above it Han and Hangul stand for themselves, there is one more table for the
// forms of width with which they are punctuated, and the rest is worked out.
const (
	dense     = 0x3400
	lastForms = 0xfe00
)

// folder maps a rune to the way in which rules are written: compatibility form, lower case, without accents, vowel points and
// dakuten, look-alikes mapped to Latin, every other symbol a space. Rules pass through the same map when they are loaded, so
// that a Russian or Greek rule may be written in its own letters.
type folder struct {
	lookAlikes map[rune]string
	table      [dense]string
	forms      [0x10000 - lastForms]string
}

func newFolder(data []byte) (*folder, error) {
	var byTarget map[string]string
	if err := json.Unmarshal(data, &byTarget); err != nil {
		return nil, fmt.Errorf("read the confusables: %w", err)
	}
	f := &folder{lookAlikes: map[rune]string{}}
	for to, from := range byTarget {
		for _, r := range from {
			if was, twice := f.lookAlikes[r]; twice {
				return nil, fmt.Errorf("read the confusables: %U stands for both %q and %q", r, was, to)
			}
			f.lookAlikes[r] = to
		}
	}
	for r := range rune(dense) {
		f.table[r] = f.work(r)
	}
	for i := range f.forms {
		f.forms[i] = f.work(lastForms + rune(i))
	}
	return f, nil
}

func (f *folder) rune(r rune) string {
	switch {
	case r < dense:
		return f.table[r]
	case ownForm(r):
		return string(r)
	case r >= lastForms && r <= 0xffff:
		return f.forms[r-lastForms]
	}
	return f.work(r)
}

// ownForm: Han and Hangul.
func ownForm(r rune) bool { return r >= dense && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3 }

// work folds one rune by definition; rune is the fast way to the same.
func (f *folder) work(r rune) string {
	if to, ok := f.lookAlikes[r]; ok {
		return to
	}
	if r >= 0x1f100 && r <= 0x1f1ff {
		if letter := enclosedLetter(r); letter != 0 {
			return string(letter)
		}
	}
	var b strings.Builder
	for _, part := range norm.NFKD.String(string(r)) {
		if dropped(part) {
			continue
		}
		part = unicode.ToLower(part)
		switch to, ok := f.lookAlikes[part]; {
		case ok:
			b.WriteString(to)
		case part < utf8.RuneSelf || unicode.In(part, unicode.L, unicode.N, unicode.M):
			b.WriteRune(part)
		default:
			b.WriteByte(' ')
		}
	}
	return norm.NFC.String(b.String())
}

// enclosedLetter reads the squared, circled and flag letters that have no compatibility form; 0 for the others of the block.
func enclosedLetter(r rune) rune {
	for _, start := range [...]rune{0x1f130, 0x1f150, 0x1f170, 0x1f1e6} {
		if r >= start && r < start+26 {
			return 'a' + r - start
		}
	}
	return 0
}

// dropped are the marks that can be put on or left off a letter and leave it readable.
func dropped(r rune) bool {
	switch {
	case r >= 0x300 && r <= 0x36f, r == 0x3099, r == 0x309a: // accents, dakuten
		return true
	case r >= 0x591 && r <= 0x5c7: // Hebrew points
		return true
	case r == 0x640, r >= 0x64b && r <= 0x655, r == 0x670: // Arabic elongation and vowel signs
		return true
	}
	return r == 0x93c || r == 0x9bc // Devanagari and Bengali nukta
}

// view is one reading of the clean text. at holds, for each byte, where in the clean text its rune begins; without it every
// finding covers from … to.
type view struct {
	text     string
	clean    string
	at       []int32
	from, to int
}

func (v *view) span(start, end int) (int, int) {
	if v.at == nil {
		return v.from, v.to
	}
	last := int(v.at[end-1])
	_, size := utf8.DecodeRuneInString(v.clean[last:])
	return int(v.at[start]), last + size
}

// viewer writes a view rune by rune.
type viewer struct {
	text strings.Builder
	at   []int32
}

func newViewer(n int) *viewer {
	w := &viewer{at: make([]int32, 0, n+n/8+9)}
	w.text.Grow(n + n/8 + 8)
	return w
}

func (w *viewer) byte(c byte, at int) {
	w.text.WriteByte(c)
	w.at = append(w.at, int32(at))
}

func (w *viewer) string(s string, at int) {
	w.text.WriteString(s)
	for range len(s) {
		w.at = append(w.at, int32(at))
	}
}

func (w *viewer) view(clean string) view {
	return view{text: w.text.String(), clean: clean, at: w.at}
}

// fold reads s folded, each run of white space as one space, or as one \n when it breaks a line.
func (f *folder) fold(s string) view {
	w := newViewer(len(s))
	space := byte(0)
	spaceAt := 0
	for i, r := range s {
		folded := ""
		switch {
		case r < utf8.RuneSelf:
		case ownForm(r):
			folded = s[i : i+utf8.RuneLen(r)]
		default:
			folded = f.rune(r)
		}
		if r == '\n' || r == ' ' || r == '\t' || folded == " " {
			if space == 0 {
				space, spaceAt = ' ', i
			}
			if r == '\n' {
				space = '\n'
			}
			continue
		}
		if space != 0 {
			w.byte(space, spaceAt)
			space = 0
		}
		switch {
		case r >= utf8.RuneSelf:
			w.string(folded, i)
		case 'A' <= r && r <= 'Z':
			w.byte(byte(r)+'a'-'A', i)
		default:
			w.byte(byte(r), i)
		}
	}
	return w.view(s)
}

// leet reads the digits and signs inside words as the letters they look like, and a one as the letter it is told; so too a number of
// one or two digits behind such a word (wh47 15). It answers no view where there is nothing to read so.
func leet(v view, one byte) (view, bool) {
	if !mixed(v.text) {
		return view{}, false
	}
	w := newViewer(len(v.text))
	changed, mixed := false, false
	for i := 0; i < len(v.text); {
		end := i
		letters, signs := 0, 0
		for ; end < len(v.text) && v.text[end] != ' ' && v.text[end] != '\n'; end++ {
			if c := v.text[end]; letter(c) {
				letters++
			} else if leetLetter(c, one) != 0 {
				signs++
			}
		}
		mixed = signs > 0 && (letters > 0 || mixed && end-i < 3)
		for ; i < end; i++ {
			c := v.text[i]
			if to := leetLetter(c, one); mixed && to != 0 && (c != '!' || i+1 < end && letter(v.text[i+1])) {
				c, changed = to, true
			}
			w.byte(c, int(v.at[i]))
		}
		if i < len(v.text) {
			w.byte(v.text[i], int(v.at[i]))
			i++
		}
	}
	return w.view(v.clean), changed
}

// mixed reports whether a word has letters and signs that may be letters.
func mixed(text string) bool {
	letters, signs := false, false
	for i := range len(text) {
		switch c := text[i]; {
		case letter(c):
			letters = true
		case c == ' ' || c == '\n':
			letters, signs = false, false
		case leetLetter(c, 'i') != 0:
			signs = true
		}
		if letters && signs {
			return true
		}
	}
	return false
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || c >= utf8.RuneSelf }

func leetLetter(c, one byte) byte {
	switch c {
	case '0':
		return 'o'
	case '1', '!', '|':
		return one
	case '3':
		return 'e'
	case '4', '@':
		return 'a'
	case '5', '$':
		return 's'
	case '7', '+':
		return 't'
	case '8':
		return 'b'
	case '9':
		return 'g'
	}
	return 0
}

// squash reads the letters alone, so that no separator hides a phrase.
func squash(v view) view {
	w := newViewer(len(v.text))
	for i := range len(v.text) {
		if c := squashed(v.text[i]); c != 0 {
			w.byte(c, int(v.at[i]))
		}
	}
	return w.view(v.clean)
}

// squashedText is squash without places: for most texts they aren't asked for.
func squashedText(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for i := range len(text) {
		if c := squashed(text[i]); c != 0 {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// squashed is the letter that c is or looks like, 0 where it is none.
func squashed(c byte) byte {
	if letter(c) {
		return c
	}
	if c == '!' || c == '|' || c == '+' {
		return 0
	}
	return leetLetter(c, 'i')
}

// latin is all that rot13 turns.
const latin = "abcdefghijklmnopqrstuvwxyz"

// rot13 reads each Latin letter thirteen places on.
func rot13(v view) view {
	turned := []byte(v.text)
	for i, c := range turned {
		if 'a' <= c && c <= 'z' {
			turned[i] = 'a' + (c-'a'+13)%26
		}
	}
	return view{text: string(turned), clean: v.clean, at: v.at}
}

// reverse reads from the end.
func reverse(v view) view {
	turned := make([]byte, len(v.text))
	for i := 0; i < len(v.text); {
		size := 1
		for i+size < len(v.text) && !utf8.RuneStart(v.text[i+size]) {
			size++
		}
		copy(turned[len(turned)-i-size:], v.text[i:i+size])
		i += size
	}
	return view{text: string(turned), to: len(v.clean)}
}
