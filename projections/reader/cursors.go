package reader

import "context"

// Cursor is how far a stream's line has come.
type Cursor struct {
	Stream   string `db:"stream"`
	Position uint64 `db:"position"`
}

// Position reads one line's cursor; a line that never began stands at 0.
func (r *Reader) Position(ctx context.Context, org, stream string) (uint64, error) {
	var position uint64
	err := r.WithOrganisation(ctx, org, func(s *Session) error {
		cursors, err := Collect[Cursor](ctx, s, "SELECT stream, position FROM cursors WHERE organization_id = $1 AND stream = $2", org, stream)
		if len(cursors) > 0 {
			position = cursors[0].Position
		}
		return err
	})
	return position, err
}
