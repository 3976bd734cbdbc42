package reader_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

// Whatever is added between two pages, and to whichever place, what was there from the first page on is on one page, nothing is on
// two, and the pages end.
func TestEveryItemIsOnOnePage(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		items := map[reader.Key]bool{}
		add := func(label string) {
			for range rapid.IntRange(0, 12).Draw(rt, label) {
				position := rapid.Uint64Range(0, 20).Draw(rt, "position")
				items[reader.KeyOf(position, fmt.Sprint(rapid.IntRange(0, 5).Draw(rt, "id")))] = true
			}
		}
		newest := func() []reader.Key {
			all := []reader.Key{}
			for k := range items {
				all = append(all, k)
			}
			slices.SortFunc(all, func(x, y reader.Key) int {
				return cmp.Or(cmp.Compare(y.Position, x.Position), cmp.Compare(y.ID, x.ID))
			})
			return all
		}
		add("first")
		there := newest()
		seen := []reader.Key{}
		page := reader.Page{Limit: rapid.IntRange(1, 6).Draw(rt, "limit")}
		for {
			found, next := reader.Of(page, newest(), func(k reader.Key) reader.Key { return k })
			require.LessOrEqual(rt, len(found), page.Limit)
			seen = append(seen, found...)
			if next == nil {
				break
			}
			require.Len(rt, found, page.Limit)
			require.Equal(rt, found[len(found)-1], *next)
			page.Before = next
			add("meanwhile")
		}
		for i := 1; i < len(seen); i++ {
			require.True(rt, seen[i].Below(seen[i-1]), "newest first, and nothing twice")
		}
		require.Subset(rt, seen, there)
	})
}

func TestAPageOfNothing(t *testing.T) {
	t.Parallel()
	found, next := reader.Of(reader.Page{}, nil, func(id events.ID) reader.Key { return reader.Key{ID: id} })
	require.Empty(t, found)
	require.Nil(t, next)
}
