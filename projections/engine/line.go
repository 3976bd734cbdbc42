package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
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
	Failures     int // since it last got on
	Err          error
}

// Line carries one stream of one organisation. Run it once.
type Line struct {
	config Config

	mu     sync.Mutex // guards status
	status Status
}

// New checks the configuration and does nothing else.
func New(config Config) (*Line, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	return &Line{config: config, status: Status{Organisation: config.Organisation, Stream: config.Stream, State: Starting}}, nil
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

// Run follows the stream until ctx ends, which is no error, or until a commit stops the line: ErrPoison. Anything else is tried
// again from the cursor, ever more slowly.
func (l *Line) Run(ctx context.Context) error {
	wait := l.config.Backoff
	for {
		before := l.Status().Position
		err := l.follow(ctx)
		switch {
		case ctx.Err() != nil:
			l.change(func(s *Status) { s.State, s.Err = Stopped, nil })
			return nil
		case errors.Is(err, ErrPoison):
			l.change(func(s *Status) { s.State, s.Err = Stopped, err })
			return err
		}
		status := l.change(func(s *Status) { s.State, s.Err, s.Failures = Retrying, err, s.Failures+1 })
		if status.Position > before {
			wait = l.config.Backoff
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

// follow is one life of the line's connection. It always ends with an error.
func (l *Line) follow(ctx context.Context) error {
	conn, err := l.connect(ctx)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	position, err := l.resume(ctx, conn)
	if err != nil {
		return err
	}
	l.stands(position)
	source, err := l.config.Follow(ctx, l.config.Stream, position)
	if err != nil {
		return fmt.Errorf("follow %s after %d: %w", l.config.Stream, position, err)
	}
	defer source.Close()
	for {
		messages, err := source.Next(ctx, l.config.MaxBatch)
		if err != nil {
			return fmt.Errorf("read %s after %d: %w", l.config.Stream, position, err)
		}
		// What decodes is applied before an error ends this life: a line stops right before what stops it.
		commits, stop := l.decode(ctx, position, messages)
		if len(commits) > 0 {
			reached, err := l.apply(ctx, conn, position, commits)
			if reached > position {
				position = reached
				l.stands(position)
			}
			if err != nil {
				return err
			}
		}
		if stop != nil {
			return stop
		}
	}
}

// stands tells where the line is. Failures are forgotten only once it got on.
func (l *Line) stands(position uint64) {
	l.change(func(s *Status) {
		if position > s.Position {
			s.Failures = 0
		}
		s.State, s.Position, s.Err = Following, position, nil
	})
	l.config.Announce.Announce(l.config.Organisation, l.config.Stream, position)
}

// apply writes all commits in one transaction. Where one of them can't be applied, it writes those before it and stops there.
func (l *Line) apply(ctx context.Context, conn *pgx.Conn, position uint64, commits []events.Commit) (uint64, error) {
	err := l.transact(ctx, conn, position, commits)
	var stop *unappliable
	if !errors.As(err, &stop) {
		if err != nil {
			return position, err
		}
		return commits[len(commits)-1].Position, nil
	}
	if stop.index > 0 {
		if err := l.transact(ctx, conn, position, commits[:stop.index]); err != nil {
			return position, err
		}
		position = commits[stop.index-1].Position
	}
	return position, stop
}

// unappliable is a commit that doesn't follow from the rows before it.
type unappliable struct {
	index int
	cause error
}

func (u *unappliable) Error() string   { return u.cause.Error() }
func (u *unappliable) Unwrap() []error { return []error{ErrPoison, u.cause} }
