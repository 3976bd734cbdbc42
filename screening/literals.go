package screening

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

// literalsOf returns strings one of which stands in whatever re matches, the longest it can find; none where it can't tell.
func literalsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			some := literalsOf(sub)
			if len(some) == 0 {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for i := range re.Sub {
			if some := heads(re.Sub[i:]); shortest(some) > shortest(best) {
				best = some
			}
			if some := literalsOf(re.Sub[i]); shortest(some) > shortest(best) {
				best = some
			}
		}
		return best
	}
	some := headsOf(re)
	if shortest(some) == 0 {
		return nil
	}
	return some
}

// maxHeads bounds the product of alternatives that follow one another.
const maxHeads = 400

// heads returns strings with one of which every match of the sequence begins.
func heads(parts []*syntax.Regexp) []string {
	all := []string{""}
	for _, part := range parts {
		some := headsOf(part)
		if len(all)*len(some) > maxHeads {
			return all
		}
		all = product(all, some)
		if !exact(part) {
			return all
		}
	}
	return all
}

func product(first, then []string) []string {
	var all []string
	for _, a := range first {
		for _, b := range then {
			all = append(all, a+b)
		}
	}
	return all
}

// headsOf is heads for one part; the empty string where nothing is known.
func headsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return classHeads(re.Rune)
	case syntax.OpQuest:
		if exact(re.Sub[0]) {
			return append([]string{""}, headsOf(re.Sub[0])...)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return headsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return headsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		return heads(re.Sub)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, headsOf(sub)...)
		}
		return all
	}
	return []string{""}
}

// exact reports whether headsOf(re) is all that re matches, so that what follows may be joined to it.
func exact(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginLine, syntax.OpBeginText:
		return true
	case syntax.OpCharClass:
		return len(classHeads(re.Rune)[0]) > 0
	case syntax.OpCapture, syntax.OpQuest:
		return exact(re.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !exact(sub) {
				return false
			}
		}
		return re.Op == syntax.OpAlternate || len(heads(re.Sub)) <= maxHeads && fits(re.Sub)
	}
	return false
}

// fits reports whether heads of the sequence was not cut short by maxHeads.
func fits(parts []*syntax.Regexp) bool {
	n := 1
	for _, part := range parts {
		n *= len(headsOf(part))
	}
	return n <= maxHeads
}

func classHeads(ranges []rune) []string {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 3 || len(all) > 8 {
			return []string{""}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			all = append(all, string(r))
		}
	}
	return all
}

func shortest(s []string) int {
	if len(s) == 0 {
		return 0
	}
	n := len(s[0])
	for _, one := range s {
		n = min(n, len(one))
	}
	return n
}

// start is a string with which a match may begin, and what then stands behind it.
type start struct {
	text   string
	behind []company
}

// company is strings one of which stands behind a start, with so many breaks between words before it at most.
type company struct {
	literals []string
	breaks   int
}

// starts is headsOf with what stands behind each.
func starts(re *syntax.Regexp) (all []start) {
	switch re.Op {
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			all = append(all, starts(sub)...)
		}
		return all
	case syntax.OpCapture, syntax.OpPlus:
		return starts(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return starts(re.Sub[0])
		}
	case syntax.OpConcat:
		return startsOfAll(re.Sub)
	}
	for _, text := range headsOf(re) {
		all = append(all, start{text: text})
	}
	return all
}

// startsOfAll goes as heads does, to the first part of which not all is known, and asks the rest for what must stand there.
func startsOfAll(parts []*syntax.Regexp) []start {
	all, passed := []start{{}}, 0
	for len(parts) > 0 {
		some := starts(parts[0])
		if len(all)*len(some) > maxHeads {
			break
		}
		all = joined(all, some, passed)
		passed += breaks(parts[0])
		last := !exact(parts[0])
		parts = parts[1:]
		if last {
			break
		}
	}
	for _, part := range parts {
		passed += breaks(part)
		if some := literalsOf(part); worthwhile(some) {
			for i := range all {
				all[i].behind = append(all[i].behind, company{some, passed})
			}
		}
	}
	return all
}

// joined puts the starts of what follows behind those of what is there, which has passed so many breaks.
func joined(first, then []start, passed int) (all []start) {
	for _, a := range first {
		for _, b := range then {
			s := start{a.text + b.text, slices.Clone(a.behind)}
			for _, c := range b.behind {
				s.behind = append(s.behind, company{c.literals, c.breaks + passed})
			}
			all = append(all, s)
		}
	}
	return all
}

// endless is more breaks than any window holds.
const endless = 1 << 20

// breaks is how many breaks between words a match can hold at most: what is matched by runs of signs and blanks is one each.
func breaks(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return strings.Count(strings.Map(signAsBlank, string(re.Rune)), " ")
	case syntax.OpCharClass:
		if some, _ := signs(re.Rune); some {
			return 1
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1
	case syntax.OpCapture, syntax.OpQuest:
		return breaks(re.Sub[0])
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		return breaksOfMany(re)
	case syntax.OpConcat:
		n := 0
		for _, sub := range re.Sub {
			n = min(n+breaks(sub), endless)
		}
		return n
	case syntax.OpAlternate:
		n := 0
		for _, sub := range re.Sub {
			n = max(n, breaks(sub))
		}
		return n
	}
	return 0
}

func breaksOfMany(re *syntax.Regexp) int {
	one := breaks(re.Sub[0])
	if re.Sub[0].Op == syntax.OpCharClass {
		if _, all := signs(re.Sub[0].Rune); all {
			return one
		}
	}
	switch {
	case one == 0:
		return 0
	case re.Op == syntax.OpRepeat && re.Max >= 0:
		return min(one*re.Max, endless)
	}
	return endless
}

// signs reports whether a class has some signs or blanks, and whether it has nothing else.
func signs(ranges []rune) (some, all bool) {
	all = true
	for i := 0; i < len(ranges); i += 2 {
		for r := ranges[i]; r <= min(ranges[i+1], utf8.RuneSelf); r++ {
			is := r < utf8.RuneSelf && !wordByte(byte(r))
			some, all = some || is, all && is
		}
		all = all && ranges[i+1] < utf8.RuneSelf
	}
	return some, all
}

func signAsBlank(r rune) rune {
	if r < utf8.RuneSelf && !wordByte(byte(r)) {
		return ' '
	}
	return r
}

// worthwhile reports whether literals are worth looking for: none is a single letter or a blank.
func worthwhile(literals []string) bool {
	return shortest(literals) > 0 && !slices.ContainsFunc(literals, func(s string) bool {
		return len(s) == 1 && (wordByte(s[0]) || s[0] == ' ' || s[0] == '\n')
	})
}

func textsOf(found []start) []string {
	texts := make([]string, len(found))
	for i, s := range found {
		texts[i] = s.text
	}
	return texts
}
