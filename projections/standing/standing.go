// Package standing counts what an operator has to look at, from the read models' own tables: commits that stand parked and
// positions that were missing, of every line of an organisation (spec 9.4). It is for metrics: counts, and no row.
package standing

import (
	"context"

	"iris.example/iris/projections/reader"
)

// Counts are one line's.
type Counts struct {
	Line    string `db:"line"`
	Parked  int64  `db:"parked"`
	Missing int64  `db:"missing"`
}

const count = `SELECT c.stream AS line,
	(SELECT count(*) FROM parked_commits p WHERE p.organization_id = c.organization_id AND p.line = c.stream AND p.state = 'parked') AS parked,
	(SELECT coalesce(sum(g.last_position - g.first_position + 1), 0)::bigint FROM gaps g
		WHERE g.organization_id = c.organization_id AND g.stream = c.stream) AS missing
	FROM cursors c WHERE c.organization_id = $1 ORDER BY c.stream`

// Count reads every line that has a cursor.
func Count(ctx context.Context, s *reader.Session) ([]Counts, error) {
	return reader.Collect[Counts](ctx, s, count, s.Organisation())
}
