package proposals

import (
	"context"
	"fmt"
	"strings"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const columns = `member_id, proposal_id, command_id, state, outcome, reason, producer, client, consumer, promotion_candidate,
	namespace, tier, kind, program, origin, scope_kind, scope_key, adapter_scope, tenant_id, category, on_behalf_of,
	body, labels, details, notes, recorded_at, expires_at, answered_at, position, answered_position`

const listPending = `SELECT ` + columns + ` FROM proposals
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND (position, proposal_id) < ($3, $4::text::uuid)
		AND state = 'pending' AND expires_at > $5 AND ($6 = '' OR program = $6) AND ($7 = '' OR category = $7)
		AND ($8 = '' OR producer = $8 OR client = $8)
	ORDER BY position DESC, proposal_id DESC LIMIT $9`

// Filter narrows a list. Empty fields don't. By is a producer, or the client that claimed over HTTP.
type Filter struct {
	Program  string
	Category events.Category
	By       string
}

// ListPending is a page of what waits for a member's answer at an instant, newest first: what is due by then has lapsed.
func ListPending(ctx context.Context, s *reader.Session, member events.ID, now events.Time, f Filter, page reader.Page) ([]Row, *reader.Key, error) {
	start := page.Start()
	rows, err := collect(ctx, s, listPending, s.Organisation(), member, start.Position, start.ID, now.Time, f.Program, f.Category, f.By, page.Ask())
	return cut(page, rows, err)
}

const list = `SELECT ` + columns + ` FROM proposals
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND (position, proposal_id) < ($3, $4::text::uuid)
		AND ($5 = '' OR state = $5)
	ORDER BY position DESC, proposal_id DESC LIMIT $6`

// List is a page of a member's proposals in a state (empty: in any), newest first, lapsed ones among the pending.
func List(ctx context.Context, s *reader.Session, member events.ID, state State, page reader.Page) ([]Row, *reader.Key, error) {
	start := page.Start()
	rows, err := collect(ctx, s, list, s.Organisation(), member, start.Position, start.ID, state, page.Ask())
	return cut(page, rows, err)
}

const get = `SELECT ` + columns + ` FROM proposals WHERE organization_id = $1 AND proposal_id = $2::text::uuid`

// Get is one proposal of the organisation. Whose it may be, the caller checks: a claimant sees its own, a member those of the
// book.
func Get(ctx context.Context, s *reader.Session, proposal events.ID) (Row, error) {
	return one(collect(ctx, s, get, s.Organisation(), proposal))
}

const getByCommand = `SELECT ` + columns + ` FROM proposals WHERE organization_id = $1 AND command_id = $2::text::uuid
	ORDER BY position, proposal_id LIMIT 1`

// ByCommand is the proposal that a claim or request made, found by the id of its command (spec 9.2).
func ByCommand(ctx context.Context, s *reader.Session, command events.ID) (Row, error) {
	return one(collect(ctx, s, getByCommand, s.Organisation(), command))
}

// collect checks the namespace where row-level security would fail (spec 9.4). A refusal has none.
func collect(ctx context.Context, s *reader.Session, query string, args ...any) ([]Row, error) {
	rows, err := reader.Collect[Row](ctx, s, query, args...)
	for _, r := range rows {
		if r.Namespace != nil && !strings.HasPrefix(*r.Namespace, "org/"+s.Organisation()+"/") {
			return nil, fmt.Errorf("%w: proposal %s", reader.ErrForeign, r.ProposalID)
		}
	}
	return rows, err
}

func cut(page reader.Page, rows []Row, err error) ([]Row, *reader.Key, error) {
	if err != nil {
		return nil, nil, err
	}
	rows, next := reader.Cut(page, rows, func(r Row) reader.Key { return reader.Key{Position: r.Position, ID: r.ProposalID} })
	return rows, next, nil
}

func one(rows []Row, err error) (Row, error) {
	if err != nil {
		return Row{}, err
	}
	if len(rows) == 0 {
		return Row{}, fmt.Errorf("%w: proposal", reader.ErrNotFound)
	}
	return rows[0], nil
}
