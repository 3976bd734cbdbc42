package screening

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortestName: a name of one letter would be found in every text.
const shortestName = 2

// shortestPart is for the parts of a member's display name.
const shortestPart = 3

// everyday are parts of names that are words besides; alone they name nobody.
var everyday = [...]string{
	"angel", "april", "art", "august", "bill", "case", "christian", "dawn", "day", "dean", "drew", "earl", "east", "faith", "fields", "frank",
	"grace", "grant", "green", "hall", "heath", "hill", "hope", "hunter", "iris", "jasmine", "joy", "june", "king", "lane", "long", "mark", "mason",
	"may", "miles", "north", "olive", "page", "park", "parker", "pat", "price", "rich", "rob", "rose", "ruby", "sky", "stone", "sue", "summer",
	"the", "van", "von", "west", "white", "will", "winter", "wood", "young", "del", "der", "den", "dos", "ter",
}

// knownIDs looks for what only the caller can tell from other ids.
func (p *page) knownIDs(k Known) {
	p.names(ItemUserID, k.MemberIDs)
	p.names(ItemRef, k.Refs)
}

// knownNames looks for the names that the caller knows: whatever the case, the accents and the spaces, but as whole words.
func (p *page) knownNames(k Known) {
	p.names(ItemHandle, k.Handles)
	p.names(ItemMemberName, k.Members)
	p.names(ItemOrganisation, k.Organisations)
	p.names(ItemProgram, k.Programs)
	for _, name := range k.Members {
		p.parts(name)
	}
}

func (p *page) names(item Item, all []string) {
	for _, name := range all {
		if item != ItemProgram || name != "default" {
			p.name(item, name)
		}
	}
}

// name takes every place where the name stands as words of its own.
func (p *page) name(item Item, name string) {
	wanted := p.letters(name)
	if len(wanted) < shortestName {
		return
	}
	for _, from := range p.heads[wanted[0]] {
		if end, ok := p.reads(from, wanted); ok {
			p.take(item, p.withAt(from), end)
		}
	}
	if unspaced(wanted[0]) { // nothing tells where a word begins
		for i := range p.folded {
			if end, ok := p.reads(i, wanted); ok {
				p.take(item, i, end)
			}
		}
	}
}

func (p *page) withAt(from int) int {
	if p.at(from-1) == '@' {
		return from - 1
	}
	return from
}

// letters are a name's letters and digits, folded; what stands between them is not compared.
func (p *page) letters(name string) []rune {
	var all []rune
	text, ok := clean(name)
	if !ok {
		return nil
	}
	for _, r := range text {
		if r = plainSign(r); wordRune(r) {
			all = append(all, p.screen.folder.single(r))
		}
	}
	return all
}

// reads says where wanted ends if it is read at from, whatever few signs stand between its letters, up to the end of a word.
func (p *page) reads(from int, wanted []rune) (end int, ok bool) {
	i := from
	for _, r := range wanted {
		for gap := 0; i > from && i < len(p.folded) && !wordRune(p.folded[i]); i++ {
			if gap++; gap > 3 {
				return 0, false
			}
		}
		if i >= len(p.folded) || p.folded[i] != r {
			return 0, false
		}
		i++
	}
	return i, i == len(p.folded) || !wordRune(p.folded[i]) || unspaced(wanted[len(wanted)-1])
}

// unspaced are scripts that put no space between words, and Hangul, which joins particles to them.
func unspaced(r rune) bool {
	switch {
	case r < 0x0e00:
		return false
	case r <= 0x0eff, r >= 0x1000 && r <= 0x109f, r >= 0x1780 && r <= 0x17ff: // Thai, Lao, Myanmar, Khmer
		return true
	case r >= 0x1100 && r <= 0x11ff, r >= 0x2e80 && r <= 0x2fdf, r >= 0x3005 && r <= 0x318f: // Jamo, radicals, kana
		return true
	}
	return r >= 0x3400 && r <= 0x9fff || r >= 0xa960 && r <= 0xa97f || r >= 0xac00 && r <= 0xd7ff || r >= 0xf900 && r <= 0xfaff || r >= 0x20000 && r <= 0x3ffff
}

// parts takes a member's given name or surname where it stands alone and begins with a capital.
func (p *page) parts(name string) {
	parts := strings.FieldsFunc(name, func(r rune) bool { return !wordRune(r) && r != '\'' })
	if len(parts) < 2 {
		return
	}
	for _, part := range parts {
		wanted := p.letters(part)
		first, _ := utf8.DecodeRuneInString(part)
		if len(wanted) < shortestPart || !unicode.IsUpper(first) || slices.Contains(everyday[:], string(wanted)) {
			continue
		}
		for _, from := range p.heads[wanted[0]] {
			if end, ok := p.reads(from, wanted); ok && unicode.IsUpper(p.signs[from]) {
				p.take(ItemMemberName, from, end)
			}
		}
	}
}
