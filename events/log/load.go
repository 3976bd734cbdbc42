package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"iris.example/iris/events"
)

const (
	statusHeader = "Status"
	// maxBatchBytes keeps what one request sends under what a subscription holds.
	maxBatchBytes = 8 << 20
)

// Load reads by direct get, in batches: nats.go has no call for them. A replica that lags answers with less than was asked for,
// never with a hole, so what is missing at the end is read from the leader, one by one. A hole (a damaged block reads as
// ordinary deletes) shows in the chain of hashes, which the caller checks.
func (l *JetStream) Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]Message, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return nil, err
	}
	if after >= upTo {
		return nil, nil
	}
	loaded, err := l.loadDirect(ctx, events.StreamFor(org), subject, after, upTo)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", subject, err)
	}
	if loaded, err = l.loadLeader(ctx, events.StreamFor(org), subject, loaded, after, upTo); err != nil {
		return nil, fmt.Errorf("load %s: %w", subject, err)
	}
	if reached(loaded, after) != upTo {
		return nil, shortLoad(subject, upTo)
	}
	return loaded, nil
}

// reached is the sequence up to which is loaded.
func reached(loaded []Message, after uint64) uint64 {
	if len(loaded) == 0 {
		return after
	}
	return loaded[len(loaded)-1].Sequence
}

func (l *JetStream) loadDirect(ctx context.Context, stream, subject string, after, upTo uint64) ([]Message, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	// As much as one request brings, with its end. (A subscription that the client makes room for takes half a megabyte.)
	answers := make(chan *nats.Msg, min(maxBatch, upTo-after)+1)
	inbox := l.conn.NewInbox()
	sub, err := l.conn.ChanSubscribe(inbox, answers)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var loaded []Message
	for more := true; more && reached(loaded, after) < upTo; {
		next := reached(loaded, after)
		request := getRequest{
			Sequence: next + 1, NextFor: subject,
			Batch: int(min(maxBatch, upTo-next)), MaxBytes: maxBatchBytes, // no more than that many can lie between
		}
		if loaded, err = l.directBatch(ctx, stream, inbox, answers, request, upTo, loaded); err != nil {
			return nil, err
		}
		more = reached(loaded, after) > next
	}
	return loaded, nil
}

// directBatch adds the answer to one request. Its end is a message with a status: 204 after what there was, 404 when there was
// nothing, 503 when no replica offers direct reads (then the leader is asked).
func (l *JetStream) directBatch(
	ctx context.Context, stream, inbox string, answers <-chan *nats.Msg, request getRequest, upTo uint64, loaded []Message,
) ([]Message, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("write a request: %w", err)
	}
	if err := l.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, inbox, data); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	limited, cancel := context.WithTimeout(ctx, l.config.ReadTimeout)
	defer cancel()
	for {
		var msg *nats.Msg
		select {
		case msg = <-answers:
		case <-limited.Done():
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, limited.Err())
		}
		switch status := statusOf(msg); status {
		case "":
		case "204", "404", "503":
			return loaded, nil
		default:
			return nil, fmt.Errorf("%w: server status %s", ErrUnavailable, status)
		}
		read, err := directMessage(msg)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		if read.Sequence <= upTo { // what was appended since is not asked for
			loaded = append(loaded, read)
		}
	}
}

// loadLeader reads what the replica didn't have.
func (l *JetStream) loadLeader(ctx context.Context, stream, subject string, loaded []Message, after, upTo uint64) ([]Message, error) {
	for reached(loaded, after) < upTo {
		msg, err := l.leaderGet(ctx, stream, getRequest{Sequence: reached(loaded, after) + 1, NextFor: subject})
		if errors.Is(err, ErrNotFound) || err == nil && msg.Sequence > upTo {
			return loaded, nil
		}
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, msg)
	}
	return loaded, nil
}

// statusOf is a message's status, empty for a stored one: those always have a body.
func statusOf(msg *nats.Msg) string {
	if len(msg.Data) > 0 {
		return ""
	}
	return msg.Header.Get(statusHeader)
}

func directMessage(msg *nats.Msg) (Message, error) {
	sequence, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("read a direct message's sequence: %w", err)
	}
	stored, err := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return Message{}, fmt.Errorf("read a direct message's time: %w", err)
	}
	return Message{msg.Header.Get(jetstream.SubjectHeader), sequence, msg.Data, stored.UTC()}, nil
}
