package projections_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
)

// story is a stream with a bit of everything, in several commits.
func story(org string) *stream {
	s := newStream(org)
	member := s.id()
	p, kept := s.proposed("one"), s.stated("two")
	s.commit(member, p)
	s.commit(member, kept, &events.ConsentGranted{Consent: s.consent("medical", nil, "")})
	answer := s.kept(p.Entry, "one, edited")
	s.commit(member, answer)
	s.commit(member, s.refused(s.id(), events.OutcomeRejected, "body_empty"))
	s.commit(member, s.forgotten(kept.Entry, kept.RevisionID))
	s.commit(member, s.superseded(p.Entry, answer.RevisionID, kept.MemoryID))
	return s
}

// breaking is a projection whose write fails as long as broken holds SQL that breaks the connection or the transaction.
type breaking struct {
	broken  []string
	ordered *int
}

type breakingChanges struct {
	engine.Appending
	breaking
}

func (breaking) Name() string                       { return "breaking" }
func (b breaking) Begin(string) engine.Changes      { return &breakingChanges{breaking: b} }
func (breakingChanges) Apply(events.Recorded) error { return nil }

func (b *breakingChanges) Write(batch *pgx.Batch) {
	if *b.ordered < len(b.broken) {
		batch.Queue(b.broken[*b.ordered])
	}
	*b.ordered++
}

func TestACrashBetweenRowsAndCursorLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	b.project(s)
	want := b.dump()

	for name, first := range map[string]bool{"before the rows": true, "after the rows": false} {
		for _, size := range []int{1, 4, 500} {
			b.clear()
			broken := breaking{[]string{"SELECT pg_terminate_backend(pg_backend_pid())", "SELECT 1/0", "SELECT pg_terminate_backend(pg_backend_pid())"}, new(int)}
			failures := 0
			b.project(s, func(c *engine.Config) {
				c.MaxBatch = size
				c.Projections = append(c.Projections, broken)
				if first {
					c.Projections = append([]engine.Projection{broken}, c.Projections[:3]...)
				}
				c.Report = func(status engine.Status) {
					if status.State == engine.Retrying {
						failures++
					}
				}
			})
			require.GreaterOrEqual(t, failures, 3, name)
			require.Equal(t, want, b.dump(), "%s, in batches of %d", name, size)
		}
	}
}

func TestALostLockAbortsAndTheLineGoesOnFromTheCursor(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	b.project(s)
	want := b.dump()

	b.clear()
	// Another line does everything between this one's look at the cursor and its first transaction.
	overtaken := 0
	var lost error
	b.project(s, func(c *engine.Config) {
		c.Follow = func(ctx context.Context, stream string, after uint64) (engine.Source, error) {
			if overtaken++; overtaken == 1 {
				b.project(s)
				after = 0
			}
			return s.follow()(ctx, stream, after)
		}
		c.Report = func(status engine.Status) {
			if status.State == engine.Retrying {
				lost = status.Err
			}
		}
	})
	require.ErrorIs(t, lost, engine.ErrLostLock)
	require.Equal(t, 2, overtaken)
	require.Equal(t, want, b.dump())
}

func TestTwoLinesOfOneStreamAreAsGoodAsOne(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	for range 60 {
		m := s.stated("words")
		s.commit(member, m)
		s.commit(member, s.forgotten(m.Entry, m.RevisionID))
	}
	b.project(s)
	want := b.dump()

	b.clear()
	config := b.config(s, func(c *engine.Config) { c.Follow = s.follow(1, 3, 2) })
	one, two := b.start(config), b.start(config)
	b.await(b.marks, config, s.last)
	for _, r := range []*running{one, two} {
		r.stop()
		require.NoError(t, <-r.done)
	}
	require.Equal(t, want, b.dump())
}

// gap is a run of positions, both ends included, that the stream no longer had.
type gap struct {
	Stream string `db:"stream"`
	First  uint64 `db:"first_position"`
	Last   uint64 `db:"last_position"`
}

