package engine

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// Cursors reads how far a line has come, wherever it runs.
type Cursors interface {
	Position(ctx context.Context, org, stream string) (uint64, error)
}

// Watermarks tell readers of this process how far each line has come (spec 9.1, Iris-Wait). A line of the same process announces
// here. Of lines elsewhere, or when an announcement was lost, the cursor row tells: read once for a line never heard of, and
// then after each silence, by one waiter for all.
type Watermarks struct {
	cursors Cursors
	silence time.Duration

	mu    sync.Mutex // guards the map and the marks' positions
	marks map[markKey]*mark
}

type markKey struct{ org, stream string }

type mark struct {
	heard    bool
	position uint64
	moved    chan struct{} // closed and replaced when position grows
	turn     chan struct{} // held by the waiter who reads the cursor
}

// Silence is how long waiters go without news before one of them reads the cursor row.
const Silence = 50 * time.Millisecond

// NewWatermarks makes an empty set.
func NewWatermarks(cursors Cursors, silence time.Duration) *Watermarks {
	return &Watermarks{cursors: cursors, silence: silence, marks: map[markKey]*mark{}}
}

// mark needs the lock.
func (w *Watermarks) mark(org, stream string) *mark {
	key := markKey{org, stream}
	m := w.marks[key]
	if m == nil {
		m = &mark{moved: make(chan struct{}), turn: make(chan struct{}, 1)}
		w.marks[key] = m
	}
	return m
}

// Announce wakes whoever waits for position or less. Announcements may come late and out of order: they never set a mark back.
func (w *Watermarks) Announce(org, stream string, position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.raise(org, stream, position)
}

// Resumed sets the mark where a line begins, also back: a database that was dropped answers for what it has again, and nobody
// is told that his words are visible while they aren't.
func (w *Watermarks) Resumed(org, stream string, position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m := w.mark(org, stream); position < m.position {
		m.position = position
	}
	w.raise(org, stream, position)
}

// Doubt makes the next waiter of every line read the cursor first: what was announced may have been missed.
func (w *Watermarks) Doubt() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.marks {
		m.heard = false
	}
}

// raise needs the lock.
func (w *Watermarks) raise(org, stream string, position uint64) {
	m := w.mark(org, stream)
	m.heard = true
	if position <= m.position {
		return
	}
	m.position = position
	close(m.moved)
	m.moved = make(chan struct{})
}

// Wait returns once the line stands at position or beyond. When ctx ends before, the answer is ErrBehind.
func (w *Watermarks) Wait(ctx context.Context, org, stream string, position uint64) error {
	if !w.look(org, stream).heard {
		w.read(ctx, org, stream)
	}
	for {
		now := w.look(org, stream)
		if now.position >= position {
			return nil
		}
		select {
		case <-now.moved:
		case <-ctx.Done():
			return fmt.Errorf("%w: %s waits for %d, is at %d: %w", ErrBehind, stream, position, now.position, context.Cause(ctx))
		case now.turn <- struct{}{}:
			w.listen(ctx, org, stream, now)
			<-now.turn
		}
	}
}

func (w *Watermarks) look(org, stream string) mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return *w.mark(org, stream)
}

// listen waits for news, and after a silence reads the cursor for everyone.
func (w *Watermarks) listen(ctx context.Context, org, stream string, now mark) {
	timer := time.NewTimer(w.silence)
	defer timer.Stop()
	select {
	case <-now.moved:
	case <-ctx.Done():
	case <-timer.C:
		w.read(ctx, org, stream)
	}
}

// read passes over an error: the waiters ask again, and their contexts bound how long.
func (w *Watermarks) read(ctx context.Context, org, stream string) {
	if position, err := w.cursors.Position(ctx, org, stream); err == nil {
		w.Announce(org, stream, position)
	}
}
