package proposals

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// The text stays where it is: an answer doesn't change what was proposed.
const loadRows = `SELECT
		member_id, proposal_id, command_id, state, outcome, reason, producer, client, consumer, promotion_candidate,
		namespace, tier, kind, program, origin, scope_kind, scope_key, adapter_scope, tenant_id, category, on_behalf_of,
		NULL::bytea AS body, NULL::bytea AS labels, NULL::bytea AS details, NULL::bytea AS notes, recorded_at, expires_at,
		answered_at, position, answered_position
	FROM proposals WHERE organization_id = $1 AND proposal_id = ANY ($2::text[]::uuid[])
	ORDER BY proposal_id FOR UPDATE`

// Load locks the rows, so that an erasure at the same moment comes wholly before or wholly after.
func (c *Changes) Load(b *pgx.Batch) {
	if len(c.expected) == 0 {
		return
	}
	slices.Sort(c.expected)
	b.Queue(loadRows, c.org, slices.Compact(c.expected)).Query(func(rows pgx.Rows) error {
		loaded, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Row])
		for _, r := range loaded {
			c.Rows[r.ProposalID] = r
		}
		return err
	})
}

const upsertRows = `INSERT INTO proposals AS p (organization_id,
		member_id, proposal_id, command_id, state, outcome, reason, producer, client, consumer, promotion_candidate,
		namespace, tier, kind, program, origin, scope_kind, scope_key, adapter_scope, tenant_id, category, on_behalf_of,
		body, labels, details, notes, recorded_at, expires_at, answered_at, position, answered_position)
	SELECT $1,
		member_id::uuid, proposal_id::uuid, command_id::uuid, state, outcome, reason, producer, client, consumer,
		promotion_candidate, namespace, tier, kind, program, origin, scope_kind, scope_key, adapter_scope, tenant_id,
		category, on_behalf_of::uuid, body, labels, details, notes, recorded_at, expires_at, answered_at, position,
		answered_position
	FROM unnest(
		$2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
		$11::boolean[], $12::text[], $13::text[], $14::text[], $15::text[], $16::text[], $17::text[], $18::text[],
		$19::text[], $20::text[], $21::text[], $22::text[], $23::bytea[], $24::bytea[], $25::bytea[], $26::bytea[],
		$27::timestamptz[], $28::timestamptz[], $29::timestamptz[], $30::bigint[], $31::bigint[])
		AS r (
		member_id, proposal_id, command_id, state, outcome, reason, producer, client, consumer, promotion_candidate,
		namespace, tier, kind, program, origin, scope_kind, scope_key, adapter_scope, tenant_id, category, on_behalf_of,
		body, labels, details, notes, recorded_at, expires_at, answered_at, position, answered_position)
	ON CONFLICT (organization_id, proposal_id) DO UPDATE SET
		state = excluded.state, outcome = excluded.outcome, reason = excluded.reason, notes = coalesce(excluded.notes, p.notes),
		answered_at = excluded.answered_at, answered_position = excluded.answered_position`

// Write queues one upsert, in the order of the ids, so that two transactions lock rows in one order.
func (c *Changes) Write(b *pgx.Batch) {
	if len(c.changed) == 0 {
		return
	}
	rows := make([]*Row, 0, len(c.changed))
	for id := range c.changed {
		rows = append(rows, c.Rows[id])
	}
	slices.SortFunc(rows, func(x, y *Row) int { return cmp.Compare(x.ProposalID, y.ProposalID) })
	queueRows(b, c.org, rows)
}

func queueRows(b *pgx.Batch, org string, rows []*Row) {
	b.Queue(upsertRows, org,
		engine.Column(rows, func(r *Row) events.ID { return r.MemberID }),
		engine.Column(rows, func(r *Row) events.ID { return r.ProposalID }),
		engine.Column(rows, func(r *Row) events.ID { return r.CommandID }),
		engine.Column(rows, func(r *Row) State { return r.State }),
		engine.Column(rows, func(r *Row) events.ClaimOutcome { return r.Outcome }),
		engine.Column(rows, func(r *Row) string { return r.Reason }),
		engine.Column(rows, func(r *Row) string { return r.Producer }),
		engine.Column(rows, func(r *Row) string { return r.Client }),
		engine.Column(rows, func(r *Row) events.Consumer { return r.Consumer }),
		engine.Column(rows, func(r *Row) bool { return r.PromotionCandidate }),
		engine.Column(rows, func(r *Row) *string { return r.Namespace }),
		engine.Column(rows, func(r *Row) *events.Tier { return r.Tier }),
		engine.Column(rows, func(r *Row) *events.MemoryKind { return r.Kind }),
		engine.Column(rows, func(r *Row) *string { return r.Program }),
		engine.Column(rows, func(r *Row) *events.Origin { return r.Origin }),
		engine.Column(rows, func(r *Row) *events.ScopeKind { return r.ScopeKind }),
		engine.Column(rows, func(r *Row) *string { return r.ScopeKey }),
		engine.Column(rows, func(r *Row) *events.AdapterScope { return r.AdapterScope }),
		engine.Column(rows, func(r *Row) *string { return r.TenantID }),
		engine.Column(rows, func(r *Row) *events.Category { return r.Category }),
		engine.Column(rows, func(r *Row) *events.ID { return r.OnBehalfOf }),
		engine.Column(rows, func(r *Row) []byte { return r.Body }),
		engine.Column(rows, func(r *Row) []byte { return r.Labels }),
		engine.Column(rows, func(r *Row) []byte { return r.Details }),
		engine.Column(rows, func(r *Row) []byte { return r.Notes }),
		engine.Column(rows, func(r *Row) time.Time { return r.RecordedAt }),
		engine.Column(rows, func(r *Row) *time.Time { return r.ExpiresAt }),
		engine.Column(rows, func(r *Row) *time.Time { return r.AnsweredAt }),
		engine.Column(rows, func(r *Row) uint64 { return r.Position }),
		engine.Column(rows, func(r *Row) *uint64 { return r.AnsweredPosition }),
	)
}
