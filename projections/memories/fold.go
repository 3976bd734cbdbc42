package memories

import (
	"cmp"
	"slices"

	"iris.example/iris/projections/engine"
)

// Grown hands over the revisions.
func (c *Changes) Grown() []engine.Table {
	rows := c.Revisions
	c.Revisions = nil
	return []engine.Table{{
		Name: "memory_revisions", Len: len(rows),
		Columns: []string{
			"member_id", "memory_id", "revision", "revision_id", "previous_revision_id", "lifecycle", "event_id", "event_type", "actor_kind", "actor_id",
			"at", "body", "labels", "details", "position",
		},
		Row: func(i int, w *engine.Row) {
			r := &rows[i]
			w.UUID(r.MemberID)
			w.UUID(r.MemoryID)
			w.Int(r.Revision)
			w.UUID(r.RevisionID)
			w.UUIDOrNull(r.PreviousRevisionID)
			w.Text(string(r.Lifecycle))
			w.UUID(r.EventID)
			w.Text(string(r.EventType))
			w.Text(string(r.ActorKind))
			w.Text(r.ActorID)
			w.Time(r.At)
			w.Bytes(r.Body)
			w.Bytes(r.Labels)
			w.Bytes(r.Details)
			w.Big(r.Position)
		},
	}}
}

// Settled hands over the records, in the order in which a member's are listed.
func (c *Changes) Settled() []engine.Table {
	rows := make([]*Record, 0, len(c.Records))
	for _, r := range c.Records {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y *Record) int {
		return cmp.Or(cmp.Compare(x.MemberID, y.MemberID), cmp.Compare(y.Position, x.Position), cmp.Compare(y.MemoryID, x.MemoryID))
	})
	return []engine.Table{{
		Name: "memory_records", Len: len(rows),
		Columns: []string{
			"member_id", "memory_id", "namespace", "tier", "kind", "program", "scope_kind", "scope_key", "adapter_scope", "tenant_id", "category",
			"origin", "lifecycle", "revision", "revision_id", "previous_revision_id", "on_behalf_of", "body", "labels", "details", "forget_at", "auto_kept", "promoted_to",
			"created_at", "updated_at", "position",
		},
		Row: func(i int, w *engine.Row) {
			r := rows[i]
			w.UUID(r.MemberID)
			w.UUID(r.MemoryID)
			w.Text(r.Namespace)
			w.Text(string(r.Tier))
			w.Text(string(r.Kind))
			w.Text(r.Program)
			w.TextOrNull((*string)(r.ScopeKind))
			w.TextOrNull(r.ScopeKey)
			w.TextOrNull((*string)(r.AdapterScope))
			w.TextOrNull(r.TenantID)
			w.TextOrNull((*string)(r.Category))
			w.Text(string(r.Origin))
			w.Text(string(r.Lifecycle))
			w.Int(r.Revision)
			w.UUID(r.RevisionID)
			w.UUIDOrNull(r.PreviousRevisionID)
			w.UUIDOrNull(r.OnBehalfOf)
			w.Bytes(r.Body)
			w.Bytes(r.Labels)
			w.Bytes(r.Details)
			w.TimeOrNull(r.ForgetAt)
			w.Bool(r.AutoKept)
			w.UUIDOrNull(r.PromotedTo)
			w.Time(r.CreatedAt)
			w.Time(r.UpdatedAt)
			w.Big(r.Position)
		},
	}}
}
