// Package snapshots keeps the books that the runner folded (spec 9.4): one sealed row for each, beside the read models and not among
// them. Nothing here is a source; all of it may be dropped while everything runs.
//
// It guarantees: a newer snapshot is never replaced by an older one of the same form, whichever process is slower; what was saved
// from before an erasure is refused after it; row-level security holds the connection, which is iris_app's. What is in a box, and
// whether it may be believed, is the runner's to say.
package snapshots

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"iris.example/iris/events"
	"iris.example/iris/projections/migrations"
)

var (
	ErrConfig = errors.New("snapshots_config")
	ErrStore  = errors.New("snapshots_unavailable")
)

// Config says where they are kept. URL connects as iris_app.
type Config struct {
	URL      string
	MaxConns int32 // default 4
}

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.MaxConns == 0 {
		c.MaxConns = 4
	}
	return c
}

// Validate refuses what can't work.
func (c Config) Validate() error {
	if c.URL == "" || c.MaxConns < 1 {
		return fmt.Errorf("%w: a URL and at least one connection are needed", ErrConfig)
	}
	return nil
}

// Store is safe for concurrent use.
type Store struct{ pool *pgxpool.Pool }

// Open connects at the first use: that the database isn't there yet is no reason not to start.
func Open(ctx context.Context, config Config) (*Store, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	c, err := pgxpool.ParseConfig(config.URL)
	if err != nil {
		return nil, fmt.Errorf("%w: read the address: %w", ErrConfig, err)
	}
	c.MaxConns = config.MaxConns
	params := c.ConnConfig.RuntimeParams
	params["search_path"] = migrations.Snapshots
	params["application_name"] = "iris-snapshots"
	params["plan_cache_mode"] = "force_generic_plan" // a plan for each value takes longer than finding one row
	params["synchronous_commit"] = "off"             // one that is lost is folded again
	pool, err := pgxpool.NewWithConfig(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("%w: connect: %w", ErrStore, err)
	}
	return &Store{pool}, nil
}

// Close waits for the statements under way.
func (s *Store) Close() { s.pool.Close() }

const (
	load = `SELECT version, position, box FROM books WHERE organization_id = $1 AND aggregate = $2 AND form = $3 AND box IS NOT NULL`
	save = `INSERT INTO books AS b (organization_id, aggregate, form, version, position, box) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (organization_id, aggregate) DO UPDATE
		SET form = EXCLUDED.form, version = EXCLUDED.version, position = EXCLUDED.position, box = EXCLUDED.box
		WHERE b.position < EXCLUDED.position OR b.form <> EXCLUDED.form AND b.box IS NOT NULL`
	discard = `DELETE FROM books WHERE organization_id = $1 AND aggregate = $2 AND position = $3 AND box IS NOT NULL`
	erase   = `INSERT INTO ` + migrations.Snapshots + `.books AS b (organization_id, aggregate, form, version, position) VALUES ($1, $2, '', 0, $3)
		ON CONFLICT (organization_id, aggregate) DO UPDATE SET form = '', version = 0, box = NULL, position = greatest(b.position, EXCLUDED.position)`
)

// Load returns the snapshot of that form, or a nil box.
func (s *Store) Load(ctx context.Context, org string, a events.Aggregate, form string) (version, position uint64, box []byte, err error) {
	batch := organisation(org)
	batch.Queue(load, org, a.String(), form).QueryRow(func(row pgx.Row) error {
		err := row.Scan(&version, &position, &box)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // here, as a batch that failed has its statements prepared anew the next time (measured: twice the trip)
		}
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return 0, 0, nil, fmt.Errorf("%w: load: %w", ErrStore, err)
	}
	return version, position, box, nil
}

// Save keeps a snapshot, unless a newer one of its form stands or something was erased since.
func (s *Store) Save(ctx context.Context, org string, a events.Aggregate, form string, version, position uint64, box []byte) error {
	return s.write(ctx, "save", org, save, org, a.String(), form, version, position, box)
}

// Discard drops the snapshot that stands at a position.
func (s *Store) Discard(ctx context.Context, org string, a events.Aggregate, position uint64) error {
	return s.write(ctx, "discard", org, discard, org, a.String(), position)
}

func (s *Store) write(ctx context.Context, act, org, statement string, args ...any) error {
	batch := organisation(org)
	batch.Queue(statement, args...)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrStore, act, err)
	}
	return nil
}

// organisation begins a batch, which is one transaction and one trip, that sees one organisation's rows.
func organisation(org string) *pgx.Batch {
	batch := &pgx.Batch{}
	batch.Queue("SELECT set_config('iris.organization_id', $1, true)", org)
	return batch
}

// Erase drops a member's snapshot, whose labels are of memories that are no more, and keeps out whatever was folded before position:
// that of the commit which says so. tx is iris_projector's.
func Erase(ctx context.Context, tx pgx.Tx, org string, member events.ID, position uint64) error {
	if _, err := tx.Exec(ctx, erase, org, events.Member(member).String(), position); err != nil {
		return fmt.Errorf("erase a snapshot: %w", err)
	}
	return nil
}
