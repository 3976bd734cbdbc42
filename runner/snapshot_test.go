package runner_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/snapshots"
	"iris.example/iris/runner"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// shelf is where snapshots of a test are kept, in a real database of its own, and what became of them.
type shelf struct {
	*snapshots.Store
	projector *pgx.Conn

	mu   sync.Mutex
	seen []runner.SnapshotResult
}

func shelve(t *testing.T) *shelf {
	t.Helper()
	p := testkit.Postgres(t)
	require.NoError(t, migrations.Prepare(t.Context(), p.URL(p.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(t.Context(), p.URL(migrations.Owner), migrations.Schema))
	store, err := snapshots.Open(t.Context(), snapshots.Config{URL: p.URL(migrations.App)})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	s := &shelf{Store: store}
	s.projector, err = pgx.Connect(t.Context(), p.URL(migrations.Projector))
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.projector.Close(context.Background()) })
	return s
}

func (s *shelf) observe(o runner.SnapshotObservation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, o.Result)
}

// since empties what was seen.
func (s *shelf) since() []runner.SnapshotResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// kept is what stands there.
func (s *shelf) kept(t require.TestingT) (version, position uint64, box []byte) {
	row := s.projector.QueryRow(context.Background(), "SELECT version, position, box FROM iris_snapshots.books WHERE organization_id = $1", org)
	if err := row.Scan(&version, &position, &box); !errors.Is(err, pgx.ErrNoRows) {
		require.NoError(t, err)
	}
	return version, position, box
}

func (s *shelf) exec(t require.TestingT, statement string, args ...any) {
	_, err := s.projector.Exec(context.Background(), statement, args...)
	require.NoError(t, err)
}

// owner is a test, or one run of a property.
type owner interface {
	require.TestingT
	Cleanup(func())
}

// keeping is a process that keeps a snapshot every so many commits and has nothing in memory. It has made its last one when its owner
// ends: the shelf is the next owner's then, which has another history and other keys.
func (b *bench) keeping(t owner, log runner.Log, every uint64, s runner.Snapshots, observe func(runner.SnapshotObservation)) *members {
	c, err := contract()
	require.NoError(t, err)
	r, err := runner.Members(runner.Config{
		Log: log, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Screen: screen(), Now: b.clock,
		Snapshots: s, SnapshotEvery: every, ObserveSnapshot: observe,
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		r.Settle()
		r.Close()
	})
	return r
}

func (b *bench) restarted(t owner, s *shelf) *members {
	return b.keeping(t, b.log, 4, s, s.observe)
}

var withoutTexts = cmpopts.IgnoreFields(member.Entry{}, "Body")

// Fold of all = snapshot + tail, whatever happened and wherever the snapshot stands: the state, the texts once they are brought in, the
// memory of commands, and what is decided next.
func TestSnapshotAndTailAreTheFold(t *testing.T) {
	t.Parallel()
	s := shelve(t)
	rapid.Check(t, func(t *rapid.T) {
		s.exec(t, "DELETE FROM iris_snapshots.books")
		b, ctx := setup(), context.Background()
		b.open(t, b.process(t, b.log))
		writer := b.restarted(t, s)
		var made []events.ID
		for n := range rapid.IntRange(1, 16).Draw(t, "commands") {
			if rapid.Bool().Draw(t, "restarted") {
				writer.Settle()
				writer = b.restarted(t, s)
			}
			command := b.command(fmt.Sprint("step ", n), draw(t, n, made, currentOf(t, b.process(t, b.log))))
			done, err := writer.Run(ctx, command)
			if _, refused := aggregates.AsRefusal(err); !refused {
				require.NoError(t, err)
			}
			for _, e := range done.Events {
				if stated, ok := e.Event.(*events.MemoryStated); ok {
					made = append(made, stated.MemoryID)
				}
			}
		}
		writer.Settle()
		whole, head := snapshot(t, b.process(t, b.log))
		cold := func(check func(*members)) {
			r := b.restarted(t, s)
			check(r)
			r.Settle() // where the writer was too quick for its snapshots a cold load makes the one that is missing
		}
		cold(func(r *members) {
			state, at := looked(t, r)
			require.Equal(t, head, at)
			require.Empty(t, cmp.Diff(whole, state, withoutTexts))
		})
		cold(func(r *members) {
			state, at := snapshot(t, r)
			require.Equal(t, head, at)
			require.Empty(t, cmp.Diff(whole, state))
		})
		want, err := b.process(t, b.log).Remembered(ctx, org, events.Member(person))
		require.NoError(t, err)
		cold(func(r *members) {
			got, err := r.Remembered(ctx, org, events.Member(person))
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
		require.Subset(t, []runner.SnapshotResult{runner.SnapshotSaved, runner.SnapshotUsed}, s.since())
	})
}

// told is a book with a snapshot and a tail behind it.
func told(t *testing.T) (*bench, *shelf) {
	t.Helper()
	b, s := setup(), shelve(t)
	r := b.restarted(t, s)
	b.open(t, r)
	for n := range 6 {
		r.Settle()
		_, err := r.Run(t.Context(), b.command(fmt.Sprint("told ", n), words(fmt.Sprintf("Likes the number %d.", n))))
		require.NoError(t, err)
	}
	r.Settle()
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotSaved, runner.SnapshotSaved}, s.since())
	version, _, box := s.kept(t)
	require.EqualValues(t, 8, version)
	require.NotEmpty(t, box)
	return b, s
}

