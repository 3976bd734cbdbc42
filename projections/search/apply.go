package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// Row is a memory's words.
type Row struct {
	MemberID events.ID `db:"member_id"`
	MemoryID events.ID `db:"memory_id"`
	Words    []string  `db:"words"`
	Position uint64    `db:"position"` // of the commit that brought the text
}

// Projection fills memory_search from an organisation's stream as Decoder reads it.
type Projection struct{}

func (Projection) Name() string { return "search" }

// Begin makes the empty changes of one transaction.
func (Projection) Begin(org string) engine.Changes { return NewChanges(org) }

// Changes are the rows of one transaction. A row follows from the newest event that brought a text, and from no row before it.
type Changes struct {
	engine.Appending
	org  string
	rows map[events.ID]*said // nil: the memory has none any more
}

// said is a row with its words as one text: a fold holds as many as there are memories, and what it holds costs by the piece.
type said struct {
	member, memory events.ID
	words          string
	position       uint64
}

// NewChanges makes the empty changes.
func NewChanges(org string) *Changes { return &Changes{org: org, rows: map[events.ID]*said{}} }

// Rows are the words of what didn't end, a member's memories side by side.
func (c *Changes) Rows() []Row {
	var rows []Row
	for _, s := range c.settled() {
		rows = append(rows, Row{s.member, s.memory, strings.Fields(s.words), s.position})
	}
	return rows
}

// Apply is pure. A memory that ended as a draft has no words; every other one keeps them, so that what is softly forgotten or
// superseded is found in the lists that show it.
func (c *Changes) Apply(e events.Recorded) error {
	switch event := e.Event.(type) {
	case *events.ProposalRecorded:
		c.says(e, event.MemoryID)
	case *events.MemoryStated:
		c.says(e, event.MemoryID)
	case *events.MemoryPromoted:
		c.says(e, event.MemoryID)
	case *events.SessionItemKept:
		c.says(e, event.MemoryID)
	case *events.MemoryRevised:
		c.says(e, event.MemoryID)
	case *events.MemoryKept:
		if event.Body != nil {
			c.says(e, event.MemoryID)
		}
	case *events.MemoriesForgotten:
		for _, draft := range event.Drafts {
			c.rows[draft.MemoryID] = nil
		}
	case *events.ProposalDeclined:
		c.rows[event.MemoryID] = nil
	case *events.ProposalRefused:
		c.rows[event.ProposalID] = nil
	}
	return nil
}

func (c *Changes) says(e events.Recorded, memory events.ID) {
	text, _ := textOf(e.Event)
	c.rows[memory] = &said{e.Aggregate.ID, memory, text.Plain, e.Position}
}

const (
	upsert = `INSERT INTO memory_search AS s (organization_id, member_id, memory_id, words, position)
		SELECT $1, member_id::uuid, memory_id::uuid, string_to_array(words, ' '), position
		FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) AS r (member_id, memory_id, words, position)
		ON CONFLICT (organization_id, memory_id) DO UPDATE SET words = excluded.words, position = excluded.position
		WHERE s.position <= excluded.position`

	remove = `DELETE FROM memory_search WHERE organization_id = $1 AND memory_id = ANY ($2::text[]::uuid[])`
)

// Write queues one upsert of what was said and one delete of what ended, in the order of their ids.
func (c *Changes) Write(b *pgx.Batch) {
	var rows []*said
	var ended []events.ID
	for id, row := range c.rows {
		if row == nil {
			ended = append(ended, id)
		} else {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(x, y *said) int { return cmp.Compare(x.memory, y.memory) })
	slices.Sort(ended)
	if len(rows) > 0 {
		b.Queue(upsert, c.org,
			engine.Column(rows, func(s *said) events.ID { return s.member }),
			engine.Column(rows, func(s *said) events.ID { return s.memory }),
			engine.Column(rows, func(s *said) string { return s.words }),
			engine.Column(rows, func(s *said) uint64 { return s.position }),
		)
	}
	if len(ended) > 0 {
		b.Queue(remove, c.org, ended)
	}
}

// Erase removes the words of memories (spec 5.3).
func Erase(ctx context.Context, tx pgx.Tx, org string, memories []events.ID) error {
	if _, err := tx.Exec(ctx, remove, org, memories); err != nil {
		return fmt.Errorf("erase the words of %d memories: %w", len(memories), err)
	}
	return nil
}
