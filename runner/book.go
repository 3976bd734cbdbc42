package runner

import (
	"context"
	"fmt"
	"time"

	"iris.example/iris/events"
)

type liveKey struct {
	org       string
	aggregate events.Aggregate
}

// book is a live state: the fold of everything up to position. Whoever holds it in this process has it alone, over all trips to the
// broker that a decision takes; the broker serialises all processes by the expected sequence.
type book[S any] struct {
	held chan struct{} // has room for one: who put something in holds all that follows

	loaded   bool
	partial  bool   // it came from a snapshot: texts may be missing
	bare     bool   // a cold load folded all of it, and it is worth a first snapshot
	saved    uint64 // version of the newest snapshot that this process knows of or has asked for
	state    S
	version  uint64
	position uint64
	hash     string
	commands map[events.ID]remembered
	oldest   []events.ID // the commands in order of arrival, to be dropped when their time is over
}

type remembered struct {
	digest   string
	position uint64
	at       events.Time
}

// hold finds the live state, or an empty one to load, and waits for whoever holds it, which may be as long as a broker takes that doesn't
// answer. Who waits stays no longer than their own context: then nothing of what they wanted was sent. They come in the order in which
// they asked.
func (r *Runner[S, C]) hold(ctx context.Context, org string, a events.Aggregate) (*book[S], error) {
	b := r.book(org, a)
	select {
	case b.held <- struct{}{}:
		return b, nil
	default:
	}
	select {
	case b.held <- struct{}{}:
		return b, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for who holds the %s: %w: %w", a.Kind, ErrUnavailable, context.Cause(ctx))
	}
}

func (b *book[S]) release() { <-b.held }

func (r *Runner[S, C]) book(org string, a events.Aggregate) *book[S] {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := liveKey{org, a}
	b, ok := r.live[key]
	if !ok {
		r.makeRoom()
		b = &book[S]{held: make(chan struct{}, 1)}
		r.live[key] = b
		// Texts and labels must not live here for longer than spec 5.3 allows, used or not.
		time.AfterFunc(r.cfg.Memory, func() { r.drop(key, b) })
	}
	return b
}

func (r *Runner[S, C]) drop(key liveKey, b *book[S]) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live[key] == b {
		delete(r.live, key)
	}
}

// makeRoom drops a state at random when there are too many: one that is in use goes on living with whoever holds it.
func (r *Runner[S, C]) makeRoom() {
	if len(r.live) < r.cfg.Live {
		return
	}
	for key := range r.live {
		delete(r.live, key)
		return
	}
}
