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
		Row: func(i int, w *engine.Row) {
			r := &rows[i]
			w.UUID(r.RecallID)
			w.UUID(r.MemberID)
			w.Time(r.At)
			w.Text(r.Purpose)
			w.Text(r.Surface)
			w.Text(string(r.Consumer))
			w.Text(r.Severity)
			w.Int(r.EvaluatedCount)
			w.UUIDs(r.ReturnedIDs)
			w.Text(r.ResultSHA256)
			w.Big(r.AsOf)
			w.Big(r.Position)
		},
	}}
}

// Settled is nothing: no row changes.
func (c *Changes) Settled() []engine.Table { return nil }
