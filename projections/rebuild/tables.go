package rebuild

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/projections/migrations"
)

// control are tables of the lines themselves: small, and needed with their keys from the start.
const control = `('cursors', 'gaps', 'parked_commits')`

// Tables with an organisation are the read models'; the migrations' own isn't.
const modelTables = `SELECT c.relname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'organization_id'
	WHERE c.relnamespace = $1::text::regnamespace AND c.relkind = 'r' ORDER BY 1`

const keysOf = `SELECT c.relname::text, format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname),
		format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(k.oid))
	FROM pg_constraint k JOIN pg_class c ON c.oid = conrelid
	WHERE connamespace = $1::text::regnamespace AND contype IN ('p', 'u') AND relname NOT IN ` + control + ` AND relname <> 'goose_db_version'
	ORDER BY 2`

const indexesOf = `SELECT c.relname::text, format('DROP INDEX %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
	FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
	WHERE c.relnamespace = $1::text::regnamespace AND relname NOT IN ` + control + ` AND relname <> 'goose_db_version'
		AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = i.indexrelid)
	ORDER BY 2`

// strip takes keys and indexes off the empty tables, lets the projector empty them (engine.Load), and returns by table the statements
// that make everything again as the migrations made it.
func (r *run) strip(ctx context.Context) (again map[string][]string, err error) {
	again = map[string][]string{}
	tables, err := r.tables(ctx, loading)
	if err != nil {
		return nil, err
	}
	for _, table := range tables {
		if err := r.exec(ctx, fmt.Sprintf("GRANT TRUNCATE ON %s.%s TO %s", loading, table, migrations.Projector)); err != nil {
			return nil, err
		}
		again[table] = []string{fmt.Sprintf("REVOKE TRUNCATE ON %s.%s FROM %s", loading, table, migrations.Projector)}
	}
	for _, query := range []string{keysOf, indexesOf} {
		var drops []string
		rows, err := r.admin.Query(ctx, query, loading)
		if err != nil {
			return nil, fmt.Errorf("%w: look at the indexes: %w", ErrFailed, err)
		}
		var table, drop, make string
		if _, err := pgx.ForEachRow(rows, []any{&table, &drop, &make}, func() error {
			drops, again[table] = append(drops, drop), append(again[table], make)
			return nil
		}); err != nil {
			return nil, fmt.Errorf("%w: look at the indexes: %w", ErrFailed, err)
		}
		if err := r.exec(ctx, drops...); err != nil {
			return nil, err
		}
	}
	return again, nil
}

// indexers is how many tables get their keys and indexes at once.
const indexers = 2

