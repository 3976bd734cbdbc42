package memories

import (
	"context"
	"fmt"
	"strings"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const recordColumns = `member_id, memory_id, namespace, tier, kind, program, scope_kind, scope_key, adapter_scope, tenant_id,
	category, origin, lifecycle, revision, revision_id, previous_revision_id, on_behalf_of, body, labels, details,
	forget_at, auto_kept, promoted_to, created_at, updated_at, position`

// Filter narrows a list. Empty fields don't. With no Lifecycle, drafts, tombstones and what became a memory of tier person are left out; Forgotten asks for the softly
// forgotten ones that can still be taken back at Now, which are in no other list (spec 1.2, 1.5).
type Filter struct {
	Tier      events.Tier
	Program   string
	Category  events.Category
	Lifecycle events.Lifecycle
	Forgotten bool
	AutoKept  bool        // only what was kept ahead of an answer, to undo
	Left      []events.ID // those that count as forgotten because their program was left (spec 1.5): the book knows, no row does
	Words     []string    // keyed, as in memory_search: all of them
	Now       time.Time
}

const listRecords = `SELECT ` + recordColumns + ` FROM memory_records
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND (position, memory_id) < ($3, $4::text::uuid)
		AND ($5 = '' OR tier = $5) AND ($6 = '' OR program = $6) AND ($7 = '' OR category = $7)
		AND (lifecycle = $8 OR $8 = '' AND lifecycle NOT IN ('draft', 'tombstoned') AND (promoted_to IS NULL OR $9))
		AND (forget_at IS NOT NULL OR memory_id = ANY(coalesce($14::text[]::uuid[], '{}'))) = $9 AND (forget_at IS NULL OR forget_at > $10)
		AND ($11::text[] IS NULL OR memory_id IN (SELECT memory_id FROM memory_search
			WHERE organization_id = $1 AND member_id = $2::text::uuid AND words @> $11))
		AND (auto_kept OR NOT $12)
	ORDER BY position DESC, memory_id DESC LIMIT $13`

// List is a page of a member's memories, newest change first, and where the next page begins.
func List(ctx context.Context, s *reader.Session, member events.ID, filter Filter, page reader.Page) ([]Record, *reader.Key, error) {
	start := page.Start()
	rows, err := reader.Collect[Record](ctx, s, listRecords, s.Organisation(), member, start.Position, start.ID,
		filter.Tier, filter.Program, filter.Category, filter.Lifecycle, filter.Forgotten, filter.Now, filter.Words, filter.AutoKept, page.Ask(), filter.Left)
	if err != nil {
		return nil, nil, err
	}
	if err := checkNamespaces(s.Organisation(), rows); err != nil {
		return nil, nil, err
	}
	rows, next := reader.Cut(page, rows, func(r Record) reader.Key { return reader.Key{Position: r.Position, ID: r.MemoryID} })
	return rows, next, nil
}

const getRecord = `SELECT ` + recordColumns + ` FROM memory_records
	WHERE organization_id = $1 AND member_id = $2::text::uuid AND memory_id = $3::text::uuid`

// Get is one memory of a member, whatever its lifecycle: the caller says what a draft, a forgotten one or a tombstone shows.
// Another member's is ErrNotFound like an unknown one (spec 9.5).
func Get(ctx context.Context, s *reader.Session, member, memory events.ID) (Record, error) {
	rows, err := reader.Collect[Record](ctx, s, getRecord, s.Organisation(), member, memory)
	if err != nil {
		return Record{}, err
	}
	if err := checkNamespaces(s.Organisation(), rows); err != nil {
		return Record{}, err
	}
	if len(rows) == 0 {
		return Record{}, fmt.Errorf("%w: memory %s", reader.ErrNotFound, memory)
	}
	return rows[0], nil
}

// checkNamespaces is the check that stands where row-level security would fail (spec 9.4).
func checkNamespaces(org string, rows []Record) error {
	for _, r := range rows {
		if !strings.HasPrefix(r.Namespace, "org/"+org+"/") {
			return fmt.Errorf("%w: memory %s", reader.ErrForeign, r.MemoryID)
		}
	}
	return nil
}
