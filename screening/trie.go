package screening

import (
	"math/bits"
	"slices"
)

// trie holds words, and is walked byte by byte from each place of a text: a step is one bit and one count, whatever the script.
// (A map asked by the first three bytes takes ten times as long in scripts whose letters take three.)
type trie struct {
	nodes []node
	heads [1 << 12]uint64 // bits: hashes of the first three bytes of words; most places of most texts are passed by on their account
}

// node 0 is the root, and the child of none: as an answer it means that no word goes on so.
type node struct {
	below  [4]uint64 // which bytes go on
	before [4]uint8  // how many of them stand in the parts of below in front of this one
	first  uint32    // the node of the least of them; the others follow
	word   int32     // which word ends here, -1 for none
}

// newTrie takes sorted words, none twice, none empty, none with a line break; one of a single byte is a sign. A word is known by its
// place among them.
func newTrie(words []string) *trie {
	type piece struct{ from, to, depth int } // the words that share a node's beginning
	size := 1
	for i, word := range words {
		t := 0
		for i > 0 && t < len(words[i-1]) && words[i-1][t] == word[t] {
			t++
		}
		size += len(word) - t
	}
	t := &trie{nodes: make([]node, 1, size)}
	t.nodes[0].word = -1
	for _, word := range words {
		t.head(word)
	}
	pieces := make([]piece, 1, size)
	pieces[0] = piece{0, len(words), 0}
	for k := 0; k < len(pieces); k++ {
		p := pieces[k]
		if p.from < p.to && len(words[p.from]) == p.depth {
			t.nodes[k].word = int32(p.from)
			p.from++
		}
		t.nodes[k].first = uint32(len(t.nodes))
		for p.from < p.to {
			c := words[p.from][p.depth]
			end := p.from + 1
			for end < p.to && words[end][p.depth] == c {
				end++
			}
			t.nodes[k].below[c>>6] |= 1 << (c & 63)
			t.nodes = append(t.nodes, node{word: -1})
			pieces = append(pieces, piece{p.from, end, p.depth + 1})
			p.from = end
		}
		n := &t.nodes[k]
		for part := 1; part < len(n.below); part++ {
			n.before[part] = n.before[part-1] + uint8(bits.OnesCount64(n.below[part-1]))
		}
	}
	return t
}

func (t *trie) head(word string) {
	switch len(word) {
	case 1: // a sign: begins knows
	case 2:
		for third := range 256 {
			h := hash(word[0], word[1], byte(third))
			t.heads[h>>6] |= 1 << (h & 63)
		}
	default:
		h := hash(word[0], word[1], word[2])
		t.heads[h>>6] |= 1 << (h & 63)
	}
}

// begins reports whether a word may stand at i: false only where none does.
func (t *trie) begins(text string, i int) bool {
	if len(text) < i+3 || !wordByte(text[i]) && text[i] != ' ' {
		return true
	}
	h := hash(text[i], unbroken(text[i+1]), unbroken(text[i+2]))
	return t.heads[h>>6]&(1<<(h&63)) != 0
}

// unbroken: a line break counts as a blank.
func unbroken(c byte) byte {
	if c == '\n' {
		return ' '
	}
	return c
}

func hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> 14
}

// next is the node behind n by c, 0 where there is none.
func (t *trie) next(n uint32, c byte) uint32 {
	at := &t.nodes[n]
	part, bit := at.below[c>>6], uint64(1)<<(c&63)
	if part&bit == 0 {
		return 0
	}
	return at.first + uint32(at.before[c>>6]) + uint32(bits.OnesCount64(part&(bit-1)))
}

// sortedWords is the keys of a set as newTrie takes them.
func sortedWords[V any](set map[string]V) []string {
	words := make([]string, 0, len(set))
	for word := range set {
		words = append(words, word)
	}
	slices.Sort(words)
	return words
}
