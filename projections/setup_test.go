package projections_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/search"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// bundle is one migrated database with what a test asks of it.
type bundle struct {
	t        testing.TB
	postgres *testkit.Database
	reader   *reader.Reader
	marks    *engine.Watermarks
	super    *pgx.Conn // sees everything; for looking and for breaking things
}

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx := context.Background()
	p := testkit.Postgres(t)
	require.NoError(t, migrations.Prepare(ctx, p.URL(p.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(ctx, p.URL(migrations.Owner), migrations.Schema))
	r, err := reader.Open(ctx, reader.Config{URL: p.URL(migrations.App), MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(r.Close)
	b := &bundle{t: t, postgres: p, reader: r, marks: engine.NewWatermarks(r, engine.Silence)}
	b.super = b.connect(p.Superuser())
	return b
}

func (b *bundle) connect(role string) *pgx.Conn {
	b.t.Helper()
	config, err := pgx.ParseConfig(b.postgres.URL(role))
	require.NoError(b.t, err)
	config.RuntimeParams["search_path"] = migrations.Schema
	conn, err := pgx.ConnectConfig(context.Background(), config)
	require.NoError(b.t, err)
	reader.TimesInUTC(conn)
	b.t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// config is the line of an organisation's stream, or of its access stream.
func (b *bundle) config(s *stream, change ...func(*engine.Config)) engine.Config {
	c := engine.Config{
		Organisation: s.org, Stream: events.StreamFor(s.org), DatabaseURL: b.postgres.URL(migrations.Projector),
		Projections: projections.OfOrganisation(), Follow: s.follow(), Decoder: s.codec(), Announce: b.marks,
		Backoff: time.Millisecond, MaxBackoff: 10 * time.Millisecond,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func overAccess(s *stream) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Stream, c.Projections, c.Park = events.AccessStreamFor(s.org), projections.OfAccess(), true
		c.Read = s.read
	}
}

// overSearch is the line of the words, over the same stream.
func overSearch(s *stream) func(*engine.Config) {
	return func(c *engine.Config) {
		c.Name, c.Projections, c.Park, c.Read = search.LineOf(s.org), projections.OfSearch(), true, s.read
		c.Decoder = search.Decoder{Commits: s.codec().Opening(search.Opens()...), Keys: s.keys}
	}
}

// running is a line under way; done yields what Run returned.
type running struct {
	line *engine.Line
	stop context.CancelFunc
	done chan error
}

func (b *bundle) start(c engine.Config) *running {
	b.t.Helper()
	line, err := engine.New(c)
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	r := &running{line, stop, make(chan error, 1)}
	go func() { r.done <- line.Run(ctx) }()
	b.t.Cleanup(stop)
	return r
}

// project runs a line until it has reached the stream's end, and stops it.
func (b *bundle) project(s *stream, change ...func(*engine.Config)) {
	b.t.Helper()
	c := b.config(s, change...)
	marks := engine.NewWatermarks(b.reader, time.Hour) // hears only this run
	c.Announce = marks
	run := b.start(c)
	b.await(marks, c, s.last)
	run.stop()
	require.NoError(b.t, <-run.done)
}

func (b *bundle) await(marks *engine.Watermarks, c engine.Config, position uint64) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c = c.WithDefaults()
	marks.Announce(c.Organisation, c.Name, 0)
	require.NoError(b.t, marks.Wait(ctx, c.Organisation, c.Name, position))
}

var tables = []string{"cursors", "gaps", "memory_records", "memory_revisions", "proposals", "consents", "belongings", "recalls", "parked_commits", "memory_search"}

// dump is every row of every table, as text.
func (b *bundle) dump() map[string][]string {
	b.t.Helper()
	all := map[string][]string{}
	for _, table := range tables {
		rows, err := b.super.Query(context.Background(), "SELECT (to_jsonb(t) - 'first_seen')::text FROM "+table+" t ORDER BY 1")
		require.NoError(b.t, err)
		all[table], err = pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(b.t, err)
	}
	return all
}

func (b *bundle) clear() {
	b.t.Helper()
	b.exec("DELETE FROM " + strings.Join(tables, "; DELETE FROM "))
}

func (b *bundle) exec(sql string) {
	b.t.Helper()
	_, err := b.super.Exec(context.Background(), sql)
	require.NoError(b.t, err)
}

func (b *bundle) position(stream string) (position uint64) {
	b.t.Helper()
	row := b.super.QueryRow(context.Background(), "SELECT position FROM cursors WHERE stream = $1", stream)
	require.NoError(b.t, row.Scan(&position))
	return position
}

// read runs queries as the application does.
func (b *bundle) read(org string, fn func(context.Context, *reader.Session)) {
	b.t.Helper()
	ctx := context.Background()
	require.NoError(b.t, b.reader.WithOrganisation(ctx, org, func(s *reader.Session) error { fn(ctx, s); return nil }))
}
