package vault

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// Organisations lists those that have keys here, in order: whoever founds one makes its keys last. It is the list that a deployment
// goes by, so that a stream which is missing is missed.
func (v *Vault) Organisations(ctx context.Context) ([]string, error) {
	rows, err := v.pool.Query(ctx, `SELECT DISTINCT organisation FROM vault.organisation_keys ORDER BY organisation`)
	if err != nil {
		return nil, storeError("list the organisations", err)
	}
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, storeError("list the organisations", err)
	}
	return all, nil
}

// Ping asks whether the database answers.
func (v *Vault) Ping(ctx context.Context) error {
	if err := v.pool.Ping(ctx); err != nil {
		return storeError("ask the vault's database", err)
	}
	return nil
}
