package migrations

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// Sixteen starters in each of two databases, because roles belong to both and advisory locks don't.
func TestSixteenStartersAtOnce(t *testing.T) {
	t.Parallel()
	databases := []*testkit.Database{testkit.Postgres(t), testkit.Postgres(t)}
	for range 2 { // from nothing, and again
		group, ctx := errgroup.WithContext(t.Context())
		for i := range 32 {
			p := databases[i%2]
			group.Go(func() error {
				if err := Prepare(ctx, p.URL(p.Superuser()), Schema); err != nil {
					return err
				}
				return Up(ctx, p.URL(Owner), Schema)
			})
		}
		require.NoError(t, group.Wait())
	}
	for _, p := range databases {
		var applied int
		conn := connect(t, p.URL(Owner))
		require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM iris.goose_db_version WHERE version_id > 0").Scan(&applied))
		written, err := files.ReadDir("sql")
		require.NoError(t, err)
		require.Equal(t, len(written), applied)
	}
}

func TestTheNextVersionIsBuiltBesideTheOneThatIsRead(t *testing.T) {
	t.Parallel()
	p := testkit.Postgres(t)
	for _, schema := range []string{Schema, "iris_next"} {
		require.NoError(t, Prepare(t.Context(), p.URL(p.Superuser()), schema))
		require.NoError(t, Up(t.Context(), p.URL(Owner), schema))
	}
	conn := connect(t, p.URL(Projector))
	_, err := conn.Exec(t.Context(), "INSERT INTO iris_next.cursors VALUES ('acme', 'IRIS_ACME', 7)")
	require.NoError(t, err)
	var rows int
	require.NoError(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM iris.cursors").Scan(&rows))
	require.Zero(t, rows)
}

func TestARoleThatSeesTooMuchIsRefused(t *testing.T) {
	t.Parallel()
	p := testkit.Postgres(t)
	conn := connect(t, p.URL(p.Superuser()))
	for name, attributes := range map[string]string{"iris_test_super": "SUPERUSER", "iris_test_bypass": "BYPASSRLS"} {
		_, err := conn.Exec(t.Context(), "CREATE ROLE "+name+" "+attributes)
		require.NoError(t, err)
		require.ErrorIs(t, makeRole(t.Context(), conn, name, false), ErrRole, name)
	}
	_, err := conn.Exec(t.Context(), "CREATE ROLE iris_test_held")
	require.NoError(t, err)
	require.ErrorIs(t, makeRole(t.Context(), conn, "iris_test_held", true), ErrRole, "a projector that row-level security holds sees nothing")
}

func TestTheOwnerIsNoAdministrator(t *testing.T) {
	t.Parallel()
	p := testkit.Postgres(t)
	require.NoError(t, Prepare(t.Context(), p.URL(p.Superuser()), Schema))
	// With everything there, Prepare needs no right to make roles, only to look.
	err := Prepare(t.Context(), p.URL(Owner), "iris_other")
	require.ErrorIs(t, err, ErrMigrate)
	require.ErrorContains(t, err, "make schema iris_other")
}

func TestASchemaNameThatCouldBeMoreThanAName(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{"", "Iris", "pg_iris", "iris; DROP SCHEMA iris", "iris\"", "9iris", "ïris"} {
		require.ErrorIs(t, Prepare(t.Context(), "unused", schema), ErrSchema, schema)
		require.ErrorIs(t, Up(t.Context(), "unused", schema), ErrSchema, schema)
	}
}

func TestAnAddressThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Prepare(t.Context(), "host=/nonexistent", Schema), ErrMigrate)
	require.ErrorIs(t, Up(t.Context(), "host=/nonexistent", Schema), ErrMigrate)
	require.ErrorIs(t, Up(t.Context(), "://", Schema), ErrMigrate)
}
