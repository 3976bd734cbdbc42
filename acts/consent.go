package acts

import (
	"context"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/receipts"
	"iris.example/iris/runner"
)

// Decision is the body of POST /v1/me/consents (spec 10.4).
type Decision struct {
	ConsentRef
	Decision  string               `json:"decision"` // grant or deny
	Source    events.ConsentSource `json:"source"`
	Locale    string               `json:"locale"`
	Shown     string               `json:"shown"`
	ExpiresAt *events.Time         `json:"expiresAt,omitempty"`
}

// ConsentDone is a recorded answer to a consent question.
type ConsentDone struct {
	Done
	EventID events.ID
	State   events.ConsentState
	Consent events.Consent
	Receipt receipts.Receipt
}

// Decide records a grant or a denial.
func (a *Acts) Decide(ctx context.Context, c Caller, r Request, in Decision) (ConsentDone, error) {
	answer := member.Answer(in.ConsentRef)
	var command member.Command = member.Deny{Answer: answer, Source: in.Source, Locale: in.Locale, Shown: in.Shown}
	if in.Decision == "grant" {
		command = member.Grant{Answer: answer, Source: in.Source, Locale: in.Locale, Shown: in.Shown, ExpiresAt: in.ExpiresAt}
	}
	outcome, err := a.own(ctx, c, r, in, command)
	return a.consentDone(c, outcome), err
}

// Withdraw takes back the grant that the event id names. It takes as many steps as granting (GDPR art. 7(3)).
func (a *Acts) Withdraw(ctx context.Context, c Caller, r Request, grant events.ID) (ConsentDone, error) {
	outcome, err := a.own(ctx, c, r, struct{}{}, member.Withdraw{EventID: grant})
	return a.consentDone(c, outcome), unknown(err, "consent_unknown")
}

func (a *Acts) consentDone(c Caller, o runner.Outcome) ConsentDone {
	done := ConsentDone{Done: Done{o.Position}}
	for _, e := range o.Events {
		switch event := e.Event.(type) {
		case *events.ConsentGranted:
			done.State, done.Consent = events.StateGranted, event.Consent
		case *events.ConsentWithdrawn:
			done.State, done.Consent = events.StateWithdrawn, event.Consent
		case *events.ConsentDenied:
			done.State, done.Consent = events.StateDenied, event.Consent
		default: // an offer to a role that rested on it
			continue
		}
		done.EventID = e.ID
		done.Receipt = a.receipt(c, receipts.Event{
			ID: e.ID, State: done.State, Supersedes: done.Consent.Supersedes, Record: done.Consent.Record.Plain, Position: o.Position,
		})
	}
	return done
}
