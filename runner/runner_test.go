package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkeys"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
)

const (
	org    = "acme"
	person = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")
)

// What is immutable and slow to make is made once.
var (
	screen   = sync.OnceValue(screening.New)
	contract = sync.OnceValues(schemas.Compile)
)

type members = runner.Runner[*member.State, member.Command]

// bench is one organisation on a log that lasts, and the processes that work on it.
type bench struct {
	log  *eventlog.Memory
	keys *testkeys.Keys
	mu   sync.Mutex
	now  time.Time
}

func setup() *bench {
	return &bench{log: eventlog.NewMemory(org), keys: testkeys.New(), now: time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)}
}

func (b *bench) clock() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(time.Millisecond)
	return b.now
}

func (b *bench) advance(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// process is a runner with a memory of its own, over a log that may be made to fail.
func (b *bench) process(t require.TestingT, log runner.Log) *members {
	c, err := contract()
	require.NoError(t, err)
	r, err := runner.Members(runner.Config{
		Log: log, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Screen: screen(), Now: b.clock,
	})
	require.NoError(t, err)
	return r
}

func (b *bench) command(name string, body member.Command) runner.Command[member.Command] {
	defined := organisation.Initial(org)
	for _, e := range []events.Event{
		&events.OrganisationFounded{OrganizationID: org}, &events.ProgramDefined{Program: "default"},
		&events.TermsPublished{TermsID: "memory", Version: "1", Locale: "en", Text: "We keep what you ask us to keep."},
	} {
		defined = organisation.Evolve(defined, events.Recorded{Event: e})
	}
	return runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(person), ID: events.CommandID(name), Received: events.At(b.clock()),
		Actor: events.Actor{ID: string(person), Kind: events.ActorMember}, Setting: runner.Setting{Policy: defined.Policy, Defined: defined},
		Request: []byte(fmt.Sprintf("%T %v", body, body)), Body: body,
	}
}

func (b *bench) open(t require.TestingT, r *members) {
	for n, c := range []member.Command{member.Register{}, member.Join{Program: "default"}, grant("data_processing"), grant("data_storage")} {
		_, err := r.Run(context.Background(), b.command(fmt.Sprintf("open %d", n), c))
		require.NoError(t, err)
	}
}

func grant(key events.ConsentKey) member.Command {
	return member.Grant{Answer: member.Answer{Key: key, TermsID: "memory", TermsVersion: "1"}, Source: events.SourceSettingsToggle, Locale: "en", Shown: "May I?"}
}

func words(body string) member.Command {
	return member.StateWords{Draft: member.Draft{
		Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile},
		Category: events.CategoryPreference, Body: body,
	}}
}

func (b *bench) commits(t *testing.T) int {
	t.Helper()
	last, err := b.log.Last(context.Background(), events.StreamFor(org))
	require.NoError(t, err)
	return int(last)
}

// "Error returned, effect persisted", and its harmless twin, on the append of any command: one answer, one set of events.
func TestLostAnswersMakeOneCommit(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]member.Command{
		"own words": words("Prefers tea."), "grant": grant("medical"), "join again": member.Join{Program: "default"},
		"proposal": member.Propose{
			Draft:      member.Draft{Tier: events.TierIndividual, Kind: events.KindLesson, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile}, Category: events.CategoryWork, Body: "Writes short letters.", Origin: events.OriginModelInferred},
			ProposedBy: events.ProposedBy{Client: "app", Consumer: events.ConsumerAssistant},
		},
	} {
		for _, fault := range []eventlog.Fault{eventlog.ErrorBefore, eventlog.ErrorAfter} {
			for _, as := range []error{eventlog.ErrAmbiguous, eventlog.ErrConflict} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, fault, as), func(t *testing.T) {
					t.Parallel()
					b := setup()
					faulty := eventlog.NewFaulty(b.log)
					r := b.process(t, faulty)
					b.open(t, r)
					before := b.commits(t)
					faulty.FailNextWith(eventlog.OpAppend, fault, as)
					command := b.command("the command", body)
					first, err := r.Run(context.Background(), command)
					require.NoError(t, err)
					after := b.commits(t)
					require.LessOrEqual(t, after, before+1)

					again, err := b.process(t, b.log).Run(context.Background(), command)
					require.NoError(t, err)
					require.Equal(t, first.Position, again.Position)
					require.Equal(t, len(first.Events) > 0, again.Repeated, "another process knows it again")
					require.Equal(t, after, b.commits(t))
					require.Empty(t, cmp.Diff(first.Events, again.Events, cmpopts.IgnoreUnexported(events.Recorded{})))
				})
			}
		}
	}
}

