package acts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// ErrSealed: what a claim has sealed doesn't open, or isn't what a seal holds.
var ErrSealed = errors.New("sealed_unreadable")

// Intake has the organisation's intake key (spec 5.3, 10.1).
type Intake interface {
	IntakeKey(ctx context.Context, org string) (public string, err error)
	// OpenIntake says apart whether the seal is readable and whether the store answered.
	OpenIntake(ctx context.Context, org, sealed string) (plain []byte, readable bool, err error)
}

// Sealed judges what was inside a seal by its published schema.
type Sealed interface {
	CheckSealed(data []byte) error
}

// Parked keeps claims that intake couldn't read. What has expired is not found, whether or not it was dropped.
type Parked interface {
	Park(ctx context.Context, p events.Parked, body []byte) error
	ParkedClaims(ctx context.Context, org string, now, below events.Time, belowID events.ID, limit int) ([]events.Parked, error)
	ParkedClaim(ctx context.Context, org string, id events.ID, now events.Time) (p events.Parked, body []byte, found bool, err error)
	DropParked(ctx context.Context, org string, id events.ID) (dropped bool, err error)
	// Unpark drops one for a command and remembers it; Unparked is what a command that was carried out answers with.
	Unpark(ctx context.Context, org string, id, command events.ID, position uint64, now events.Time) (answers uint64, err error)
	Unparked(ctx context.Context, org string, command events.ID) (position uint64, known bool, err error)
	DropExpiredClaims(ctx context.Context, now events.Time) (dropped int, err error)
}

// IntakeKey is what the caller's organisation has its claims sealed to.
type IntakeKey struct {
	Organisation string
	Recipient    string // as age writes it
}

// IntakeKey answers anyone who belongs to the organisation: it is a public key.
func (a *Acts) IntakeKey(ctx context.Context, c Caller) (IntakeKey, error) {
	key, err := a.Intake.IntakeKey(ctx, c.Organisation)
	if err != nil {
		return IntakeKey{}, fmt.Errorf("find the intake key: %w: %w", runner.ErrUnavailable, err)
	}
	return IntakeKey{c.Organisation, key}, nil
}

// opened puts in place what the claim has sealed. The command's request is the claim as opened, so that the same claim sealed
// twice, with other bytes, is the same request.
func (a *Acts) opened(ctx context.Context, org string, p Proposal) (Proposal, error) {
	if p.Sealed == "" {
		return p, nil
	}
	plain, readable, err := a.Intake.OpenIntake(ctx, org, p.Sealed)
	if err != nil {
		return p, fmt.Errorf("open a claim: %w: %w", runner.ErrUnavailable, err)
	}
	if !readable || boundary.Check(plain) != nil || a.Sealed.CheckSealed(plain) != nil {
		return p, fmt.Errorf("open a claim: %w", ErrSealed) // without the cause, which would point into what was sealed
	}
	var words struct {
		Body       string             `json:"body"`
		Subject    string             `json:"subject"`
		MultiActor *events.MultiActor `json:"multiActor"`
	}
	if err := json.Unmarshal(plain, &words); err != nil {
		return p, fmt.Errorf("open a claim: %w", ErrSealed)
	}
	p.Sealed, p.Body, p.Subject, p.MultiActor = "", words.Body, words.Subject, words.MultiActor
	return p, nil
}
