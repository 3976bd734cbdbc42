package consents

import (
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

const insertRows = `INSERT INTO consents (organization_id,
		event_id, member_id, key, state, at, expires_at, supersedes, terms_id, terms_version, source, locale, fingerprint,
		sha256, record, position, ordinal)
	SELECT $1,
		event_id::uuid, member_id::uuid, key, state, at, expires_at, supersedes::uuid, terms_id, terms_version, source,
		locale, fingerprint, sha256, record, position, ordinal
	FROM unnest(
		$2::text[], $3::text[], $4::text[], $5::text[], $6::timestamptz[], $7::timestamptz[], $8::text[], $9::text[],
		$10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[], $16::bigint[], $17::integer[])
		AS r (
		event_id, member_id, key, state, at, expires_at, supersedes, terms_id, terms_version, source, locale, fingerprint,
		sha256, record, position, ordinal)
	ON CONFLICT DO NOTHING`

// Write queues one insert.
func (c *Changes) Write(b *pgx.Batch) {
	if len(c.Rows) > 0 {
		queueRows(b, c.org, c.Rows)
	}
}

func queueRows(b *pgx.Batch, org string, rows []Row) {
	b.Queue(insertRows, org,
		engine.Column(rows, func(r Row) events.ID { return r.EventID }),
		engine.Column(rows, func(r Row) events.ID { return r.MemberID }),
		engine.Column(rows, func(r Row) events.ConsentKey { return r.Key }),
		engine.Column(rows, func(r Row) events.ConsentState { return r.State }),
		engine.Column(rows, func(r Row) time.Time { return r.At }),
		engine.Column(rows, func(r Row) *time.Time { return r.ExpiresAt }),
		engine.Column(rows, func(r Row) *events.ID { return r.Supersedes }),
		engine.Column(rows, func(r Row) string { return r.TermsID }),
		engine.Column(rows, func(r Row) string { return r.TermsVersion }),
		engine.Column(rows, func(r Row) events.ConsentSource { return r.Source }),
		engine.Column(rows, func(r Row) string { return r.Locale }),
		engine.Column(rows, func(r Row) string { return r.Fingerprint }),
		engine.Column(rows, func(r Row) string { return r.SHA256 }),
		engine.Column(rows, func(r Row) []byte { return r.Record }),
		engine.Column(rows, func(r Row) uint64 { return r.Position }),
		engine.Column(rows, func(r Row) int { return r.Ordinal }),
	)
}
