package projections_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/rebuild"
)

// rebuilding is a rebuild of one organisation's two streams; access may be nil.
func (b *bundle) rebuilding(s, access *stream, change ...func(*rebuild.Config)) rebuild.Config {
	of := func(name string) *stream {
		if name == events.AccessStreamFor(s.org) {
			return access
		}
		return s
	}
	c := rebuild.Config{
		AdminURL: b.postgres.URL(b.postgres.Superuser()), OwnerURL: b.postgres.URL(migrations.Owner), ProjectorURL: b.postgres.URL(migrations.Projector),
		Organisations: []string{s.org}, Codec: s.codec(),
		Lines: func(org string) []projections.Line {
			if access == nil {
				return projections.Lines(org)[:1]
			}
			return projections.Lines(org)
		},
		Follow: func(ctx context.Context, name string, after uint64) (engine.Source, error) {
			return of(name).follow()(ctx, name, after)
		},
		Last: func(_ context.Context, name string) (uint64, error) { return of(name).last, nil },
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func (b *bundle) schemas() (names []string) {
	b.t.Helper()
	rows, err := b.super.Query(context.Background(), "SELECT nspname::text FROM pg_namespace WHERE nspname LIKE 'iris%' AND nspname <> 'iris_snapshots' ORDER BY 1")
	require.NoError(b.t, err)
	for rows.Next() {
		var name string
		require.NoError(b.t, rows.Scan(&name))
		names = append(names, name)
	}
	require.NoError(b.t, rows.Err())
	return names
}

// A rebuild gives what any delivery gave, with the keys, indexes, rights and policies that the migrations made.
func TestARebuildGivesTheSameTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	shape := b.shape()
	for seed := range 6 {
		s := rapid.Custom(draw).Example(seed)
		b.clear()
		b.project(s, func(c *engine.Config) { c.Follow = s.followAgain(2, 3, 1, 7) })
		want := b.dump()
		report, err := rebuild.Run(t.Context(), b.rebuilding(s, nil))
		require.NoError(t, err)
		require.Equal(t, want, b.dump())
		require.Equal(t, shape, b.shape())
		require.EqualValues(t, len(s.messages), report.Commits)
		require.EqualValues(t, len(want["memory_records"]), report.Rows["memory_records"])
		require.NoError(t, rebuild.Drop(t.Context(), b.rebuilding(s, nil), report.Kept))
		b.project(s, func(c *engine.Config) { c.Follow = s.followAgain(3, 2) })
		require.Equal(t, want, b.dump(), "and everything again changes nothing")
	}
}

// shape is everything about the tables but their rows.
func (b *bundle) shape() (all []string) {
	b.t.Helper()
	for _, query := range []string{
		"SELECT indexdef FROM pg_indexes WHERE schemaname = 'iris' ORDER BY 1",
		"SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'iris'::regnamespace ORDER BY 1",
		"SELECT relname || ' ' || coalesce(relacl::text, '') || relrowsecurity || relforcerowsecurity || relowner::regrole FROM pg_class WHERE relnamespace = 'iris'::regnamespace AND relkind = 'r' ORDER BY 1",
		"SELECT tablename || policyname || qual FROM pg_policies WHERE schemaname = 'iris' ORDER BY 1",
		"SELECT table_name || ' ' || ordinal_position || column_name || data_type || is_nullable FROM information_schema.columns WHERE table_schema = 'iris' ORDER BY 1",
	} {
		rows, err := b.super.Query(context.Background(), query)
		require.NoError(b.t, err)
		for rows.Next() {
			var line string
			require.NoError(b.t, rows.Scan(&line))
			all = append(all, line)
		}
		require.NoError(b.t, rows.Err())
	}
	return all
}

// withRecalls are both streams of an organisation, projected, with something parked on the access stream.
func withRecalls(b *bundle) (s, access *stream) {
	s, access = story("acme"), newStream("acme")
	b.project(s)
	b.project(s, overSearch(s))
	one, two := access.id(), access.id()
	for _, member := range []events.ID{one, two, one, two} {
		access.recall(access.resolved(member, access.id(), access.id()))
	}
	access.skip(2)
	access.recall(access.resolved(two))
	b.exec("INSERT INTO cursors VALUES ('acme', 'of-a-line-that-has-nothing', 0)")
	access.messages[1].Body = []byte(replaceOnce(access.messages[1].Body, `"irisprevseq":"1"`, `"irisprevseq":"0"`))
	b.project(access, overAccess(access))
	return s, access
}

func TestWhatIsParkedIsParkedAgainAndWhatIsDiscardedStaysSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	want := b.dump()
	require.Len(t, want["parked_commits"], 3)
	_, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())

	line, err := engine.New(b.config(access, overAccess(access)))
	require.NoError(t, err)
	require.NoError(t, line.Discard(t.Context(), 2, "ticket-9"))
	want = b.dump()
	require.Len(t, want["recalls"], 4)
	_, err = rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())
}

