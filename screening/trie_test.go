package screening

import (
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

// What the index finds in a text is what looking for each word at each place finds.
func TestSpotsAreWhereWordsStand(t *testing.T) {
	t.Parallel()
	sign := rapid.SampledFrom([]string{"<", "#", "<a"})
	word := rapid.StringOfN(rapid.RuneFrom([]rune("ab <ж木")), 2, 5, -1)
	rapid.Check(t, func(t *rapid.T) {
		set := map[string]bool{}
		for _, word := range rapid.SliceOfN(rapid.OneOf(word, sign), 1, 12).Draw(t, "words") {
			set[word] = true
		}
		words := sortedWords(set)
		text := rapid.StringOfN(rapid.RuneFrom([]rune("ab\n <ж木#")), 0, 40, -1).Draw(t, "text")
		want := []spot{}
		for i := range len(text) {
			for k, word := range words { // of two that stand at one place the shorter is sorted first
				if strings.HasPrefix(strings.ReplaceAll(text[i:], "\n", " "), word) {
					want = append(want, spot{int32(i), int32(i + len(word)), int32(k)})
				}
			}
		}
		require.Equal(t, want, (&index{words: newTrie(words)}).spots([]spot{}, text))
	})
}
