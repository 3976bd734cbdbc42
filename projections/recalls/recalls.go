// Package recalls is the read model of what was said back: one row per recall, from the access stream (spec 3.3, 9.2). What was
// asked and found stays sealed on the stream, at Position.
package recalls

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/projections/engine"
)

// Row is one recall. Times are UTC.
type Row struct {
	RecallID       events.ID       `db:"recall_id"`
	MemberID       events.ID       `db:"member_id"`
	At             time.Time       `db:"at"`
	Purpose        string          `db:"purpose"`
	Surface        string          `db:"surface"`
	Consumer       events.Consumer `db:"consumer"`
	Severity       string          `db:"severity"`
	EvaluatedCount int             `db:"evaluated_count"`
	ReturnedIDs    []events.ID     `db:"returned_ids"`
	ResultSHA256   string          `db:"result_sha256"`
	AsOf           uint64          `db:"as_of"`    // on the organisation's stream
	Position       uint64          `db:"position"` // on the access stream
}

// Projection fills recalls from an organisation's access stream.
type Projection struct{}

func (Projection) Name() string { return "recalls" }

// Begin makes the empty changes of one transaction.
func (Projection) Begin(org string) engine.Changes { return NewChanges(org) }

// Changes are the rows of one transaction.
type Changes struct {
	engine.Appending
	org  string
	seen map[events.ID]bool
	Rows []Row
}

// NewChanges makes the empty changes.
func NewChanges(org string) *Changes { return &Changes{org: org, seen: map[events.ID]bool{}} }

// Apply is pure. An envelope appended twice after a lost answer is one recall, at the first of its positions (spec 9.2).
func (c *Changes) Apply(e events.Recorded) error {
	event, ok := e.Event.(*events.RecallResolved)
	if !ok || c.seen[event.RecallID] {
		return nil
	}
	asOf, err := strconv.ParseUint(event.AsOf, 10, 63)
	if err != nil {
		return fmt.Errorf("%w: recall %s has no position", engine.ErrInconsistent, event.RecallID)
	}
	ask := event.Ask.Plain
	c.seen[event.RecallID] = true
	c.Rows = append(c.Rows, Row{
		RecallID: event.RecallID, MemberID: event.MemberID, At: event.At.Time, Purpose: ask.Purpose, Surface: policy.SurfaceName(ask.Surface),
		Consumer: ask.Consumer, Severity: event.Severity, EvaluatedCount: event.EvaluatedCount, ReturnedIDs: event.ReturnedIDs,
		ResultSHA256: event.ResultSHA256, AsOf: asOf, Position: e.Position,
	})
	return nil
}

// array writes ids as PostgreSQL reads an array: unnest can't carry arrays of arrays. Ids are UUIDs, so nothing needs quoting.
func array(ids []events.ID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return "{" + strings.Join(parts, ",") + "}"
}
