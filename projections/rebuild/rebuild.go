// Package rebuild makes the read models anew beside the ones that are read, and puts them in their place (spec 9.4).
//
// It guarantees: what is read stays what it was until one transaction renames two schemas, after every row was compared at one
// position of every line, and is the same unless what is read is outdated (migrations.Outdated); readers and lines go on through that, without an error and without an answer from two versions; the
// old schema is kept for rolling back and dropped only by its name. Nothing but rows is made: a projection has no effects, and
// nobody is told of a position twice. A rebuild that dies leaves a schema that nobody reads; the next one drops it and begins
// at position 1 of every stream again.
//
// Each stream is read once, whatever lines it has. What is being filled is iris_load, which only this package knows; iris_build is full.
//
// Known not to work: an organisation whose current rows don't fit into memory (docs/operations.md says how much that is).
package rebuild

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
)

var (
	ErrConfig    = errors.New("rebuild_config")
	ErrRunning   = errors.New("rebuild_running")   // another one has the lock
	ErrDifferent = errors.New("rebuild_different") // rows differ from those that are read; nothing was flipped
	ErrBusy      = errors.New("rebuild_busy")      // readers or a line didn't let go in time; nothing was flipped
	ErrFailed    = errors.New("rebuild_failed")
	ErrNotKept   = errors.New("rebuild_not_kept") // no schema of that name is kept
)

// Config says what is rebuilt from where. AdminURL connects as who may make and rename schemas of the read models' database.
type Config struct {
	AdminURL     string
	OwnerURL     string
	ProjectorURL string

	Organisations []string
	Lines         func(org string) []projections.Line // default projections.Lines
	Follow        engine.Follow
	Last          func(ctx context.Context, stream string) (uint64, error) // a stream's last position
	Codec         events.Codec

	AcceptDifferences bool           // flip although rows differ from what is read, which was wrong. Where that is outdated they may anyway
	Progress          func(Progress) // hears where it stands, a few times a second; must not block; default: nobody
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Lines == nil {
		c.Lines = projections.Lines
	}
	if c.Progress == nil {
		c.Progress = func(Progress) {}
	}
	return c
}

// Validate refuses what can't work.
func (c Config) Validate() error {
	switch {
	case c.AdminURL == "" || c.OwnerURL == "" || c.ProjectorURL == "":
		return fmt.Errorf("%w: addresses as administrator, owner and projector are needed", ErrConfig)
	case len(c.Organisations) == 0 || c.Follow == nil || c.Last == nil || c.Codec.Keys == nil:
		return fmt.Errorf("%w: organisations, streams and keys are needed", ErrConfig)
	}
	return nil
}

// Stage is what a rebuild is doing.
type Stage string

const (
	Preparing  Stage = "preparing"
	Reading    Stage = "reading"
	Indexing   Stage = "indexing"
	CatchingUp Stage = "catching up"
	Comparing  Stage = "comparing"
	Flipping   Stage = "flipping"
)

// Progress is where a rebuild stands. Total is known when reading; Left is what the rate so far promises.
type Progress struct {
	Stage Stage         `json:"stage"`
	Done  uint64        `json:"done"`
	Total uint64        `json:"total"`
	Rate  float64       `json:"rate"` // commits a second
	Left  time.Duration `json:"left"`
}

// Difference is a table whose rows differ.
type Difference struct {
	Table string `json:"table"`
	Read  int64  `json:"read"`  // rows of what is read
	Built int64  `json:"built"` // rows of what was built; equal counts differ in content
}

// Report is what came of it.
type Report struct {
	Kept        string           `json:"kept"` // the schema that was read before
	Commits     uint64           `json:"commits"`
	Rows        map[string]int64 `json:"rows"`     // by table, compared
	Outdated    bool             `json:"outdated"` // what was read was from before an update: rows may differ
	Differences []Difference     `json:"differences"`
	Took        time.Duration    `json:"took"`
}

const (
	// loading is a name that nobody but the rebuild knows: whoever erases in all versions would wait there for the rows. What is full
	// is building.
	loading    = "iris_load"
	building   = "iris_build"
	keptPrefix = "iris_kept_"
	// lockID is a rebuild's: one at a time in a database.
	lockID = 4_202_611_002
)

// run is one rebuild or rollback under its lock.
type run struct {
	cfg    Config
	admin  *pgx.Conn // holds the lock, and the transaction of the flip
	began  time.Time
	ends   []target // of the streams, where what is read stands nowhere; else nil
	report Report
}

// Run rebuilds everything and flips.
func Run(ctx context.Context, cfg Config) (Report, error) {
	return exclusively(ctx, cfg, func(r *run) (err error) {
		if r.report.Outdated, err = migrations.Outdated(ctx, r.admin, migrations.Schema); err != nil {
			return err
		}
		if err := r.prepare(ctx); err != nil {
			return err
		}
		indexes, err := r.strip(ctx)
		if err != nil {
			return err
		}
		if err := r.read(ctx); err != nil {
			return err
		}
		r.say(Progress{Stage: Indexing})
		if err := r.index(ctx, indexes); err != nil {
			return err
		}
		if err := r.compare(ctx); err != nil {
			return err
		}
		kept, err := r.nextKept(ctx)
		if err != nil {
			return err
		}
		return r.flip(ctx, building, kept)
	})
}

// accepts says whether rows may differ from those that are read.
func (r *run) accepts() bool { return r.cfg.AcceptDifferences || r.report.Outdated }

