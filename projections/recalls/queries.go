package recalls

import (
	"context"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const columns = `recall_id, member_id, at, purpose, surface, consumer, severity, evaluated_count, returned_ids, result_sha256,
	as_of, position`

const get = `SELECT ` + columns + ` FROM recalls
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND recall_id = $3::text::uuid`

// Get is one recall of a member. Another member's is ErrNotFound like an unknown one (spec 9.5).
func Get(ctx context.Context, s *reader.Session, member, recall events.ID) (Row, error) {
	return one(reader.Collect[Row](ctx, s, get, s.Organisation(), member, recall))
}

const find = `SELECT ` + columns + ` FROM recalls WHERE organization_id = $1 AND recall_id = $2::text::uuid`

// Find is one recall of the organisation, for the auditor.
func Find(ctx context.Context, s *reader.Session, recall events.ID) (Row, error) {
	return one(reader.Collect[Row](ctx, s, find, s.Organisation(), recall))
}

const list = `SELECT ` + columns + ` FROM recalls
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND (position, recall_id) < ($3, $4::text::uuid)
	ORDER BY position DESC, recall_id DESC LIMIT $5`

// List is a page of a member's recalls, newest first.
func List(ctx context.Context, s *reader.Session, member events.ID, page reader.Page) ([]Row, *reader.Key, error) {
	start := page.Start()
	rows, err := reader.Collect[Row](ctx, s, list, s.Organisation(), member, start.Position, start.ID, page.Ask())
	if err != nil {
		return nil, nil, err
	}
	rows, next := reader.Cut(page, rows, func(r Row) reader.Key { return reader.Key{Position: r.Position, ID: r.RecallID} })
	return rows, next, nil
}

func one(rows []Row, err error) (Row, error) {
	if err != nil {
		return Row{}, err
	}
	if len(rows) == 0 {
		return Row{}, fmt.Errorf("%w: recall", reader.ErrNotFound)
	}
	return rows[0], nil
}
