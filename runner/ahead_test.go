package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/runner"
)

// A member must be able to take back whatever they gave, however much it is (spec 1.8).

// sharer is a member who has shared more than one commit has room to take back.
type sharer struct {
	*curating
	roles    []string
	shares   int
	memories []events.ID
	source   string // of all memories
	consent  events.ID
}

// shared keeps memories and offers each to each role. One of them became a version.
func (b *bench) shared(t *testing.T, log runner.Log, memories, roles int) *sharer {
	t.Helper()
	s := &sharer{curating: b.curating(t, log), source: "conversation-1"}
	for n := range roles {
		s.roles = append(s.roles, fmt.Sprintf("role-%03d", n))
	}
	s.people()
	for n := range memories {
		body := lesson(fmt.Sprintf("Check the units of table %d before the numbers.", n)).(member.StateWords)
		body.SourceRefs = []events.SourceRef{{Kind: "conversation", Ref: s.source}}
		stated := s.run(proposer, fmt.Sprint("say ", n), body).Events[0].Event.(*events.MemoryStated)
		s.memories = append(s.memories, stated.MemoryID)
		for _, role := range s.roles {
			s.run(proposer, fmt.Sprint("share ", n, role), member.ProposeShare{MemoryID: stated.MemoryID, Program: "default", Role: role})
			s.shares++
		}
	}
	state := s.book(t)
	s.consent = state.Consents[events.PurposeDataStorage].EventID
	candidate := state.Shares[s.memories[0]][0].CandidateID
	s.run(holder, "hold", member.GiveRole{Role: s.roles[0]})
	s.run(curator, "accept", member.AcceptCandidate{Role: s.roles[0], CandidateID: candidate})
	s.run(holder, "confirm", member.ConfirmCandidate{Role: s.roles[0], CandidateID: candidate})
	require.NotEmpty(t, s.roleOf(t, s.roles[0]).Published)
	return s
}

// as is curating's, in an organisation that has all the roles.
func (s *sharer) as(who events.ID, key string, body member.Command) runner.Command[member.Command] {
	c := s.curating.as(who, key, body)
	defined := s.defined()
	for _, role := range s.roles {
		defined = organisation.Evolve(defined, events.Recorded{Event: &events.RoleDefined{Role: role}})
	}
	c.Setting.Defined = defined
	return c
}

func (s *sharer) run(who events.ID, key string, body member.Command) runner.Outcome {
	s.t.Helper()
	done, err := s.members.Run(context.Background(), s.as(who, key, body))
	require.NoError(s.t, err)
	return done
}

func (s *sharer) book(t *testing.T) *member.State {
	t.Helper()
	var state *member.State
	require.NoError(t, s.members.View(context.Background(), org, events.Member(proposer), func(s *member.State, _ uint64) error {
		state = s
		return nil
	}))
	return state
}

func (s *sharer) roleOf(t *testing.T, role string) *rolememory.State {
	t.Helper()
	var state *rolememory.State
	require.NoError(t, s.curating.roles.View(context.Background(), org, events.Role(role), func(s *rolememory.State, _ uint64) error {
		state = s
		return nil
	}))
	return state
}

// ways are the commands that take away what the shares rest on.
func (s *sharer) ways() map[string]member.Command {
	return map[string]member.Command{
		"withdraw consent": member.Withdraw{EventID: s.consent},
		"forget source": member.ForgetMany{
			Sweep: events.Sweep{Kind: events.SweepSource, Source: s.source}, SweepID: events.CommandID(string(proposer), "the command"),
		},
		"forget one":    member.Forget{MemoryID: s.memories[0]},
		"remove member": member.Remove{},
	}
}

