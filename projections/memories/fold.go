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
		Row: func(i int) []any {
			r := rows[i]
			return []any{
				engine.UUID(r.MemberID), engine.UUID(r.MemoryID), r.Revision, engine.UUID(r.RevisionID), engine.OptionalUUID(r.PreviousRevisionID),
				string(r.Lifecycle), engine.UUID(r.EventID), string(r.EventType), string(r.ActorKind), r.ActorID,
				r.At, r.Body.JSON(), r.Labels.JSON(), r.Details.JSON(), r.Position,
			}
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
		Row: func(i int) []any {
			r := rows[i]
			return []any{
				engine.UUID(r.MemberID), engine.UUID(r.MemoryID), r.Namespace, string(r.Tier), string(r.Kind), r.Program, r.ScopeKind, r.ScopeKey,
				r.AdapterScope, r.TenantID, r.Category, string(r.Origin), string(r.Lifecycle), r.Revision, engine.UUID(r.RevisionID),
				engine.OptionalUUID(r.PreviousRevisionID), engine.OptionalUUID(r.OnBehalfOf), r.Body.JSON(), r.Labels.JSON(), r.Details.JSON(), r.ForgetAt, r.AutoKept, engine.OptionalUUID(r.PromotedTo),
				r.CreatedAt, r.UpdatedAt, r.Position,
			}
		},
	}}
}
