package proposals

import (
	"cmp"
	"slices"

	"iris.example/iris/projections/engine"
)

// Grown is nothing: an answer changes a row.
func (c *Changes) Grown() []engine.Table { return nil }

// Settled hands over the rows, in the order in which a member's are listed.
func (c *Changes) Settled() []engine.Table {
	rows := make([]*Row, 0, len(c.Rows))
	for _, r := range c.Rows {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(x, y *Row) int {
		return cmp.Or(cmp.Compare(x.MemberID, y.MemberID), cmp.Compare(y.Position, x.Position), cmp.Compare(y.ProposalID, x.ProposalID))
	})
	return []engine.Table{{
		Name: "proposals", Len: len(rows),
		Columns: []string{
			"member_id", "proposal_id", "command_id", "state", "outcome", "reason", "producer", "client", "consumer", "promotion_candidate",
			"namespace", "tier", "kind", "program", "origin", "scope_kind", "scope_key", "adapter_scope", "tenant_id", "category", "on_behalf_of",
			"body", "labels", "details", "notes", "recorded_at", "expires_at", "answered_at", "position", "answered_position",
		},
		Row: func(i int) []any {
			r := rows[i]
			return []any{
				engine.UUID(r.MemberID), engine.UUID(r.ProposalID), engine.UUID(r.CommandID), string(r.State), string(r.Outcome), r.Reason, r.Producer,
				r.Client, string(r.Consumer), r.PromotionCandidate, r.Namespace, r.Tier, r.Kind, r.Program, r.Origin, r.ScopeKind, r.ScopeKey,
				r.AdapterScope, r.TenantID, r.Category, engine.OptionalUUID(r.OnBehalfOf), r.Body.JSON(), r.Labels.JSON(), r.Details.JSON(), r.Notes.JSON(), r.RecordedAt,
				r.ExpiresAt, r.AnsweredAt, r.Position, r.AnsweredPosition,
			}
		},
	}}
}