// takenBack holds that no role shows anything, as another process folds it, and that each offer was taken back once, in both places.
func (s *sharer) takenBack(t *testing.T, log runner.Log, shares int) {
	t.Helper()
	other := &sharer{curating: s.bench.curating(t, log)}
	inRoles := 0
	for _, role := range s.roles {
		state := other.roleOf(t, role)
		require.Empty(t, state.ByContribution)
		require.Empty(t, state.Published)
		head, err := log.Head(context.Background(), org, events.Role(role))
		require.NoError(t, err)
		messages, err := log.Load(context.Background(), org, events.Role(role), 0, head)
		require.NoError(t, err)
		for _, m := range messages {
			commit, _, err := events.Read(m.Sequence, m.Body)
			require.NoError(t, err)
			for _, e := range commit.Events {
				if e, is := e.Event.(*events.ContributionWithdrawn); is {
					inRoles += len(e.ContributionIDs)
				}
			}
		}
	}
	require.Equal(t, shares, inRoles)
	require.Equal(t, shares, count(s.last(proposer, 1<<20), events.TypeShareWithdrawn))
	require.Empty(t, other.book(t).Shares)
}

func TestAnythingSharedCanBeTakenBack(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]struct {
		memories, roles int
		ways            []string
	}{
		"400 memories": {400, 1, []string{"withdraw consent", "forget source"}},
		"120 roles":    {1, 120, []string{"withdraw consent", "forget one", "remove member"}},
	} {
		for _, way := range size.ways {
			t.Run(name+"/"+way, func(t *testing.T) {
				t.Parallel()
				b := setup()
				s := b.shared(t, b.log, size.memories, size.roles)
				command := s.as(proposer, "the command", s.ways()[way])
				done, err := s.members.Run(context.Background(), command)
				require.NoError(t, err)
				require.NotEmpty(t, done.Events)
				require.NotEqual(t, events.TypeShareWithdrawn, done.Events[0].Type, "the answer is the command's own")
				s.takenBack(t, b.log, s.shares)

				all := b.commits(t)
				again, err := b.curating(t, b.log).members.Run(context.Background(), command)
				require.NoError(t, err)
				require.True(t, again.Repeated)
				require.Equal(t, done.Position, again.Position)
				require.Equal(t, all, b.commits(t))
			})
		}
	}
}

// dying is the log of a process that ends at one of its writes: before it reaches the broker, or with the answer on its way.
type dying struct {
	runner.Log
	left   atomic.Int64 // writes until then
	stored bool         // the last one is
	dead   atomic.Bool
}

func (d *dying) ends() (dies, stored bool) {
	dies = d.left.Add(-1) < 0
	return dies, d.stored && !d.dead.Swap(dies)
}

func (d *dying) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	dies, stored := d.ends()
	if dies && !stored {
		return 0, eventlog.ErrUnavailable
	}
	position, err := d.Log.Append(ctx, org, a, expected, body)
	if dies {
		return 0, eventlog.ErrUnavailable
	}
	return position, err
}

func (d *dying) AppendTogether(ctx context.Context, org string, parts []eventlog.Part) ([]uint64, error) {
	dies, stored := d.ends()
	if dies && !stored {
		return nil, eventlog.ErrUnavailable
	}
	positions, err := d.Log.AppendTogether(ctx, org, parts)
	if dies {
		return nil, eventlog.ErrUnavailable
	}
	return positions, err
}

// Whichever part a process dies at, nothing was answered, and until the last part the consent stands: no offer ever rests on what
// was taken away. Whoever asks again, with the same key or another, finishes it, and nothing is done twice.
func TestATakeBackGoesOnAfterACrash(t *testing.T) {
	t.Parallel()
	const shares, parts = 2*member.MaxTakenBack + 10, 3
	for at := range parts {
		for n, stored := range []bool{false, true} {
			key := []string{"the command", "another"}[(at+n)%2]
			t.Run(fmt.Sprintf("at %d/stored %t/%s", at, stored, key), func(t *testing.T) {
				t.Parallel()
				b := setup()
				s := b.shared(t, b.log, 2, shares/2)
				body := member.Withdraw{EventID: s.consent}
				before := b.commits(t)

				log := &dying{Log: b.log, stored: stored}
				log.left.Store(int64(at))
				_, err := b.curating(t, log).members.Run(context.Background(), s.as(proposer, "the command", body))
				require.ErrorIs(t, err, runner.ErrUnavailable)

				done := at
				if stored {
					done++
				}
				book := (&sharer{curating: b.curating(t, b.log)}).book(t)
				require.Equal(t, done == parts, book.Consents[events.PurposeDataStorage].State == events.StateWithdrawn)
				left := 0
				for _, of := range book.Shares {
					left += len(of)
				}
				require.Equal(t, max(0, shares-done*member.MaxTakenBack), left)

				again, err := b.curating(t, b.log).members.Run(context.Background(), s.as(proposer, key, body))
				if done == parts && key == "another" { // that grant is withdrawn: what such a command is always told
					refusal, is := aggregates.AsRefusal(err)
					require.True(t, is, "%v", err)
					require.Equal(t, "consent_unknown", refusal.Code)
				} else {
					require.NoError(t, err)
					require.Equal(t, events.TypeConsentWithdrawn, again.Events[0].Type)
				}
				s.takenBack(t, b.log, shares)
				require.Equal(t, 1, count(s.last(proposer, 1<<20), events.TypeConsentWithdrawn))
				require.Equal(t, before+parts+shares, b.commits(t), "a commit of the book for each part, one of each role that it reaches")
			})
		}
	}
}

