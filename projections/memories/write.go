package memories

import (
	"cmp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// The text stays where it is: only a revision that changes it brings another, see upsertRecords.
const loadRecords = `SELECT member_id, memory_id, namespace, tier, kind, program, scope_kind, scope_key, adapter_scope, tenant_id,
		category, origin, lifecycle, revision, revision_id, previous_revision_id, on_behalf_of,
		NULL::bytea AS body, NULL::bytea AS labels, NULL::bytea AS details, forget_at, auto_kept, promoted_to, created_at, updated_at, position
	FROM memory_records WHERE organization_id = $1 AND memory_id = ANY ($2::text[]::uuid[])
	ORDER BY memory_id FOR UPDATE`

// Load locks the rows, so that an erasure at the same moment comes wholly before or wholly after.
func (c *Changes) Load(b *pgx.Batch) {
	if len(c.expected) == 0 {
		return
	}
	slices.Sort(c.expected)
	b.Queue(loadRecords, c.org, slices.Compact(c.expected)).Query(func(rows pgx.Rows) error {
		records, err := pgx.CollectRows(rows, pgx.RowToAddrOfStructByName[Record])
		for _, r := range records {
			c.Records[r.MemoryID] = r
		}
		return err
	})
}

// A sealed field that is NULL here is one that no event of this transaction brought: what the row has stays.
const upsertRecords = `INSERT INTO memory_records AS m (organization_id, member_id, memory_id, namespace, tier, kind, program,
		scope_kind, scope_key, adapter_scope, tenant_id, category, origin, lifecycle, revision, revision_id,
		previous_revision_id, on_behalf_of, body, labels, details, forget_at, auto_kept, promoted_to, created_at, updated_at, position)
	SELECT $1, member_id::uuid, memory_id::uuid, namespace, tier, kind, program,
		scope_kind, scope_key, adapter_scope, tenant_id, category, origin, lifecycle, revision, revision_id::uuid,
		previous_revision_id::uuid, on_behalf_of::uuid, body, labels, details, forget_at, auto_kept, promoted_to::uuid, created_at, updated_at, position
	FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
		$8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::integer[], $16::text[],
		$17::text[], $18::text[], $19::bytea[], $20::bytea[], $21::bytea[], $22::timestamptz[], $23::boolean[], $24::text[], $25::timestamptz[], $26::timestamptz[], $27::bigint[])
		AS r (member_id, memory_id, namespace, tier, kind, program,
		scope_kind, scope_key, adapter_scope, tenant_id, category, origin, lifecycle, revision, revision_id,
		previous_revision_id, on_behalf_of, body, labels, details, forget_at, auto_kept, promoted_to, created_at, updated_at, position)
	ON CONFLICT (organization_id, memory_id) DO UPDATE SET
		scope_kind = excluded.scope_kind, scope_key = excluded.scope_key, adapter_scope = excluded.adapter_scope,
		tenant_id = excluded.tenant_id, category = excluded.category, origin = excluded.origin, lifecycle = excluded.lifecycle,
		revision = excluded.revision, revision_id = excluded.revision_id, previous_revision_id = excluded.previous_revision_id,
		body = coalesce(excluded.body, m.body), labels = coalesce(excluded.labels, m.labels),
		details = coalesce(excluded.details, m.details), forget_at = excluded.forget_at, auto_kept = excluded.auto_kept, promoted_to = excluded.promoted_to, updated_at = excluded.updated_at,
		position = excluded.position
	WHERE m.position <= excluded.position`

const insertRevisions = `INSERT INTO memory_revisions (organization_id, member_id, memory_id, revision, revision_id,
		previous_revision_id, lifecycle, event_id, event_type, actor_kind, actor_id, at, body, labels, details, position)
	SELECT $1, member_id::uuid, memory_id::uuid, revision, revision_id::uuid,
		previous_revision_id::uuid, lifecycle, event_id::uuid, event_type, actor_kind, actor_id, at, body, labels, details, position
	FROM unnest($2::text[], $3::text[], $4::integer[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
		$11::text[], $12::timestamptz[], $13::bytea[], $14::bytea[], $15::bytea[], $16::bigint[])
		AS r (member_id, memory_id, revision, revision_id,
		previous_revision_id, lifecycle, event_id, event_type, actor_kind, actor_id, at, body, labels, details, position)
	ON CONFLICT DO NOTHING`

// Write queues one upsert of the records that changed and one insert of the revisions.
func (c *Changes) Write(b *pgx.Batch) {
	if len(c.changed) > 0 {
		queueRecords(b, c.org, c.changedRecords())
	}
	if len(c.Revisions) > 0 {
		queueRevisions(b, c.org, c.Revisions)
	}
}

// changedRecords are in the order of their ids, so that two transactions lock rows in one order.
func (c *Changes) changedRecords() []*Record {
	records := make([]*Record, 0, len(c.changed))
	for id := range c.changed {
		records = append(records, c.Records[id])
	}
	slices.SortFunc(records, func(x, y *Record) int { return cmp.Compare(x.MemoryID, y.MemoryID) })
	return records
}

func queueRecords(b *pgx.Batch, org string, rows []*Record) {
	b.Queue(upsertRecords, org,
		engine.Column(rows, func(r *Record) events.ID { return r.MemberID }),
		engine.Column(rows, func(r *Record) events.ID { return r.MemoryID }),
		engine.Column(rows, func(r *Record) string { return r.Namespace }),
		engine.Column(rows, func(r *Record) events.Tier { return r.Tier }),
		engine.Column(rows, func(r *Record) events.MemoryKind { return r.Kind }),
		engine.Column(rows, func(r *Record) string { return r.Program }),
		engine.Column(rows, func(r *Record) *events.ScopeKind { return r.ScopeKind }),
		engine.Column(rows, func(r *Record) *string { return r.ScopeKey }),
		engine.Column(rows, func(r *Record) *events.AdapterScope { return r.AdapterScope }),
		engine.Column(rows, func(r *Record) *string { return r.TenantID }),
		engine.Column(rows, func(r *Record) *events.Category { return r.Category }),
		engine.Column(rows, func(r *Record) events.Origin { return r.Origin }),
		engine.Column(rows, func(r *Record) events.Lifecycle { return r.Lifecycle }),
		engine.Column(rows, func(r *Record) int { return r.Revision }),
		engine.Column(rows, func(r *Record) events.ID { return r.RevisionID }),
		engine.Column(rows, func(r *Record) *events.ID { return r.PreviousRevisionID }),
		engine.Column(rows, func(r *Record) *events.ID { return r.OnBehalfOf }),
		engine.Column(rows, func(r *Record) []byte { return r.Body }),
		engine.Column(rows, func(r *Record) []byte { return r.Labels }),
		engine.Column(rows, func(r *Record) []byte { return r.Details }),
		engine.Column(rows, func(r *Record) *time.Time { return r.ForgetAt }),
		engine.Column(rows, func(r *Record) bool { return r.AutoKept }),
		engine.Column(rows, func(r *Record) *events.ID { return r.PromotedTo }),
		engine.Column(rows, func(r *Record) time.Time { return r.CreatedAt }),
		engine.Column(rows, func(r *Record) time.Time { return r.UpdatedAt }),
		engine.Column(rows, func(r *Record) uint64 { return r.Position }),
	)
}

func queueRevisions(b *pgx.Batch, org string, rows []Revision) {
	b.Queue(insertRevisions, org,
		engine.Column(rows, func(r Revision) events.ID { return r.MemberID }),
		engine.Column(rows, func(r Revision) events.ID { return r.MemoryID }),
		engine.Column(rows, func(r Revision) int { return r.Revision }),
		engine.Column(rows, func(r Revision) events.ID { return r.RevisionID }),
		engine.Column(rows, func(r Revision) *events.ID { return r.PreviousRevisionID }),
		engine.Column(rows, func(r Revision) events.Lifecycle { return r.Lifecycle }),
		engine.Column(rows, func(r Revision) events.ID { return r.EventID }),
		engine.Column(rows, func(r Revision) events.Type { return r.EventType }),
		engine.Column(rows, func(r Revision) events.ActorKind { return r.ActorKind }),
		engine.Column(rows, func(r Revision) string { return r.ActorID }),
		engine.Column(rows, func(r Revision) time.Time { return r.At }),
		engine.Column(rows, func(r Revision) []byte { return r.Body }),
		engine.Column(rows, func(r Revision) []byte { return r.Labels }),
		engine.Column(rows, func(r Revision) []byte { return r.Details }),
		engine.Column(rows, func(r Revision) uint64 { return r.Position }),
	)
}