// Rollback puts the newest kept schema back, brought up to date first; what is read now is kept in its place, so that a second
// rollback undoes the first.
func Rollback(ctx context.Context, cfg Config) (Report, error) {
	return exclusively(ctx, cfg, func(r *run) error {
		kept, err := r.kept(ctx)
		if err != nil {
			return err
		}
		if len(kept) == 0 {
			return fmt.Errorf("%w: there is nothing to roll back to", ErrNotKept)
		}
		newest := kept[len(kept)-1]
		if err := migrations.Up(ctx, r.cfg.OwnerURL, newest); err != nil {
			return err
		}
		if err := r.catchUp(ctx, newest, r.positions); err != nil {
			return err
		}
		return r.flip(ctx, newest, newest)
	})
}

// Kept lists the schemas that can be rolled back to, oldest first.
func Kept(ctx context.Context, adminURL string) ([]string, error) {
	admin, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return nil, fmt.Errorf("%w: connect as administrator: %w", ErrFailed, err)
	}
	defer release(ctx, admin)
	return (&run{admin: admin}).kept(ctx)
}

// Drop removes one kept schema, by its name.
func Drop(ctx context.Context, cfg Config, name string) error {
	_, err := exclusively(ctx, cfg, func(r *run) error {
		kept, err := r.kept(ctx)
		if err != nil {
			return err
		}
		for _, k := range kept {
			if k == name {
				return r.exec(ctx, "DROP SCHEMA "+name+" CASCADE")
			}
		}
		return fmt.Errorf("%w: kept are %v", ErrNotKept, kept)
	})
	return err
}

// exclusively runs act under the lock, which ends with the connection, however this process ends.
func exclusively(ctx context.Context, cfg Config, act func(*run) error) (Report, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return Report{}, err
	}
	admin, err := pgx.Connect(ctx, cfg.AdminURL)
	if err != nil {
		return Report{}, fmt.Errorf("%w: connect as administrator: %w", ErrFailed, err)
	}
	defer release(ctx, admin)
	if err := lock(ctx, admin); err != nil {
		return Report{}, err
	}
	r := &run{cfg: cfg, admin: admin, began: time.Now(), report: Report{Rows: map[string]int64{}, Differences: []Difference{}}}
	err = act(r)
	r.report.Took = time.Since(r.began)
	return r.report, err
}

// A connection that was closed a moment ago may still hold the lock.
const (
	lockTries = 20
	lockPause = 100 * time.Millisecond
)

func lock(ctx context.Context, admin *pgx.Conn) error {
	again := time.NewTicker(lockPause)
	defer again.Stop()
	for range lockTries {
		var alone bool
		if err := admin.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", int64(lockID)).Scan(&alone); err != nil {
			return fmt.Errorf("%w: take the lock: %w", ErrFailed, err)
		}
		if alone {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: take the lock: %w", ErrFailed, context.Cause(ctx))
		}
	}
	return ErrRunning
}

func release(ctx context.Context, admin *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, _ = admin.Exec(ctx, "SELECT pg_advisory_unlock_all()")
	_ = admin.Close(ctx)
}

func (r *run) say(p Progress) { r.cfg.Progress(p) }

func (r *run) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := r.admin.Exec(ctx, s); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFailed, s, err)
		}
	}
	return nil
}

// prepare drops what a rebuild that died left and makes empty tables. What is read is made too where it is missing, so that there
// is something to flip with.
func (r *run) prepare(ctx context.Context) error {
	r.say(Progress{Stage: Preparing})
	if err := r.exec(ctx, "DROP SCHEMA IF EXISTS "+loading+" CASCADE", "DROP SCHEMA IF EXISTS "+building+" CASCADE"); err != nil {
		return err
	}
	for _, schema := range []string{migrations.Schema, loading} {
		if err := migrations.Prepare(ctx, r.cfg.AdminURL, schema); err != nil {
			return err
		}
		if err := migrations.Up(ctx, r.cfg.OwnerURL, schema); err != nil {
			return err
		}
	}
	// What operators gave up stays given up: it stands nowhere else. A line that has nothing yet has nothing.
	return r.exec(ctx,
		fmt.Sprintf("INSERT INTO %s.cursors SELECT * FROM %s.cursors WHERE position = 0", loading, migrations.Schema),
		fmt.Sprintf("INSERT INTO %s.parked_commits SELECT * FROM %s.parked_commits WHERE state = 'discarded'", loading, migrations.Schema),
	)
}

const keptSchemas = `SELECT nspname::text FROM pg_namespace WHERE nspname ~ '^iris_kept_[0-9]{1,9}$' ORDER BY substr(nspname, 11)::int`

func (r *run) kept(ctx context.Context) ([]string, error) {
	rows, err := r.admin.Query(ctx, keptSchemas)
	if err != nil {
		return nil, fmt.Errorf("%w: list what is kept: %w", ErrFailed, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("%w: list what is kept: %w", ErrFailed, err)
	}
	return names, nil
}

func (r *run) nextKept(ctx context.Context) (string, error) {
	kept, err := r.kept(ctx)
	if err != nil || len(kept) == 0 {
		return keptPrefix + "1", err
	}
	var newest int
	if _, err := fmt.Sscanf(kept[len(kept)-1], keptPrefix+"%d", &newest); err != nil {
		return "", fmt.Errorf("%w: read the name of a kept schema: %w", ErrFailed, err)
	}
	return fmt.Sprint(keptPrefix, newest+1), nil
}
