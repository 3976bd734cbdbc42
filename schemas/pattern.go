package schemas

import (
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// pattern is what can judge a string where it stands, too.
type pattern interface {
	jsonschema.Regexp
	Match(text []byte) bool
}

// chains match ^A{n}B{m}C{k,l}$ over ASCII: a row of character sets, each a fixed number of times but for the last. No two
// ways lead through a chain, so one pass decides; where a pattern has alternatives, each is a chain of its own. Ids, times, hashes
// and boxes are such; package regexp takes five times as long, which was most of what checking an event cost.
type chains struct {
	pattern string
	all     []chain
}

type chain []link

type link struct {
	set      *set
	min, max int // max -1: no end
}

// set has 1 for each byte that is in it.
type set [256]byte

// maxChains bounds what the alternatives of a pattern multiply to.
const maxChains = 16

func (c *chains) String() string { return c.pattern }

func (c *chains) MatchString(s string) bool { return c.Match([]byte(s)) }

func (c *chains) Match(text []byte) bool {
	return slices.ContainsFunc(c.all, func(one chain) bool { return one.matches(text) })
}

func (c chain) matches(text []byte) bool {
	for _, l := range c {
		part := text
		if 0 <= l.max && l.max < len(text) {
			part = text[:l.max]
		}
		n := l.set.lead(part)
		if n < l.min {
			return false
		}
		text = text[n:]
	}
	return len(text) == 0
}

// lead counts the bytes of the set that text starts with. It takes them by eight: most of an event are long boxes, and one by one
// they were a quarter of the time that a check takes.
func (s *set) lead(text []byte) (n int) {
	for ; n+8 <= len(text); n += 8 {
		t := text[n : n+8]
		if s[t[0]]&s[t[1]]&s[t[2]]&s[t[3]]&s[t[4]]&s[t[5]]&s[t[6]]&s[t[7]] == 0 {
			break
		}
	}
	for n < len(text) && s[text[n]] != 0 {
		n++
	}
	return n
}

// compilePattern takes package regexp for whatever is no chain.
func compilePattern(expression string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if all, ok := chainsOf(parsed); ok {
		return &chains{expression, all}, nil
	}
	return regexp.Compile(expression)
}

func chainsOf(r *syntax.Regexp) ([]chain, bool) {
	if r.Op != syntax.OpConcat || r.Sub[0].Op != syntax.OpBeginText || r.Sub[len(r.Sub)-1].Op != syntax.OpEndText {
		return nil, false
	}
	all, ok := inRow(r.Sub[1 : len(r.Sub)-1])
	return all, ok && !slices.ContainsFunc(all, chain.forks)
}

// forks: a link but the last has more than one length.
func (c chain) forks() bool {
	return len(c) > 0 && slices.ContainsFunc(c[:len(c)-1], func(l link) bool { return l.min != l.max })
}

// waysOf are the chains that r matches.
func waysOf(r *syntax.Regexp) ([]chain, bool) {
	switch r.Op {
	case syntax.OpEmptyMatch:
		return []chain{nil}, true
	case syntax.OpCapture:
		return waysOf(r.Sub[0])
	case syntax.OpLiteral:
		return literal(r)
	case syntax.OpCharClass:
		return times(r, 1, 1)
	case syntax.OpRepeat:
		return times(r.Sub[0], r.Min, r.Max)
	case syntax.OpStar:
		return times(r.Sub[0], 0, -1)
	case syntax.OpPlus:
		return times(r.Sub[0], 1, -1)
	case syntax.OpQuest:
		ways, ok := waysOf(r.Sub[0])
		return append(ways, nil), ok
	case syntax.OpAlternate:
		return either(r.Sub)
	case syntax.OpConcat:
		return inRow(r.Sub)
	}
	return nil, false
}

func either(subs []*syntax.Regexp) (all []chain, ok bool) {
	for _, sub := range subs {
		ways, ok := waysOf(sub)
		if !ok {
			return nil, false
		}
		all = append(all, ways...)
	}
	return all, len(all) <= maxChains
}

func inRow(subs []*syntax.Regexp) ([]chain, bool) {
	all := []chain{nil}
	for _, sub := range subs {
		ways, ok := waysOf(sub)
		if !ok || len(all)*len(ways) > maxChains {
			return nil, false
		}
		var longer []chain
		for _, start := range all {
			for _, end := range ways {
				longer = append(longer, slices.Concat(start, end))
			}
		}
		all = longer
	}
	return all, true
}

func literal(r *syntax.Regexp) ([]chain, bool) {
	if r.Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	row := make(chain, len(r.Rune))
	for i, c := range r.Rune {
		one, ok := ascii([]rune{c, c})
		if !ok {
			return nil, false
		}
		row[i] = link{one, 1, 1}
	}
	return []chain{row}, true
}

// times is a class so many times.
func times(r *syntax.Regexp, least, most int) ([]chain, bool) {
	if r.Op != syntax.OpCharClass {
		return nil, false
	}
	class, ok := ascii(r.Rune)
	return []chain{{{class, least, most}}}, ok
}

// ascii turns a class's pairs of first and last rune into a set.
func ascii(pairs []rune) (*set, bool) {
	s := new(set)
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] >= 128 {
			return nil, false
		}
		for c := pairs[i]; c <= pairs[i+1]; c++ {
			s[c] = 1
		}
	}
	return s, true
}
