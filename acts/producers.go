package acts

import (
	"context"
	"errors"
	"fmt"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// ErrCredentials: producers' credentials are made by another process than this.
var ErrCredentials = errors.New("credentials_unmanaged")

// Credentials lets producers in at the broker, and cuts them off.
type Credentials interface {
	// Issue makes new credentials. It cuts nobody off, and nothing has to take them back.
	Issue(ctx context.Context, org, producer string) (publicKey string, file []byte, err error)
	// Revoke cuts credentials off for good. Repeating it changes nothing.
	Revoke(ctx context.Context, publicKey string) error
}

// NewProducer is what the administrator of a new producer is told, once: the credentials are kept nowhere.
type NewProducer struct {
	Done
	Name        string
	Consumer    events.Consumer
	PublicKey   string
	Credentials []byte // secret
	IntakeKey   string
}

// AddProducer registers a producer and makes its credentials. One that stands is refused, a repeated request too: whoever lost
// the answer revokes the producer and adds it again.
func (a *Acts) AddProducer(ctx context.Context, c Caller, r Request, name string, consumer events.Consumer) (NewProducer, error) {
	actor, err := c.administers()
	if err != nil {
		return NewProducer{}, err
	}
	if a.Credentials == nil {
		return NewProducer{}, fmt.Errorf("add a producer: %w", ErrCredentials)
	}
	intake, err := a.IntakeKey(ctx, c)
	if err != nil {
		return NewProducer{}, err
	}
	// Credentials that no event names open a subject whose claims are refused: making them first is harmless.
	key, file, err := a.Credentials.Issue(ctx, c.Organisation, name)
	if err != nil {
		return NewProducer{}, fmt.Errorf("make the credentials of producer %s: %w: %w", name, runner.ErrUnavailable, err)
	}
	command := organisation.RegisterProducer{Name: name, Consumer: consumer, PublicKey: key, Fresh: true}
	outcome, err := a.administer(ctx, c, r, actor, command, []any{name, consumer})
	if err != nil {
		return NewProducer{}, err
	}
	if outcome.Repeated {
		return NewProducer{}, aggregates.Refuse("producer_exists", "spec 9.2")
	}
	return NewProducer{Done{outcome.Position}, name, consumer, key, file, intake.Recipient}, nil
}

// RevokedProducer is what became of a revocation. Not CutOff: the broker isn't ours, and its administrator has to take the credential
// back; the producer can fill its own inbox until then, and nothing comes of it.
type RevokedProducer struct {
	Done
	CutOff bool
}

// RevokeProducer records that the producer may publish no more, and cuts its credentials off where this process makes them. From the
// record on its claims are refused, whatever the broker lets through: each is held against the definitions at the leader's head. A request
// that ended in between is repeated, and cuts off then.
func (a *Acts) RevokeProducer(ctx context.Context, c Caller, r Request, name string) (RevokedProducer, error) {
	actor, err := c.administers()
	if err != nil {
		return RevokedProducer{}, err
	}
	outcome, err := a.administer(ctx, c, r, actor, organisation.RevokeProducer{Name: name}, name)
	if err != nil {
		return RevokedProducer{}, unknown(err, "producer_unknown")
	}
	revoked := RevokedProducer{Done{outcome.Position}, a.Credentials != nil}
	if !revoked.CutOff {
		return revoked, nil
	}
	return revoked, a.CutOff(ctx, c.Organisation)
}

// CutOff makes the broker refuse every key that the organisation has revoked. Every start calls it: the broker's own list may be
// older than the record.
func (a *Acts) CutOff(ctx context.Context, org string) error {
	defined, err := a.definitions(ctx, org)
	if err != nil {
		return err
	}
	for _, key := range defined.RevokedKeys {
		if err := a.Credentials.Revoke(ctx, key); err != nil {
			return fmt.Errorf("cut off key %s: %w: %w", key, runner.ErrUnavailable, err)
		}
	}
	return nil
}

func (a *Acts) administer(ctx context.Context, c Caller, r Request, actor events.Actor, command organisation.Command, input any) (runner.Outcome, error) {
	canonical, err := events.Canonical(input)
	if err != nil {
		return runner.Outcome{}, fmt.Errorf("write the request: %w", err)
	}
	return a.Organisations.Run(ctx, runner.Command[organisation.Command]{
		Organisation: c.Organisation, Aggregate: events.Organisation(), ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace,
		Request: canonical, Setting: setting(c.Defined), Body: command,
	})
}
