package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iris.example/iris/projections/reader"
)

// connections are where a line does its work: on a connection of its own for a life, or on one of a few that many lines share,
// which it has for as long as one piece of work takes. No state of a session is kept between two pieces: the cursor row is the lock.
type connections interface {
	use(ctx context.Context, work func(conn *pgx.Conn) error) error
	end(ctx context.Context)
}

func (l *Line) connections(ctx context.Context) (connections, error) {
	if l.config.Pool != nil {
		return shared{l.config.Pool}, nil
	}
	conn, err := l.connect(ctx)
	return own{conn}, err
}

type own struct{ conn *pgx.Conn }

func (o own) use(_ context.Context, work func(conn *pgx.Conn) error) error { return work(o.conn) }
func (o own) end(ctx context.Context)                                      { disconnect(ctx, o.conn) }

type shared struct{ pool *pgxpool.Pool }

// use lets go of the connection whatever became of the work: the pool closes one that stands in a transaction.
func (s shared) use(ctx context.Context, work func(conn *pgx.Conn) error) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect as projector: %w", err)
	}
	defer conn.Release()
	return work(conn.Conn())
}

func (shared) end(context.Context) {}

const idleConnection = time.Minute

// NewPool makes connections as a line makes its own, for lines of one schema to share. It connects when the first line asks.
func NewPool(databaseURL, schema string, size int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(databaseURL)
	if err != nil {
		return nil, fmt.Errorf("%w: read the projector's address: %w", ErrConfig, err)
	}
	setUp(config.ConnConfig, schema)
	config.MaxConns, config.MinConns, config.MinIdleConns = int32(size), 0, 0
	config.MaxConnIdleTime = idleConnection
	config.ShouldPing = func(context.Context, pgxpool.ShouldPingParams) bool { return false } // a line that meets a dead one begins again
	config.AfterConnect = func(_ context.Context, conn *pgx.Conn) error {
		reader.TimesInUTC(conn)
		return nil
	}
	return pgxpool.NewWithConfig(context.Background(), config)
}

// setUp says how a line's connection behaves. Only there may a commit be acknowledged before it is on the disk: cursor and rows are
// lost together, and the stream has them.
func setUp(config *pgx.ConnConfig, schema string) {
	config.RuntimeParams["search_path"] = schema
	config.RuntimeParams["application_name"] = "iris-projector"
	config.RuntimeParams["synchronous_commit"] = "off"
	// A plan kept from when the tables were empty would read them whole, batch after batch (measured: seven times the work).
	config.RuntimeParams["plan_cache_mode"] = "force_custom_plan"
	config.RuntimeParams["statement_timeout"] = "60000"
	config.RuntimeParams["idle_in_transaction_session_timeout"] = "30000"
}
