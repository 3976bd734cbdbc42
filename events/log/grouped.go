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
// gather. They go in one atomic batch under one sync where that is cheaper than as many syncs, else each alone but all at once,
// so that the broker never waits for one of them. Each keeps its own expectation on its own literal subject. A batch that is
// refused stored nothing, so its members go alone, and the one that was stale hears it alone.
//
// A lone writer pays nothing: its append goes straight through.
type Grouped struct {
	*JetStream

	mu    sync.Mutex       // guards what follows
	lines map[string]*line // by organisation
	costs costs
}

// line is what waits for one organisation. Grouped.mu guards it.
type line struct {
	busy    bool // somebody appends; what comes now waits
	queue   []*waiting
	arrived chan struct{} // told of what comes while a group gathers
}

// waiting is one append. turn is sent once.
type waiting struct {
	aggregate events.Aggregate
	expected  uint64
	body      []byte
	turn      chan turn
}

// turn says that the append was carried out with others, and how; or that it goes alone, and whom to tell when it went.
type turn struct {
	sequence uint64
	err      error
	alone    *sync.WaitGroup
}

const maxGroup = 100 // of the broker's 1000; more would only make the first wait for the last

// NewGrouped groups the appends of a log.
func NewGrouped(l *JetStream) *Grouped {
	return &Grouped{JetStream: l, lines: map[string]*line{}, costs: newCosts(l.Replicated())}
}

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
		l = &line{arrived: make(chan struct{}, 1)}
		g.lines[org] = l
	}
	if !l.busy {
		l.busy = true
		g.mu.Unlock()
		defer g.next(org, l)
		return g.JetStream.Append(ctx, org, a, expected, body)
	}
	w := &waiting{a, expected, body, make(chan turn, 1)}
	l.queue = append(l.queue, w)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
	g.mu.Unlock()
	select {
	case t := <-w.turn:
		return g.end(ctx, org, w, t)
	case <-ctx.Done():
		if g.withdraw(l, w) {
			return 0, fmt.Errorf("append to %s: %w: %w", events.StreamFor(org), ErrUnavailable, ctx.Err())
		}
		return g.end(ctx, org, w, <-w.turn) // it is on its way, and its time is bounded
	}
}

// end is an append's own part of its turn: nothing, or the whole way.
func (g *Grouped) end(ctx context.Context, org string, w *waiting, t turn) (uint64, error) {
	if t.alone == nil {
		return t.sequence, t.err
	}
	defer t.alone.Done()
	return g.JetStream.Append(ctx, org, w.aggregate, w.expected, w.body)
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

// carry lets append until nothing waits.
func (g *Grouped) carry(org string, l *line) {
	for {
		together := g.gather(l)
		group := g.take(l)
		if len(group) == 0 {
			return
		}
		if !together || !g.batch(org, group) {
			g.alone(group)
		}
	}
}

// gather says whether what waits goes in a batch, after waiting for more while that pays: the batch carries more a second as long
// as the next one comes sooner than the time that a batch now would take for each of its own.
func (g *Grouped) gather(l *line) bool {
	waits, batch, worth := g.look(l)
	if !worth {
		return false
	}
	latest := time.After(batch)
	for waits < maxGroup {
		soon := time.NewTimer(batch / time.Duration(waits))
		select {
		case <-l.arrived:
			soon.Stop()
		case <-soon.C:
			return true
		case <-latest:
			soon.Stop()
			return true
		}
		waits, _, _ = g.look(l)
		if waits == 0 { // all were withdrawn
			return false
		}
	}
	return true
}

// look says how many could go together, and what a batch of them would cost. Those that race for one aggregate count once: only one
// of them can be in a batch.
func (g *Grouped) look(l *line) (waits int, batch time.Duration, worth bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-l.arrived: // of those that are counted now
	default:
	}
	different := map[events.Aggregate]bool{}
	for _, w := range l.queue {
		if different[w.aggregate] = true; len(different) == maxGroup {
			break
		}
	}
	waits = len(different)
	return waits, g.costs.batch, g.costs.worthABatch(waits)
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

// alone lets all of a group go at once, each in its own goroutine and under its own context, and waits for them.
func (g *Grouped) alone(group []*waiting) {
	began := time.Now()
	var going sync.WaitGroup
	going.Add(len(group))
	for _, w := range group {
		w.turn <- turn{alone: &going}
	}
	going.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.costs.wentAlone(len(group), time.Since(began))
}

// batch appends the group as one. False: it was refused and stored nothing, for whatever reason; going alone will tell.
func (g *Grouped) batch(org string, group []*waiting) bool {
	stream := events.StreamFor(org)
	began := time.Now()
	last, err := g.publishBatch(context.Background(), stream, org, partsOf(group))
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		return false
	}
	took := time.Since(began)
	g.config.Observe(Published{ToLedger, len(group), took, err})
	if err == nil {
		g.mu.Lock()
		g.costs.wentTogether(took)
		g.mu.Unlock()
	}
	for i, w := range group {
		if err != nil {
			w.turn <- turn{err: fmt.Errorf("append to %s: %w", stream, err)}
			continue
		}
		w.turn <- turn{sequence: last - uint64(len(group)-1-i)}
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
