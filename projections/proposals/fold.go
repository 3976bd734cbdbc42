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
		Row: func(i int, w *engine.Row) {
			r := rows[i]
			w.UUID(r.MemberID)
			w.UUID(r.ProposalID)
			w.UUID(r.CommandID)
			w.Text(string(r.State))
			w.Text(string(r.Outcome))
			w.Text(r.Reason)
			w.Text(r.Producer)
			w.Text(r.Client)
			w.Text(string(r.Consumer))
			w.Bool(r.PromotionCandidate)
			w.TextOrNull(r.Namespace)
			w.TextOrNull((*string)(r.Tier))
			w.TextOrNull((*string)(r.Kind))
			w.TextOrNull(r.Program)
			w.TextOrNull((*string)(r.Origin))
			w.TextOrNull((*string)(r.ScopeKind))
			w.TextOrNull(r.ScopeKey)
			w.TextOrNull((*string)(r.AdapterScope))
			w.TextOrNull(r.TenantID)
			w.TextOrNull((*string)(r.Category))
			w.UUIDOrNull(r.OnBehalfOf)
			w.Bytes(r.Body)
			w.Bytes(r.Labels)
			w.Bytes(r.Details)
			w.Bytes(r.Notes)
			w.Time(r.RecordedAt)
			w.TimeOrNull(r.ExpiresAt)
			w.TimeOrNull(r.AnsweredAt)
			w.Big(r.Position)
			w.BigOrNull(r.AnsweredPosition)
		},
	}}
}
