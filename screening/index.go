package screening

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// index holds the literals of rules and the words of ideas, so that one walk through a text finds them all.
type index struct {
	words  *trie
	told   []told // by word
	groups int
}

// told is what it means that a word stands in the text: that rules may match, that groups are met, that there is talk of ideas.
type told struct {
	rules    []need
	groups   []int
	concepts []conceptWord
}

// need is a rule that a literal is one of, and the groups of which one literal each must stand behind it.
type need struct {
	rule int32
	near []near
}

// near is a group, and how many breaks between words there may be before its literal.
type near struct{ group, breaks int }

// spot is where a word stands: which word, or which rule it is a literal of.
type spot struct{ from, to, what int32 }

// spots adds to spots the words in a text, from its beginning on; at one place the shorter first. A line break counts as a blank.
func (x *index) spots(spots []spot, text string) []spot {
	t := x.words
	for i := range len(text) {
		if !utf8.RuneStart(text[i]) || !t.begins(text, i) {
			continue
		}
		n := uint32(0)
		for k := i; k < len(text); k++ {
			if n = t.next(n, unbroken(text[k])); n == 0 {
				break
			}
			if word := t.nodes[n].word; word >= 0 {
				spots = append(spots, spot{int32(i), int32(k + 1), word})
			}
		}
	}
	return spots
}

// gathering is what an index is made of.
type gathering struct {
	words  map[string]*told
	groups map[string]int // by their literals with bars between
}

func newGathering() *gathering {
	return &gathering{words: map[string]*told{}, groups: map[string]int{}}
}

func (g *gathering) index() *index {
	words := sortedWords(g.words)
	x := &index{words: newTrie(words), groups: len(g.groups)}
	for _, word := range words {
		x.told = append(x.told, *g.words[word])
	}
	return x
}

func (g *gathering) told(word string) *told {
	word = strings.ReplaceAll(word, "\n", " ")
	if g.words[word] == nil {
		g.words[word] = &told{}
	}
	return g.words[word]
}

// rule adds a literal of a rule, with what stands behind it.
func (g *gathering) rule(k int, s start) {
	n := need{rule: int32(k)}
	for _, c := range s.behind {
		n.near = append(n.near, near{g.group(c.literals), c.breaks})
	}
	slices.SortFunc(n.near, func(a, b near) int { return cmp.Or(a.group-b.group, a.breaks-b.breaks) })
	n.near = slices.CompactFunc(n.near, func(a, b near) bool { return a.group == b.group })
	t := g.told(s.text)
	if !slices.ContainsFunc(t.rules, func(was need) bool { return was.rule == n.rule && slices.Equal(was.near, n.near) }) {
		t.rules = append(t.rules, n)
	}
}

// group is the number of a set of literals one of which must stand near; many rules share one.
func (g *gathering) group(literals []string) int {
	literals = slices.Clone(literals)
	slices.Sort(literals)
	literals = slices.Compact(literals)
	name := strings.Join(literals, "|")
	k, known := g.groups[name]
	if !known {
		k = len(g.groups)
		g.groups[name] = k
		for _, text := range literals {
			t := g.told(text)
			t.groups = append(t.groups, k)
		}
	}
	return k
}

func (g *gathering) concept(word string, w conceptWord) {
	if t := g.told(word); !slices.Contains(t.concepts, w) {
		t.concepts = append(t.concepts, w)
	}
}
