// Package projector is the worker that keeps the read models at the streams' heads: a line for each organisation and stream
// (spec 9.1, 9.4). What a line guarantees stands in projections/engine; this package says which lines there are.
package projector

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/tracing"
)

// Config says which organisations are projected, from where to where.
type Config struct {
	Organisations []string
	DatabaseURL   string // as iris_projector
	Follow        engine.Follow
	Read          func(ctx context.Context, stream string, position uint64) (log.Message, error) // for what was parked
	Codec         events.Codec
	Announce      engine.Announcer
	Mend          func(context.Context) error // makes a database that was dropped; nil: the line says that it isn't there
	Logger        *slog.Logger
	Tracer        tracing.Tracer
}

// Worker runs the lines.
type Worker struct {
	lines map[string]*engine.Line // by name, which organisations don't share
	pool  *pgxpool.Pool           // what all lines work on

	mu   sync.Mutex
	last map[string]engine.Status // by line
}

// New builds every line and starts none.
func New(cfg Config) (*Worker, error) {
	if cfg.Logger == nil {
		return nil, errors.New("projector: a logger is required")
	}
	w := &Worker{lines: map[string]*engine.Line{}, last: map[string]engine.Status{}}
	all, err := linesOf(cfg)
	if err != nil {
		return nil, err
	}
	if w.pool, err = engine.NewPool(cfg.DatabaseURL, migrations.Schema, max(1, min(connections, len(all)))); err != nil {
		return nil, err
	}
	for _, line := range all {
		line.Pool, line.Report, line.Idle = w.pool, w.report(cfg.Logger), max(leastIdle, time.Duration(len(all))*idleEach)
		if w.lines[line.Name], err = engine.New(line); err != nil {
			w.pool.Close()
			return nil, fmt.Errorf("line %s: %w", line.Name, err)
		}
	}
	return w, nil
}

const (
	// connections are what all lines share, however many organisations there are: PostgreSQL has two cores' worth of work for them,
	// and what idles needs none.
	connections = 8
	// An idle line looks at its cursor every two seconds, or a hundred of them do in each: a thousand organisations cost no more.
	leastIdle = 2 * time.Second
	idleEach  = 10 * time.Millisecond
)

func linesOf(cfg Config) (all []engine.Config, err error) {
	for _, org := range cfg.Organisations {
		for _, l := range projections.Lines(org) {
			decoder, err := l.Decoder(cfg.Codec)
			if err != nil {
				return nil, fmt.Errorf("line %s: %w", l.Name, err)
			}
			all = append(all, engine.Config{
				Organisation: org, Stream: l.Stream, Name: l.Name, DatabaseURL: cfg.DatabaseURL, Projections: l.Projections, Park: l.Park,
				Follow: paced(cfg.Follow), Read: cfg.Read, Decoder: decoder, Announce: cfg.Announce, Mend: cfg.Mend, Tracer: cfg.Tracer,
			})
		}
	}
	return all, nil
}

// Run carries all lines until ctx ends. A line that is stopped by a commit it can't pass stays stopped, and Unhealthy says so;
// the others go on.
func (w *Worker) Run(ctx context.Context) error {
	defer w.pool.Close()
	var group errgroup.Group
	for _, line := range w.lines {
		group.Go(func() error { return line.Run(ctx) })
	}
	return group.Wait()
}

// Close lets go of the connections of a worker that nobody runs: whose lines are only looked at, or acted upon.
func (w *Worker) Close() { w.pool.Close() }

func (w *Worker) report(logger *slog.Logger) func(engine.Status) {
	return func(s engine.Status) {
		w.mu.Lock()
		known := w.last[s.Name]
		w.last[s.Name] = s
		w.mu.Unlock()
		if s.Parked > known.Parked {
			logger.Warn("projection line parked commits", "line", s.Name, "position", s.Position, "parked", s.Parked)
		}
		if s.Err != nil && s.Failures <= quiet {
			logger.Error("projection line", "line", s.Name, "state", string(s.State), "position", s.Position, "failures", s.Failures, "error", s.Err)
		}
	}
}

// quiet is after how many failures in a row a line falls silent in the log; Unhealthy goes on saying it.
const quiet = 20

// Status is every line as it stands, by name. The counters are for metrics.
func (w *Worker) Status() []engine.Status {
	var all []engine.Status
	for _, name := range slices.Sorted(maps.Keys(w.lines)) {
		all = append(all, w.lines[name].Status())
	}
	return all
}

// Parked lists what every line has set aside, what was discarded included.
func (w *Worker) Parked(ctx context.Context) (all []engine.Parked, err error) {
	for _, name := range slices.Sorted(maps.Keys(w.lines)) {
		parked, err := w.lines[name].Parked(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, parked...)
	}
	return all, nil
}

// ParkedID names a parked commit: LINE@POSITION.
func ParkedID(p engine.Parked) string { return p.Line + "@" + strconv.FormatUint(p.Position, 10) }

// Retry applies what is parked there, and what its aggregate has waiting: see engine.Line.
func (w *Worker) Retry(ctx context.Context, id string) error {
	line, position, err := w.find(id)
	if err != nil {
		return err
	}
	return line.Retry(ctx, position)
}

// Discard gives one parked commit up.
func (w *Worker) Discard(ctx context.Context, id, reason string) error {
	line, position, err := w.find(id)
	if err != nil {
		return err
	}
	return line.Discard(ctx, position, reason)
}

func (w *Worker) find(id string) (*engine.Line, uint64, error) {
	name, digits, _ := strings.Cut(id, "@")
	position, err := strconv.ParseUint(digits, 10, 63)
	line := w.lines[name]
	if err != nil || line == nil {
		return nil, 0, fmt.Errorf("%w: an id is LINE@POSITION, as the list shows it", engine.ErrNotParked)
	}
	return line, position, nil
}

// Unhealthy names the lines that don't follow their stream, and why.
func (w *Worker) Unhealthy() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []error
	for name, s := range w.last {
		if s.Err != nil && (s.State == engine.Stopped || s.State == engine.Retrying) {
			all = append(all, fmt.Errorf("stream %s is %s at %d: %w", name, s.State, s.Position, s.Err))
		}
	}
	return errors.Join(all...)
}