// A lost answer to any part, as the broker gives it: asked for again by the runner itself.
func TestLostAnswersToPartsOfATakeBack(t *testing.T) {
	t.Parallel()
	for _, fault := range []eventlog.Fault{eventlog.ErrorBefore, eventlog.ErrorAfter} {
		for _, as := range []error{eventlog.ErrAmbiguous, eventlog.ErrConflict} {
			t.Run(fmt.Sprintf("%d/%v", fault, as), func(t *testing.T) {
				t.Parallel()
				b := setup()
				faulty := eventlog.NewFaulty(b.log)
				s := b.shared(t, faulty, 3*member.MaxTakenBack, 1)
				for range 3 {
					faulty.FailNextWith(eventlog.OpTogether, fault, as)
				}
				done := s.run(proposer, "the command", member.Withdraw{EventID: s.consent})
				require.Equal(t, events.TypeConsentWithdrawn, done.Events[0].Type)
				s.takenBack(t, b.log, s.shares)
			})
		}
	}
}

// A part of a sweep is never so large that it hasn't room beside what it takes back.
func TestASweepOfMoreThanOnePartTakesBack(t *testing.T) {
	t.Parallel()
	b := setup()
	s := b.shared(t, b.log, member.MaxTakenBack, 1)
	for n := range events.MaxSwept {
		body := words(fmt.Sprintf("Likes table %d.", n)).(member.StateWords)
		body.SourceRefs = []events.SourceRef{{Kind: "conversation", Ref: s.source}}
		s.run(proposer, fmt.Sprint("say more ", n), body)
	}
	done := s.run(proposer, "the command", s.ways()["forget source"])
	swept := done.Events[0].Event.(*events.MemoriesForgotten)
	require.True(t, swept.More)
	require.Len(t, swept.Memories, events.MaxSwept)
	s.takenBack(t, b.log, s.shares)
}

// On the broker, asked for by two processes at once, while a third goes on sharing: what stands after the answer is nothing that
// rests on the consent.
func TestATakeBackOnTheBroker(t *testing.T) {
	t.Parallel()
	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	log, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, log.CreateOrganisation(t.Context(), org))
	b := setup()
	s := b.shared(t, log, 1, 120)
	more := s.run(proposer, "say more", lesson("Round at the end only.")).Events[0].Event.(*events.MemoryStated).MemoryID

	withdraw := s.as(proposer, "the command", member.Withdraw{EventID: s.consent})
	process := func() func() error {
		c := b.curating(t, log)
		return func() error { return c.insist(withdraw) }
	}
	sharing := b.curating(t, log)
	yes := atOnce(t, process(), process(), func() error {
		return sharing.insist(s.as(proposer, "share more", member.ProposeShare{MemoryID: more, Program: "default", Role: s.roles[1]}))
	})
	require.Equal(t, []bool{true, true}, yes[:2])
	shares := s.shares
	if yes[2] {
		shares++
	}
	s.takenBack(t, log, shares)
	require.Equal(t, 1, count(s.last(proposer, 1<<20), events.TypeConsentWithdrawn))
}

// insist asks again, with the same key, as long as nobody knows.
func (c *curating) insist(command runner.Command[member.Command]) error {
	for {
		if _, err := c.members.Run(context.Background(), command); !errors.Is(err, runner.ErrOutcomeUnknown) {
			return err
		}
	}
}
