package search

import (
	"cmp"
	"slices"
	"strings"

	"iris.example/iris/projections/engine"
)

// Grown hands over nothing: a later event may say it anew, or end it.
func (c *Changes) Grown() []engine.Table { return nil }

// Settled hands over the words of what didn't end.
func (c *Changes) Settled() []engine.Table {
	rows := c.settled()
	return []engine.Table{{
		Name: "memory_search", Len: len(rows), Columns: []string{"member_id", "memory_id", "words", "position"},
		Row: func(i int, w *engine.Row) {
			r := rows[i]
			w.UUID(r.member)
			w.UUID(r.memory)
			w.Texts(strings.Fields(r.words))
			w.Big(r.position)
		},
	}}
}

// settled is what didn't end, a member's memories side by side.
func (c *Changes) settled() []*said {
	rows := make([]*said, 0, len(c.rows))
	for _, r := range c.rows {
		if r != nil {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(x, y *said) int {
		return cmp.Or(cmp.Compare(x.member, y.member), cmp.Compare(x.memory, y.memory))
	})
	return rows
}
