package consents

import (
	"context"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const columns = `event_id, member_id, key, state, at, expires_at, supersedes, terms_id, terms_version, source, locale, fingerprint,
	sha256, record, position, ordinal`

const current = `SELECT DISTINCT ON (key) ` + columns + ` FROM consents
	WHERE organization_id = $1 AND member_id = $2::text::uuid ORDER BY key, position DESC, ordinal DESC`

// Current is the newest event of every key that the member ever answered, by key. A key that is not there stands at never.
func Current(ctx context.Context, s *reader.Session, member events.ID) ([]Row, error) {
	return reader.Collect[Row](ctx, s, current, s.Organisation(), member)
}

const get = `SELECT ` + columns + ` FROM consents
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND event_id = $3::text::uuid`

// Get is one event of a member's ledger.
func Get(ctx context.Context, s *reader.Session, member, event events.ID) (Row, error) {
	rows, err := reader.Collect[Row](ctx, s, get, s.Organisation(), member, event)
	if err == nil && len(rows) == 0 {
		err = fmt.Errorf("%w: consent %s", reader.ErrNotFound, event)
	}
	if err != nil {
		return Row{}, err
	}
	return rows[0], nil
}
