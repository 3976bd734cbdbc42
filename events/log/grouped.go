package log

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"iris.example/iris/events"
)

// Grouped commits what waits together (spec 9.2): while one append of an organisation is on its way, those that come meanwhile
// gather, and go in one atomic batch under one sync. Each keeps its own expectation on its own literal subject. A batch that is
// refused stored nothing, so its members go singly, and the one that was stale hears it alone.
//
// A lone writer pays nothing: its append goes straight through.
type Grouped struct {
	*JetStream

	mu    sync.Mutex
	lines map[string]*line // by organisation
}

// line is what waits for one organisation. Grouped.mu guards it.
type line struct {
	busy  bool // somebody appends; what comes now waits
	queue []*waiting
}

// waiting is one append. done is sent once.
type waiting struct {
	aggregate events.Aggregate
	expected  uint64
	body      []byte
	done      chan outcome
}

type outcome struct {
	sequence uint64
	err      error
}

const (
	// worthABatch is how many must wait before a batch is cheaper than as many single appends: on one node a batch costs about as
	// much as ten (measured: it stages a file of its own), in a cluster it costs about one.
	worthABatch = 10
	maxGroup    = 100 // of the broker's 1000; more would only make the first wait for the last
)

// NewGrouped groups the appends of a log.
func NewGrouped(l *JetStream) *Grouped { return &Grouped{JetStream: l, lines: map[string]*line{}} }

func (g *Grouped) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	if _, err := subjectOf(org, a); err != nil {
		return 0, err
	}
	if err := checkBody(body); err != nil {
		return 0, err
	}
	g.mu.Lock()
	l := g.lines[org]
	if l == nil {
		l = &line{}
		g.lines[org] = l
	}
	if !l.busy {
		l.busy = true
		g.mu.Unlock()
		defer g.next(org, l)
		return g.JetStream.Append(ctx, org, a, expected, body)
	}
	w := &waiting{a, expected, body, make(chan outcome, 1)}
	l.queue = append(l.queue, w)
	g.mu.Unlock()
	select {
	case o := <-w.done:
		return o.sequence, o.err
	case <-ctx.Done():
		if g.withdraw(l, w) {
			return 0, fmt.Errorf("append to %s: %w: %w", events.StreamFor(org), ErrUnavailable, ctx.Err())
		}
		o := <-w.done // it is on its way, and its time is bounded
		return o.sequence, o.err
	}
}

// next hands the line on: to what waits, or to whoever comes next.
func (g *Grouped) next(org string, l *line) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(l.queue) == 0 {
		l.busy = false
		return
	}
	go g.carry(org, l)
}

// carry appends until nothing waits. Nobody's context bounds it: an append that was sent has to be heard out.
func (g *Grouped) carry(org string, l *line) {
	for {
		group := g.take(l)
		if len(group) == 0 {
			return
		}
		if len(group) < worthABatch || !g.batch(org, group) {
			g.singly(org, group)
		}
	}
}

// take takes what waits, no aggregate twice: a batch may hold one expectation for a subject. Empty: the line is free again.
func (g *Grouped) take(l *line) []*waiting {
	g.mu.Lock()
	defer g.mu.Unlock()
	var group, rest []*waiting
	taken := map[events.Aggregate]bool{}
	for _, w := range l.queue {
		if len(group) == maxGroup || taken[w.aggregate] {
			rest = append(rest, w)
			continue
		}
		taken[w.aggregate] = true
		group = append(group, w)
	}
	l.queue = rest
	l.busy = len(group) > 0
	return group
}

// withdraw takes back what hasn't been taken.
func (g *Grouped) withdraw(l *line, w *waiting) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range l.queue {
		if other == w {
			l.queue = append(l.queue[:i], l.queue[i+1:]...)
			return true
		}
	}
	return false
}

func (g *Grouped) singly(org string, group []*waiting) {
	for _, w := range group {
		sequence, err := g.JetStream.Append(context.Background(), org, w.aggregate, w.expected, w.body)
		w.done <- outcome{sequence, err}
	}
}

// batch appends the group as one. False: it was refused and stored nothing, for whatever reason; singly will tell.
func (g *Grouped) batch(org string, group []*waiting) bool {
	stream := events.StreamFor(org)
	began := time.Now()
	last, err := g.publishBatch(context.Background(), stream, org, partsOf(group))
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false
	}
	g.config.Observe(Published{ToLedger, len(group), time.Since(began), err})
	for i, w := range group {
		if err != nil {
			w.done <- outcome{0, fmt.Errorf("append to %s: %w", stream, err)}
			continue
		}
		w.done <- outcome{last - uint64(len(group)-1-i), nil}
	}
	return true
}

func partsOf(group []*waiting) []Part {
	parts := make([]Part, len(group))
	for i, w := range group {
		parts[i] = Part{w.aggregate, w.expected, w.body}
	}
	return parts
}