// When no answer comes at all, the caller hears that the outcome is unknown, and the same key finds out.
func TestOutcomeUnknown(t *testing.T) {
	t.Parallel()
	b := setup()
	faulty := eventlog.NewFaulty(b.log)
	r := b.process(t, faulty)
	b.open(t, r)
	before := b.commits(t)
	faulty.FailNext(eventlog.OpAppend, eventlog.ErrorAfter)
	faulty.FailNext(eventlog.OpHead, eventlog.ErrorBefore)
	command := b.command("unknown", words("Prefers tea."))
	_, err := r.Run(context.Background(), command)
	require.ErrorIs(t, err, runner.ErrOutcomeUnknown)

	done, err := r.Run(context.Background(), command)
	require.NoError(t, err)
	require.Len(t, done.Events, 1)
	require.EqualValues(t, before+1, done.Position)
	require.Equal(t, before+1, b.commits(t))
}

func TestAnotherBodyUnderTheSameKey(t *testing.T) {
	t.Parallel()
	b := setup()
	r := b.process(t, b.log)
	b.open(t, r)
	_, err := r.Run(context.Background(), b.command("key", words("Prefers tea.")))
	require.NoError(t, err)
	before := b.commits(t)
	for _, process := range []*members{r, b.process(t, b.log)} {
		_, err = process.Run(context.Background(), b.command("key", words("Prefers coffee.")))
		require.ErrorIs(t, err, runner.ErrKeyReused)
	}
	require.Equal(t, before, b.commits(t))
}

// The book remembers a command for thirty days, across restarts (spec 9.2).
func TestCommandsAreRememberedThirtyDays(t *testing.T) {
	t.Parallel()
	b := setup()
	r := b.process(t, b.log)
	b.open(t, r)
	_, err := r.Run(context.Background(), b.command("remembered", words("Prefers tea.")))
	require.NoError(t, err)
	b.advance(29 * 24 * time.Hour)
	done, err := b.process(t, b.log).Run(context.Background(), b.command("remembered", words("Prefers tea.")))
	require.NoError(t, err)
	require.True(t, done.Repeated)
	b.advance(2 * 24 * time.Hour)
	_, err = r.Run(context.Background(), b.command("later", words("Prefers cake.")))
	require.NoError(t, err)
	_, err = b.process(t, b.log).Run(context.Background(), b.command("remembered", words("Prefers tea.")))
	refusal, ok := aggregates.AsRefusal(err)
	require.True(t, ok, "forgotten: it is decided anew, and the book itself knows the text")
	require.Equal(t, "duplicate", refusal.Code)
}

