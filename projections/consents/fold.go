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
		Row: func(i int) []any {
			r := rows[i]
			return []any{
				engine.UUID(r.EventID), engine.UUID(r.MemberID), string(r.Key), string(r.State), r.At, r.ExpiresAt, engine.OptionalUUID(r.Supersedes),
				r.TermsID, r.TermsVersion, string(r.Source), r.Locale, r.Fingerprint, r.SHA256, r.Record.JSON(), r.Position, r.Ordinal,
			}
		},
	}}
}

// Settled is nothing: no row changes.
func (c *Changes) Settled() []engine.Table { return nil }