// index makes keys and indexes and gathers what the planner wants to know. What is built gets its name then.
func (r *run) index(ctx context.Context, again map[string][]string) error {
	group, working := errgroup.WithContext(ctx)
	group.SetLimit(indexers)
	for _, table := range slices.Sorted(maps.Keys(again)) {
		group.Go(func() error { return r.indexOne(working, table, again[table]) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return r.exec(ctx, "ALTER SCHEMA "+loading+" RENAME TO "+building)
}

func (r *run) indexOne(ctx context.Context, table string, again []string) error {
	admin, err := pgx.Connect(ctx, r.cfg.AdminURL)
	if err != nil {
		return fmt.Errorf("%w: connect to index: %w", ErrFailed, err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	statements := append([]string{"SET maintenance_work_mem = '256MB'"}, again...)
	for _, s := range append(statements, fmt.Sprintf("ANALYZE %s.%s", loading, table)) {
		if _, err := admin.Exec(ctx, s); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrFailed, s, err)
		}
	}
	return nil
}

func (r *run) tables(ctx context.Context, schema string) ([]string, error) {
	return tablesOf(ctx, r.admin, schema)
}

func tablesOf(ctx context.Context, conn *pgx.Conn, schema string) ([]string, error) {
	rows, err := conn.Query(ctx, modelTables, schema)
	if err != nil {
		return nil, fmt.Errorf("%w: list the tables: %w", ErrFailed, err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("%w: list the tables: %w", ErrFailed, err)
	}
	return names, nil
}

// compare brings what was built to where what is read stands in one snapshot, and compares every row with it. Nobody waits.
func (r *run) compare(ctx context.Context) error {
	if err := r.exec(ctx, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"); err != nil {
		return err
	}
	defer func() { _, _ = r.admin.Exec(context.WithoutCancel(ctx), "ROLLBACK") }()
	// A database that was dropped has nothing to compare with.
	if r.ends != nil {
		return r.carry(ctx, building, r.ends)
	}
	if err := r.catchUp(ctx, building, r.positions); err != nil {
		return err
	}
	r.say(Progress{Stage: Comparing})
	var read, built map[string]sum
	group, working := errgroup.WithContext(ctx)
	group.Go(func() (err error) { read, err = sums(working, r.admin, migrations.Schema); return err })
	group.Go(func() error {
		other, err := pgx.Connect(working, r.cfg.AdminURL)
		if err != nil {
			return fmt.Errorf("%w: connect to compare: %w", ErrFailed, err)
		}
		defer other.Close(context.WithoutCancel(ctx))
		built, err = sums(working, other, building)
		return err
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return r.judge(read, built)
}

func (r *run) nothingRead(ctx context.Context) (empty bool, err error) {
	row := r.admin.QueryRow(ctx, "SELECT NOT EXISTS (SELECT FROM "+migrations.Schema+".cursors WHERE position > 0)")
	if err := row.Scan(&empty); err != nil {
		return false, fmt.Errorf("%w: look at the cursors: %w", ErrFailed, err)
	}
	return empty, nil
}

// sum is a table's rows and what their hashes add up to, in any order.
type sum struct {
	rows int64
	hash string
}

// counted are the rows that count: a line may have begun that has nothing yet.
func counted(schema, table string) string {
	rows := schema + "." + table
	if table == "cursors" {
		rows += " WHERE position > 0"
	}
	return rows
}

// A row is hashed by its values, a seventh of the cost of its text (measured); what has no hash of its own, by its text.
const hashedValues = `SELECT string_agg(quote_ident(attname) || CASE WHEN atttypid = 'tsvector'::regtype THEN '::text' ELSE '' END, ', ' ORDER BY attname)
	FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped`

// sums leaves out what lines set aside: when it was first seen isn't the same twice.
func sums(ctx context.Context, conn *pgx.Conn, schema string) (map[string]sum, error) {
	tables, err := tablesOf(ctx, conn, schema)
	if err != nil {
		return nil, err
	}
	sums := map[string]sum{}
	for _, table := range tables {
		if table == "parked_commits" {
			continue
		}
		var values string
		if err := conn.QueryRow(ctx, hashedValues, schema+"."+table).Scan(&values); err != nil {
			return nil, fmt.Errorf("%w: look at the columns of %s.%s: %w", ErrFailed, schema, table, err)
		}
		var s sum
		row := conn.QueryRow(ctx, fmt.Sprintf("SELECT count(*), coalesce(sum(hash_record_extended(ROW(%s), 0)::numeric), 0)::text FROM %s", values, counted(schema, table)))
		if err := row.Scan(&s.rows, &s.hash); err != nil {
			return nil, fmt.Errorf("%w: sum up %s.%s: %w", ErrFailed, schema, table, err)
		}
		sums[table] = s
	}
	return sums, nil
}

func (r *run) judge(read, built map[string]sum) error {
	for table, s := range built {
		r.report.Rows[table] = s.rows
		if before := read[table]; before != s {
			r.report.Differences = append(r.report.Differences, Difference{table, before.rows, s.rows})
		}
	}
	if len(r.report.Differences) > 0 && !r.accepts() {
		return fmt.Errorf("%w: %v (table, rows read, rows built); schema %s stays for a look", ErrDifferent, r.report.Differences, building)
	}
	return nil
}
