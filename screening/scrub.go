package screening

import (
	"slices"
	"unicode/utf8"
)

// Item is what must not leave tier individual (spec 1.7). The names are stable: they stand in answers and events.
type Item string

const (
	ItemInvalid      Item = "invalid_text" // not UTF-8, or U+0000: nothing in it can be read, so nothing of it may leave
	ItemEmail        Item = "email_address"
	ItemPhone        Item = "phone_number"
	ItemURL          Item = "url"
	ItemIP           Item = "ip_address"
	ItemMAC          Item = "mac_address"
	ItemAddress      Item = "postal_address"
	ItemNationalID   Item = "national_id"
	ItemTaxNumber    Item = "tax_number"
	ItemBankAccount  Item = "bank_account"
	ItemCard         Item = "payment_card"
	ItemBirthDate    Item = "date_of_birth"
	ItemUUID         Item = "uuid"
	ItemUserID       Item = "user_id"
	ItemOrganisation Item = "organization"
	ItemProgram      Item = "program"
	ItemMemberName   Item = "member_name"
	ItemHandle       Item = "handle"
	ItemPath         Item = "file_path"
	ItemSecret       Item = "secret"
	ItemProgramMoney Item = "program_money"
	ItemRef          Item = "ref"
)

// Items are all of them, as the specification lists them.
func Items() []Item {
	return []Item{
		ItemEmail, ItemPhone, ItemURL, ItemIP, ItemMAC, ItemAddress, ItemNationalID, ItemTaxNumber, ItemBankAccount, ItemCard, ItemBirthDate,
		ItemUUID, ItemUserID, ItemOrganisation, ItemProgram, ItemMemberName, ItemHandle, ItemPath, ItemSecret, ItemProgramMoney, ItemRef,
	}
}

// Known is what only the caller can know. Names and ids of organisations and programs may be mixed; handles stand with or without
// their @. The program "default" is no name: every organisation has it (spec 1.1).
type Known struct {
	Organisations []string
	Programs      []string
	Members       []string // display names
	Handles       []string
	MemberIDs     []string
	Refs          []string
}

// Leak is an item and its place, in Unicode code points of the clean text. It never holds the text.
type Leak struct {
	Item  Item `json:"item"`
	Start int  `json:"start"`
	End   int  `json:"end"`
}

// Scrub finds what must not leave tier individual, in the order of the text; no two leaks overlap. It cleans the text first, as
// Text does.
func (s *Screen) Scrub(text string, known Known) []Leak {
	text, ok := clean(text)
	if !ok {
		return []Leak{{Item: ItemInvalid}}
	}
	p := newPage(s, text)
	p.knownIDs(known)
	p.tokens()
	p.knownNames(known)
	p.numbers()
	p.phones()
	p.births()
	p.addresses()
	p.money(known)
	return p.settled()
}

// settled keeps, where leaks overlap, the one that was found first: what is told apart more surely is looked for earlier.
func (p *page) settled() []Leak {
	slices.SortFunc(p.found, func(a, b Leak) int { return a.Start - b.Start })
	return p.found
}

// take notes a leak unless a part of it is taken already.
func (p *page) take(item Item, from, to int) bool {
	if from >= to || slices.Contains(p.taken[from:to], true) {
		return false
	}
	for i := from; i < to; i++ {
		p.taken[i] = true
	}
	p.found = append(p.found, Leak{item, from, to})
	return true
}

// page is a clean text laid out for the scrubber: one element for each code point, so that a place is an offset.
type page struct {
	screen *Screen
	clean  string
	signs  []rune // full-width and styled characters, digits of every script, dashes and blanks as ASCII; the rest as it is
	folded []rune // letters besides in lower case, without accents and look-alikes, where that is one letter
	words  []piece
	groups []piece        // words, apart from the signs without blanks that they are written beside
	heads  map[rune][]int // where words begin, by their first folded letter
	taken  []bool
	found  []Leak
}

// piece is a stretch of a page.
type piece struct{ from, to int }

func newPage(s *Screen, text string) *page {
	n := utf8.RuneCountInString(text)
	p := &page{screen: s, clean: text, signs: make([]rune, 0, n), folded: make([]rune, 0, n), taken: make([]bool, n), heads: map[rune][]int{}}
	start := -1
	for _, r := range text {
		sign := plainSign(r)
		if wordRune(sign) {
			if start < 0 {
				start = len(p.signs)
			}
		} else if start >= 0 {
			p.words = append(p.words, piece{start, len(p.signs)})
			start = -1
		}
		p.signs = append(p.signs, sign)
		p.folded = append(p.folded, s.folder.single(sign))
	}
	if start >= 0 {
		p.words = append(p.words, piece{start, n})
	}
	p.groups = p.apart()
	for _, w := range p.words {
		p.heads[p.folded[w.from]] = append(p.heads[p.folded[w.from]], w.from)
	}
	return p
}

// apart cuts words where a script without blanks meets another sign: 口座は and DE89370400440532013000.
func (p *page) apart() []piece {
	if !slices.ContainsFunc(p.signs, unspaced) {
		return p.words
	}
	var groups []piece
	for _, w := range p.words {
		from := w.from
		for i := from + 1; i < w.to; i++ {
			if unspaced(p.signs[i]) != unspaced(p.signs[i-1]) {
				groups, from = append(groups, piece{from, i}), i
			}
		}
		groups = append(groups, piece{from, w.to})
	}
	return groups
}

// at is the sign at i, 0 outside the page.
func (p *page) at(i int) rune {
	if i < 0 || i >= len(p.signs) {
		return 0
	}
	return p.signs[i]
}

func (p *page) text(w piece) string { return string(p.folded[w.from:w.to]) }

// before is what is read up to i, at most n code points of it, as words with one space around each.
func (p *page) before(i, n int) string { return p.between(max(0, i-n), i) }

// after is the same from i on.
func (p *page) after(i, n int) string { return p.between(i, min(len(p.signs), i+n)) }

func (p *page) between(from, to int) string {
	read := make([]rune, 0, to-from+2)
	read = append(read, ' ')
	for _, r := range p.folded[from:to] {
		switch {
		case wordRune(r):
			read = append(read, r)
		case read[len(read)-1] != ' ':
			read = append(read, ' ')
		}
	}
	if read[len(read)-1] != ' ' {
		read = append(read, ' ')
	}
	return string(read)
}
