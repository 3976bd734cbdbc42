package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"
)

// Load fills the empty tables of a schema that nobody reads yet. Each is written on a connection of its own, in a transaction that
// emptied it first: so PostgreSQL writes its pages once, as old rows that every transaction sees, and needs no vacuum to find that
// out later. Until Commit nothing is there for anybody.
type Load struct {
	url, schema string

	mu     sync.Mutex // guards what follows
	tables map[string]*loading
	after  pgx.Batch // gaps and cursors, once the rows are there
}

// loading is one table. mu is held by who writes.
type loading struct {
	mu   sync.Mutex
	conn *pgx.Conn
}

// NewLoad does nothing yet. The address connects as who may write and empty the tables.
func NewLoad(url, schema string) *Load {
	return &Load{url: url, schema: schema, tables: map[string]*loading{}}
}

func (l *Load) copy(ctx context.Context, org string, t Table) error {
	if t.Len == 0 {
		return nil
	}
	return l.with(ctx, t.Name, func(conn *pgx.Conn) error {
		_, err := conn.PgConn().CopyFrom(ctx, newCopied(org, t), copyInto(t))
		return err
	})
}

// empty takes back what was written of an organisation.
func (l *Load) empty(ctx context.Context, org, table string) error {
	return l.with(ctx, table, func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, "DELETE FROM "+pgx.Identifier{table}.Sanitize()+" WHERE organization_id = $1", org)
		return err
	})
}

func copyInto(t Table) string {
	list := "organization_id"
	for _, column := range t.Columns {
		list += ", " + pgx.Identifier{column}.Sanitize()
	}
	return "COPY " + pgx.Identifier{t.Name}.Sanitize() + " (" + list + ") FROM STDIN (FORMAT binary, FREEZE)"
}

func (l *Load) with(ctx context.Context, table string, write func(*pgx.Conn) error) error {
	t := l.table(table)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.conn == nil {
		var err error
		if t.conn, err = l.begin(ctx, table); err != nil {
			return fmt.Errorf("load %s: %w", table, err)
		}
	}
	if err := write(t.conn); err != nil {
		return fmt.Errorf("load %s: %w", table, err)
	}
	return nil
}

func (l *Load) table(name string) *loading {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tables[name] == nil {
		l.tables[name] = &loading{}
	}
	return l.tables[name]
}

// begin connects and empties the table, in a transaction that may take its time.
func (l *Load) begin(ctx context.Context, table string) (*pgx.Conn, error) {
	conn, err := connect(ctx, l.url, l.schema)
	if err != nil {
		return nil, err
	}
	_, err = conn.Exec(ctx, "BEGIN; SET LOCAL statement_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0; TRUNCATE "+pgx.Identifier{table}.Sanitize())
	if err != nil {
		disconnect(ctx, conn)
		return nil, err
	}
	return conn, nil
}

// finally queues what is to be written after the rows.
func (l *Load) finally(queue func(*pgx.Batch)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	queue(&l.after)
}

// Commit ends every table's transaction, and writes gaps and cursors last: without them the rows count for nothing.
func (l *Load) Commit(ctx context.Context) error {
	for name, t := range l.tables {
		if t.conn == nil {
			continue
		}
		if _, err := t.conn.Exec(ctx, "COMMIT"); err != nil {
			return fmt.Errorf("load %s: %w", name, err)
		}
	}
	conn, err := connect(ctx, l.url, l.schema)
	if err != nil {
		return err
	}
	defer disconnect(ctx, conn)
	if err := conn.SendBatch(ctx, &l.after).Close(); err != nil {
		return fmt.Errorf("write the cursors: %w", err)
	}
	return nil
}

// Close lets go of the connections; what wasn't committed never was.
func (l *Load) Close(ctx context.Context) {
	for _, t := range l.tables {
		if t.conn != nil {
			disconnect(ctx, t.conn)
		}
	}
}