func TestARebuildThatDiesLeavesEverythingAsItWas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	want := b.dump()
	for _, stage := range []rebuild.Stage{rebuild.Preparing, rebuild.Reading, rebuild.Indexing, rebuild.CatchingUp, rebuild.Comparing, rebuild.Flipping} {
		ctx, die := context.WithCancel(t.Context())
		_, err := rebuild.Run(ctx, b.rebuilding(s, access, func(c *rebuild.Config) {
			c.Progress = func(p rebuild.Progress) {
				if p.Stage == stage {
					die()
				}
			}
		}))
		require.Error(t, err, stage)
		require.ErrorIs(t, err, context.Canceled, stage)
		require.Equal(t, want, b.dump(), stage)
		require.NotContains(t, b.schemas(), "iris_kept_1", stage)
	}
	_, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())
	require.Equal(t, []string{"iris", "iris_kept_1"}, b.schemas())
}

func TestRowsThatDifferAreNotFlippedUnlessSaidSo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	right := b.dump()
	b.exec("UPDATE memory_records SET revision = revision + 1 WHERE memory_id = (SELECT min(memory_id::text)::uuid FROM memory_records)")
	b.exec("DELETE FROM recalls WHERE position = 1")
	wrong := b.dump()
	report, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.ErrorIs(t, err, rebuild.ErrDifferent)
	require.ElementsMatch(t, []rebuild.Difference{{Table: "memory_records", Read: 2, Built: 2}, {Table: "recalls", Read: 1, Built: 2}}, report.Differences)
	require.Equal(t, wrong, b.dump())

	report, err = rebuild.Run(t.Context(), b.rebuilding(s, access, func(c *rebuild.Config) { c.AcceptDifferences = true }))
	require.NoError(t, err)
	require.Len(t, report.Differences, 2)
	require.Equal(t, right, b.dump())
}

// After an update that brought what past events fill, rows are to differ: a rebuild says which, and what is read then is of this edition.
func TestAnOutdatedSchemaIsRebuiltAlthoughItDiffers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	right := b.dump()
	_, err := b.super.Exec(t.Context(), "UPDATE iris.edition SET version = 0")
	require.NoError(t, err)
	b.exec("DELETE FROM recalls WHERE position = 1")
	outdated, err := b.reader.Outdated(t.Context())
	require.NoError(t, err)
	require.True(t, outdated)

	report, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.True(t, report.Outdated)
	require.Equal(t, []rebuild.Difference{{Table: "recalls", Read: 1, Built: 2}}, report.Differences)
	require.Equal(t, right, b.dump())
	outdated, err = b.reader.Outdated(t.Context())
	require.NoError(t, err)
	require.False(t, outdated)

	report, err = rebuild.Rollback(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, "iris_kept_1", report.Kept)
	outdated, err = b.reader.Outdated(t.Context())
	require.NoError(t, err)
	require.True(t, outdated, "what was put back is what it was")
}

func TestOneRebuildAtATimeAndNoneHalfConfigured(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	var second error
	_, err := rebuild.Run(t.Context(), b.rebuilding(s, access, func(c *rebuild.Config) {
		c.Progress = func(p rebuild.Progress) {
			if p.Stage == rebuild.Indexing {
				_, second = rebuild.Run(context.WithoutCancel(t.Context()), b.rebuilding(s, access))
			}
		}
	}))
	require.NoError(t, err)
	require.ErrorIs(t, second, rebuild.ErrRunning)
	for name, spoil := range map[string]func(*rebuild.Config){
		"administrator": func(c *rebuild.Config) { c.AdminURL = "" },
		"projector":     func(c *rebuild.Config) { c.ProjectorURL = "" },
		"organisations": func(c *rebuild.Config) { c.Organisations = nil },
		"streams":       func(c *rebuild.Config) { c.Follow = nil },
		"keys":          func(c *rebuild.Config) { c.Codec = events.Codec{} },
	} {
		_, err := rebuild.Run(t.Context(), b.rebuilding(s, access, spoil))
		require.ErrorIs(t, err, rebuild.ErrConfig, name)
	}
}

