package streamguard

import (
	"context"
	"errors"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/evidence"
)

// Appender is what may be written with: the log's, less creating anything.
type Appender interface {
	Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error)
	AppendTogether(ctx context.Context, org string, parts []log.Part) ([]uint64, error)
	AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error)
	AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error)
	Head(ctx context.Context, org string, a events.Aggregate) (uint64, error)
	Newest(ctx context.Context, org string, a events.Aggregate) (log.Message, error)
	Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]log.Message, error)
	ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]log.Message, error)
}

// Guarded is a log whose writes ask the guard first. Give it to whoever appends; reading goes through.
type Guarded struct {
	Appender
	guard *Guard
}

// Over puts the guard before a log.
func (g *Guard) Over(inner Appender) *Guarded { return &Guarded{inner, g} }

func (l *Guarded) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	return l.guard.write(org, events.StreamFor(org), body, func() (uint64, error) { return l.Appender.Append(ctx, org, a, expected, body) })
}

// AppendTogether is known by the last of the messages: they follow each other.
func (l *Guarded) AppendTogether(ctx context.Context, org string, parts []log.Part) (sequences []uint64, err error) {
	var last []byte
	if len(parts) > 0 {
		last = parts[len(parts)-1].Body
	}
	_, err = l.guard.write(org, events.StreamFor(org), last, func() (uint64, error) {
		if sequences, err = l.Appender.AppendTogether(ctx, org, parts); err != nil {
			return 0, err
		}
		return sequences[len(sequences)-1], nil
	})
	return sequences, err
}

func (l *Guarded) AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error) {
	return l.guard.write(org, events.AccessStreamFor(org), body, func() (uint64, error) { return l.Appender.AppendAccess(ctx, org, subject, body) })
}

func (l *Guarded) AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error) {
	return l.guard.write(org, events.StreamFor(org), body, func() (uint64, error) { return l.Appender.AppendFence(ctx, org, a, head, body) })
}

// write carries out an append between two looks. A sequence that isn't beyond what stood there before it was sent comes from a
// stream that has lost something since: then it isn't known what the append is worth, and the organisation is closed.
func (g *Guard) write(org, stream string, body []byte, send func() (uint64, error)) (uint64, error) {
	before, err := g.admit(org, stream)
	if err != nil {
		return 0, err
	}
	sequence, err := send()
	if errors.Is(err, log.ErrMissingStream) {
		g.close(org, err)
	}
	if err != nil {
		return 0, err
	}
	if sequence <= before {
		err := fmt.Errorf("stream %s: %w: it took a message at %d, known was %d", stream, ErrShortened, sequence, before)
		g.close(org, err)
		return 0, fmt.Errorf("organisation %s: %w: %w", org, log.ErrAmbiguous, err)
	}
	g.acknowledged(org, evidence.Head{Stream: stream, Sequence: sequence, SHA256: events.Hash(body)})
	return sequence, nil
}

// admit lets a write through and says what stood on the stream before it.
func (g *Guard) admit(org, stream string) (before uint64, err error) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	w, err := g.allow(org)
	if err != nil {
		return 0, err
	}
	return w.streams[stream].seen.Sequence, nil
}

// acknowledged notes how far the broker says a stream goes.
func (g *Guard) acknowledged(org string, head evidence.Head) {
	g.mu.Lock()
	w := g.watched[org]
	w.written = true
	if p := w.streams[head.Stream]; head.Sequence > p.acked.Sequence && head.Sequence > p.seen.Sequence {
		p.acked = head
	}
	g.appended++
	due := g.appended == g.config.Every
	g.mu.Unlock()
	if due {
		g.hurry()
	}
}

// close refuses further writes until a look has found the streams well.
func (g *Guard) close(org string, alarm error) {
	g.settle(org, nil, alarm)
	g.hurry()
}

func (g *Guard) hurry() {
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
