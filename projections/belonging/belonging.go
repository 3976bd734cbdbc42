// Package belonging is the read model of who belongs to an organisation, to which programs, and holds which roles (spec 1.1): one
// row per event, never changed. What is so is the newest row of a member, kind and key. It holds ids and slugs, nothing personal,
// and counts nothing; decisions never read it.
package belonging

import (
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// Kind is what a row is about.
type Kind string

const (
	Membership     Kind = "member" // of the organisation; without a key
	Program        Kind = "program"
	Role           Kind = "role"
	InspectionRole Kind = "inspection-role"
)

// Row is one event. Times are UTC.
type Row struct {
	EventID  events.ID  `db:"event_id"`
	MemberID events.ID  `db:"member_id"`
	Kind     Kind       `db:"kind"`
	Key      string     `db:"key"`
	Holds    bool       `db:"holds"`
	At       time.Time  `db:"at"`
	ForgetAt *time.Time `db:"forget_at"` // of a program that was left
	Position uint64     `db:"position"`
	Ordinal  int        `db:"ordinal"` // place among the events of the commit
}

// Projection fills belongings from an organisation's stream.
type Projection struct{}

func (Projection) Name() string { return "belongings" }

// Begin makes the empty changes of one transaction.
func (Projection) Begin(org string) engine.Changes { return NewChanges(org) }

// Changes are the rows of one transaction.
type Changes struct {
	engine.Appending
	org   string
	Rows  []Row
	place engine.Place
}

// NewChanges makes the empty changes.
func NewChanges(org string) *Changes { return &Changes{org: org} }

// Apply is pure.
func (c *Changes) Apply(e events.Recorded) error {
	ordinal := c.place.Next(e.Position)
	if row, is := rowOf(e); is {
		row.EventID, row.MemberID, row.At, row.Position, row.Ordinal = e.ID, e.Aggregate.ID, e.RecordedAt.Time, e.Position, ordinal
		c.Rows = append(c.Rows, row)
	}
	return nil
}

func rowOf(e events.Recorded) (Row, bool) {
	switch event := e.Event.(type) {
	case *events.MemberRegistered:
		return Row{Kind: Membership, Holds: true}, true
	case *events.MemberRemoved:
		return Row{Kind: Membership}, true
	case *events.MembershipStarted:
		return Row{Kind: Program, Key: event.Program, Holds: true}, true
	case *events.MembershipResumed:
		return Row{Kind: Program, Key: event.Program, Holds: true}, true
	case *events.MembershipEnded:
		return Row{Kind: Program, Key: event.Program, ForgetAt: &event.ForgetAt.Time}, true
	case *events.RoleGiven:
		return Row{Kind: Role, Key: event.Role, Holds: true}, true
	case *events.RoleTaken:
		return Row{Kind: Role, Key: event.Role}, true
	case *events.InspectionRoleGiven:
		return Row{Kind: InspectionRole, Key: string(event.Role), Holds: true}, true
	case *events.InspectionRoleTaken:
		return Row{Kind: InspectionRole, Key: string(event.Role)}, true
	}
	return Row{}, false
}

const insertRows = `INSERT INTO belongings (organization_id, event_id, member_id, kind, key, holds, at, forget_at, position, ordinal)
	SELECT $1, event_id::uuid, member_id::uuid, kind, key, holds, at, forget_at, position, ordinal
	FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::boolean[], $7::timestamptz[], $8::timestamptz[], $9::bigint[], $10::integer[])
		AS r (event_id, member_id, kind, key, holds, at, forget_at, position, ordinal)
	ON CONFLICT DO NOTHING`

// Write queues one insert.
func (c *Changes) Write(b *pgx.Batch) {
	if len(c.Rows) == 0 {
		return
	}
	b.Queue(insertRows, c.org,
		engine.Column(c.Rows, func(r Row) events.ID { return r.EventID }),
		engine.Column(c.Rows, func(r Row) events.ID { return r.MemberID }),
		engine.Column(c.Rows, func(r Row) Kind { return r.Kind }),
		engine.Column(c.Rows, func(r Row) string { return r.Key }),
		engine.Column(c.Rows, func(r Row) bool { return r.Holds }),
		engine.Column(c.Rows, func(r Row) time.Time { return r.At }),
		engine.Column(c.Rows, func(r Row) *time.Time { return r.ForgetAt }),
		engine.Column(c.Rows, func(r Row) uint64 { return r.Position }),
		engine.Column(c.Rows, func(r Row) int { return r.Ordinal }),
	)
}

// Grown hands over all there is.
func (c *Changes) Grown() []engine.Table {
	rows := c.Rows
	c.Rows = nil
	return []engine.Table{{
		Name: "belongings", Len: len(rows),
		Columns: []string{"event_id", "member_id", "kind", "key", "holds", "at", "forget_at", "position", "ordinal"},
		Row: func(i int, w *engine.Row) {
			r := &rows[i]
			w.UUID(r.EventID)
			w.UUID(r.MemberID)
			w.Text(string(r.Kind))
			w.Text(r.Key)
			w.Bool(r.Holds)
			w.Time(r.At)
			w.TimeOrNull(r.ForgetAt)
			w.Big(r.Position)
			w.Int(r.Ordinal)
		},
	}}
}

// Settled is nothing: no row changes.
func (c *Changes) Settled() []engine.Table { return nil }
