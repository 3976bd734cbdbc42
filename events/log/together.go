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
	last, err := l.publishBatch(ctx, stream, org, parts)
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
	ctx, cancel := context.WithTimeout(ctx, l.config.WriteTimeout)
	defer cancel()
	if err := l.ready(ctx); err != nil {
		return 0, err
	}
	id := nuid.Next()
	var commit *nats.Msg
	for i, p := range parts {
		commit = &nats.Msg{Subject: events.Subject(org, p.Aggregate), Data: p.Body, Header: nats.Header{
			jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(p.Expected, 10)},
			"Nats-Batch-Id":                     {id},
			"Nats-Batch-Sequence":               {strconv.Itoa(i + 1)},
		}}
		if i < len(parts)-1 {
			if err := l.conn.PublishMsg(commit); err != nil {
				return 0, fmt.Errorf("%w: %w", ErrUnavailable, err) // without its commit a batch is nothing
			}
		}
	}
	commit.Header["Nats-Batch-Commit"] = []string{"1"}
	reply, err := l.conn.RequestMsgWithContext(ctx, commit)
	if errors.Is(err, nats.ErrNoResponders) {
		return 0, l.nobody(ctx, stream, err)
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
	case ack.Stream != stream || ack.Count != len(parts) || ack.Batch != id:
		return 0, fmt.Errorf("%w: %d of %d taken by stream %q", ErrAmbiguous, ack.Count, len(parts), ack.Stream)
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