func TestGapsAreRowsAndNoStall(t *testing.T) {
	t.Parallel()
	b, s := setup(t), newStream("acme")
	member := s.id()
	s.skip(2)
	s.commit(member, s.stated("a"))
	s.commit(member, s.stated("b"))
	s.skip(1)
	s.commit(member, s.stated("c"))
	for _, size := range []int{1, 2, 500} {
		b.clear()
		b.project(s, func(c *engine.Config) { c.MaxBatch = size })
		b.read("acme", func(ctx context.Context, session *reader.Session) {
			gaps, err := reader.Collect[gap](ctx, session, `SELECT stream, first_position, last_position FROM gaps
				WHERE organization_id = $1 ORDER BY stream, first_position`, session.Organisation())
			require.NoError(t, err)
			stream := events.StreamFor("acme")
			require.Equal(t, []gap{{Stream: stream, First: 1, Last: 2}, {Stream: stream, First: 5, Last: 5}}, gaps)
			cursors, err := reader.Collect[reader.Cursor](ctx, session, "SELECT stream, position FROM cursors WHERE organization_id = $1", session.Organisation())
			require.NoError(t, err)
			require.Equal(t, []reader.Cursor{{Stream: stream, Position: 6}}, cursors)
		})
	}
}

func TestPoisonStopsTheLineRightBeforeItself(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := func(s *stream, i int) *log.Message { return &s.messages[i] }
	for name, test := range map[string]struct {
		spoil func(*stream) // what stands at position 3
		want  error
	}{
		"malformed":    {func(s *stream) { at(s, 2).Body = []byte("[]") }, events.ErrMalformed},
		"unknown type": {func(s *stream) { at(s, 2).Body = []byte(`[{"type":"iris.memory.dreamt.v1"}]`) }, events.ErrUnknownType},
		"tampered":     {func(s *stream) { s.messages[2].Body = moved(s.messages[2].Body) }, events.ErrTampered},
		"key gone": {func(s *stream) {
			key := s.commits[2].Events[0].Event.(*events.MemoryKept).KeyID
			s.keys.set(func(k *testKeys) { k.gone[key] = true })
			// What came before was sealed under the same key.
			s.messages[0].Sequence, s.messages[1].Sequence, s.messages = 1, 2, s.messages[1:]
		}, events.ErrKeyUnavailable},
		"of a memory that isn't there": {func(s *stream) {
			ghost := s.stated("never recorded")
			s.commit(s.id(), s.forgotten(ghost.Entry, ghost.RevisionID))
			s.messages[2].Body, s.messages[2].Subject = s.messages[6].Body, s.messages[6].Subject
			s.messages = s.messages[:6]
		}, engine.ErrInconsistent},
		"of another revision": {func(s *stream) {
			entry := s.commits[0].Events[0].Event.(*events.ProposalRecorded).Entry
			s.messages, s.last = s.messages[:2], 2
			s.commit(s.commits[0].Aggregate.ID, s.superseded(entry, s.id(), s.id()))
		}, engine.ErrInconsistent},
		"of another member's memory": {func(s *stream) {
			entry := s.commits[0].Events[0].Event.(*events.ProposalRecorded).Entry
			s.messages, s.last = s.messages[:2], 2
			s.commit(s.id(), s.superseded(entry, entry.RevisionID, s.id()))
		}, engine.ErrInconsistent},
		"on another subject":   {func(s *stream) { at(s, 2).Subject += "0" }, engine.ErrForeign},
		"another organisation": {func(s *stream) { s.messages[2] = story("umbra").messages[2] }, engine.ErrForeign},
	} {
		for _, size := range []int{1, 500} {
			b.clear()
			s := story("acme")
			test.spoil(s)
			line, err := engine.New(b.config(s, func(c *engine.Config) { c.MaxBatch = size }))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			err = line.Run(ctx)
			cancel()
			require.ErrorIs(t, err, engine.ErrPoison, name)
			require.ErrorIs(t, err, test.want, name)
			require.Contains(t, err.Error(), "at 3", name)
			status := line.Status()
			require.Equal(t, engine.Stopped, status.State, name)
			require.ErrorIs(t, status.Err, test.want, name)
			require.EqualValues(t, 2, status.Position, name)
			require.EqualValues(t, 2, b.position(events.StreamFor("acme")), name)

			// Nothing is skipped by starting again, and what went before is whole.
			err = line.Run(context.Background())
			require.ErrorIs(t, err, test.want, name)
			require.EqualValues(t, 2, b.position(events.StreamFor("acme")), name)
		}
	}
}

// moved is the commit as if it followed another one: its seals no longer fit.
func moved(body []byte) []byte {
	return []byte(string(replaceOnce(body, `"irisprevseq":"2"`, `"irisprevseq":"1"`)))
}

func replaceOnce(body []byte, old, new string) []byte {
	s := string(body)
	for i := 0; i+len(old) <= len(s); i++ {
		if s[i:i+len(old)] == old {
			return []byte(s[:i] + new + s[i+len(old):])
		}
	}
	panic(fmt.Sprintf("%s isn't there", old))
}

