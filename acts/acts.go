// Package acts is what can be done with Iris, one function an act, apart from how one asks: HTTP, pages, NATS intake and the
// command line all come through here. An act takes the caller from the credential, checks what it names against it, makes the
// command with its id, runs it, and says what was recorded.
//
// It holds no rule of what may be remembered or said: those stand in aggregates and recall.
package acts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/aggregates/session"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/recalls"
	"iris.example/iris/receipts"
	"iris.example/iris/runner"
	"iris.example/iris/screening"
)

// Errors that are the caller's: what it names is not its own, or isn't there. A foreign thing and an unknown one are the same
// (spec 9.5).
var (
	ErrNotFound      = errors.New("not_found")
	ErrClaimMismatch = errors.New("claim_mismatch")
	ErrNotAMember    = errors.New("member_required")
	ErrPermission    = errors.New("permission_missing")
	ErrConsumer      = errors.New("consumer_not_allowed")
)

// NotPermitted is ErrPermission with what is missing, so that a caller knows what to ask for.
type NotPermitted struct{ Permission identity.Permission }

func (e *NotPermitted) Error() string {
	return fmt.Sprintf("it takes %s: %s", e.Permission, ErrPermission)
}
func (e *NotPermitted) Unwrap() error { return ErrPermission }

// Directory maps an identity provider's subject to the member's opaque id.
type Directory interface {
	Resolve(ctx context.Context, org, issuer, subject string) (events.ID, bool, error)
	MemberExists(ctx context.Context, org string, id events.ID) (bool, error)

	// What an administrator does to it. The first registration of a subject wins, its name too; Rename changes the name.
	Register(ctx context.Context, org, issuer, subject, displayName string) (id events.ID, created bool, err error)
	EnsureMember(ctx context.Context, org string, id events.ID) error
	Rename(ctx context.Context, org string, id events.ID, displayName string) error
	DisplayName(ctx context.Context, org string, id events.ID) (name string, found bool, err error)
	Unregister(ctx context.Context, org string, id events.ID) error
}

// Acts holds what the acts are carried out with.
type Acts struct {
	Members       *runner.Runner[*member.State, member.Command]
	Organisations *runner.Runner[*organisation.State, organisation.Command]
	Sessions      *runner.Runner[*session.State, session.Command]
	Roles         *runner.Runner[*rolememory.State, rolememory.Command]
	Recalls       *recalls.Service
	Screen        *screening.Screen // of what leaves for an assistant without a recall
	Directory     Directory
	Issuer        string // whose subjects a producer's claim may name
	Read          Read
	Stream        Stream
	Codec         events.Codec
	Keys          events.Keys
	Now           func() time.Time
	Controller    receipts.Controller // who answers for the deployment, on receipts

	MaxSwept int // how many memories one commit of a sweep names; 0: events.MaxSwept

	Intake      Intake      // opens what producers sealed
	Sealed      Sealed      // judges it
	Parked      Parked      // keeps claims that can't be read
	Inbox       Inbox       // takes a parked claim in again
	Credentials Credentials // of producers; nil: this process doesn't run the broker

	looks looks
}

// Caller is who asks, from the credential alone.
type Caller struct {
	Principal    identity.Principal
	Organisation string
	Member       events.ID // whose memory the call concerns; empty: the token's person is no member, as with a service
	OnBehalfOf   events.ID // a delegate's principal
	Defined      *organisation.State
}

// Request is one call of an act: its concrete route, the caller's Idempotency-Key (or a fresh one) and when it came.
type Request struct {
	Route    string
	Key      string
	Received events.Time
	Trace    events.Trace
}

// Done is what every command's answer carries.
type Done struct{ Position uint64 }

// Identify makes a caller of a verified principal. An organisation that isn't there is as foreign as another's.
func (a *Acts) Identify(ctx context.Context, p identity.Principal) (Caller, error) {
	c := Caller{Principal: p, Organisation: p.Organisation}
	defined, err := a.definitions(ctx, c.Organisation)
	if err != nil {
		return Caller{}, err
	}
	c.Defined = defined
	subject := p.Subject
	if p.ActorSubject != "" {
		subject = p.ActorSubject
		if c.OnBehalfOf, err = a.resolve(ctx, c.Organisation, p.Issuer, p.Subject); err != nil {
			return Caller{}, err
		}
		if c.OnBehalfOf == "" {
			return Caller{}, fmt.Errorf("the principal acted for: %w", ErrNotFound) // nothing may be proposed under delegation without saying for whom
		}
	}
	c.Member, err = a.resolve(ctx, c.Organisation, p.Issuer, subject)
	return c, err
}

