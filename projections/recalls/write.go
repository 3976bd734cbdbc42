package recalls

import (
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

const insertRows = `INSERT INTO recalls (organization_id,
		recall_id, member_id, at, purpose, surface, consumer, severity, evaluated_count, returned_ids, result_sha256, as_of, position)
	SELECT $1,
		recall_id::uuid, member_id::uuid, at, purpose, surface, consumer, severity, evaluated_count, returned_ids::uuid[],
		result_sha256, as_of, position
	FROM unnest(
		$2::text[], $3::text[], $4::timestamptz[], $5::text[], $6::text[], $7::text[], $8::text[], $9::integer[],
		$10::text[], $11::text[], $12::bigint[], $13::bigint[])
		AS r (
		recall_id, member_id, at, purpose, surface, consumer, severity, evaluated_count, returned_ids, result_sha256, as_of, position)
	ON CONFLICT DO NOTHING`

// Write queues one insert.
func (c *Changes) Write(b *pgx.Batch) {
	if len(c.Rows) > 0 {
		queueRows(b, c.org, c.Rows)
	}
}

func queueRows(b *pgx.Batch, org string, rows []Row) {
	b.Queue(insertRows, org,
		engine.Column(rows, func(r Row) events.ID { return r.RecallID }),
		engine.Column(rows, func(r Row) events.ID { return r.MemberID }),
		engine.Column(rows, func(r Row) time.Time { return r.At }),
		engine.Column(rows, func(r Row) string { return r.Purpose }),
		engine.Column(rows, func(r Row) string { return r.Surface }),
		engine.Column(rows, func(r Row) events.Consumer { return r.Consumer }),
		engine.Column(rows, func(r Row) string { return r.Severity }),
		engine.Column(rows, func(r Row) int { return r.EvaluatedCount }),
		engine.Column(rows, func(r Row) string { return array(r.ReturnedIDs) }),
		engine.Column(rows, func(r Row) string { return r.ResultSHA256 }),
		engine.Column(rows, func(r Row) uint64 { return r.AsOf }),
		engine.Column(rows, func(r Row) uint64 { return r.Position }),
	)
}
