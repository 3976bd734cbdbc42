package screening

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// reach is how far from its literal a match may lie, in bytes.
const reach = 160

// far is farther than what a rule is tried on goes from its literal.
const far = 2*reach + utf8.UTFMax

// widest is how far windows that touch grow together: in longer pieces RE2's fast way gives up.
const widest = 3 * reach

type window struct{ from, to int }

// search is one scan of one view. Most texts hold little that is suspicious, so what is kept for each rule is made when the first needs it.
type search struct {
	set  *ruleset
	text string
	skip func(r *rule) bool
	hit  func(r *rule, start, end int) bool
	near []int32 // of each group that some rule in question needs: where its next literal stands
	done []int
	open []window // of the rules that are not headed: the piece to look at, which grows while literals lie close together
}

// scan tells found of each rule that matches in v until found takes it, and doesn't look for those that skip names. c.spots is what
// the index finds in v.
func (set *ruleset) scan(v view, c *collector, skip func(r *rule) bool, found func(r *rule, start, end int) bool) {
	c.near = slices.Grow(c.near[:0], set.index.groups)[:set.index.groups]
	s := &search{set: set, text: v.text, skip: skip, hit: found, near: c.near}
	s.lines()
	for _, place := range s.suspected(c.spots) {
		if s.wanted(int(place.what)) {
			s.suspect(place)
		}
	}
	for k := range s.open {
		s.look(k)
	}
}

// suspected are the places where rules are worth trying, from the text's beginning on: where all that a match needs lies near. It
// goes from the end, where what lies behind is known.
func (s *search) suspected(spots []spot) (places []spot) {
	for _, found := range spots {
		for _, n := range s.set.index.told[found.what].rules {
			for _, c := range n.near {
				s.near[c.group] = int32(len(s.text) + far)
			}
		}
	}
	for from, to := 0, len(spots); to > 0; to = from {
		at := spots[to-1].from
		for from = to - 1; from > 0 && spots[from-1].from == at; {
			from--
		}
		first := len(places)
		for _, found := range spots[from:to] {
			for _, n := range s.set.index.told[found.what].rules {
				if s.may(n, int(at)) {
					places = append(places, spot{at, found.to, n.rule})
				}
			}
		}
		here := places[first:]
		slices.SortFunc(here, func(a, b spot) int { return cmp.Or(cmp.Compare(b.what, a.what), cmp.Compare(b.to, a.to)) })
		here = slices.CompactFunc(here, func(a, b spot) bool { return a.what == b.what })
		places = places[:first+len(here)]
		for _, found := range spots[from:to] {
			for _, g := range s.set.index.told[found.what].groups {
				s.near[g] = at
			}
		}
	}
	slices.Reverse(places)
	return places
}

// may reports whether a rule can match where a literal of its own stands.
func (s *search) may(n need, at int) bool {
	if s.set.rules[n.rule].atWord && at > 0 && asciiWord(s.text[at-1]) {
		return false
	}
	for _, c := range n.near {
		if int(s.near[c.group]) >= at+far {
			return false
		}
	}
	for _, c := range n.near {
		if c.breaks < endless && moreBreaks(s.text[at:s.near[c.group]], c.breaks) {
			return false
		}
	}
	return true
}

// moreBreaks reports whether text has more breaks between words than most. An apostrophe may be part of a word or of a break.
func moreBreaks(text string, most int) bool {
	inBreak := false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\'':
		case wordByte(c):
			inBreak = false
		case !inBreak:
			if inBreak = true; most == 0 {
				return true
			}
			most--
		}
	}
	return false
}

// wanted says whether rule k may still be found.
func (s *search) wanted(k int) bool { return !s.skip(&s.set.rules[k]) && !slices.Contains(s.done, k) }

// suspect tries a rule where a literal of its own stands, or keeps the place to be looked at.
func (s *search) suspect(place spot) {
	k, at := int(place.what), int(place.from)
	if s.set.rules[k].headed {
		_, to := around(s.text, at, at+reach)
		s.try(k, at, to)
		return
	}
	from, to := around(s.text, at, int(place.to))
	if s.open == nil {
		s.open = make([]window, len(s.set.rules))
	}
	if w := &s.open[k]; w.to >= from && to-w.from <= widest {
		w.to = to
		return
	}
	s.look(k)
	s.open[k] = window{from, to}
}

// lines tries the rules that ask where a line begins.
func (s *search) lines() {
	for i := 0; ; {
		_, to := around(s.text, i, i+reach)
		for _, k := range s.set.atLine {
			if s.wanted(k) {
				s.try(k, i, to)
			}
		}
		next := strings.IndexByte(s.text[i:], '\n')
		if next < 0 || i+next+1 == len(s.text) {
			return
		}
		i += next + 1
	}
}

func (s *search) look(k int) {
	if w := s.open[k]; w.to > 0 && s.wanted(k) {
		s.try(k, w.from, w.to)
	}
}

func (s *search) try(k, from, to int) {
	r := &s.set.rules[k]
	if m := r.pattern.FindStringIndex(s.text[from:to]); m != nil && s.hit(r, from+m[0], from+m[1]) {
		s.done = append(s.done, k)
	}
}

// asciiWord is what \b goes by.
func asciiWord(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' }

// around widens from … to by reach, to the next beginning of a word where one is near, else of a rune.
func around(text string, from, to int) (int, int) {
	from, to = max(0, from-reach), min(len(text), to+reach)
	for near := max(0, from-24); from > near && text[from-1] != ' ' && text[from-1] != '\n'; {
		from--
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}
