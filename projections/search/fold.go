package search

import (
	"cmp"
	"slices"

	"iris.example/iris/projections/engine"
)

// Grown hands over nothing: a later event may say it anew, or end it.
func (c *Changes) Grown() []engine.Table { return nil }

// Settled hands over the words of what didn't end, a member's memories side by side.
func (c *Changes) Settled() []engine.Table {
	rows := make([]*Row, 0, len(c.Rows))
	for _, r := range c.Rows {
		if r != nil {
			rows = append(rows, r)
		}
	}
	slices.SortFunc(rows, func(x, y *Row) int {
		return cmp.Or(cmp.Compare(x.MemberID, y.MemberID), cmp.Compare(x.MemoryID, y.MemoryID))
	})
	return []engine.Table{{
		Name: "memory_search", Len: len(rows), Columns: []string{"member_id", "memory_id", "words", "position"},
		Row: func(i int, w *engine.Row) {
			r := rows[i]
			w.UUID(r.MemberID)
			w.UUID(r.MemoryID)
			w.Texts(r.Words)
			w.Big(r.Position)
		},
	}}
}
