package snapshots_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/snapshots"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const ada = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")

func setup(t *testing.T) (*testkit.Database, *snapshots.Store) {
	t.Helper()
	p := testkit.Postgres(t)
	require.NoError(t, migrations.Prepare(t.Context(), p.URL(p.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(t.Context(), p.URL(migrations.Owner), migrations.Schema))
	s, err := snapshots.Open(t.Context(), snapshots.Config{URL: p.URL(migrations.App)})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return p, s
}

func requireKept(t *testing.T, s *snapshots.Store, org, form string, position uint64, box string) {
	t.Helper()
	_, at, found, err := s.Load(t.Context(), org, events.Member(ada), form)
	require.NoError(t, err)
	require.Equal(t, position, at)
	require.Equal(t, box, string(found))
}

func TestTheNewerStays(t *testing.T) {
	t.Parallel()
	_, s := setup(t)
	ctx, book := t.Context(), events.Member(ada)
	requireKept(t, s, "acme", "a", 0, "")
	require.NoError(t, s.Save(ctx, "acme", book, "a", 8, 20, []byte("twenty")))
	require.NoError(t, s.Save(ctx, "acme", book, "a", 4, 10, []byte("ten")))
	requireKept(t, s, "acme", "a", 20, "twenty")
	requireKept(t, s, "acme", "b", 0, "")
	require.NoError(t, s.Save(ctx, "acme", book, "a", 12, 30, []byte("thirty")))
	requireKept(t, s, "acme", "a", 30, "thirty")
	require.NoError(t, s.Save(ctx, "acme", book, "b", 4, 10, []byte("another build's ten")))
	requireKept(t, s, "acme", "a", 0, "")
	requireKept(t, s, "acme", "b", 10, "another build's ten")
	require.NoError(t, s.Discard(ctx, "acme", book, 9))
	requireKept(t, s, "acme", "b", 10, "another build's ten")
	require.NoError(t, s.Discard(ctx, "acme", book, 10))
	requireKept(t, s, "acme", "b", 0, "")
}

// An organisation sees its own, writes its own and drops its own, whatever it asks for.
func TestOrganisationsAreApart(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	ctx, book := t.Context(), events.Member(ada)
	for _, org := range []string{"acme", "umbra"} {
		require.NoError(t, s.Save(ctx, org, book, "a", 1, 1, []byte(org)))
	}
	requireKept(t, s, "acme", "a", 1, "acme")
	requireKept(t, s, "umbra", "a", 1, "umbra")
	requireKept(t, s, "nobody", "a", 0, "")
	require.NoError(t, s.Discard(ctx, "acme", book, 1))
	requireKept(t, s, "acme", "a", 0, "")
	requireKept(t, s, "umbra", "a", 1, "umbra")

	var enabled, forced bool
	super, err := pgx.Connect(ctx, p.URL(p.Superuser()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = super.Close(context.Background()) })
	row := super.QueryRow(ctx, "SELECT bool_and(relrowsecurity), bool_and(relforcerowsecurity) FROM pg_class WHERE relnamespace = 'iris_snapshots'::regnamespace AND relkind = 'r' AND relname <> 'goose_db_version'")
	require.NoError(t, row.Scan(&enabled, &forced))
	require.True(t, enabled && forced)
	app, err := pgx.Connect(ctx, p.URL(migrations.App))
	require.NoError(t, err)
	t.Cleanup(func() { _ = app.Close(context.Background()) })
	for _, org := range []string{"", "acme"} {
		_, err = app.Exec(ctx, "SELECT set_config('iris.organization_id', $1, false)", org)
		require.NoError(t, err)
		_, err = app.Exec(ctx, "INSERT INTO iris_snapshots.books VALUES ('umbra', 'member.x', 'a', 1, 1, '')")
		var denied *pgconn.PgError
		require.ErrorAs(t, err, &denied)
		require.Equal(t, "42501", denied.Code)
		var rows int
		require.NoError(t, app.QueryRow(ctx, "SELECT count(*) FROM iris_snapshots.books").Scan(&rows))
		require.Zero(t, rows)
	}
}

// A process keeps its snapshots through a database that is made anew, and says so while it isn't there.
func TestTheDatabaseMayGo(t *testing.T) {
	t.Parallel()
	p, s := setup(t)
	ctx, book := t.Context(), events.Member(ada)
	require.NoError(t, s.Save(ctx, "acme", book, "a", 1, 1, []byte("one")))
	super, err := pgx.Connect(ctx, p.URL(p.Superuser()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = super.Close(context.Background()) })
	_, err = super.Exec(ctx, "DROP SCHEMA iris_snapshots CASCADE")
	require.NoError(t, err)
	_, _, _, err = s.Load(ctx, "acme", book, "a")
	require.ErrorIs(t, err, snapshots.ErrStore)
	require.ErrorIs(t, s.Save(ctx, "acme", book, "a", 1, 1, []byte("one")), snapshots.ErrStore)
	require.NoError(t, migrations.Prepare(ctx, p.URL(p.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(ctx, p.URL(migrations.Owner), migrations.Schema))
	requireKept(t, s, "acme", "a", 0, "")
	require.NoError(t, s.Save(ctx, "acme", book, "a", 1, 1, []byte("one")))
	requireKept(t, s, "acme", "a", 1, "one")
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []snapshots.Config{{}, {URL: "postgres://x", MaxConns: -1}, {URL: "://"}} {
		_, err := snapshots.Open(t.Context(), bad)
		require.ErrorIs(t, err, snapshots.ErrConfig)
	}
}