func (a *Acts) resolve(ctx context.Context, org, issuer, subject string) (events.ID, error) {
	id, found, err := a.Directory.Resolve(ctx, org, issuer, subject)
	if err != nil {
		return "", fmt.Errorf("look a member up: %w: %w", runner.ErrUnavailable, err)
	}
	if !found {
		return "", nil
	}
	return id, nil
}

// definitions reads the organisation at its head, for one command (spec 8: a change binds what starts after it). Those who ask at once
// share a look.
func (a *Acts) definitions(ctx context.Context, org string) (*organisation.State, error) {
	return a.looks.at(ctx, org, a.look)
}

// look reads the organisation at its head. One without streams was never founded here: that streams were lost is found at the start,
// where they are opened.
func (a *Acts) look(ctx context.Context, org string) (*organisation.State, error) {
	var defined *organisation.State
	err := a.Organisations.View(ctx, org, events.Organisation(), func(s *organisation.State, _ uint64) error {
		defined = s
		return nil
	})
	if errors.Is(err, eventlog.ErrMissingStream) {
		return nil, fmt.Errorf("organisation: %w: %w", ErrNotFound, err)
	}
	if err != nil {
		return nil, err
	}
	if !defined.Founded {
		return nil, fmt.Errorf("organisation: %w", ErrNotFound)
	}
	return defined, nil
}

// asMember requires the caller to be a member, by a client of their own. An assistant's token names the member too, but a client
// that is registered for a consumer is the assistant's hand: it may ask through recall and propose, and neither read past the gates
// nor give the member's answer (spec 1.2, 1.5: user-* comes only from the member's own act).
func (c Caller) asMember() (events.Actor, error) {
	if _, hand := c.Defined.Clients[c.Principal.Client]; hand { // one that was removed too
		return events.Actor{}, fmt.Errorf("the client speaks for a consumer, not for the member: %w", ErrNotAMember)
	}
	if c.Member == "" {
		return events.Actor{}, fmt.Errorf("the credential's person is no member: %w", ErrNotAMember)
	}
	return events.Actor{ID: string(c.Member), Kind: events.ActorMember}, nil
}

func (c Caller) asClient() events.Actor {
	return events.Actor{ID: c.Principal.Client, Kind: events.ActorClient}
}

// commandID binds the command to who asked for what (spec 9.2).
func (c Caller) commandID(r Request) events.ID {
	return events.CommandID(c.Organisation, c.Principal.Issuer, c.Principal.Subject, c.Principal.ActorSubject, c.Principal.Client, r.Route, r.Key)
}

// own runs a command of the caller's own book, as the member.
func (a *Acts) own(ctx context.Context, c Caller, r Request, input any, command member.Command) (runner.Outcome, error) {
	actor, err := c.asMember()
	if err != nil {
		return runner.Outcome{}, err
	}
	return a.run(ctx, c.Organisation, c.Member, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace, Setting: setting(c.Defined), Body: command,
	}, input)
}

func (a *Acts) run(ctx context.Context, org string, id events.ID, command runner.Command[member.Command], input any) (runner.Outcome, error) {
	canonical, err := events.Canonical(input)
	if err != nil {
		return runner.Outcome{}, fmt.Errorf("write the request of command %s: %w", command.ID, err)
	}
	command.Organisation, command.Aggregate, command.Request = org, events.Member(id), canonical
	return a.Members.Run(ctx, command)
}

func setting(defined *organisation.State) runner.Setting {
	return runner.Setting{Policy: defined.Policy, Defined: defined}
}

func termsKey(id, version string) organisation.TermsKey {
	return organisation.TermsKey{ID: id, Version: version}
}

// unknown turns a refusal that says "no such thing" into ErrNotFound, so that foreign and unknown ids answer the same.
func unknown(err error, codes ...string) error {
	refusal, ok := aggregates.AsRefusal(err)
	if !ok {
		return err
	}
	for _, code := range codes {
		if refusal.Code == code {
			return fmt.Errorf("%w: %w", ErrNotFound, err)
		}
	}
	return err
}
