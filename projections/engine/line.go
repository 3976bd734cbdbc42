package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// State says what a line is doing.
type State string

const (
	Starting  State = "starting"
	Following State = "following" // applied what it was given, waits for more
	Retrying  State = "retrying"  // waits to begin again at the cursor; Err says why
	Stopped   State = "stopped"   // ended: by its context, or by poison, which Err names
)

// Status is a line seen from outside. Whether it is healthy follows from its position and the stream's head, never from State
// alone.
type Status struct {
	Organisation string
	Stream       string
	State        State
	Position     uint64
	Name         string // of the line; the stream's, unless another line reads it too
	Failures     int    // since it last got on
	Err          error

	// Counted since the line began, for metrics. What stands parked and what was missing is in the tables.
	Commits uint64 // applied
	Parked  uint64 // set aside, those behind a parked one included
	Missing uint64 // positions that the stream no longer had
}

// Line carries one stream of one organisation. Run it once.
type Line struct {
	config Config

	tries map[uint64]int // by position, of poison; Run's alone

	mu     sync.Mutex // guards status
	status Status
}

// New checks the configuration and does nothing else.
func New(config Config) (*Line, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Line{config: config, tries: map[uint64]int{}, status: Status{
		Organisation: config.Organisation, Stream: config.Stream, Name: config.Name, State: Starting,
	}}, nil
}

// Status is safe to ask from any goroutine.
func (l *Line) Status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.status
}

func (l *Line) change(change func(*Status)) Status {
	l.mu.Lock()
	change(&l.status)
	status := l.status
	l.mu.Unlock()
	l.config.Report(status)
	return status
}

// Run follows the stream until ctx ends, which is no error, or until a commit stops the line: ErrPoison, of a line that doesn't
// park. Anything else is tried again from the cursor, ever more slowly.
func (l *Line) Run(ctx context.Context) error {
	wait := l.config.Backoff
	for {
		before := l.Status().Position
		err := l.follow(ctx)
		switch {
		case ctx.Err() != nil:
			l.change(func(s *Status) { s.State, s.Err = Stopped, nil })
			return nil
		case errors.Is(err, ErrPoison) && !l.config.Park:
			l.change(func(s *Status) { s.State, s.Err = Stopped, err })
			return err
		}
		status := l.change(func(s *Status) { s.State, s.Err, s.Failures = Retrying, err, s.Failures+1 })
		if status.Position > before {
			wait = l.config.Backoff
		}
		if l.config.Mend != nil && gone(err) {
			if err := l.config.Mend(ctx); err != nil {
				l.change(func(s *Status) { s.Err = err })
			}
		}
		pause(ctx, wait)
		wait = min(2*wait, l.config.MaxBackoff)
	}
}

func pause(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// follow is one life of the line. It always ends with an error.
func (l *Line) follow(ctx context.Context) error {
	db, err := l.connections(ctx)
	if err != nil {
		return err
	}
	defer db.end(ctx)
	var position uint64
	if err := db.use(ctx, func(conn *pgx.Conn) (err error) { position, err = l.resume(ctx, conn); return err }); err != nil {
		return err
	}
	l.resumes(position)
	source, err := l.config.Follow(ctx, l.config.Stream, position)
	if err != nil {
		return fmt.Errorf("follow %s after %d: %w", l.config.Stream, position, err)
	}
	defer source.Close()
	ctx, end := context.WithCancel(ctx)
	deliveries := l.ahead(ctx, source)
	defer func() {
		end()
		for range deliveries { // until nobody reads the source any more
		}
	}()
	idle := time.NewTicker(l.config.Idle)
	defer idle.Stop()
	for {
		select {
		case next, open := <-deliveries:
			if !open {
				return context.Cause(ctx)
			}
			if position, err = l.carry(ctx, db, position, next); err != nil {
				return err
			}
		case <-idle.C:
			if err := db.use(ctx, func(conn *pgx.Conn) error { return l.still(ctx, conn, position) }); err != nil {
				return err
			}
		}
	}
}

// carry applies what can be applied before an error ends this life: a line stops right before what stops it.
func (l *Line) carry(ctx context.Context, db connections, position uint64, next delivery) (uint64, error) {
	if next.err != nil {
		return position, fmt.Errorf("read %s after %d: %w", l.config.Stream, position, next.err)
	}
	items, stop := l.passable(position, next.items)
	if len(items) > 0 {
		reached := position
		err := db.use(ctx, func(conn *pgx.Conn) (err error) { reached, err = l.apply(ctx, conn, position, items); return err })
		if reached > position {
			position = reached
			l.stands(position)
		}
		if err != nil {
			return position, err
		}
	}
	return position, stop
}

// resumes believes the cursor, also where it lies before what was known: the database may be another one now.
func (l *Line) resumes(position uint64) {
	l.change(func(s *Status) { s.State, s.Position, s.Err = Following, position, nil })
	l.config.Announce.Resumed(l.config.Organisation, l.config.Name, position)
}

// stands tells where the line is. Failures are forgotten only once it got on.
func (l *Line) stands(position uint64) {
	l.change(func(s *Status) { s.State, s.Position, s.Err, s.Failures = Following, position, nil, 0 })
	for tried := range l.tries {
		if tried <= position {
			delete(l.tries, tried)
		}
	}
	l.config.Announce.Announce(l.config.Organisation, l.config.Name, position)
}

// exhausted counts a try of poison and says whether the line has tried enough to park it.
func (l *Line) exhausted(position uint64) bool {
	l.tries[position]++
	return l.config.Park && l.tries[position] >= l.config.Attempts
}

// apply writes all items in one transaction. Where one of them can't be applied it is parked, or those before it are written and
// the line stops there.
func (l *Line) apply(ctx context.Context, conn *pgx.Conn, position uint64, items []item) (uint64, error) {
	for {
		err := l.transact(ctx, conn, position, items)
		var stop *unappliable
		if !errors.As(err, &stop) {
			if err != nil {
				return position, err
			}
			return items[len(items)-1].commit.Position, nil
		}
		if l.exhausted(items[stop.index].commit.Position) {
			items[stop.index].poison = stop
			continue
		}
		if stop.index > 0 {
			if err := l.transact(ctx, conn, position, items[:stop.index]); err != nil {
				return position, err
			}
			position = items[stop.index-1].commit.Position
		}
		return position, stop
	}
}

// unappliable is a commit that doesn't follow from the rows before it.
type unappliable struct {
	index int
	cause error
}

func (u *unappliable) Error() string   { return u.cause.Error() }
func (u *unappliable) Unwrap() []error { return []error{ErrPoison, u.cause} }
