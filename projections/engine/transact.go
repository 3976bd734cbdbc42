package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

const (
	moveCursor = `UPDATE cursors SET position = $4 WHERE organization_id = $1 AND stream = $2 AND position = $3`

	insertGaps = `INSERT INTO gaps (organization_id, stream, first_position, last_position)
		SELECT $1, $2, first_position, last_position FROM unnest($3::bigint[], $4::bigint[]) AS g (first_position, last_position)
		ON CONFLICT DO NOTHING`
)

// transact moves the cursor, which takes the lock, reads the rows that the commits build upon, applies the commits and writes
// what changed: two round trips however many commits. A failed transaction leaves the connection unusable: the line's life
// ends with it, unless nothing but the commits was wrong.
func (l *Line) transact(ctx context.Context, conn *pgx.Conn, position uint64, items []item) error {
	org, name := l.config.Organisation, l.config.Name
	spans := l.begins(ctx, items)
	begin := &pgx.Batch{}
	begin.Queue("BEGIN")
	begin.Queue(moveCursor, org, name, position, items[len(items)-1].commit.Position).Exec(func(tag pgconn.CommandTag) error {
		if tag.RowsAffected() != 1 {
			return fmt.Errorf("%w: %s is no longer at %d", ErrLostLock, name, position)
		}
		return nil
	})
	aside := newAside(l.config.Attempts)
	if l.config.Park {
		aside.queueLoad(begin, org, name)
	}
	changes := l.begin(begin, items)
	if err := conn.SendBatch(ctx, begin).Close(); err != nil {
		return fmt.Errorf("begin at %d: %w", position, err)
	}
	applied, err := l.applyAll(changes, items, aside)
	if err != nil {
		return errors.Join(err, rollback(ctx, conn))
	}
	end := &pgx.Batch{}
	missing := queueGaps(end, org, name, position, items)
	aside.queueNew(end, org, name)
	for _, c := range changes {
		c.Write(end)
	}
	queueCommit(end)
	if err := conn.SendBatch(ctx, end).Close(); err != nil {
		return fmt.Errorf("write after %d: %w", position, err)
	}
	ends(spans)
	l.change(func(s *Status) {
		s.Commits, s.Parked, s.Missing = s.Commits+applied, s.Parked+uint64(len(aside.fresh)), s.Missing+missing
	})
	return nil
}

func queueCommit(b *pgx.Batch) {
	b.Queue("COMMIT").Exec(func(tag pgconn.CommandTag) error {
		if tag.String() != "COMMIT" {
			return fmt.Errorf("the transaction ended with %s", tag)
		}
		return nil
	})
}

// begin queues the reads of what the items build upon.
func (l *Line) begin(b *pgx.Batch, items []item) []Changes {
	changes := make([]Changes, len(l.config.Projections))
	for i, projection := range l.config.Projections {
		changes[i] = projection.Begin(l.config.Organisation)
		for _, item := range items {
			for _, e := range item.events() {
				changes[i].Expect(e)
			}
		}
		changes[i].Load(b)
	}
	return changes
}

// events are those that can be applied.
func (i item) events() []events.Recorded {
	if i.poison != nil || i.fence {
		return nil
	}
	return i.commit.Events
}

// applyAll applies what isn't set aside, and counts it.
func (l *Line) applyAll(changes []Changes, items []item, aside *aside) (applied uint64, err error) {
	for n, i := range items {
		if i.fence || aside.takes(i) {
			continue
		}
		for _, e := range i.commit.Events {
			for j, projection := range l.config.Projections {
				if err := changes[j].Apply(e); err != nil {
					cause := fmt.Errorf("%s: event %s at %d: %w", projection.Name(), e.Type, e.Position, err)
					return applied, &unappliable{n, cause}
				}
			}
		}
		applied++
	}
	return applied, nil
}

func queueGaps(b *pgx.Batch, org, name string, position uint64, items []item) (missing uint64) {
	var first, last []int64
	for _, i := range items {
		if at := i.commit.Position; at > position+1 {
			first, last = append(first, int64(position+1)), append(last, int64(at-1))
			missing += at - 1 - position
		}
		position = i.commit.Position
	}
	if len(first) > 0 {
		b.Queue(insertGaps, org, name, first, last)
	}
	return missing
}

// connect makes the line's own connection.
func (l *Line) connect(ctx context.Context) (*pgx.Conn, error) {
	return connect(ctx, l.config.DatabaseURL, l.config.Schema)
}

func connect(ctx context.Context, url, schema string) (*pgx.Conn, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read the projector's address: %w", err)
	}
	setUp(config, schema)
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect as projector: %w", err)
	}
	reader.TimesInUTC(conn)
	return conn, nil
}

const goodbye = 2 * time.Second

func disconnect(ctx context.Context, conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_ = conn.Close(ctx)
}

func rollback(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	_, err := conn.Exec(ctx, "ROLLBACK")
	return err
}

// resume reads the cursor, making it where the line never ran.
func (l *Line) resume(ctx context.Context, conn *pgx.Conn) (uint64, error) {
	org, stream := l.config.Organisation, l.config.Name
	b := &pgx.Batch{}
	b.Queue("INSERT INTO cursors (organization_id, stream, position) VALUES ($1, $2, 0) ON CONFLICT DO NOTHING", org, stream)
	var position uint64
	b.Queue("SELECT position FROM cursors WHERE organization_id = $1 AND stream = $2", org, stream).QueryRow(func(row pgx.Row) error {
		return row.Scan(&position)
	})
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return 0, fmt.Errorf("read the cursor of %s: %w", stream, err)
	}
	return position, nil
}

// still notices what a line without work wouldn't: its connection is dead, its database gone, its cursor moved by another.
func (l *Line) still(ctx context.Context, conn *pgx.Conn, position uint64) error {
	var now uint64
	row := conn.QueryRow(ctx, "SELECT position FROM cursors WHERE organization_id = $1 AND stream = $2", l.config.Organisation, l.config.Name)
	if err := row.Scan(&now); err != nil {
		return fmt.Errorf("look at the cursor of %s: %w", l.config.Name, err)
	}
	if now != position {
		return fmt.Errorf("%w: %s is at %d, not at %d", ErrLostLock, l.config.Name, now, position)
	}
	return nil
}

// gone tells a database, schema or table that isn't there.
func gone(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "3D000" || refused.Code == "3F000" || refused.Code == "42P01")
}
