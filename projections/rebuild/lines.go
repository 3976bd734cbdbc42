package rebuild

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"iris.example/iris/events/log"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
)

// target is a line and the position that it is to stand at.
type target struct {
	org  string
	line projections.Line
	at   uint64
}

func (r *run) lines() []target {
	var all []target
	for _, org := range r.cfg.Organisations {
		for _, line := range r.cfg.Lines(org) {
			all = append(all, target{org: org, line: line})
		}
	}
	return all
}

// positions are where the lines of what is read stand, as the administrator's connection sees them.
func (r *run) positions(ctx context.Context) ([]target, error) {
	targets := r.lines()
	for i, t := range targets {
		row := r.admin.QueryRow(ctx, "SELECT coalesce((SELECT position FROM "+migrations.Schema+".cursors WHERE organization_id = $1 AND stream = $2), 0)", t.org, t.line.Name)
		if err := row.Scan(&targets[i].at); err != nil {
			return nil, fmt.Errorf("%w: read the cursors: %w", ErrFailed, err)
		}
	}
	return targets, nil
}

// read folds every stream once, to where its lines stand: never beyond, or it couldn't be compared. What is read and stands nowhere,
// because its database was dropped, is built to the streams' ends.
func (r *run) read(ctx context.Context) error {
	targets, err := r.positions(ctx)
	if err != nil {
		return err
	}
	empty, err := r.nothingRead(ctx)
	if err != nil {
		return err
	}
	if empty {
		if err := r.toTheEnds(ctx, targets); err != nil {
			return err
		}
		r.ends = targets
	}
	streams, err := r.streams(targets)
	if err != nil {
		return err
	}
	meter := newMeter(r.cfg.Progress)
	for _, lines := range streams {
		meter.total += farthest(lines)
	}
	r.say(Progress{Stage: Reading, Total: meter.total})
	load := engine.NewLoad(r.cfg.ProjectorURL, loading)
	defer load.Close(ctx)
	for _, lines := range streams {
		if err := engine.Fold(ctx, load, lines, meter.passed); err != nil {
			return fmt.Errorf("%w: %w", ErrFailed, err)
		}
	}
	if err := load.Commit(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrFailed, err)
	}
	r.report.Commits = meter.done
	return nil
}

func (r *run) toTheEnds(ctx context.Context, targets []target) (err error) {
	for i, t := range targets {
		if targets[i].at, err = r.cfg.Last(ctx, t.line.Stream); err != nil {
			return fmt.Errorf("%w: look at the end of %s: %w", ErrFailed, t.line.Stream, err)
		}
	}
	return nil
}

// streams are the lines that can be folded, those of one stream together. What can't is carried with what came since.
func (r *run) streams(targets []target) (streams [][]engine.Folded, err error) {
	at := map[string]int{}
	for _, t := range targets {
		line, err := r.line(t, loading, nil)
		if err != nil {
			return nil, err
		}
		if t.at == 0 || !line.Foldable() {
			continue
		}
		n, known := at[t.line.Stream]
		if !known {
			n, streams = len(streams), append(streams, nil)
			at[t.line.Stream] = n
		}
		streams[n] = append(streams[n], engine.Folded{Line: line, UpTo: t.at})
	}
	return streams, nil
}

func farthest(lines []engine.Folded) (position uint64) {
	for _, l := range lines {
		position = max(position, l.UpTo)
	}
	return position
}

func (r *run) line(t target, schema string, change func(*engine.Config)) (*engine.Line, error) {
	decoder, err := t.line.Decoder(r.cfg.Codec)
	if err != nil {
		return nil, fmt.Errorf("%w: line %s: %w", ErrFailed, t.line.Name, err)
	}
	config := engine.Config{
		Organisation: t.org, Stream: t.line.Stream, Name: t.line.Name, DatabaseURL: r.cfg.ProjectorURL, Schema: schema, Projections: t.line.Projections,
		Follow: r.cfg.Follow, Decoder: decoder, Announce: unheard{}, Park: t.line.Park,
	}
	if change != nil {
		change(&config)
	}
	line, err := engine.New(config)
	if err != nil {
		return nil, fmt.Errorf("%w: line %s: %w", ErrFailed, t.line.Name, err)
	}
	return line, nil
}

