package belonging

import (
	"context"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const columns = `event_id, member_id, kind, key, holds, at, forget_at, position, ordinal`

// gone: a member who was removed is in no list.
const gone = `EXISTS (SELECT FROM belongings g
	WHERE g.organization_id = $1 AND g.member_id = b.member_id AND g.kind = 'member' AND g.key = '' AND NOT g.holds)`

const members = `SELECT ` + columns + ` FROM belongings b
	WHERE organization_id = $1 AND kind = 'member' AND holds AND (position, member_id) < ($2, $3::text::uuid) AND NOT ` + gone + `
	ORDER BY position DESC, member_id DESC LIMIT $4`

// Members is a page of those whose book is open, newest first, and where the next page begins.
func Members(ctx context.Context, s *reader.Session, page reader.Page) ([]Row, *reader.Key, error) {
	start := page.Start()
	rows, err := reader.Collect[Row](ctx, s, members, s.Organisation(), start.Position, start.ID, page.Ask())
	if err != nil {
		return nil, nil, err
	}
	rows, next := reader.Cut(page, rows, place)
	return rows, next, nil
}

func place(r Row) reader.Key { return reader.Key{Position: r.Position, ID: r.MemberID} }

const current = `SELECT DISTINCT ON (member_id, kind, key) ` + columns + ` FROM belongings
	WHERE organization_id = $1 AND member_id = ANY($2::text[]::uuid[])
	ORDER BY member_id, kind, key, position DESC, ordinal DESC`

// Current is how everything stands for some members, by member, kind and key.
func Current(ctx context.Context, s *reader.Session, of []events.ID) ([]Row, error) {
	return reader.Collect[Row](ctx, s, current, s.Organisation(), of)
}

// One is how everything stands for one member; ErrNotFound where there is no such member, or no longer.
func One(ctx context.Context, s *reader.Session, member events.ID) ([]Row, error) {
	rows, err := Current(ctx, s, []events.ID{member})
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		if r.Kind == Membership && r.Holds {
			return rows, nil
		}
	}
	return nil, fmt.Errorf("%w: member %s", reader.ErrNotFound, member)
}

const holders = `SELECT ` + columns + ` FROM (
		SELECT DISTINCT ON (member_id) ` + columns + ` FROM belongings
		WHERE organization_id = $1 AND kind = $2 AND key = $3
		ORDER BY member_id, position DESC, ordinal DESC) b
	WHERE holds AND (position, member_id) < ($4, $5::text::uuid) AND NOT ` + gone + `
	ORDER BY position DESC, member_id DESC LIMIT $6`

// Holders is a page of those who hold a role, or belong to a program, now: newest first, and where the next page begins.
func Holders(ctx context.Context, s *reader.Session, kind Kind, key string, page reader.Page) ([]Row, *reader.Key, error) {
	start := page.Start()
	rows, err := reader.Collect[Row](ctx, s, holders, s.Organisation(), string(kind), key, start.Position, start.ID, page.Ask())
	if err != nil {
		return nil, nil, err
	}
	rows, next := reader.Cut(page, rows, place)
	return rows, next, nil
}
