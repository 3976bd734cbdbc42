package projections_test

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/rebuild"
)

var bodyBox = regexp.MustCompile(`("body":\{"box":"[^"]{40})(.)`)

// The lists don't open a text and go on where it was tampered with; the line of the words parks it. One reading of the stream serves
// both, and gives each what it had.
func TestOneReadingServesLinesThatDisagreeAboutACommit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s, access := withRecalls(b)
	member := s.commits[0].Aggregate.ID
	s.commit(member, s.stated("tampered with"))
	s.commit(member, s.stated("waits behind it"))
	s.commit(s.id(), s.stated("another's"))
	spoilt := &s.messages[len(s.messages)-3]
	spoilt.Body = bodyBox.ReplaceAllFunc(spoilt.Body, func(found []byte) []byte {
		if last := len(found) - 1; found[last] == 'A' {
			found[last] = 'B'
		} else {
			found[last] = 'A'
		}
		return found
	})
	b.project(s, func(c *engine.Config) { c.Decoder = asProjected(s) })
	b.project(s, overSearch(s))
	want := b.dump()
	require.Len(t, want["parked_commits"], 3+2)
	var begun atomic.Int32
	_, err := rebuild.Run(t.Context(), b.rebuilding(s, access, func(c *rebuild.Config) {
		follow := c.Follow
		c.Follow = func(ctx context.Context, name string, after uint64) (engine.Source, error) {
			if name == events.StreamFor(s.org) && after == 0 {
				begun.Add(1)
			}
			return follow(ctx, name, after)
		}
	}))
	require.NoError(t, err)
	require.Equal(t, want, b.dump())
	require.EqualValues(t, 1, begun.Load(), "the stream is read once for all its lines")
}

// The lines of a stream stand where they happened to stand when the rebuild looked, which is seldom the same place: each is read as
// far as it is asked for, and comes to what it is when it is carried there.
func TestOneReadingServesLinesThatStandAtDifferentPlaces(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.exec("GRANT TRUNCATE ON " + strings.Join(tables, ", ") + " TO " + migrations.Projector)
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 5).Draw(t, "batches")
		lists, words := s.drawn(t, "end of the lists"), s.drawn(t, "end of the words")
		b.clear()
		b.project(lists)
		b.project(words, overSearch(words))
		want := b.dump()
		b.clear()
		b.fold(
			engine.Folded{Line: b.line(s, func(c *engine.Config) { c.Follow = s.follow(sizes...) }), UpTo: lists.last},
			engine.Folded{Line: b.line(s, overSearch(s)), UpTo: words.last},
		)
		require.Equal(t, want, b.dump())
	})
}

// drawn is the stream up to one of its commits.
func (s *stream) drawn(t *rapid.T, what string) *stream {
	part := *s
	part.messages = s.messages[:rapid.IntRange(1, len(s.messages)).Draw(t, what)]
	part.last = part.messages[len(part.messages)-1].Sequence
	return &part
}

func (b *bundle) line(s *stream, change ...func(*engine.Config)) *engine.Line {
	b.t.Helper()
	line, err := engine.New(b.config(s, change...))
	require.NoError(b.t, err)
	return line
}

func (b *bundle) fold(lines ...engine.Folded) {
	b.t.Helper()
	load := engine.NewLoad(b.postgres.URL(migrations.Projector), migrations.Schema)
	defer load.Close(context.Background())
	require.NoError(b.t, engine.Fold(context.Background(), load, lines, func(int) {}))
	require.NoError(b.t, load.Commit(context.Background()))
}

// narrow makes rows of fewer columns than it names.
type narrow struct{ engine.Appending }

func (narrow) Name() string                { return "narrow" }
func (narrow) Begin(string) engine.Changes { return narrow{} }
func (narrow) Apply(events.Recorded) error { return nil }
func (narrow) Write(*pgx.Batch)            {}
func (narrow) Settled() []engine.Table     { return nil }
func (narrow) Grown() []engine.Table {
	return []engine.Table{{Name: "memory_search", Columns: []string{"memory_id", "position"}, Len: 1, Row: func(_ int, r *engine.Row) { r.Big(1) }}}
}

func TestARowOfOtherColumnsThanItsTableIsRefused(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	b.exec("GRANT TRUNCATE ON memory_search TO " + migrations.Projector)
	line := b.line(s, func(c *engine.Config) { c.Projections = []engine.Projection{narrow{}} })
	load := engine.NewLoad(b.postgres.URL(migrations.Projector), migrations.Schema)
	defer load.Close(t.Context())
	err := engine.Fold(t.Context(), load, []engine.Folded{{Line: line, UpTo: s.last}}, func(int) {})
	require.ErrorContains(t, err, "columns")
}
