package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
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

// Table is rows on their way into COPY.
type Table struct {
	Name    string
	Columns []string
	Len     int
	Row     func(i int) []any // in the order of Columns
}

// UUID is an id as COPY takes it; nil where there is none.
func UUID(id events.ID) any {
	parsed, err := uuid.Parse(string(id))
	if err != nil {
		return nil
	}
	return [16]byte(parsed)
}

// OptionalUUID is the same of an id that may not be there.
func OptionalUUID(id *events.ID) any {
	if id == nil {
		return nil
	}
	return UUID(*id)
}

// UUIDs are ids as COPY takes an array of them.
func UUIDs(ids []events.ID) []pgtype.UUID {
	all := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		parsed, err := uuid.Parse(string(id))
		all[i] = pgtype.UUID{Bytes: parsed, Valid: err == nil}
	}
	return all
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

// Fold reads the stream from its beginning up to a position and copies what it comes to into empty tables, then the gaps and the
// cursor. It returns how far it came: Run knows what to do about poison, and goes on from there. Not for a line that is running. It
// holds the current rows of the organisation in memory.
func (l *Line) Fold(ctx context.Context, upTo uint64, passed func(commits int)) (uint64, error) {
	conn, err := l.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer disconnect(ctx, conn)
	f := &fold{line: l, conn: conn, upTo: upTo, passed: passed}
	for _, p := range l.config.Projections {
		f.changes = append(f.changes, p.Begin(l.config.Organisation).(Folding))
	}
	err = f.read(ctx)
	var stop *unappliable
	if errors.As(err, &stop) {
		return 0, f.giveUp(ctx) // half of that commit is in the fold
	}
	if err == nil {
		err = f.settle(ctx)
	}
	if err != nil {
		return 0, fmt.Errorf("fold %s: %w", l.config.Stream, err)
	}
	return f.position, nil
}

type fold struct {
	line    *Line
	conn    *pgx.Conn
	upTo    uint64
	passed  func(int)
	changes []Folding

	position uint64
	gaps     pgx.Batch
	since    int // commits since the last COPY
}

// read decodes on all processors and folds in order.
func (f *fold) read(ctx context.Context) error {
	if f.upTo == 0 {
		return nil
	}
	source, err := f.line.config.Follow(ctx, f.line.config.Stream, 0)
	if err != nil {
		return err
	}
	defer source.Close()
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan chan []item, runtime.GOMAXPROCS(0)+1)
	ended, end := context.WithCancel(ctx) // nobody folds any more: what is read ahead may go
	defer end()
	group.Go(func() error { defer close(queue); return f.decodeAhead(ended, source, queue) })
	group.Go(func() error {
		defer end()
		for batch := range queue {
			select {
			case items := <-batch:
				done, err := f.take(ctx, items)
				if err != nil || done {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}

// decodeAhead ends at the last message asked for, or when nobody wants more.
func (f *fold) decodeAhead(ctx context.Context, source Source, queue chan<- chan []item) error {
	for last := uint64(0); last < f.upTo; {
		messages, err := source.Next(ctx, foldBatch)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		last = messages[len(messages)-1].Sequence
		batch := make(chan []item, 1)
		select {
		case queue <- batch:
		case <-ctx.Done():
			return nil
		}
		go func() { batch <- f.decode(ctx, messages) }()
	}
	return nil
}

func (f *fold) decode(ctx context.Context, messages []log.Message) []item {
	for n, m := range messages {
		if m.Sequence > f.upTo {
			messages = messages[:n]
			break
		}
	}
	return f.line.openEach(ctx, messages)
}

// take folds one batch. It is done at the end and at poison; anything else that is wrong is an error.
func (f *fold) take(ctx context.Context, items []item) (done bool, err error) {
	for n, i := range items {
		if i.poison != nil && !errors.Is(i.poison, ErrPoison) {
			return false, i.poison
		}
		if i.poison != nil {
			f.reached(items[:n])
			return true, nil
		}
		if err := f.apply(i); err != nil {
			return false, &unappliable{n, err}
		}
	}
	f.reached(items)
	if f.since += len(items); f.since >= foldGrown {
		f.since = 0
		err = f.copyAll(ctx, Folding.Grown)
	}
	return f.position >= f.upTo, err
}

func (f *fold) reached(items []item) {
	if len(items) == 0 {
		return
	}
	queueGaps(&f.gaps, f.line.config.Organisation, f.line.config.Name, f.position, items)
	f.position = items[len(items)-1].commit.Position
	f.passed(len(items))
}

func (f *fold) apply(i item) error {
	for _, e := range i.events() {
		for _, c := range f.changes {
			if err := c.Apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *fold) copyAll(ctx context.Context, tables func(Folding) []Table) error {
	for _, c := range f.changes {
		for _, t := range tables(c) {
			columns := append([]string{"organization_id"}, t.Columns...)
			org := f.line.config.Organisation
			_, err := f.conn.CopyFrom(ctx, pgx.Identifier{t.Name}, columns, pgx.CopyFromSlice(t.Len, func(i int) ([]any, error) {
				return append([]any{org}, t.Row(i)...), nil
			}))
			if err != nil {
				return fmt.Errorf("copy into %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// giveUp leaves empty tables to the line, which carries everything by itself.
func (f *fold) giveUp(ctx context.Context) error {
	for _, c := range f.changes {
		for _, t := range append(c.Grown(), c.Settled()...) {
			if _, err := f.conn.Exec(ctx, "DELETE FROM "+pgx.Identifier{t.Name}.Sanitize()+" WHERE organization_id = $1", f.line.config.Organisation); err != nil {
				return fmt.Errorf("empty %s: %w", t.Name, err)
			}
		}
	}
	return nil
}

// settle writes the cursor last: without it the rows count for nothing.
func (f *fold) settle(ctx context.Context) error {
	if err := f.copyAll(ctx, Folding.Grown); err != nil {
		return err
	}
	if err := f.copyAll(ctx, Folding.Settled); err != nil {
		return err
	}
	f.gaps.Queue(`INSERT INTO cursors (organization_id, stream, position) VALUES ($1, $2, $3)
		ON CONFLICT (organization_id, stream) DO UPDATE SET position = excluded.position`, f.line.config.Organisation, f.line.config.Name, f.position)
	return f.conn.SendBatch(ctx, &f.gaps).Close()
}
