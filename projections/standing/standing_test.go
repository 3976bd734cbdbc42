package standing_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/standing"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// What is parked and what is missing is counted by line, what was discarded isn't, and nobody counts another organisation's.
func TestCount(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db := testkit.Postgres(t)
	require.NoError(t, migrations.Prepare(ctx, db.URL(db.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(ctx, db.URL(migrations.Owner), migrations.Schema))
	super, err := pgx.Connect(ctx, db.URL(db.Superuser()))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, super.Close(ctx)) })
	_, err = super.Exec(ctx, `SET search_path = `+migrations.Schema+`;
		INSERT INTO cursors VALUES ('acme', 'IRIS_ACME', 12), ('acme', 'IRIS_ACCESS_ACME', 9), ('borealis', 'IRIS_BOREALIS', 3);
		INSERT INTO gaps VALUES ('acme', 'IRIS_ACME', 4, 6), ('acme', 'IRIS_ACME', 8, 8), ('borealis', 'IRIS_BOREALIS', 1, 2);
		INSERT INTO parked_commits (organization_id, line, position, aggregate, code, state, attempts) VALUES
			('acme', 'IRIS_ACCESS_ACME', 3, 'member.a', 'key_unavailable', 'parked', 3), ('acme', 'IRIS_ACCESS_ACME', 5, 'member.a', 'queued_behind', 'parked', 0),
			('acme', 'IRIS_ACCESS_ACME', 7, 'member.b', 'key_unavailable', 'discarded', 3), ('borealis', 'IRIS_BOREALIS', 2, 'member.c', 'key_unavailable', 'parked', 3)`)
	require.NoError(t, err)
	models, err := reader.Open(ctx, reader.Config{URL: db.URL(migrations.App), MaxConns: 2})
	require.NoError(t, err)
	t.Cleanup(models.Close)
	count := func(org string) (counts []standing.Counts) {
		require.NoError(t, models.WithOrganisation(ctx, org, func(s *reader.Session) (err error) {
			counts, err = standing.Count(ctx, s)
			return err
		}))
		return counts
	}
	require.Equal(t, []standing.Counts{{Line: "IRIS_ACCESS_ACME", Parked: 2}, {Line: "IRIS_ACME", Missing: 4}}, count("acme"))
	require.Equal(t, []standing.Counts{{Line: "IRIS_BOREALIS", Parked: 1, Missing: 2}}, count("borealis"))
	require.Empty(t, count("nobody"))
}
