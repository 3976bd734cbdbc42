// Package reader is the way in for everyone who reads the read models: a read-only transaction that sees one organisation's
// rows (spec 9.4).
//
// Isolation stands three times: row-level security keyed on a setting made inside the transaction, the organisation in every
// query, and the namespace compared in Go. Open refuses a role that row-level security doesn't hold, because nothing would
// fail later, rows would only be seen.
//
// It never writes. Known not to work: a pooler that shares sessions between transactions; talk to PostgreSQL directly.
package reader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	ErrConfig     = errors.New("reader_config")
	ErrUnisolated = errors.New("reader_role_not_isolated")
	ErrRead       = errors.New("read_model_unavailable")
	ErrNotFound   = errors.New("row_not_found")
	ErrForeign    = errors.New("row_of_another_organisation")
)

// Config says where the read models are. URL connects as iris_app.
type Config struct {
	URL              string
	Schema           string        // default iris
	MaxConns         int32         // default 16
	StatementTimeout time.Duration // default 5 s; below it a caller's deadline closes the connection, so keep it the shorter one
}

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Schema == "" {
		c.Schema = "iris"
	}
	if c.MaxConns == 0 {
		c.MaxConns = 16
	}
	if c.StatementTimeout == 0 {
		c.StatementTimeout = 5 * time.Second
	}
	return c
}

// Validate refuses what can't work.
func (c Config) Validate() error {
	if c.URL == "" || c.MaxConns < 1 || c.StatementTimeout < time.Millisecond {
		return fmt.Errorf("%w: a URL, at least one connection and a statement timeout of at least 1 ms are needed", ErrConfig)
	}
	return nil
}

// Reader reads for every organisation, one at a time per transaction. It is safe for concurrent use.
type Reader struct {
	pool   *pgxpool.Pool
	schema string
}

// Open connects and proves that row-level security holds the role on every table.
func Open(ctx context.Context, config Config) (*Reader, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	pool, err := openPool(ctx, config)
	if err != nil {
		return nil, err
	}
	r := &Reader{pool, config.Schema}
	if err := r.checkIsolation(ctx, config.Schema); err != nil {
		pool.Close()
		return nil, err
	}
	return r, nil
}

// Close waits for the transactions under way.
func (r *Reader) Close() { r.pool.Close() }

func openPool(ctx context.Context, config Config) (*pgxpool.Pool, error) {
	c, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: read the address: %w", ErrConfig, err)
	}
	c.MaxConns, c.MinIdleConns = config.MaxConns, min(2, config.MaxConns)
	c.MaxConnLifetimeJitter = c.MaxConnLifetime / 10
	params := c.ConnConfig.RuntimeParams
	params["search_path"] = config.Schema
	params["application_name"] = "iris-reader"
	params["statement_timeout"] = fmt.Sprint(config.StatementTimeout.Milliseconds())
	params["idle_in_transaction_session_timeout"] = "30000"
	c.AfterConnect = func(_ context.Context, conn *pgx.Conn) error { TimesInUTC(conn); return nil }
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%w: connect: %w", ErrRead, err)
	}
	return pool, nil
}

// TimesInUTC makes a connection give back instants as they were stored, wherever the machine stands.
func TimesInUTC(conn *pgx.Conn) {
	conn.TypeMap().RegisterType(&pgtype.Type{
		Name: "timestamptz", OID: pgtype.TimestamptzOID, Codec: &pgtype.TimestamptzCodec{ScanLocation: time.UTC},
	})
}

// checkIsolation looks at tables that carry an organisation only: the migrations' own is not granted to readers.
func (r *Reader) checkIsolation(ctx context.Context, schema string) error {
	var tables, open int
	row := r.pool.QueryRow(ctx, `SELECT count(*), count(*) FILTER (WHERE NOT row_security_active(c.oid))
		FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
		WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')`, schema)
	if err := row.Scan(&tables, &open); err != nil {
		return fmt.Errorf("%w: look at the tables of schema %s: %w", ErrRead, schema, err)
	}
	if tables == 0 || open > 0 {
		return fmt.Errorf("%w: schema %s: %d of %d tables are open to this role", ErrUnisolated, schema, open, tables)
	}
	return nil
}

// WithOrganisation runs fn in a read-only transaction that sees only org's rows, all as of one moment. The transaction begins
// with fn's first query, in the same round trip. fn only reads and may be run twice: when a rebuilt schema was flipped in
// between, the first query fails once.
func (r *Reader) WithOrganisation(ctx context.Context, org string, fn func(*Session) error) error {
	if org == "" {
		return fmt.Errorf("%w: no organisation named", ErrForeign)
	}
	conn, err := r.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%w: acquire a connection: %w", ErrRead, err)
	}
	defer conn.Release()
	err = once(ctx, conn.Conn(), org, fn)
	var stale *pgconn.PgError
	if errors.As(err, &stale) && stale.Code == planChanged {
		return once(ctx, conn.Conn(), org, fn) // this connection has forgotten the plan; another one may have it still
	}
	return err
}

// planChanged is "cached plan must not change result type".
const planChanged = "0A000"

func once(ctx context.Context, conn *pgx.Conn, org string, fn func(*Session) error) error {
	s := &Session{conn: conn, org: org}
	defer s.end(ctx)
	return fn(s)
}

// Session is one organisation's read-only transaction. It belongs to one goroutine.
type Session struct {
	conn *pgx.Conn
	tx   pgx.Tx // nil before the first query
	org  string
}

// Organisation is the one whose rows the session sees.
func (s *Session) Organisation() string { return s.org }

// end rolls back: nothing was written. It works after ctx has ended; a connection that it can't reset is closed on release.
func (s *Session) end(ctx context.Context) {
	if s.tx == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = s.tx.Rollback(ctx)
}

// Collect runs a query and reads its rows into T by column name.
func Collect[T any](ctx context.Context, s *Session, query string, args ...any) ([]T, error) {
	rows, err := s.run(ctx, query, args, func(rows pgx.Rows) (any, error) {
		return pgx.CollectRows(rows, pgx.RowToStructByName[T])
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRead, err)
	}
	return rows.([]T), nil
}

func (s *Session) run(ctx context.Context, query string, args []any, read func(pgx.Rows) (any, error)) (any, error) {
	if s.tx != nil {
		rows, err := s.tx.Query(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return read(rows)
	}
	batch := &pgx.Batch{}
	batch.BeginTx(pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	batch.Queue("SELECT set_config('iris.organization_id', $1, true)", s.org)
	var result any
	batch.Queue(query, args...).Query(func(rows pgx.Rows) (err error) {
		result, err = read(rows)
		return err
	})
	results := s.conn.SendBatch(ctx, batch)
	s.tx = results.Tx()
	return result, results.Close()
}
