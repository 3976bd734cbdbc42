package projections_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/search"
)

// found lists the ids of a member's memories with all the words.
func (b *bundle) found(s *stream, member events.ID, words string, filter memories.Filter) []events.ID {
	b.t.Helper()
	ids := []events.ID{}
	key, err := s.keys.SearchTokens(context.Background(), s.org, member)
	require.NoError(b.t, err)
	filter.Words, filter.Now = search.Keyed(key, words), s.clock.Time
	b.read(s.org, func(ctx context.Context, session *reader.Session) {
		rows, _, err := memories.List(ctx, session, member, filter, reader.Page{})
		require.NoError(b.t, err)
		for _, r := range rows {
			ids = append(ids, r.MemoryID)
		}
	})
	return ids
}

func (b *bundle) index(s *stream) {
	b.t.Helper()
	b.project(s)
	b.project(s, overSearch(s))
}

func TestWholeWordsAreFound(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	ada, ben := s.id(), s.id()
	tables, tea, other := s.stated("Prefers metric units in all tables."), s.stated("Ärger mit 水: Tee, bitte."), s.stated("Prefers metric units.")
	s.commit(ada, tables)
	s.commit(ada, tea)
	s.commit(ben, other)
	b.index(s)
	for query, want := range map[string][]events.ID{
		"table": {tables.MemoryID}, "TABLES": {tables.MemoryID}, "unit table": {tables.MemoryID}, "units, in; tables!": {tables.MemoryID},
		"tab": {}, "table tea": {}, "imperial": {}, "ärger": {tea.MemoryID}, "水": {tea.MemoryID}, "tee": {tea.MemoryID},
		"secret subject": {tea.MemoryID, tables.MemoryID}, // every fact of the tests is about that
	} {
		require.Equal(t, want, b.found(s, ada, query, memories.Filter{}), query)
	}
	require.Equal(t, []events.ID{other.MemoryID}, b.found(s, ben, "metric", memories.Filter{}), "another's memory is never found")
}

// A memory is found by what it says now, in the lists in which it is shown.
func TestWordsFollowTheMemory(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	ada := s.id()
	p, m := s.proposed("Likes oolong."), s.stated("Likes sencha.")
	s.commit(ada, p)
	s.commit(ada, m)
	b.index(s)
	require.Empty(t, b.found(s, ada, "oolong", memories.Filter{}), "a draft is in no list that doesn't ask for it")
	require.Equal(t, []events.ID{p.MemoryID}, b.found(s, ada, "oolong", memories.Filter{Lifecycle: events.LifecycleDraft}))
	keep := s.kept(p.Entry, "")
	edit := s.edited(m.Entry, m.RevisionID, "Likes gyokuro.")
	s.commit(ada, keep)
	s.commit(ada, edit)
	b.index(s)
	require.Equal(t, []events.ID{p.MemoryID}, b.found(s, ada, "oolong", memories.Filter{}))
	require.Equal(t, []events.ID{m.MemoryID}, b.found(s, ada, "gyokuro", memories.Filter{}))
	require.Empty(t, b.found(s, ada, "sencha", memories.Filter{}), "what it said before is not found")
	gone := s.forgotten(m.Entry, edit.RevisionID)
	s.commit(ada, gone)
	declined := s.proposed("Likes matcha.")
	s.commit(ada, declined)
	s.commit(ada, s.declined(declined.Entry))
	b.index(s)
	require.Empty(t, b.found(s, ada, "gyokuro", memories.Filter{}))
	require.Equal(t, []events.ID{m.MemoryID}, b.found(s, ada, "gyokuro", memories.Filter{Forgotten: true}))
	require.Empty(t, b.found(s, ada, "matcha", memories.Filter{Lifecycle: events.LifecycleTombstoned}))

	require.NoError(t, projections.Erase(t.Context(), b.connect("iris_projector"), s.org, projections.Erasure{Member: ada, Memories: []events.ID{m.MemoryID}}))
	require.Empty(t, b.found(s, ada, "gyokuro", memories.Filter{Forgotten: true}))
	require.Equal(t, []events.ID{p.MemoryID}, b.found(s, ada, "oolong", memories.Filter{}))
}

// The words may lag and stand still; nothing else waits for them.
func TestTheWordsMayLag(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	ada := s.id()
	m := s.stated("Likes sencha.")
	s.commit(ada, m)
	b.project(s)
	require.Empty(t, b.found(s, ada, "sencha", memories.Filter{}))
	s.keys.set(func(k *testKeys) { k.down = errors.New("the vault does not answer") })
	run := b.start(b.config(s, overSearch(s)))
	require.Eventually(t, func() bool { return run.line.Status().State == engine.Retrying }, time.Minute, time.Millisecond)
	require.Zero(t, run.line.Status().Parked, "an outage is no fault of a commit")
	s.keys.set(func(k *testKeys) { k.down = nil })
	b.await(b.marks, b.config(s, overSearch(s)), s.last)
	run.stop()
	require.NoError(t, <-run.done)
	require.Equal(t, []events.ID{m.MemoryID}, b.found(s, ada, "sencha", memories.Filter{}))
}

// The same stream gives the same words in any batching, however often it is delivered, wherever the line stops and starts.
func TestAnyDeliveryGivesTheSameWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(t *rapid.T) {
		s := draw(t)
		sizes := rapid.SliceOfN(rapid.IntRange(1, 7), 1, 5).Draw(t, "batches")
		b.clear()
		b.project(s, overSearch(s), func(c *engine.Config) { c.Follow = s.follow(1) })
		want := b.dump()
		requireWords(t, b, s)
		b.project(s, overSearch(s), func(c *engine.Config) { c.Follow = s.followAgain(3, sizes...) })
		require.Equal(t, want, b.dump(), "everything again, three times")
		b.clear()
		b.project(s, overSearch(s), func(c *engine.Config) { c.Follow = s.follow(sizes...) })
		require.Equal(t, want, b.dump(), "in batches of %v", sizes)
		b.clear()
		b.exec("GRANT TRUNCATE ON memory_search TO " + migrations.Projector)
		b.fold(engine.Folded{Line: b.line(s, overSearch(s)), UpTo: s.last})
		require.Equal(t, want, b.dump(), "folded")
	})
}

func requireWords(t *rapid.T, b *bundle, s *stream) {
	c := search.NewChanges(s.org)
	decoder := search.Decoder{Commits: s.codec(), Keys: s.keys}
	for _, m := range s.messages {
		opened := decoder.OpenEach(t.Context(), events.ReadEach([]events.Stored{{Position: m.Sequence, Body: m.Body}}))[0]
		require.NoError(t, opened.Err)
		for _, e := range opened.Commit.Events {
			require.NoError(t, c.Apply(e))
		}
	}
	require.ElementsMatch(t, c.Rows(), rowsOf[search.Row](t, b, "memory_search"))
}

// Whatever a text is, it has keyed words or none, each of one length, sorted and once.
func FuzzKeyed(f *testing.F) {
	for _, seed := range []string{"", "Prefers metric units.", "Ärger mit 水", "ss's ing ies y", "\xff\xfe", "a a A á"} {
		f.Add(seed)
	}
	keys := &testKeys{}
	key, err := keys.SearchTokens(f.Context(), "acme", "ada")
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		words := search.Keyed(key, text)
		for i, w := range words {
			require.Len(t, w, 22)
			require.True(t, i == 0 || words[i-1] < w)
		}
		require.Equal(t, words, search.Keyed(key, text, text))
	})
}
