// Package consents is the read model of the consent ledger: one row per event, never changed (spec 2.1). The state of a key is its
// newest event; whether a grant has expired is compared with the instant of whoever asks.
//
// The words shown and everything else that the fingerprint covers stand sealed in Record; the key, which may name a category,
// stands as a column.
package consents

import (
	"time"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
)

// Row is one event of the ledger. Times are UTC.
type Row struct {
	EventID      events.ID            `db:"event_id"`
	MemberID     events.ID            `db:"member_id"`
	Key          events.ConsentKey    `db:"key"`
	State        events.ConsentState  `db:"state"` // granted, withdrawn or denied
	At           time.Time            `db:"at"`
	ExpiresAt    *time.Time           `db:"expires_at"`
	Supersedes   *events.ID           `db:"supersedes"`
	TermsID      string               `db:"terms_id"`
	TermsVersion string               `db:"terms_version"`
	Source       events.ConsentSource `db:"source"`
	Locale       string               `db:"locale"`
	Fingerprint  string               `db:"fingerprint"`
	SHA256       string               `db:"sha256"`
	Record       events.Kept          `db:"record"`
	Position     uint64               `db:"position"`
	Ordinal      int                  `db:"ordinal"` // place among the events of the commit
}

// StateAt is where the key stands at an instant, if this is its newest event.
func (r Row) StateAt(now events.Time) events.ConsentState {
	if r.State == events.StateGranted && r.ExpiresAt != nil && !r.ExpiresAt.After(now.Time) {
		return events.StateExpired
	}
	return r.State
}

// Projection fills consents from an organisation's stream.
type Projection struct{}

func (Projection) Name() string { return "consents" }

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
	switch event := e.Event.(type) {
	case *events.ConsentGranted:
		c.add(e, ordinal, event.Consent, events.StateGranted)
	case *events.ConsentWithdrawn:
		c.add(e, ordinal, event.Consent, events.StateWithdrawn)
	case *events.ConsentDenied:
		c.add(e, ordinal, event.Consent, events.StateDenied)
	}
	return nil
}

func (c *Changes) add(e events.Recorded, ordinal int, consent events.Consent, state events.ConsentState) {
	record := consent.Record.Plain
	row := Row{
		EventID: e.ID, MemberID: e.Aggregate.ID, Key: record.Key, State: state, At: record.At.Time,
		TermsID: record.TermsID, TermsVersion: record.TermsVersion, Source: record.Source, Locale: record.Locale,
		Fingerprint: record.Fingerprint, SHA256: record.SHA256, Record: e.Kept("record"), Position: e.Position, Ordinal: ordinal,
	}
	if record.ExpiresAt != nil {
		row.ExpiresAt = &record.ExpiresAt.Time
	}
	if consent.Supersedes != "" {
		row.Supersedes = &consent.Supersedes
	}
	c.Rows = append(c.Rows, row)
}