// unheard: what is built is nobody's watermark.
type unheard struct{}

func (unheard) Announce(string, string, uint64) {}
func (unheard) Resumed(string, string, uint64)  {}

// catchUp carries the lines of a schema to where those that are read stand.
func (r *run) catchUp(ctx context.Context, schema string, positions func(context.Context) ([]target, error)) error {
	r.say(Progress{Stage: CatchingUp})
	targets, err := positions(ctx)
	if err != nil {
		return err
	}
	return r.carry(ctx, schema, targets)
}

func (r *run) carry(ctx context.Context, schema string, targets []target) error {
	for _, t := range targets {
		if t.at == 0 {
			continue
		}
		if err := r.carryOne(ctx, schema, t); err != nil {
			return fmt.Errorf("%w: carry %s to %d: %w", ErrFailed, t.line.Name, t.at, err)
		}
	}
	return nil
}

// retries of a line on its way before the rebuild gives up. Poison of a parking line needs some.
const retries = 20

// carryOne runs a line until it stands at its target, and not a commit further.
func (r *run) carryOne(ctx context.Context, schema string, t target) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var last engine.Status
	line, err := r.line(t, schema, func(c *engine.Config) {
		c.Follow = until(r.cfg.Follow, t.at)
		c.Report = func(s engine.Status) { // Run calls it, one at a time
			if s.State != engine.Stopped {
				last = s
			}
			if s.Position >= t.at || s.Failures > retries {
				stop()
			}
		}
	})
	if err != nil {
		return err
	}
	if err := line.Run(ctx); err != nil {
		return err
	}
	switch {
	case last.Position > t.at:
		return fmt.Errorf("it stands at %d already", last.Position)
	case last.Position < t.at:
		return errors.Join(errors.New("it didn't get there"), last.Err, context.Cause(ctx))
	}
	return nil
}

// until ends a stream at a position: what lies behind is waited for in vain.
func until(follow engine.Follow, end uint64) engine.Follow {
	return func(ctx context.Context, stream string, after uint64) (engine.Source, error) {
		source, err := follow(ctx, stream, after)
		if err != nil {
			return nil, err
		}
		return &bounded{source, after, end}, nil
	}
}

type bounded struct {
	engine.Source
	last, end uint64
}

var errNotThere = errors.New("the stream has nothing at the position where what is read stands")

func (b *bounded) Next(ctx context.Context, limit int) ([]log.Message, error) {
	if b.last >= b.end {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	messages, err := b.Source.Next(ctx, limit)
	for n, m := range messages {
		if m.Sequence > b.end {
			messages = messages[:n]
			break
		}
		b.last = m.Sequence
	}
	if err == nil && len(messages) == 0 {
		return nil, errNotThere
	}
	return messages, err
}

// meter counts commits and tells a few times a second.
type meter struct {
	tell  func(Progress)
	began time.Time

	mu    sync.Mutex // guards what follows
	done  uint64
	total uint64
	told  time.Time
}

func newMeter(tell func(Progress)) *meter { return &meter{tell: tell, began: time.Now()} }

const tellEvery = 200 * time.Millisecond

func (m *meter) passed(commits int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += uint64(commits)
	if now := time.Now(); now.Sub(m.told) >= tellEvery || m.done >= m.total {
		m.told = now
		m.tell(m.progress(now))
	}
}

func (m *meter) progress(now time.Time) Progress {
	p := Progress{Stage: Reading, Done: m.done, Total: m.total}
	if took := now.Sub(m.began).Seconds(); took > 0 && m.done > 0 {
		p.Rate = float64(m.done) / took
		if m.total > m.done {
			p.Left = time.Duration(float64(m.total-m.done) / p.Rate * float64(time.Second)).Round(100 * time.Millisecond)
		}
	}
	return p
}