// Two processes with memories of their own, many writers each: every command once, one unbroken chain.
func TestProcessesRace(t *testing.T) {
	t.Parallel()
	b := setup()
	b.open(t, b.process(t, b.log))
	before := b.commits(t)
	const each = 20
	var group sync.WaitGroup
	failures := make(chan error, 2*each)
	for p := range 2 {
		r := b.process(t, b.log)
		for n := range each {
			group.Go(func() {
				for {
					_, err := r.Run(context.Background(), b.command(fmt.Sprintf("race %d %d", p, n), words(fmt.Sprintf("Likes the number %d, says process%d.", n, p))))
					if errors.Is(err, runner.ErrOutcomeUnknown) {
						continue // lost five times in a row: said so, and asked again with the same key
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
	require.Equal(t, before+2*each, b.commits(t))
	err := b.process(t, b.log).View(context.Background(), org, events.Member(person), func(s *member.State, position uint64) error {
		require.Len(t, s.Entries, 2*each)
		return nil
	})
	require.NoError(t, err)
}

// A refusal never rests on a state that another process has left behind, and no more does a yes.
func TestDecisionsStandAtTheHead(t *testing.T) {
	t.Parallel()
	b := setup()
	one, two := b.process(t, b.log), b.process(t, b.log)
	b.open(t, one)
	medical := member.StateWords{Draft: words("Takes aspirin.").(member.StateWords).Draft}
	medical.Category = events.CategoryMedical
	_, err := one.Run(context.Background(), b.command("a", medical))
	_, refused := aggregates.AsRefusal(err)
	require.True(t, refused)

	for n, key := range []events.ConsentKey{"sensitive_data", "medical"} {
		_, err = two.Run(context.Background(), b.command(fmt.Sprint("grant", n), grant(key)))
		require.NoError(t, err)
	}
	_, err = one.Run(context.Background(), b.command("b", medical))
	require.NoError(t, err, "granted elsewhere: the refusal of a stale state is not answered")

	var given events.ID
	require.NoError(t, two.View(context.Background(), org, events.Member(person), func(s *member.State, _ uint64) error {
		given = s.Consents["medical"].EventID
		return nil
	}))
	_, err = two.Run(context.Background(), b.command("withdraw", member.Withdraw{EventID: given}))
	require.NoError(t, err)
	medical.Body = "Takes ibuprofen."
	_, err = one.Run(context.Background(), b.command("c", medical))
	refusal, refused := aggregates.AsRefusal(err)
	require.True(t, refused, "withdrawn elsewhere: the yes of a stale state is not recorded")
	require.Equal(t, []events.ConsentKey{"medical"}, refusal.Missing)
}

// Fold of all = fold of any cut: however a process came to the head, the state is the same.
func TestAnyCutFoldsToTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := setup()
		writer, reader := b.process(t, b.log), b.process(t, b.log)
		b.open(t, writer)
		ctx := context.Background()
		var made []events.ID
		for n := range rapid.IntRange(1, 12).Draw(t, "commands") {
			done, err := writer.Run(ctx, b.command(fmt.Sprint("step ", n), draw(t, n, made, currentOf(t, writer))))
			if _, refused := aggregates.AsRefusal(err); !refused {
				require.NoError(t, err)
			}
			for _, e := range done.Events {
				if stated, ok := e.Event.(*events.MemoryStated); ok {
					made = append(made, stated.MemoryID)
				}
			}
			if rapid.Bool().Draw(t, "read in between") {
				require.NoError(t, reader.View(ctx, org, events.Member(person), func(*member.State, uint64) error { return nil }))
			}
		}
		whole, head := snapshot(t, b.process(t, b.log))
		for _, r := range []*members{writer, reader} {
			state, position := snapshot(t, r)
			require.Equal(t, head, position)
			require.Empty(t, cmp.Diff(whole, state))
		}
		at, err := reader.At(ctx, org, events.Member(person), head)
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(whole, *at))
	})
}

// currentOf tells the revision at which each memory stands, for edits.
func currentOf(t require.TestingT, r *members) map[events.ID]events.ID {
	current := map[events.ID]events.ID{}
	state, _ := snapshot(t, r)
	for id, e := range state.Entries {
		current[id] = e.RevisionID
	}
	return current
}

func draw(t *rapid.T, n int, made []events.ID, current map[events.ID]events.ID) member.Command {
	kind := rapid.IntRange(0, 13).Draw(t, "kind")
	if kind >= 10 && len(made) > 0 {
		return drawAct(t, n, kind, rapid.SampledFrom(made).Draw(t, "memory"))
	}
	if kind <= 4 && len(made) > 0 {
		return drawMove(t, n, kind, rapid.SampledFrom(made).Draw(t, "memory"), current)
	}
	if kind == 5 {
		return grant(rapid.SampledFrom(events.ConsentKeys()).Draw(t, "key"))
	}
	body := words(fmt.Sprintf("Likes the number %d.", n)).(member.StateWords)
	if kind == 6 {
		body.Subject = "number" // the newer supersedes the one before
	}
	return body
}

func drawAct(t *rapid.T, n, kind int, id events.ID) member.Command {
	switch kind {
	case 10:
		return member.Promote{MemoryID: id, Program: "default"}
	case 11:
		implicit := rapid.Bool().Draw(t, "implicit")
		return member.ChangeSettings{ImplicitPromotion: &implicit, AutoKeep: &map[string]bool{"default": rapid.Bool().Draw(t, "auto-keep")}}
	case 12:
		return member.LiftDeclined{MemoryID: id}
	}
	return member.Reference{RecallID: events.CommandID(fmt.Sprint("recall ", n)), MemoryIDs: []events.ID{id}, Returned: []events.ID{id}}
}

func drawMove(t *rapid.T, n, kind int, id events.ID, current map[events.ID]events.ID) member.Command {
	switch kind {
	case 0:
		return member.Forget{MemoryID: id, DontAskAgain: rapid.Bool().Draw(t, "again")}
	case 1:
		return member.Restore{MemoryID: id}
	case 2:
		if rapid.Bool().Draw(t, "with an end") {
			until := events.At(time.Date(2026, 12, 24, 0, 0, n, 0, time.UTC))
			return member.Pause{MemoryID: id, Until: &until}
		}
		return member.Pause{MemoryID: id}
	case 3:
		return member.Resume{MemoryID: id}
	}
	edit := member.Edit{MemoryID: id, IfMatch: current[id]}
	if rapid.Bool().Draw(t, "the text") {
		body := fmt.Sprintf("Liked the number %d.", n)
		edit.Body = &body
	} else {
		subject := "number" // and may supersede another
		edit.Subject = &subject
	}
	return edit
}

func snapshot(t require.TestingT, r *members) (state member.State, position uint64) {
	require.NoError(t, r.View(context.Background(), org, events.Member(person), func(s *member.State, at uint64) error {
		state, position = *s, at
		return nil
	}))
	return state, position
}

func TestABrokenChainStopsEveryone(t *testing.T) {
	t.Parallel()
	b := setup()
	r := b.process(t, b.log)
	b.open(t, r)
	ctx := context.Background()
	messages, err := b.log.Load(ctx, org, events.Member(person), 0, uint64(b.commits(t)))
	require.NoError(t, err)
	_, err = b.log.Append(ctx, org, events.Member(person), uint64(b.commits(t)), messages[0].Body) // a commit out of its place
	require.NoError(t, err)
	for _, process := range []*members{r, b.process(t, b.log)} {
		_, err = process.Run(ctx, b.command("after", words("Prefers tea.")))
		require.Error(t, err)
		require.ErrorIs(t, process.View(ctx, org, events.Member(person), func(*member.State, uint64) error { return nil }), runner.ErrBroken)
	}
}

func TestWithoutKeysNothingIsDecided(t *testing.T) {
	t.Parallel()
	b := setup()
	r := b.process(t, b.log)
	b.open(t, r)
	before := b.commits(t)
	b.keys.Refuse(errors.New("the vault does not answer"))
	_, err := r.Run(context.Background(), b.command("sealed", words("Prefers tea.")))
	require.ErrorIs(t, err, runner.ErrUnavailable)
	require.ErrorIs(t, b.process(t, b.log).View(context.Background(), org, events.Member(person), nil), runner.ErrUnavailable)
	require.Equal(t, before, b.commits(t))
}

func TestConfigRefuses(t *testing.T) {
	t.Parallel()
	b := setup()
	c, err := contract()
	require.NoError(t, err)
	good := runner.Config{Log: b.log, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Now: b.clock}
	require.NoError(t, good.WithDefaults().Validate())
	for name, spoil := range map[string]func(*runner.Config){
		"no log": func(c *runner.Config) { c.Log = nil }, "no clock": func(c *runner.Config) { c.Now = nil },
		"texts in memory for an hour": func(c *runner.Config) { c.Memory = time.Hour },
	} {
		bad := good
		spoil(&bad)
		require.Error(t, bad.WithDefaults().Validate(), name)
	}
}