// whatever stands on the shelf, what is answered is the fold.
func (b *bench) requireTheFold(t *testing.T, s *shelf) {
	t.Helper()
	whole, head := snapshot(t, b.process(t, b.log))
	r := b.restarted(t, s)
	state, at := snapshot(t, r)
	r.Settle()
	require.Equal(t, head, at)
	require.Empty(t, cmp.Diff(whole, state))
}

func TestASnapshotHoldsNoText(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	version, position, box := s.kept(t)
	bound := fmt.Appendf(nil, "iris/snapshot/v1\n%s\n%s\n%s\n%d\n%d", org, events.Member(person), b.restarted(t, s).Form(), version, position)
	plain, err := b.keys.Open(t.Context(), events.KeyRef{Organisation: org, Class: events.KeyRegister, Member: person}, bound, box)
	require.NoError(t, err)
	require.NotContains(t, string(plain), "Likes the number")
	require.Contains(t, string(plain), "preference", "labels, which is why it is sealed")
	require.NotContains(t, string(box), "preference")
}

// One batch: the message that the snapshot stands at, and what follows it.
func TestAColdLoadReadsTheTailOnly(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	_, position, _ := s.kept(t)
	log := &counting{Log: b.log}
	r := b.keeping(t, log, 4, s, s.observe)
	require.NoError(t, r.Look(t.Context(), org, events.Member(person), func(*member.State, uint64) error { return nil }))
	require.Equal(t, []uint64{position - 1}, log.loads)
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotUsed}, s.since())
}

// looked is the state as a cold load has it, which may be without texts.
func looked(t require.TestingT, r *members) (state member.State, position uint64) {
	require.NoError(t, r.Look(context.Background(), org, events.Member(person), func(s *member.State, at uint64) error {
		state, position = *s, at
		return nil
	}))
	return state, position
}

// A cold load that had to fold a short book leaves a snapshot behind, and the next reads nothing of the stream but its newest message.
// Shorter ones are worth none, and the second comes when any second would.
func TestAShortBookGetsItsFirstSnapshotEarly(t *testing.T) {
	t.Parallel()
	b, s := setup(), shelve(t)
	log := &counting{Log: b.log}
	look := func(want ...runner.SnapshotResult) {
		t.Helper()
		log.loads = nil
		r := b.keeping(t, log, 0, s, s.observe)
		state, at := looked(t, r)
		r.Settle()
		require.Equal(t, want, s.since())
		whole, head := snapshot(t, b.process(t, b.log))
		require.Equal(t, head, at)
		require.Empty(t, cmp.Diff(whole, state, withoutTexts))
	}
	writer := b.keeping(t, b.log, 0, s, s.observe)
	say := func(n int) {
		_, err := writer.Run(t.Context(), b.command(fmt.Sprint("say ", n), words(fmt.Sprintf("Likes the number %d.", n))))
		require.NoError(t, err)
	}
	b.open(t, writer)
	for n := range 3 {
		say(n)
	}
	look()
	say(3)
	writer.Settle()
	require.Empty(t, s.since(), "who had the book from its first event on has no cold load to save")
	look(runner.SnapshotSaved)
	require.Equal(t, []uint64{0}, log.loads)
	look(runner.SnapshotUsed)
	version, position, _ := s.kept(t)
	require.Equal(t, []uint64{position - 1}, log.loads)
	require.EqualValues(t, 8, version)
	for n := range 5 {
		say(4 + n)
	}
	look(runner.SnapshotUsed)
	require.Equal(t, []uint64{position - 1}, log.loads)
	version, _, _ = s.kept(t)
	require.EqualValues(t, 8, version)
}

