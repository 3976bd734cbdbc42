package memories

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

const (
	eraseRecords = `UPDATE memory_records SET body = NULL, labels = NULL, details = NULL, category = NULL, scope_kind = NULL,
			scope_key = NULL, adapter_scope = NULL, tenant_id = NULL
		WHERE organization_id = $1 AND memory_id = ANY ($2::text[]::uuid[])`
	eraseRevisions = `UPDATE memory_revisions SET body = NULL, labels = NULL, details = NULL
		WHERE organization_id = $1 AND memory_id = ANY ($2::text[]::uuid[])`
)

// Erase removes sealed text and labels of memories, in every revision; that they existed stays (spec 5.3). It runs after the
// keys are gone: a line that is behind can then not bring them back.
func Erase(ctx context.Context, tx pgx.Tx, org string, memories []events.ID) error {
	for _, statement := range []string{eraseRecords, eraseRevisions} {
		if _, err := tx.Exec(ctx, statement, org, memories); err != nil {
			return fmt.Errorf("erase %d memories: %w", len(memories), err)
		}
	}
	return nil
}
