package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events/log"
)

// Folding are Changes that can carry a whole stream from its beginning and give it to COPY: what a rebuild does with them. Changes
// that can't are carried there as they are here, batch by batch.
type Folding interface {
	Changes
	// Grown hands over the rows that no later event changes, and forgets them.
	Grown() []Table
	// Settled hands over the others, once the stream has been read.
	Settled() []Table
}

const (
	foldBatch = 1000
	foldGrown = 20 * foldBatch // commits between two COPYs of what has grown
)

// Foldable says whether every projection of the line can be folded.
func (l *Line) Foldable() bool {
	for _, p := range l.config.Projections {
		if _, ok := p.Begin(l.config.Organisation).(Folding); !ok {
			return false
		}
	}
	return true
}

// Folded is a line, and the position up to which it is to be folded.
type Folded struct {
	Line *Line
	UpTo uint64
}

// Fold reads a stream from its beginning, once for all its lines, and gives what it comes to to COPY, then the gaps and the cursors.
// A line that meets poison stops before that: Run knows what to do about it, and goes on from there. Not for lines that are running. It holds the
// current rows of the organisation in memory. Nothing is there before the load is committed.
func Fold(ctx context.Context, load *Load, lines []Folded, passed func(commits int)) error {
	f := &fold{load: load, passed: passed, writes: make(chan func(context.Context) error, 1)}
	for _, l := range lines {
		one := &folding{line: l.Line, upTo: l.UpTo}
		for _, p := range l.Line.config.Projections {
			one.changes = append(one.changes, p.Begin(l.Line.config.Organisation).(Folding))
		}
		f.lines, f.upTo = append(f.lines, one), max(f.upTo, l.UpTo)
	}
	if f.upTo == 0 {
		return nil
	}
	err := f.read(ctx)
	if err == nil {
		err = f.settle(ctx)
	}
	if err != nil {
		return fmt.Errorf("fold %s: %w", f.config().Stream, err)
	}
	return nil
}

// fold is one reading of a stream.
type fold struct {
	load   *Load
	upTo   uint64 // of the line that goes farthest
	passed func(int)
	lines  []*folding
	since  int // commits since the last COPY

	writes chan func(context.Context) error // one after another, while more is read
}

// folding is one line of it.
type folding struct {
	line    *Line
	upTo    uint64
	changes []Folding
	over    atomic.Bool // it met poison, and stands before that
	spoiled bool        // half of a commit is in it

	position uint64
	gaps     pgx.Batch
}

// config is of the first line; organisation and stream are every line's.
func (f *fold) config() Config { return f.lines[0].line.config }

// batch are messages as each line's items.
type batch struct {
	messages int
	items    [][]item
}

