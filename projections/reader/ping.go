package reader

import (
	"context"
	"fmt"
)

// Ping asks whether the database answers.
func (r *Reader) Ping(ctx context.Context) error {
	if err := r.pool.Ping(ctx); err != nil {
		return fmt.Errorf("%w: ask whether it is there: %w", ErrRead, err)
	}
	return nil
}
