package acts_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/acts"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	same := func(s string) acts.Piece { return acts.Piece{Kind: acts.PieceSame, Text: s} }
	added := func(s string) acts.Piece { return acts.Piece{Kind: acts.PieceAdded, Text: s} }
	removed := func(s string) acts.Piece { return acts.Piece{Kind: acts.PieceRemoved, Text: s} }
	for name, c := range map[string]struct {
		before, after string
		want          []acts.Piece
	}{
		"one word":        {"Prefers metric units.", "Prefers imperial units.", []acts.Piece{same("Prefers "), removed("metric"), added("imperial"), same(" units.")}},
		"more at the end": {"Takes tea", "Takes tea with milk", []acts.Piece{same("Takes tea"), added(" with milk")}},
		"less":            {"Takes tea with milk", "Takes tea", []acts.Piece{same("Takes tea"), removed(" with milk")}},
		"two places":      {"a b c d e", "a x c y e", []acts.Piece{same("a "), removed("b"), added("x"), same(" c "), removed("d"), added("y"), same(" e")}},
		"nothing before":  {"", "tea", []acts.Piece{added("tea")}},
		"nothing after":   {"tea", "", []acts.Piece{removed("tea")}},
		"another space":   {"tea\nmilk", "tea milk", []acts.Piece{same("tea"), removed("\n"), added(" "), same("milk")}},
		"the same":        {"tea", "tea", []acts.Piece{same("tea")}},
		"both empty":      {"", "", nil},
	} {
		require.Equal(t, c.want, acts.Compare(c.before, c.after), name)
	}
}

// Nothing is lost or made up: the pieces give both texts back, and no two neighbours are of one kind.
func TestAComparisonGivesBothTextsBack(t *testing.T) {
	t.Parallel()
	word := rapid.SampledFrom([]string{"a", "b", "c", " ", "\n", "é", "  ", "中", "a-b"})
	text := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(word, 0, 60).Draw(t, "words"), "") })
	rapid.Check(t, func(t *rapid.T) {
		before, after := text.Draw(t, "before"), text.Draw(t, "after")
		requireBoth(t, before, after)
	})
	requireBoth(t, strings.Repeat("x y", 1300), strings.Repeat("z w", 1300)) // beyond the table
}

func requireBoth(t require.TestingT, before, after string) {
	var old, now strings.Builder
	pieces := acts.Compare(before, after)
	for i, p := range pieces {
		require.NotEmpty(t, p.Text)
		require.False(t, i > 0 && pieces[i-1].Kind == p.Kind)
		if p.Kind != acts.PieceAdded {
			old.WriteString(p.Text)
		}
		if p.Kind != acts.PieceRemoved {
			now.WriteString(p.Text)
		}
	}
	require.Equal(t, before, old.String())
	require.Equal(t, after, now.String())
}