// A stream whose newest message is another than the snapshot was made of, at the same place and of the same version.
func TestAFirstSnapshotIsHeldAgainstTheNewestMessage(t *testing.T) {
	t.Parallel()
	b, s := setup(), shelve(t)
	r := b.keeping(t, b.log, 0, s, s.observe)
	b.open(t, r)
	for n := range 4 {
		_, err := r.Run(t.Context(), b.command(fmt.Sprint("told ", n), words(fmt.Sprintf("Likes the number %d.", n))))
		require.NoError(t, err)
	}
	first := b.keeping(t, b.log, 0, s, s.observe)
	looked(t, first)
	first.Settle()
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotSaved}, s.since())

	old := eventlog.NewMemory(org)
	messages, err := b.log.Load(t.Context(), org, events.Member(person), 0, 8)
	require.NoError(t, err)
	for n, m := range messages[:7] {
		_, err = old.Append(t.Context(), org, events.Member(person), uint64(n), m.Body)
		require.NoError(t, err)
	}
	b.log = old
	_, err = b.process(t, b.log).Run(t.Context(), b.command("another", words("Likes another number.")))
	require.NoError(t, err)
	second := b.keeping(t, b.log, 0, s, s.observe)
	state, _ := looked(t, second)
	second.Settle()
	whole, _ := snapshot(t, b.process(t, b.log))
	require.Empty(t, cmp.Diff(whole, state))
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotMismatch, runner.SnapshotSaved}, s.since())
}

type counting struct {
	runner.Log
	mu    sync.Mutex
	loads []uint64 // after which position
}

func (c *counting) Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]eventlog.Message, error) {
	c.mu.Lock()
	c.loads = append(c.loads, after)
	c.mu.Unlock()
	return c.Log.Load(ctx, org, a, after, upTo)
}

func (c *counting) ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]eventlog.Message, error) {
	return c.Log.ToHead(ctx, org, a, func() uint64 {
		from := after()
		c.mu.Lock()
		defer c.mu.Unlock()
		c.loads = append(c.loads, from)
		return from
	})
}

// A recall opens what it can reach, an edit what it edits.
func TestTextsAreBroughtInWhereTheyAreNeeded(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	whole, _ := snapshot(t, b.process(t, b.log))
	ids := slices.Sorted(func(yield func(events.ID) bool) {
		for id := range whole.Entries {
			if !yield(id) {
				return
			}
		}
	})
	r := b.restarted(t, s)
	ctx := t.Context()
	held := func(book *member.State, _ uint64) error {
		require.Equal(t, whole.Entries[ids[0]].Body, book.Entries[ids[0]].Body)
		require.Empty(t, book.Entries[ids[1]].Body)
		return nil
	}
	require.NoError(t, r.Read(ctx, org, events.Member(person), func(*member.State) []events.ID { return ids[:1] }, held))
	require.NoError(t, r.Look(ctx, org, events.Member(person), held), "it stays")

	subject := "numbers"
	done, err := r.Run(ctx, b.command("edit", member.Edit{MemoryID: ids[1], IfMatch: whole.Entries[ids[1]].RevisionID, Subject: &subject}))
	require.NoError(t, err)
	require.Equal(t, whole.Entries[ids[1]].Body, done.Events[0].Event.(*events.MemoryRevised).Body.Plain, "an edit of a label alone leaves the text")
	b.requireTheFold(t, s)
}

// What isn't sealed for this place isn't believed, and doesn't stay.
func TestATamperedSnapshotIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, tamper := range map[string]string{
		"a bit":                "UPDATE iris_snapshots.books SET box = set_bit(box, 400, 1 - get_bit(box, 400))",
		"cut":                  "UPDATE iris_snapshots.books SET box = substr(box, 1, length(box) - 1)",
		"empty":                "UPDATE iris_snapshots.books SET box = ''",
		"another version":      "UPDATE iris_snapshots.books SET version = version + 1",
		"another position":     "UPDATE iris_snapshots.books SET position = position - 1",
		"another organisation": "UPDATE iris_snapshots.books SET box = (SELECT box FROM other)",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := told(t)
			s.exec(t, "CREATE TEMP TABLE other (box bytea)")
			box, err := b.keys.Seal(t.Context(), events.KeyRef{Organisation: "umbra", Class: events.KeyRegister, Member: person}, nil, []byte("{}"))
			require.NoError(t, err)
			s.exec(t, "INSERT INTO other VALUES ($1)", box)
			s.exec(t, tamper)
			b.requireTheFold(t, s)
			require.Equal(t, []runner.SnapshotResult{runner.SnapshotUnreadable, runner.SnapshotSaved}, s.since(), "dropped, and made anew")
			b.requireTheFold(t, s)
			require.Equal(t, []runner.SnapshotResult{runner.SnapshotUsed}, s.since())
		})
	}
}

