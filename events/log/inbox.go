package log

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

const (
	// claimWait is how long a claim may be in hand before it is offered again; the second and later times it is longer.
	claimWait = 30 * time.Second
	// claimsAhead is how many claims lie ready in this process. Their wait runs from there on.
	claimsAhead = 64
	// claimsInHand bounds what all processes of one durable have in hand: ready, being carried out, or waiting for the broker to sync
	// their acknowledgement, one behind the other. A disk that syncs forty a second still has them all within claimWait.
	claimsInHand = 1024
)

// Inbox hands out what producers claimed, each claim until somebody settles it. Several processes may share a durable; the
// inbox is a work queue, so there is one durable.
type Inbox struct {
	log     *JetStream
	durable string

	// Of whoever is in Next or Close: one at a time.
	messages jetstream.MessagesContext // nil: none
}

// Claim is one message of a producer. Settle it once: Ack, Retry or Refuse; unsettled, it comes again.
type Claim struct {
	Subject      string
	Organisation string // with Producer, from the subject; both empty when the subject holds no fit ids: refuse it
	Producer     string
	Body         []byte
	Sequence     uint64 // in the inbox; it is no position
	Delivered    int    // 1 the first time
	Received     time.Time

	msg jetstream.Msg
}

// Claims makes the durable consumer, or takes it up again where it was.
func (l *JetStream) Claims(ctx context.Context, durable string) (*Inbox, error) {
	if err := boundary.Slug("durable", durable); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	in := &Inbox{log: l, durable: durable}
	if err := in.attach(ctx); err != nil {
		return nil, err
	}
	return in, nil
}

func (in *Inbox) attach(ctx context.Context) error {
	if in.messages != nil {
		return nil
	}
	if err := in.log.ready(ctx); err != nil {
		return fmt.Errorf("claims of %s: %w", in.durable, err)
	}
	limited, cancel := context.WithTimeout(ctx, in.log.config.ReadTimeout)
	defer cancel()
	consumer, err := in.log.js.CreateOrUpdateConsumer(limited, events.InboxStream, jetstream.ConsumerConfig{
		Durable: in.durable, AckPolicy: jetstream.AckExplicitPolicy, DeliverPolicy: jetstream.DeliverAllPolicy,
		MaxAckPending: claimsInHand, MaxDeliver: -1, // intake parks what fails; the broker dropping it would be silence
		AckWait: claimWait, BackOff: []time.Duration{claimWait, time.Minute, 5 * time.Minute},
	})
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("claims of %s: %w: %s", in.durable, ErrMissingStream, events.InboxStream)
	}
	if err != nil {
		return fmt.Errorf("claims of %s: %w: %w", in.durable, ErrUnavailable, err)
	}
	in.messages, err = consumer.Messages(jetstream.PullMaxMessages(claimsAhead), jetstream.WithMessagesErrOnMissingHeartbeat(false))
	if err != nil {
		in.messages = nil
		return fmt.Errorf("claims of %s: %w: %w", in.durable, ErrUnavailable, err)
	}
	return nil
}

// Next waits for a claim. It lives through restarts of the server. One goroutine at a time.
func (in *Inbox) Next(ctx context.Context) (Claim, error) {
	for pause := shortestPause; ; pause = min(2*pause, longestPause) {
		err := in.attach(ctx)
		if err == nil {
			var msg jetstream.Msg
			if msg, err = in.messages.Next(jetstream.NextContext(ctx)); err == nil {
				return claimOf(msg)
			}
		}
		if ctx.Err() != nil || errors.Is(err, ErrMissingStream) || in.log.conn.IsClosed() {
			return Claim{}, fmt.Errorf("claims of %s: %w", in.durable, err)
		}
		in.Close()
		rest(ctx, pause)
	}
}

func rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// Close lets go of the claims that lie ready; they come again after their wait. The durable stays. No Next may be under way.
func (in *Inbox) Close() {
	if in.messages != nil {
		in.messages.Stop()
		in.messages = nil
	}
}

func claimOf(msg jetstream.Msg) (Claim, error) {
	meta, err := msg.Metadata()
	if err != nil {
		return Claim{}, fmt.Errorf("read a claim: %w: %w", ErrUnavailable, err)
	}
	claim := Claim{
		Subject: msg.Subject(), Body: msg.Data(), Sequence: meta.Sequence.Stream, Delivered: int(meta.NumDelivered),
		Received: meta.Timestamp.UTC(), msg: msg,
	}
	org, producer, err := events.ParseProposedSubject(claim.Subject)
	if err == nil && boundary.Slug("organisation", org) == nil && boundary.SubjectToken("producer", producer) == nil {
		claim.Organisation, claim.Producer = org, producer
	}
	return claim, nil
}

// Ack settles the claim and waits until the server has it: nothing recorded comes again for want of an acknowledgement.
func (c Claim) Ack(ctx context.Context) error { return c.settled("ack", c.msg.DoubleAck(ctx)) }

// Retry offers the claim again after a delay.
func (c Claim) Retry(delay time.Duration) error {
	return c.settled("retry", c.msg.NakWithDelay(delay))
}

// Refuse ends the claim without a record. Whoever refuses has parked it, or told the producer.
func (c Claim) Refuse() error { return c.settled("refuse", c.msg.Term()) }

func (c Claim) settled(act string, err error) error {
	if err != nil {
		return fmt.Errorf("%s claim %d: %w: %w", act, c.Sequence, ErrAmbiguous, err)
	}
	return nil
}
