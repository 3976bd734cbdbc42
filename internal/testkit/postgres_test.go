package testkit_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestEachCallHasADatabaseOfItsOwn(t *testing.T) {
	t.Parallel()
	a, b := testkit.Postgres(t), testkit.Postgres(t)
	require.NotEqual(t, a.Database, b.Database)
	for _, p := range []*testkit.Database{a, b} {
		conn, err := pgx.Connect(t.Context(), p.URL(p.Superuser()))
		require.NoError(t, err)
		_, err = conn.Exec(t.Context(), "create table same_name (n int)")
		require.NoError(t, err)
		require.NoError(t, conn.Close(t.Context()))
	}
}

func TestADatabaseIsGoneAfterItsTest(t *testing.T) {
	t.Parallel()
	outer := testkit.Postgres(t)
	var inner *testkit.Database
	t.Run("inner", func(t *testing.T) {
		inner = testkit.Postgres(t)
		// Left open on purpose: a forgotten connection must not keep it.
		_, err := pgx.Connect(context.Background(), inner.URL(inner.Superuser()))
		require.NoError(t, err)
	})
	conn, err := pgx.Connect(t.Context(), outer.URL(outer.Superuser()))
	require.NoError(t, err)
	defer conn.Close(t.Context())
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), "select count(*) from pg_database where datname = $1", inner.Database).Scan(&n))
	require.Zero(t, n)
}
