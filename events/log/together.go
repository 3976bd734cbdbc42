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
	"github.com/nats-io/nuid"

	"iris.example/iris/events"
)

// maxTogether bounds what one decision stores together, far below the broker's 1000: a decision over more is made of several.
const maxTogether = 100

// AppendTogether publishes an atomic batch (ADR-50). The broker checks every expectation before it stores any message, and readers
// see all of it or nothing (measured, on one node and on three, and through kills).
func (l *JetStream) AppendTogether(ctx context.Context, org string, parts []Part) ([]uint64, error) {
	if _, err := checkParts(org, parts); err != nil {
		return nil, err
	}
	stream := events.StreamFor(org)
	began := time.Now()
	var last uint64
	err := settled(ctx, l.config.WriteTimeout, func(ctx context.Context) (err error) {
		last, err = l.publishBatch(ctx, stream, org, parts)
		return err
	})
	l.config.Observe(Published{ToLedger, len(parts), time.Since(began), err})
	if err != nil {
		return nil, fmt.Errorf("append to %s: %w", stream, err)
	}
	sequences := make([]uint64, len(parts))
	for i := range sequences {
		sequences[i] = last - uint64(len(parts)-1-i)
	}
	return sequences, nil
}

// checkParts returns the subjects of parts that may go together: an expectation stands on the first message of a subject only, so
// no aggregate comes twice.
func checkParts(org string, parts []Part) ([]string, error) {
	if len(parts) == 0 || len(parts) > maxTogether {
		return nil, fmt.Errorf("%w: %d commits together, 1 to %d can be", ErrRefused, len(parts), maxTogether)
	}
	subjects, seen := make([]string, len(parts)), map[string]bool{}
	for i, p := range parts {
		subject, err := subjectOf(org, p.Aggregate)
		if err != nil {
			return nil, err
		}
		if err := checkBody(p.Body); err != nil {
			return nil, err
		}
		if seen[subject] {
			return nil, fmt.Errorf("%w: two commits of one aggregate together", ErrRefused)
		}
		subjects[i], seen[subject] = subject, true
	}
	return subjects, nil
}

// publishBatch sends all but the last without waiting; the last commits, and its answer speaks for all (ADR-50).
func (l *JetStream) publishBatch(ctx context.Context, stream, org string, parts []Part) (last uint64, err error) {
	b := l.newBatch(stream, org)
	for _, p := range parts {
		if err := b.add(ctx, p); err != nil {
			return 0, err
		}
	}
	return b.commit(ctx)
}

// batch is an atomic batch whose messages are sent as they come. Its newest is held back, to carry the commit.
type batch struct {
	log         *JetStream
	stream, org string
	id          string
	parts       int
	held        *nats.Msg
	reply       string // where the broker says that it has the first; empty: nobody asks
}

func (l *JetStream) newBatch(stream, org string) *batch {
	return &batch{log: l, stream: stream, org: org, id: nuid.Next()}
}

// add sends the part before. What it returns came before any commit: without one a batch is nothing.
func (b *batch) add(ctx context.Context, p Part) error {
	if err := b.log.ready(ctx); err != nil {
		return err
	}
	if b.held != nil {
		if b.parts == 1 {
			b.held.Reply = b.reply
		}
		if err := b.log.conn.PublishMsg(b.held); err != nil {
			return fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
	}
	b.parts++
	b.held = &nats.Msg{Subject: events.Subject(b.org, p.Aggregate), Data: p.Body, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(p.Expected, 10)},
		"Nats-Batch-Id":                     {b.id},
		"Nats-Batch-Sequence":               {strconv.Itoa(b.parts)},
	}}
	return nil
}

// commit returns the sequence of the last part; the others stand right before it, in their order.
func (b *batch) commit(ctx context.Context) (last uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, b.log.config.WriteTimeout)
	defer cancel()
	if err := b.log.ready(ctx); err != nil {
		return 0, err
	}
	b.held.Header["Nats-Batch-Commit"] = []string{"1"}
	reply, err := b.log.conn.RequestMsgWithContext(ctx, b.held)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, b.log.nobody(ctx, b.stream, err)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrAmbiguous, err)
	}
	var ack struct {
		Stream   string    `json:"stream"`
		Sequence uint64    `json:"seq"`
		Batch    string    `json:"batch"`
		Count    int       `json:"count"`
		Error    *apiError `json:"error"`
	}
	switch err := json.Unmarshal(reply.Data, &ack); {
	case err != nil:
		return 0, fmt.Errorf("%w: read its answer: %w", ErrAmbiguous, err)
	case ack.Error != nil:
		return 0, ack.Error.ofWrite()
	case ack.Stream != b.stream || ack.Count != b.parts || ack.Batch != b.id:
		return 0, fmt.Errorf("%w: %d of %d taken by stream %q", ErrAmbiguous, ack.Count, b.parts, ack.Stream)
	}
	return ack.Sequence, nil
}

// nobody says why a batch reached no one: without its commit nothing of it is stored, and a stream that isn't there is an alarm.
func (l *JetStream) nobody(ctx context.Context, stream string, cause error) error {
	if _, err := l.info(ctx, stream); err != nil {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, cause)
}
