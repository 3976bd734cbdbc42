package log

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

// ErrInboxFull: the inbox holds as much of this producer, or in all, as it may. Nothing was written.
var ErrInboxFull = errors.New("log: inbox full")

// codeStoreFailed is how a server refuses a message for a limit of the stream (spec 9.2, discard new); of a work queue of ours
// that is a full inbox.
const codeStoreFailed = 10077

// Resubmit puts a claim into the inbox again, as its producer would, and returns when the inbox has it.
func (l *JetStream) Resubmit(ctx context.Context, org, producer string, body []byte) error {
	if err := errors.Join(boundary.Slug("organisation", org), boundary.SubjectToken("producer", producer)); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	_, err := l.publish(ctx, events.InboxStream, &nats.Msg{Subject: events.ProposedSubject(org, producer), Data: body})
	if code(err) == codeStoreFailed {
		return fmt.Errorf("take a claim in again: %w", ErrInboxFull)
	}
	return err
}

// OldestClaim is when the claim came that has waited longest; false: none waits. It is the broker's clock.
func (l *JetStream) OldestClaim(ctx context.Context) (came time.Time, waiting bool, err error) {
	var info struct {
		State struct {
			Messages uint64    `json:"messages"`
			First    time.Time `json:"first_ts"`
		} `json:"state"`
	}
	if err := l.api(ctx, "STREAM.INFO."+events.InboxStream, nil, &info); err != nil {
		return time.Time{}, false, fmt.Errorf("ask about the inbox: %w", err)
	}
	return info.State.First, info.State.Messages > 0, nil
}