func TestRollingBackCatchesUpFirstAndIsUndoneByItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	_, err := rebuild.Rollback(t.Context(), b.rebuilding(s, access))
	require.ErrorIs(t, err, rebuild.ErrNotKept)
	report, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, "iris_kept_1", report.Kept)

	member := s.commits[0].Aggregate.ID
	later := s.stated("after the flip")
	s.commit(member, later)
	b.project(s)
	want := b.dump()
	for range 2 {
		report, err = rebuild.Rollback(t.Context(), b.rebuilding(s, access))
		require.NoError(t, err)
		require.Equal(t, "iris_kept_1", report.Kept)
		require.Equal(t, want, b.dump())
	}

	// What is erased is erased in what is kept too: rolling back brings nothing back.
	super := b.connect(migrations.Projector)
	require.NoError(t, projections.Erase(t.Context(), super, "acme", projections.Erasure{Member: member, Memories: []events.ID{later.MemoryID}}))
	want = b.dump()
	_, err = rebuild.Rollback(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())

	kept, err := rebuild.Kept(t.Context(), b.postgres.URL(b.postgres.Superuser()))
	require.NoError(t, err)
	require.Equal(t, []string{"iris_kept_1"}, kept)
	for _, name := range []string{"iris", "iris_kept_2", "public", "iris_kept_1; DROP SCHEMA iris", ""} {
		require.ErrorIs(t, rebuild.Drop(t.Context(), b.rebuilding(s, access), name), rebuild.ErrNotKept, name)
	}
	require.NoError(t, rebuild.Drop(t.Context(), b.rebuilding(s, access), "iris_kept_1"))
	require.Equal(t, []string{"iris"}, b.schemas())
}

func TestAnEmptyDatabaseIsBuiltToTheStreamsEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	b.exec("DELETE FROM cursors WHERE position = 0")
	want := b.dump()
	b.clear()
	_, err := rebuild.Run(t.Context(), b.rebuilding(s, access))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())
}

func TestAGovernanceLineThatStandsBeforePoisonIsRebuiltToThere(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	s.messages[3].Body = []byte("[]")
	line, err := engine.New(b.config(s))
	require.NoError(t, err)
	require.ErrorIs(t, line.Run(t.Context()), engine.ErrPoison)
	want := b.dump()
	_, err = rebuild.Run(t.Context(), b.rebuilding(s, nil))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())

	// From nothing there is no passing it.
	b.clear()
	_, err = rebuild.Run(t.Context(), b.rebuilding(s, nil))
	require.ErrorIs(t, err, engine.ErrPoison)
}

// Under way: a line that follows a growing log, readers who wait for what was appended and count, and rebuilds and rollbacks one
// after the other.
func TestReadersAndTheLineGoOnThroughFlips(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	memory := log.NewMemory("acme")
	config := b.config(s, func(c *engine.Config) {
		c.Follow = engine.Followed(memory)
		c.Report = func(status engine.Status) {
			if status.Err != nil && !errors.Is(status.Err, engine.ErrLostLock) {
				t.Errorf("the line failed: %v", status.Err)
			}
		}
	})
	run := b.start(config)
	member := s.id()
	var mu sync.Mutex // guards s and sent
	sent := 0
	say := func() (uint64, error) {
		mu.Lock()
		defer mu.Unlock()
		m := s.stated("words")
		s.commit(member, m, s.superseded(m.Entry, m.RevisionID, s.id()))
		c, body := s.commits[sent], s.messages[sent].Body
		sent++
		return memory.Append(t.Context(), "acme", c.Aggregate, c.PreviousSequence, body)
	}
	for range 50 {
		_, err := say()
		require.NoError(t, err)
	}
	var done atomic.Bool
	var reads atomic.Int64
	var group errgroup.Group
	for range 6 {
		group.Go(func() error {
			for !done.Load() {
				position, err := say()
				if err != nil {
					return err
				}
				ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
				err = errors.Join(b.marks.Wait(ctx, "acme", config.Stream, position), b.reader.WithOrganisation(ctx, "acme", func(session *reader.Session) error {
					counted, err := reader.Collect[struct {
						Rows int `db:"rows"`
						Last int `db:"last"`
					}](ctx, session, "SELECT count(*) AS rows, coalesce(max(position), 0) AS last FROM memory_records WHERE organization_id = $1", "acme")
					if err != nil {
						return err
					}
					if c := counted[0]; c.Rows != c.Last || uint64(c.Last) < position {
						return fmt.Errorf("%d rows up to %d, waited for %d", c.Rows, c.Last, position)
					}
					rows, _, err := memories.List(ctx, session, member, memories.Filter{}, reader.Page{})
					if err == nil && (len(rows) == 0 || rows[0].Position != uint64(counted[0].Last)) {
						err = fmt.Errorf("two versions in one transaction")
					}
					return err
				}))
				cancel()
				if err != nil {
					return err
				}
				reads.Add(1)
			}
			return nil
		})
	}
	rebuilding := b.rebuilding(s, nil, func(c *rebuild.Config) {
		c.Follow = engine.Followed(memory)
		c.Last = memory.Last
	})
	for _, act := range []func(context.Context, rebuild.Config) (rebuild.Report, error){rebuild.Run, rebuild.Rollback, rebuild.Run, rebuild.Rollback, rebuild.Rollback} {
		_, err := act(t.Context(), rebuilding)
		require.NoError(t, err)
	}
	done.Store(true)
	require.NoError(t, group.Wait())
	require.Greater(t, reads.Load(), int64(20))
	run.stop()
	require.NoError(t, <-run.done)
	want := b.dump()
	b.clear()
	b.project(s)
	require.Equal(t, b.dump(), want)
}