// read decodes on all processors, folds in order, and writes meanwhile what no later event changes.
func (f *fold) read(ctx context.Context) error {
	source, err := f.config().Follow(ctx, f.config().Stream, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan chan batch, runtime.GOMAXPROCS(0)+1)
	ended, end := context.WithCancel(ctx) // nobody folds any more: what is read ahead may go
	defer end()
	group.Go(func() error { return f.decodeAhead(ended, source, queue) })
	group.Go(func() error {
		defer close(f.writes)
		defer end()
		for next := range queue {
			select {
			case b := <-next:
				if done, err := f.take(ctx, b); err != nil || done {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	group.Go(func() error {
		for write := range f.writes {
			if err := write(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

// decodeAhead ends at the last message asked for, or when nobody wants more, and not before what it began to decode.
func (f *fold) decodeAhead(ctx context.Context, source Source, queue chan<- chan batch) error {
	var decoding sync.WaitGroup
	defer decoding.Wait()
	defer close(queue)
	for last := uint64(0); last < f.upTo; {
		messages, err := source.Next(ctx, foldBatch)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		last = messages[len(messages)-1].Sequence
		next := make(chan batch, 1)
		select {
		case queue <- next:
		case <-ctx.Done():
			return nil
		}
		decoding.Go(func() { next <- f.decode(ctx, until(messages, f.upTo)) })
	}
	return nil
}

func until(messages []log.Message, position uint64) []log.Message {
	for n, m := range messages {
		if m.Sequence > position {
			return messages[:n]
		}
	}
	return messages
}

// decode reads once and lets each line open what it needs.
func (f *fold) decode(ctx context.Context, messages []log.Message) batch {
	b := batch{len(messages), make([][]item, len(f.lines))}
	read := readEach(f.config().Organisation, messages)
	for n, l := range f.lines {
		if !l.over.Load() {
			b.items[n] = l.line.open(ctx, until(messages, l.upTo), read)
		}
	}
	return b
}

// take folds one batch into every line. It is done when every line is.
func (f *fold) take(ctx context.Context, b batch) (done bool, err error) {
	done = true
	for n, l := range f.lines {
		if l.over.Load() {
			continue
		}
		if err := l.take(b.items[n]); err != nil {
			return false, err
		}
		if l.spoiled {
			if err := f.giveUp(ctx, l); err != nil {
				return false, err
			}
		}
		done = done && (l.over.Load() || l.position >= l.upTo)
	}
	f.passed(b.messages)
	if f.since += b.messages; f.since >= foldGrown {
		f.since = 0
		err = f.grown(ctx)
	}
	return done, err
}

// take folds the items of one batch, up to poison; anything else that is wrong is an error.
func (l *folding) take(items []item) error {
	for n, i := range items {
		if i.poison != nil && !errors.Is(i.poison, ErrPoison) {
			return i.poison
		}
		if i.poison != nil {
			items = items[:n]
			l.over.Store(true)
			break
		}
		if l.apply(i) != nil {
			l.over.Store(true)
			l.spoiled = true
			return nil
		}
	}
	if len(items) > 0 {
		queueGaps(&l.gaps, l.line.config.Organisation, l.line.config.Name, l.position, items)
		l.position = items[len(items)-1].commit.Position
	}
	return nil
}

func (l *folding) apply(i item) error {
	for _, e := range i.events() {
		for _, c := range l.changes {
			if err := c.Apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fold) grown(ctx context.Context) error {
	for _, l := range f.lines {
		if l.spoiled {
			continue
		}
		for _, c := range l.changes {
			if err := f.copy(ctx, c.Grown()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fold) copy(ctx context.Context, tables []Table) error {
	return f.write(ctx, func(ctx context.Context) error {
		for _, t := range tables {
			if err := f.load.copy(ctx, f.config().Organisation, t); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *fold) write(ctx context.Context, write func(context.Context) error) error {
	select {
	case f.writes <- write:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// giveUp leaves empty tables to the line, which carries everything by itself.
func (f *fold) giveUp(ctx context.Context, l *folding) error {
	return f.write(ctx, func(ctx context.Context) error {
		for _, c := range l.changes {
			for _, t := range c.Grown() {
				if err := f.load.empty(ctx, f.config().Organisation, t.Name); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// settle writes what is left, several tables at once, and the cursors after them.
func (f *fold) settle(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, l := range f.lines {
		if l.spoiled {
			continue
		}
		for _, c := range l.changes {
			for _, t := range append(c.Grown(), c.Settled()...) {
				group.Go(func() error { return f.load.copy(ctx, f.config().Organisation, t) })
			}
		}
		f.load.finally(l.finish)
	}
	return group.Wait()
}

func (l *folding) finish(b *pgx.Batch) {
	b.QueuedQueries = append(b.QueuedQueries, l.gaps.QueuedQueries...)
	b.Queue(`INSERT INTO cursors (organization_id, stream, position) VALUES ($1, $2, $3)
		ON CONFLICT (organization_id, stream) DO UPDATE SET position = excluded.position`, l.line.config.Organisation, l.line.config.Name, l.position)
}
