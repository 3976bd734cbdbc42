package recalls

import "iris.example/iris/projections/engine"

// Grown hands over all there is. What was seen stays known: an envelope may stand twice on the stream.
func (c *Changes) Grown() []engine.Table {
	rows := c.Rows
	c.Rows = nil
	return []engine.Table{{
		Name: "recalls", Len: len(rows),
		Columns: []string{
			"recall_id", "member_id", "at", "purpose", "surface", "consumer", "severity", "evaluated_count", "returned_ids", "result_sha256", "as_of",
			"position",
		},
		Row: func(i int) []any {
			r := rows[i]
			return []any{
				engine.UUID(r.RecallID), engine.UUID(r.MemberID), r.At, r.Purpose, r.Surface, string(r.Consumer), r.Severity, r.EvaluatedCount, engine.UUIDs(r.ReturnedIDs),
				r.ResultSHA256, r.AsOf, r.Position,
			}
		},
	}}
}

// Settled is nothing: no row changes.
func (c *Changes) Settled() []engine.Table { return nil }
