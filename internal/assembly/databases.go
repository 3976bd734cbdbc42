package assembly

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"iris.example/iris/projections/migrations"
	"iris.example/iris/vault"
)

// The two databases (spec 9.4).
const (
	ModelsDatabase = "iris"
	VaultDatabase  = "iris_keys"
)

// Databases addresses a database of one server as a role.
type Databases interface {
	URL(database, role string) string
}

// PrepareDatabases makes the databases, roles and tables that are missing, over a superuser's connection; it changes nothing that is
// there but to bring it up to date. Any number of processes may do so at once.
func PrepareDatabases(ctx context.Context, adminURL string, databases Databases) error {
	admin, err := pgx.Connect(ctx, adminURL)
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer admin.Close(context.WithoutCancel(ctx))
	var superuser string
	if err := admin.QueryRow(ctx, "SELECT current_user").Scan(&superuser); err != nil {
		return fmt.Errorf("ask PostgreSQL who we are: %w", err)
	}
	for _, database := range []string{ModelsDatabase, VaultDatabase} {
		if err := makeDatabase(ctx, admin, database); err != nil {
			return err
		}
	}
	if err := vault.Migrate(ctx, databases.URL(VaultDatabase, superuser)); err != nil {
		return err
	}
	if err := migrations.Prepare(ctx, databases.URL(ModelsDatabase, superuser), migrations.Schema); err != nil {
		return err
	}
	return migrations.Up(ctx, databases.URL(ModelsDatabase, migrations.Owner), migrations.Schema)
}

func makeDatabase(ctx context.Context, admin *pgx.Conn, name string) error {
	var exists bool
	if err := admin.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil {
		return fmt.Errorf("look for database %s: %w", name, err)
	}
	if exists {
		return nil
	}
	_, err := admin.Exec(ctx, "CREATE DATABASE "+pgx.Identifier{name}.Sanitize())
	if err != nil && !made(err) {
		return fmt.Errorf("make database %s: %w", name, err)
	}
	return nil
}

// made says that another process was first, which is as good.
func made(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == "42P04" || refused.Code == "23505")
}

// Superuser addresses databases and roles of a server by one address, a superuser's: every connection is his and takes the role it
// needs, so that row-level security holds it as it does elsewhere.
type Superuser struct{ base *url.URL }

// AsSuperuser reads the address. Its error doesn't quote it: it may hold a password.
func AsSuperuser(address string) (Superuser, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "postgres" && base.Scheme != "postgresql" {
		return Superuser{}, errors.New("no address of the form postgres://user@host/")
	}
	return Superuser{base}, nil
}

// Database addresses one as the superuser.
func (s Superuser) Database(database string) string {
	u := *s.base
	u.Path = "/" + database
	return u.String()
}

func (s Superuser) URL(database, role string) string {
	u := *s.base
	u.Path = "/" + database
	q := u.Query()
	q.Set("options", "-c role="+role)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20") // here, as in libpq, a plus is a plus
	return u.String()
}
