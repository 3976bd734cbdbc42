package schemas

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// chain matches ^A{n}B{m}C{k,l}$ over ASCII: a row of character sets, each a fixed number of times but for the last. No two
// ways lead through it, so one pass decides. Ids, times, hashes and boxes are such; package regexp takes five times as long,
// which was most of what checking an event cost.
type chain struct {
	pattern string
	links   []link
}

type link struct {
	set      [128]bool
	min, max int // max -1: no end
}

func (c *chain) String() string { return c.pattern }

func (c *chain) MatchString(s string) bool {
	for i := range c.links {
		l := &c.links[i]
		n := 0
		for n < len(s) && n != l.max && s[n] < 128 && l.set[s[n]] {
			n++
		}
		if n < l.min {
			return false
		}
		s = s[n:]
	}
	return s == ""
}

// compilePattern takes package regexp for whatever is no chain.
func compilePattern(pattern string) (jsonschema.Regexp, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	if links, ok := chainOf(parsed); ok {
		return &chain{pattern, links}, nil
	}
	return regexp.Compile(pattern)
}

func chainOf(r *syntax.Regexp) ([]link, bool) {
	if r.Op != syntax.OpConcat || r.Sub[0].Op != syntax.OpBeginText || r.Sub[len(r.Sub)-1].Op != syntax.OpEndText {
		return nil, false
	}
	var links []link
	for _, sub := range r.Sub[1 : len(r.Sub)-1] {
		more, ok := linksOf(sub)
		if !ok || len(links) > 0 && links[len(links)-1].min != links[len(links)-1].max {
			return nil, false
		}
		links = append(links, more...)
	}
	return links, true
}

func linksOf(r *syntax.Regexp) ([]link, bool) {
	switch r.Op {
	case syntax.OpLiteral:
		return literal(r)
	case syntax.OpCharClass:
		set, ok := ascii(r.Rune)
		return []link{{set, 1, 1}}, ok
	case syntax.OpRepeat:
		if r.Sub[0].Op != syntax.OpCharClass {
			return nil, false
		}
		set, ok := ascii(r.Sub[0].Rune)
		return []link{{set, r.Min, r.Max}}, ok
	}
	return nil, false
}

func literal(r *syntax.Regexp) ([]link, bool) {
	if r.Flags&syntax.FoldCase != 0 {
		return nil, false
	}
	links := make([]link, len(r.Rune))
	for i, c := range r.Rune {
		if c >= 128 {
			return nil, false
		}
		links[i] = link{min: 1, max: 1}
		links[i].set[c] = true
	}
	return links, true
}

// ascii turns a class's pairs of first and last rune into a set.
func ascii(pairs []rune) (set [128]bool, ok bool) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] >= 128 {
			return set, false
		}
		for c := pairs[i]; c <= pairs[i+1]; c++ {
			set[c] = true
		}
	}
	return set, true
}
