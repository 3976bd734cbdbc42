package projections_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
)

// Many lines work on a few connections, each on one for as long as a transaction takes, and go on when those are cut.
func TestManyLinesShareAFewConnections(t *testing.T) {
	t.Parallel()
	const organisations, connections = 12, 2
	b := setup(t)
	pool, err := engine.NewPool(b.postgres.URL(migrations.Projector), migrations.Schema, connections)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	var streams []*stream
	var configs []engine.Config
	var runs []*running
	for i := range organisations {
		s := newStream(fmt.Sprintf("acme%d", i))
		for range 3 {
			s.commit(s.id(), s.stated("one"))
		}
		c := b.config(s, func(c *engine.Config) { c.Pool, c.Follow, c.Idle = pool, s.follow(1), 20*time.Millisecond })
		streams, configs, runs = append(streams, s), append(configs, c), append(runs, b.start(c))
	}
	for i, s := range streams {
		b.await(b.marks, configs[i], s.last)
	}
	var backends int
	row := b.super.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'iris-projector'")
	require.NoError(t, row.Scan(&backends))
	require.LessOrEqual(t, backends, connections)

	b.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'iris-projector'")
	for i, run := range runs {
		require.Eventually(t, func() bool {
			s := run.line.Status()
			return s.State == engine.Following && s.Position == streams[i].last
		}, time.Minute, time.Millisecond)
		run.stop()
		require.NoError(t, <-run.done)
	}
	var rows int
	require.NoError(t, b.super.QueryRow(context.Background(), "SELECT count(*) FROM iris.memory_records").Scan(&rows))
	require.Equal(t, 3*organisations, rows)
}