// A stream that was put back to an older copy, with and without another history since: the snapshot is of what is no more.
func TestASnapshotOfAnotherHistoryIsNotBelieved(t *testing.T) {
	t.Parallel()
	for name, since := range map[string]int{"shorter": 0, "as long": 4, "longer": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, s := told(t)
			old := eventlog.NewMemory(org)
			messages, err := b.log.Load(t.Context(), org, events.Member(person), 0, uint64(b.commits(t)))
			require.NoError(t, err)
			expected := uint64(0)
			for _, m := range messages[:6] {
				expected, err = old.Append(t.Context(), org, events.Member(person), expected, m.Body)
				require.NoError(t, err)
			}
			b.log = old
			other := b.process(t, b.log)
			for n := range since {
				_, err := other.Run(t.Context(), b.command(fmt.Sprint("since ", n), words(fmt.Sprintf("Since then likes %d.", n))))
				require.NoError(t, err)
			}
			b.requireTheFold(t, s)
			require.Equal(t, []runner.SnapshotResult{runner.SnapshotMismatch, runner.SnapshotSaved}, s.since())
			b.requireTheFold(t, s)
			require.Equal(t, []runner.SnapshotResult{runner.SnapshotUsed}, s.since())
		})
	}
}

// A chain that is broken behind the snapshot is no less broken for it.
func TestABrokenTailStopsEveryone(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	messages, err := b.log.Load(t.Context(), org, events.Member(person), 0, uint64(b.commits(t)))
	require.NoError(t, err)
	_, err = b.log.Append(t.Context(), org, events.Member(person), uint64(b.commits(t)), messages[0].Body)
	require.NoError(t, err)
	r := b.restarted(t, s)
	require.ErrorIs(t, r.Look(t.Context(), org, events.Member(person), nil), runner.ErrBroken)
	_, err = r.Run(t.Context(), b.command("after", words("Prefers tea.")))
	require.ErrorIs(t, err, runner.ErrBroken)
}

// What another build wrote says nothing to this one.
func TestAnotherBuildFoldsAnew(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	s.exec(t, "UPDATE iris_snapshots.books SET form = 'of another build'")
	b.requireTheFold(t, s)
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotSaved}, s.since())
	b.requireTheFold(t, s)
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotUsed}, s.since())
}

// With the member's key the snapshot is gone, wherever it lies.
func TestASnapshotDiesWithItsKey(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	b.keys.Destroy(events.KeyRef{Organisation: org, Class: events.KeyRegister, Member: person})
	err := b.restarted(t, s).Look(t.Context(), org, events.Member(person), func(*member.State, uint64) error { return nil })
	require.ErrorIs(t, err, events.ErrKeyUnavailable, "the fold needs it too")
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotUnreadable}, s.since())
}

// Erasing one memory drops the snapshot that has its labels, and what was folded before comes too late.
func TestErasedIsNotKept(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	version, position, box := s.kept(t)
	at := uint64(b.commits(t))
	for range 2 {
		require.NoError(t, projections.Erase(t.Context(), s.projector, org, projections.Erasure{Member: person, Memories: []events.ID{person}, Position: at}))
	}
	_, _, gone := s.kept(t)
	require.Nil(t, gone)
	r := b.restarted(t, s)
	for _, late := range []uint64{position, at} {
		require.NoError(t, s.Save(t.Context(), org, events.Member(person), r.Form(), version, late, box))
		_, _, gone = s.kept(t)
		require.Nil(t, gone, "of before, by a process that was slow")
	}
	b.requireTheFold(t, s)
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotSaved}, s.since())
	_, _, gone = s.kept(t)
	require.Nil(t, gone, "of the erasure's own position: the label may still be in it")
	_, err := r.Run(t.Context(), b.command("after", words("Prefers tea.")))
	require.NoError(t, err)
	b.requireTheFold(t, s)
	_, now, box := s.kept(t)
	require.NotNil(t, box)
	require.Greater(t, now, at)
}