func TestAnOutageOfKeysIsWaitedFor(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	down := errors.New("vault unreachable")
	s.keys.set(func(k *testKeys) { k.down = down })
	retried := make(chan error, 1000)
	run := b.start(b.config(s, func(c *engine.Config) {
		c.Report = func(status engine.Status) {
			if status.State == engine.Retrying {
				retried <- status.Err
			}
		}
	}))
	for range 3 {
		require.ErrorIs(t, <-retried, down)
	}
	s.keys.set(func(k *testKeys) { k.down = nil })
	b.await(b.marks, b.config(s), s.last)
	run.stop()
	require.NoError(t, <-run.done)
}

func TestALineFollowsALogAsItGrows(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	memory := log.NewMemory("acme")
	config := b.config(s, func(c *engine.Config) { c.Follow = engine.Followed(memory) })
	run := b.start(config)
	for i, m := range s.messages {
		a := s.commits[i].Aggregate
		expected := s.commits[i].PreviousSequence
		sequence, err := memory.Append(t.Context(), "acme", a, expected, m.Body)
		require.NoError(t, err)
		b.await(b.marks, config, sequence)
		require.Equal(t, sequence, b.position(config.Stream), "announced only what is committed")
	}
	run.stop()
	require.NoError(t, <-run.done)
	require.Equal(t, engine.Stopped, run.line.Status().State)
}

func TestWaitersWakeWhenTheirPositionIsVisible(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	config := b.config(s)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	woken := make(chan error, 64)
	for i := range 64 {
		go func() { woken <- b.marks.Wait(ctx, "acme", config.Stream, uint64(i)%s.last+1) }()
	}
	run := b.start(config)
	for range 64 {
		require.NoError(t, <-woken)
	}
	run.stop()
	require.NoError(t, <-run.done)
}

func TestAWaiterReadsTheCursorOfALineElsewhere(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	stream := events.StreamFor("acme")
	marks := engine.NewWatermarks(b.reader, time.Millisecond) // nobody announces to it
	early := make(chan error, 1)
	go func() { early <- marks.Wait(ctx, "acme", stream, s.last) }()
	b.project(s)
	require.NoError(t, <-early)

	never := engine.NewWatermarks(b.reader, time.Hour)
	require.NoError(t, never.Wait(ctx, "acme", stream, s.last), "the first look is at the cursor")
	short, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	err := never.Wait(short, "acme", stream, s.last+1)
	require.ErrorIs(t, err, engine.ErrBehind)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, never.Wait(short, "umbra", stream, 1), engine.ErrBehind, "another organisation's line is another line")
}

func TestALineRefusesHalfAConfiguration(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	for name, spoil := range map[string]func(*engine.Config){
		"organisation": func(c *engine.Config) { c.Organisation = "" },
		"stream":       func(c *engine.Config) { c.Stream = "" },
		"database":     func(c *engine.Config) { c.DatabaseURL = "" },
		"projections":  func(c *engine.Config) { c.Projections = nil },
		"source":       func(c *engine.Config) { c.Follow = nil },
		"decoder":      func(c *engine.Config) { c.Decoder = nil },
		"announcer":    func(c *engine.Config) { c.Announce = nil },
		"batch":        func(c *engine.Config) { c.MaxBatch = -1 },
		"backoff":      func(c *engine.Config) { c.Backoff = time.Hour },
	} {
		_, err := engine.New(b.config(s, spoil))
		require.ErrorIs(t, err, engine.ErrConfig, name)
	}
}

// asking is a projection that asks the line's own connection for a setting.
type asking struct {
	engine.Appending
	setting string
	answer  *string
}

func (asking) Name() string                  { return "asking" }
func (a asking) Begin(string) engine.Changes { return a }
func (asking) Apply(events.Recorded) error   { return nil }
func (a asking) Write(batch *pgx.Batch) {
	batch.Queue("SELECT current_setting($1)", a.setting).QueryRow(func(row pgx.Row) error { return row.Scan(a.answer) })
}

func TestOnlyTheLinesConnectionMayAnswerBeforeTheDisk(t *testing.T) {
	t.Parallel()
	b, s := setup(t), story("acme")
	var line string
	b.project(s, func(c *engine.Config) {
		c.Projections = append(c.Projections, asking{setting: "synchronous_commit", answer: &line})
	})
	require.Equal(t, "off", line)
	for _, role := range []string{migrations.Owner, migrations.Projector, migrations.App} {
		var setting string
		require.NoError(t, b.connect(role).QueryRow(t.Context(), "SHOW synchronous_commit").Scan(&setting))
		require.Equal(t, "on", setting, role)
	}
}
