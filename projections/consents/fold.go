package consents

import "iris.example/iris/projections/engine"

// Grown hands over all there is.
func (c *Changes) Grown() []engine.Table {
	rows := c.Rows
	c.Rows = nil
	return []engine.Table{{
		Name: "consents", Len: len(rows),
		Columns: []string{
			"event_id", "member_id", "key", "state", "at", "expires_at", "supersedes", "terms_id", "terms_version", "source", "locale", "fingerprint",
			"sha256", "record", "position", "ordinal",
		},
		Row: func(i int, w *engine.Row) {
			r := &rows[i]
			w.UUID(r.EventID)
			w.UUID(r.MemberID)
			w.Text(string(r.Key))
			w.Text(string(r.State))
			w.Time(r.At)
			w.TimeOrNull(r.ExpiresAt)
			w.UUIDOrNull(r.Supersedes)
			w.Text(r.TermsID)
			w.Text(r.TermsVersion)
			w.Text(string(r.Source))
			w.Text(r.Locale)
			w.Text(r.Fingerprint)
			w.Text(r.SHA256)
			w.Bytes(r.Record)
			w.Big(r.Position)
			w.Int(r.Ordinal)
		},
	}}
}

// Settled is nothing: no row changes.
func (c *Changes) Settled() []engine.Table { return nil }
