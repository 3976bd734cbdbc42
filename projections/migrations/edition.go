package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A migration changes tables. What events of the past would have put into them it doesn't: only a rebuild does (spec 9.4). So each one
// says in its first comment what becomes of the rows that are there, and a change of what the projections write is a migration, too,
// be it an empty one.
const (
	filledAnew = "-- Rows: filled anew.\n"
	asTheyWere = "-- Rows: as they were.\n"
)

// untouched says whether no migration has come to a schema yet. Rows can't be counted: row-level security holds the owner, too.
func untouched(ctx context.Context, db *sql.DB, schema string) (fresh bool, err error) {
	if err := db.QueryRowContext(ctx, "SELECT to_regclass($1) IS NULL", schema+".goose_db_version").Scan(&fresh); err != nil {
		return false, fmt.Errorf("%w: look at schema %s: %w", ErrMigrate, schema, err)
	}
	return fresh, nil
}

// begin notes the migration under which a fresh schema will be filled. A starter that dies before it leaves a schema that is taken for
// outdated: a rebuild too many, and no row too few.
func begin(ctx context.Context, db *sql.DB, schema string) error {
	_, newest, err := editions()
	if err == nil {
		_, err = db.ExecContext(ctx, "UPDATE edition SET version = $1", newest)
	}
	if err != nil {
		return fmt.Errorf("%w: note the edition of schema %s: %w", ErrMigrate, schema, err)
	}
	return nil
}

// Queries is a connection, or several.
type Queries interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Outdated says whether a schema has rows from before a migration that fills them anew: they are what they were, and lack what it brought,
// until a rebuild.
func Outdated(ctx context.Context, conn Queries, schema string) (outdated bool, err error) {
	if err := checkSchema(schema); err != nil {
		return false, err
	}
	least, _, err := editions()
	if err == nil {
		err = conn.QueryRow(ctx, "SELECT version < $1 FROM "+schema+".edition", least).Scan(&outdated)
	}
	if err != nil {
		return false, fmt.Errorf("%w: look at the edition of schema %s: %w", ErrMigrate, schema, err)
	}
	return outdated, nil
}

// editions are the newest migration that fills rows anew, and the newest of all.
func editions() (filling, newest int64, err error) {
	names, err := fs.Glob(files, "sql/*.sql") // in order
	if err != nil {
		return 0, 0, err
	}
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "sql/"), "_")
		if newest, err = strconv.ParseInt(number, 10, 64); err != nil {
			return 0, 0, err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return 0, 0, err
		}
		if strings.Contains(string(text), filledAnew) {
			filling = newest
		}
	}
	return filling, newest, nil
}
