package screening

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// wordsOf reads a trie back, from its root on.
func wordsOf(t *trie) (words []string) {
	var walk func(n uint32, text string)
	walk = func(n uint32, text string) {
		if t.nodes[n].word >= 0 {
			words = append(words, text)
		}
		for c := range 256 {
			if next := t.next(n, byte(c)); next != 0 {
				walk(next, text+string([]byte{byte(c)}))
			}
		}
	}
	walk(0, "")
	return words
}

func TestTrieHoldsItsWords(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]bool{}
		for _, word := range rapid.SliceOf(rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("abж木\xff")), 1, 4, -1), rapid.StringN(1, -1, 6))).Draw(t, "words") {
			set[word] = true
		}
		words := sortedWords(set)
		trie := newTrie(words)
		require.ElementsMatch(t, words, wordsOf(trie))
	})
}

// What the trie finds in a text is what looking for each literal at each place finds.
func TestSpotsAreWhereLiteralsStand(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]bool{}
		for _, word := range rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("abж木")), 1, 4, -1), 1, 12).Draw(t, "words") {
			set[word] = true
		}
		words := sortedWords(set)
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abж木 ")), 0, 40, -1).Draw(t, "text")
		var want []spot
		for i := range len(text) {
			for k, word := range words {
				if strings.HasPrefix(text[i:], word) {
					want = append(want, spot{i, i + len(word), k})
				}
			}
		}
		found := (&ruleset{literals: newTrie(words)}).spots(text)
		slices.SortFunc(found, func(a, b spot) int {
			if a.from != b.from {
				return a.from - b.from
			}
			return a.what - b.what
		})
		require.Equal(t, want, found)
	})
}
