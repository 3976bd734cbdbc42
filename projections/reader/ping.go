package reader

import (
	"context"
	"fmt"

	"iris.example/iris/projections/migrations"
)

// Ping asks whether the database answers.
func (r *Reader) Ping(ctx context.Context) error {
	if err := r.pool.Ping(ctx); err != nil {
		return fmt.Errorf("%w: ask whether it is there: %w", ErrRead, err)
	}
	return nil
}

// Outdated says whether what is read lacks what an update has brought since: lists answer as they did before it, until a rebuild.
func (r *Reader) Outdated(ctx context.Context) (bool, error) {
	outdated, err := migrations.Outdated(ctx, r.pool, r.schema)
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrRead, err)
	}
	return outdated, nil
}
