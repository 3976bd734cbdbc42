package acts

import (
	"context"
	"fmt"
	"sync"
	"time"

	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/runner"
)

// looks let those who ask for an organisation's definitions at the same time have them by one look at its head. A look answers only
// who asked before it left: a change binds what starts after it (spec 8), and nobody is given what was known before they came. With
// a hundred claims at once each look is a hundred trips to the broker that nobody makes, one behind the other.
type looks struct {
	mu   sync.Mutex       // guards what follows
	away map[string]*look // by organisation: what asks now waits for the next
	next map[string]*look
}

// look is one look at an organisation; what it found is set before done closes.
type look struct {
	done    chan struct{}
	defined *organisation.State
	err     error
}

type lookAt func(ctx context.Context, org string) (*organisation.State, error)

// lookWithin is more than a look can take whose every trip is bounded.
const lookWithin = time.Minute

// at waits for a look that leaves after the call. One that its first caller no longer waits for goes on for the others.
func (l *looks) at(ctx context.Context, org string, at lookAt) (*organisation.State, error) {
	mine, leaves := l.join(org)
	if leaves {
		go l.look(context.WithoutCancel(ctx), org, mine, at)
	}
	select {
	case <-mine.done:
		return mine.defined, mine.err
	case <-ctx.Done():
		return nil, fmt.Errorf("look at the organisation: %w: %w", runner.ErrUnavailable, context.Cause(ctx))
	}
}

func (l *looks) join(org string) (mine *look, leaves bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.away == nil {
		l.away, l.next = map[string]*look{}, map[string]*look{}
	}
	if next := l.next[org]; next != nil {
		return next, false
	}
	mine = &look{done: make(chan struct{})}
	if l.away[org] != nil {
		l.next[org] = mine
		return mine, false
	}
	l.away[org] = mine
	return mine, true
}

// look looks until nobody waits.
func (l *looks) look(ctx context.Context, org string, mine *look, at lookAt) {
	for ; mine != nil; mine = l.follows(org) {
		within, cancel := context.WithTimeout(ctx, lookWithin)
		mine.defined, mine.err = at(within, org)
		cancel()
		close(mine.done)
	}
}

// follows is the look that leaves when one is back, or nil.
func (l *looks) follows(org string) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	next := l.next[org]
	delete(l.next, org)
	if next == nil {
		delete(l.away, org)
		return nil
	}
	l.away[org] = next
	return next
}
