// Package migrations makes the roles, the schema and the tables of the read models (spec 9.4).
//
// Everything is idempotent and safe with many starters at once: roles belong to the whole server and are made if missing, the
// schema under a transaction's advisory lock, the tables by goose under its session locker, which is never off.
//
// It refuses a server whose roles could see more than they should: iris_app with rights past row-level security would read
// every organisation's rows, and no policy would say so.
//
// Nothing in this database is a source: dropping it and projecting again is the documented restore.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// The three roles. Owner migrates, Projector writes rows of every organisation, App reads those of one and owns nothing.
const (
	Owner     = "iris_owner"
	Projector = "iris_projector"
	App       = "iris_app"
)

// Schema holds the read models that are read. A rebuild makes another beside it. Snapshots holds the folded books, which no rebuild
// touches; whoever makes Schema makes it too.
const (
	Schema    = "iris"
	Snapshots = "iris_snapshots"
)

var (
	ErrRole    = errors.New("migration_role_unsafe")
	ErrSchema  = errors.New("migration_schema_name")
	ErrMigrate = errors.New("migration_failed")
)

//go:embed sql/*.sql snapshots/*.sql
var files embed.FS

// lockID keeps our migrations apart from another product's in the same database. Lock attempts are a second apart.
const (
	lockID       = 4_202_611_001
	lockPeriod   = 1
	lockAttempts = 60
)

// roleRights are what the roles must have, no less and no more.
var roleRights = [...]struct {
	name      string
	bypassRLS bool
}{{Owner, false}, {Projector, true}, {App, false}}

// Prepare makes the roles and the schema over a connection that may do so, and checks the rights of roles that were there.
func Prepare(ctx context.Context, adminURL, schema string) error {
	if err := checkSchema(schema); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("%w: connect as administrator: %w", ErrMigrate, err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	for _, role := range roleRights {
		if err := makeRole(ctx, conn, role.name, role.bypassRLS); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		for _, name := range with(schema) {
			if err := makeSchema(ctx, tx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// with lists what is made together with a schema.
func with(schema string) []string {
	if schema == Schema {
		return []string{Schema, Snapshots}
	}
	return []string{schema}
}

// Up brings the tables of a schema up to date over a connection of Owner.
func Up(ctx context.Context, ownerURL, schema string) error {
	for _, name := range with(schema) {
		if err := up(ctx, ownerURL, name); err != nil {
			return err
		}
	}
	return nil
}

func up(ctx context.Context, ownerURL, schema string) error {
	provider, db, err := open(ownerURL, schema)
	if err != nil {
		return err
	}
	defer db.Close()
	fresh, err := untouched(ctx, db, schema)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("%w: schema %s: %w", ErrMigrate, schema, err)
	}
	if !fresh || schema == Snapshots {
		return nil
	}
	return begin(ctx, db, schema)
}

func open(ownerURL, schema string) (*goose.Provider, *sql.DB, error) {
	if err := checkSchema(schema); err != nil {
		return nil, nil, err
	}
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read the owner's address: %w", ErrMigrate, err)
	}
	config.RuntimeParams["search_path"] = schema
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockID(lockID), lock.WithLockTimeout(lockPeriod, lockAttempts))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: make the locker: %w", ErrMigrate, err)
	}
	folder := "sql"
	if schema == Snapshots {
		folder = "snapshots"
	}
	sqlFiles, err := fs.Sub(files, folder)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: read the migrations: %w", ErrMigrate, err)
	}
	db := stdlib.OpenDB(*config)
	provider, err := goose.NewProvider(goose.DialectPostgres, db, sqlFiles, goose.WithSessionLocker(locker), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%w: read the migrations: %w", ErrMigrate, err), db.Close())
	}
	return provider, db, nil
}

// makeRole asks before it makes: where the roles are there, nobody needs the right to make any. Two starters may still both
// find none, in two databases even, where no lock is shared.
func makeRole(ctx context.Context, conn *pgx.Conn, name string, bypassRLS bool) error {
	attributes := "LOGIN"
	if bypassRLS {
		attributes += " BYPASSRLS"
	}
	_, err := conn.Exec(ctx, fmt.Sprintf(`DO $$ BEGIN
		IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '%[1]s') THEN CREATE ROLE %[1]s %[2]s; END IF;
	EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
	END $$`, name, attributes))
	if err != nil {
		return fmt.Errorf("%w: make role %s: %w", ErrMigrate, name, err)
	}
	var super, bypasses bool
	row := conn.QueryRow(ctx, "SELECT rolsuper, rolbypassrls FROM pg_roles WHERE rolname = $1", name)
	if err := row.Scan(&super, &bypasses); err != nil {
		return fmt.Errorf("%w: look at role %s: %w", ErrMigrate, name, err)
	}
	if super || bypasses != bypassRLS {
		return fmt.Errorf("%w: role %s: superuser %t, past row-level security %t", ErrRole, name, super, bypasses)
	}
	return nil
}

func makeSchema(ctx context.Context, tx pgx.Tx, schema string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", int64(lockID)); err != nil {
		return fmt.Errorf("%w: lock for schema %s: %w", ErrMigrate, schema, err)
	}
	if _, err := tx.Exec(ctx, fmt.Sprintf("CREATE SCHEMA IF NOT EXISTS %s AUTHORIZATION %s", schema, Owner)); err != nil {
		return fmt.Errorf("%w: make schema %s: %w", ErrMigrate, schema, err)
	}
	return nil
}

var schemaName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,40}$`)

func checkSchema(schema string) error {
	if !schemaName.MatchString(schema) || strings.HasPrefix(schema, "pg_") {
		return fmt.Errorf("%w: %q", ErrSchema, schema)
	}
	return nil
}
