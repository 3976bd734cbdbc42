package vault

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Role is what Open should connect as. Migrate makes it, without a password, when the server has none.
const Role = "iris_vault"

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the database that ownerURL names up to date. Any number of processes may do so at once: one works, the
// others wait for up to a minute. There is no way back.
func Migrate(ctx context.Context, ownerURL string) error {
	config, err := pgx.ParseConfig(ownerURL)
	if err != nil {
		return invalid("the owner's URL", errors.New("not a PostgreSQL connection string"))
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 60))
	if err != nil {
		return fmt.Errorf("prepare migrations of the vault: %w", err)
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("prepare migrations of the vault: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithSessionLocker(locker), goose.WithTableName("vault_migrations"),
		goose.WithDisableGlobalRegistry(true), goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return fmt.Errorf("prepare migrations of the vault: %w", err)
	}
	if _, err := provider.Up(ctx); err != nil {
		return storeError("migrate the vault", err)
	}
	return nil
}
