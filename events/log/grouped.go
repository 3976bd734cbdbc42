package log

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/events"
)

// Grouped commits what waits together (spec 9.2): while one append of an organisation is on its way, those that come meanwhile
// gather. They go in one atomic batch under one sync where that is cheaper than as many syncs, else each alone but all at once,
// so that the broker never waits for one of them. Each keeps its own expectation on its own literal subject. A batch that is
// refused stored nothing, so its members go alone, and the one that was stale hears it alone.
//
// A batch is opened with the first of them and closed with the last: the broker makes ready what it stages a batch in, most of a
// batch's cost, while the others are still being decided.
//
// A lone writer pays nothing: its append goes straight through, but for one that comes right after many.
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
	lately  int           // how many went together last: as many may be about to come again
	arrived chan struct{} // told of what comes while a group gathers
}

func newLine() *line { return &line{arrived: make(chan struct{}, 1)} }

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

const (
	maxGroup = 100 // of the broker's 1000; more would only make the first wait for the last
	opensAt  = 4   // how many have to wait before a batch is opened on the chance of more
)

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
		l = newLine()
		g.lines[org] = l
	}
	if !l.busy && !g.costs.worthABatch(l.lately) {
		l.busy = true
		g.mu.Unlock()
		defer g.next(org, l)
		return g.JetStream.Append(ctx, org, a, expected, body)
	}
	w := &waiting{a, expected, body, make(chan turn, 1)}
	l.join(w)
	if !l.busy {
		l.busy = true
		go g.carry(org, l)
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

func (l *line) join(w *waiting) {
	l.queue = append(l.queue, w)
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// carry lets append until nothing waits.
func (g *Grouped) carry(org string, l *line) {
	for {
		group, many := g.take(l)
		switch {
		case len(group.waiting) == 0:
			return
		case many:
			g.together(org, l, group)
		default:
			g.alone(group.waiting)
		}
	}
}

// group is what goes together, no aggregate twice: a batch may hold one expectation for a subject.
type group struct {
	waiting []*waiting
	taken   map[events.Aggregate]bool
}

// take takes what waits, and says whether it is worth a batch: as it is, or with those that are about to come. Empty: the line is
// free again.
func (g *Grouped) take(l *line) (taken *group, many bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken = &group{taken: map[events.Aggregate]bool{}}
	l.hand(taken)
	n := len(taken.waiting)
	if l.busy = n > 0; !l.busy {
		return taken, false
	}
	many = g.costs.worthABatch(max(n, l.lately))
	l.lately = n
	return taken, many
}

// more adds what has come since.
func (g *Grouped) more(l *line, to *group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.hand(to)
	l.lately = len(to.waiting)
}

// hand moves what may go with a group from the queue to it.
func (l *line) hand(to *group) {
	select {
	case <-l.arrived: // of those that are seen now
	default:
	}
	rest := l.queue[:0]
	for _, w := range l.queue {
		if len(to.waiting) == maxGroup || to.taken[w.aggregate] {
			rest = append(rest, w)
			continue
		}
		to.taken[w.aggregate] = true
		to.waiting = append(to.waiting, w)
	}
	clear(l.queue[len(rest):])
	l.queue = rest
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

// together appends the group, and who joins it, as one batch. Where too few join for one, or it is refused, whatever the reason, nothing
// is stored, and going alone will tell.
func (g *Grouped) together(org string, l *line, to *group) {
	ctx := context.Background() // of all of them; each step has its time
	stream := events.StreamFor(org)
	b := &opening{batch: g.newBatch(stream, org)}
	defer b.close()
	if err := g.gather(ctx, l, b, to); err != nil || b.parts == 0 {
		g.alone(to.waiting)
		return
	}
	began := time.Now()
	last, err := b.commit(ctx)
	if err != nil && !errors.Is(err, ErrAmbiguous) {
		g.alone(to.waiting)
		return
	}
	took := b.staging + time.Since(began)
	if b.staged != nil { // nobody waited for it
		took = time.Since(b.began)
	}
	g.config.Observe(Published{ToLedger, len(to.waiting), took, err})
	if err == nil {
		g.mu.Lock()
		g.costs.wentTogether(took)
		g.mu.Unlock()
	}
	for i, w := range to.waiting {
		if err != nil {
			w.turn <- turn{err: fmt.Errorf("append to %s: %w", stream, err)}
			continue
		}
		w.turn <- turn{sequence: last - uint64(len(to.waiting)-1-i)}
	}
}

// opening is a batch that others still join.
type opening struct {
	*batch
	sent    int
	began   time.Time
	sub     *nats.Subscription
	staged  chan *nats.Msg // the broker has the first part; nil before it is sent, and once this is known
	staging time.Duration  // what that took, and no longer than until the commit
}

// gather sends what joins the group, from opensAt on, until the broker has staged the first and waiting for another doesn't pay.
func (g *Grouped) gather(ctx context.Context, l *line, b *opening, to *group) error {
	cost := g.batchCost()
	latest := time.Now().Add(cost)
	soon := time.NewTimer(cost)
	defer soon.Stop()
	for {
		if err := b.send(ctx, to.waiting); err != nil {
			return err
		}
		if len(to.waiting) == maxGroup {
			return nil
		}
		soon.Reset(b.patience(len(to.waiting), cost, latest))
		select {
		case <-l.arrived:
			g.more(l, to)
		case <-b.staged:
			b.staged, b.staging = nil, time.Since(b.began)
			latest = time.Now().Add(cost)
		case <-soon.C:
			return nil
		}
	}
}

// patience is how long to wait for another: the batch carries more a second as long as the next one comes sooner than the time that a
// batch takes for each of its own. While the broker stages it, waiting costs nothing.
func (b *opening) patience(n int, cost time.Duration, latest time.Time) time.Duration {
	if b.staged != nil {
		return b.log.config.WriteTimeout
	}
	return min(cost/time.Duration(max(n, opensAt)), time.Until(latest))
}

// send sends what was not sent yet, all but the newest.
func (b *opening) send(ctx context.Context, group []*waiting) error {
	if len(group) < opensAt {
		return nil
	}
	if b.sub == nil {
		if err := b.listen(); err != nil {
			return err
		}
	}
	for ; b.sent < len(group); b.sent++ {
		w := group[b.sent]
		if err := b.add(ctx, Part{w.aggregate, w.expected, w.body}); err != nil {
			return err
		}
	}
	return nil
}

func (b *opening) listen() (err error) {
	b.began, b.reply, b.staged = time.Now(), b.log.conn.NewInbox(), make(chan *nats.Msg, 1)
	if b.sub, err = b.log.conn.ChanSubscribe(b.reply, b.staged); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return nil
}

func (b *opening) close() {
	if b.sub != nil {
		_ = b.sub.Unsubscribe()
	}
}

func (g *Grouped) batchCost() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.costs.batch
}
