// Package projector is the worker that keeps the read models at the streams' heads: a line for each organisation and stream
// (spec 9.1, 9.4). What a line guarantees stands in projections/engine; this package says which lines there are.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
)

// Config says which organisations are projected, from where to where.
type Config struct {
	Organisations []string
	DatabaseURL   string // as iris_projector
	Follow        engine.Follow
	Decoder       engine.Decoder
	Announce      engine.Announcer
	Logger        *slog.Logger
}

// Worker runs the lines.
type Worker struct {
	lines []*engine.Line

	mu   sync.Mutex
	last map[string]engine.Status // by stream
}

// New builds every line and starts none.
func New(cfg Config) (*Worker, error) {
	if cfg.Logger == nil {
		return nil, errors.New("projector: a logger is required")
	}
	w := &Worker{last: map[string]engine.Status{}}
	for _, org := range cfg.Organisations {
		for stream, models := range map[string][]engine.Projection{
			events.StreamFor(org):       projections.OfOrganisation(),
			events.AccessStreamFor(org): projections.OfAccess(),
		} {
			line, err := engine.New(engine.Config{
				Organisation: org, Stream: stream, DatabaseURL: cfg.DatabaseURL, Projections: models, Follow: cfg.Follow,
				Decoder: cfg.Decoder, Announce: cfg.Announce, Report: w.report(cfg.Logger),
			})
			if err != nil {
				return nil, fmt.Errorf("line of stream %s: %w", stream, err)
			}
			w.lines = append(w.lines, line)
		}
	}
	return w, nil
}

// Run carries all lines until ctx ends. A line that is stopped by a commit it can't pass stays stopped, and Unhealthy says so;
// the others go on.
func (w *Worker) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, line := range w.lines {
		group.Go(func() error { return line.Run(ctx) })
	}
	return group.Wait()
}

func (w *Worker) report(logger *slog.Logger) func(engine.Status) {
	return func(s engine.Status) {
		w.mu.Lock()
		w.last[s.Stream] = s
		w.mu.Unlock()
		if s.Err != nil {
			logger.Error("projection line", "stream", s.Stream, "state", string(s.State), "position", s.Position, "failures", s.Failures, "error", s.Err)
		}
	}
}

// Unhealthy names the lines that don't follow their stream, and why.
func (w *Worker) Unhealthy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []error
	for stream, s := range w.last {
		if s.State == engine.Stopped || s.State == engine.Retrying {
			all = append(all, fmt.Errorf("stream %s is %s at %d: %w", stream, s.State, s.Position, s.Err))
		}
	}
	return errors.Join(all...)
}