// broken is a store that doesn't answer, or not in time.
type broken struct {
	runner.Snapshots
	hang chan struct{} // nil: it fails at once
}

func (b broken) wait(ctx context.Context) error {
	if b.hang == nil {
		return errors.New("no answer")
	}
	select {
	case <-b.hang:
	case <-ctx.Done():
	}
	return ctx.Err()
}

func (b broken) Load(ctx context.Context, _ string, _ events.Aggregate, _ string) (uint64, uint64, []byte, error) {
	return 0, 0, nil, b.wait(ctx)
}

func (b broken) Save(ctx context.Context, _ string, _ events.Aggregate, _ string, _, _ uint64, _ []byte) error {
	return b.wait(ctx)
}

func (broken) Discard(context.Context, string, events.Aggregate, uint64) error {
	return errors.New("no answer")
}

// Nobody waits for a snapshot to be made, and one that can't be kept or read is missed by nobody.
func TestAStoreThatFailsIsInNobodysWay(t *testing.T) {
	t.Parallel()
	b, s := setup(), &shelf{}
	r := b.keeping(t, b.log, 1, broken{}, s.observe)
	b.open(t, r)
	r.Settle()
	require.NotEmpty(t, s.since())
	whole, _ := snapshot(t, b.process(t, b.log))
	state, _ := snapshot(t, b.keeping(t, b.log, 1, broken{}, s.observe))
	require.Empty(t, cmp.Diff(whole, state))

	hanging := broken{hang: make(chan struct{})}
	r = b.keeping(t, b.log, 1, &onlySaves{broken: hanging}, s.observe)
	for n := range 5 {
		_, err := r.Run(t.Context(), b.command(fmt.Sprint("meanwhile ", n), words(fmt.Sprintf("Likes the number %d.", n))))
		require.NoError(t, err, "answered while the store hangs")
	}
	done := make(chan struct{})
	go func() { r.Close(); close(done) }()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		require.Fail(t, "Close waits for a store that hangs")
	}
	_, err := r.Run(t.Context(), b.command("after", words("Prefers tea.")))
	require.NoError(t, err, "commands go on without snapshots")
	r.Close()
}

// onlySaves hangs where snapshots are saved, and has none.
type onlySaves struct{ broken }

func (*onlySaves) Load(context.Context, string, events.Aggregate, string) (uint64, uint64, []byte, error) {
	return 0, 0, nil, nil
}

// A process that is killed between a commit and its snapshot has answered the commit; the next one makes the snapshot.
func TestKilledBeforeItsSnapshot(t *testing.T) {
	t.Parallel()
	b, s := told(t)
	killed := b.keeping(t, b.log, 4, onlyLoads{s}, func(runner.SnapshotObservation) {})
	for n := range 6 {
		_, err := killed.Run(t.Context(), b.command(fmt.Sprint("killed ", n), words(fmt.Sprintf("Owns %d books.", n))))
		require.NoError(t, err)
	}
	killed.Settle()
	before, _, _ := s.kept(t)
	require.EqualValues(t, 8, before)
	s.since()
	b.requireTheFold(t, s)
	require.Equal(t, []runner.SnapshotResult{runner.SnapshotUsed, runner.SnapshotSaved}, s.since())
	after, _, _ := s.kept(t)
	require.EqualValues(t, b.commits(t), after)
}

// onlyLoads loses what is saved.
type onlyLoads struct{ *shelf }

func (onlyLoads) Save(context.Context, string, events.Aggregate, string, uint64, uint64, []byte) error {
	return nil
}

// Processes that write, keep and read snapshots of one book at once: every command once, one chain, and the fold.
func TestProcessesWithSnapshotsRace(t *testing.T) {
	t.Parallel()
	b, s := setup(), shelve(t)
	b.open(t, b.process(t, b.log))
	before := b.commits(t)
	const each = 12
	var group sync.WaitGroup
	failures := make(chan error, 3*each)
	for p := range 3 {
		r := b.keeping(t, b.log, 2, s, s.observe)
		for n := range each {
			group.Go(func() {
				for {
					_, err := r.Run(context.Background(), b.command(fmt.Sprintf("race %d %d", p, n), words(fmt.Sprintf("Likes the number %d, says process%d.", n, p))))
					if errors.Is(err, runner.ErrOutcomeUnknown) {
						continue
					}
					failures <- err
					return
				}
			})
		}
	}
	group.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	require.Equal(t, before+3*each, b.commits(t))
	b.requireTheFold(t, s)
}
