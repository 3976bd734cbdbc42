package proposals

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

const eraseRows = `UPDATE proposals SET body = NULL, labels = NULL, details = NULL, notes = NULL, category = NULL, scope_kind = NULL,
		scope_key = NULL, adapter_scope = NULL, tenant_id = NULL
	WHERE organization_id = $1 AND proposal_id = ANY ($2::text[]::uuid[])`

// Erase removes sealed text, notes and labels of the proposals that memories began as; that they were claimed stays (spec 5.3).
func Erase(ctx context.Context, tx pgx.Tx, org string, memories []events.ID) error {
	if _, err := tx.Exec(ctx, eraseRows, org, memories); err != nil {
		return fmt.Errorf("erase %d proposals: %w", len(memories), err)
	}
	return nil
}
