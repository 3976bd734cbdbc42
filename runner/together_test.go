package runner_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/runner"
)

// Four people: who offers, who accepts, and two who may confirm.
const (
	proposer = person
	curator  = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e90")
	holder   = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e91")
	second   = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e92")
)

const reviewer = "reviewer"

// curating is one process that runs members' books and roles.
type curating struct {
	*bench
	t       *testing.T
	members *members
	roles   *runner.Runner[*rolememory.State, rolememory.Command]
	source  runner.Log
}

func (b *bench) curating(t *testing.T, log runner.Log) *curating {
	t.Helper()
	c, err := contract()
	require.NoError(t, err)
	cfg := runner.Config{Log: log, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Screen: screen(), Now: b.clock}
	roles, err := runner.Roles(cfg)
	require.NoError(t, err)
	members, err := runner.Members(cfg)
	require.NoError(t, err)
	return &curating{b, t, members.With(events.AggregateRole, roles), roles, log}
}

func (c *curating) defined() *organisation.State {
	defined := organisation.Initial(org)
	for _, e := range []events.Event{
		&events.OrganisationFounded{OrganizationID: org}, &events.ProgramDefined{Program: "default"}, &events.RoleDefined{Role: reviewer},
		&events.RoleDefined{Role: "statistician"}, &events.TermsPublished{TermsID: "memory", Version: "1", Locale: "en", Text: "We keep what you ask us to keep."},
	} {
		defined = organisation.Evolve(defined, events.Recorded{Event: e})
	}
	return defined
}

// as is a command of somebody's book, under an id made of key.
func (c *curating) as(who events.ID, key string, body member.Command) runner.Command[member.Command] {
	defined := c.defined()
	return runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(who), ID: events.CommandID(string(who), key), Received: events.At(c.clock()),
		Actor: events.Actor{ID: string(who), Kind: events.ActorMember}, Setting: runner.Setting{Policy: defined.Policy, Defined: defined},
		Request: fmt.Appendf(nil, "%T %v", body, body), Body: body,
	}
}

func (c *curating) try(who events.ID, key string, body member.Command) (runner.Outcome, error) {
	for {
		done, err := c.members.Run(context.Background(), c.as(who, key, body))
		if errors.Is(err, runner.ErrOutcomeUnknown) {
			continue // lost five times in a row: said so, and asked again with the same key
		}
		return done, err
	}
}

func (c *curating) do(who events.ID, key string, body member.Command) runner.Outcome {
	c.t.Helper()
	done, err := c.try(who, key, body)
	require.NoError(c.t, err)
	return done
}

func (c *curating) refused(code string, who events.ID, key string, body member.Command) {
	c.t.Helper()
	_, err := c.try(who, key, body)
	refusal, is := aggregates.AsRefusal(err)
	require.True(c.t, is, "%v", err)
	require.Equal(c.t, code, refusal.Code)
}

// people opens the books and gives the role to those who hold it.
func (c *curating) people() {
	for _, who := range []events.ID{proposer, curator, holder, second} {
		for n, command := range []member.Command{member.Register{}, member.Join{Program: "default"}, grant("data_processing"), grant("data_storage")} {
			c.do(who, fmt.Sprint("open ", n), command)
		}
	}
	for _, who := range []events.ID{holder, second} {
		c.do(who, "role", member.GiveRole{Role: reviewer})
	}
}

func lesson(body string) member.Command {
	words := words(body).(member.StateWords)
	words.Kind = events.KindLesson
	return words
}

// offer keeps a lesson and offers it. It returns memory and candidate.
func (c *curating) offer(who events.ID, key, body string) (memory, candidate events.ID) {
	c.t.Helper()
	memory = c.do(who, "say "+key, lesson(body)).Events[0].Event.(*events.MemoryStated).MemoryID
	return memory, c.share(who, key, memory, "")
}

func (c *curating) share(who events.ID, key string, memory, seconds events.ID) (candidate events.ID) {
	c.t.Helper()
	done := c.do(who, "share "+key, member.ProposeShare{MemoryID: memory, Program: "default", Role: reviewer, Seconds: seconds})
	return done.Events[0].Event.(*events.ShareProposed).Link.Plain.CandidateID
}

func accepting(candidate events.ID) member.Command {
	return member.AcceptCandidate{Role: reviewer, CandidateID: candidate}
}

func confirming(candidate events.ID) member.Command {
	return member.ConfirmCandidate{Role: reviewer, CandidateID: candidate}
}

// role is what the role's memory says, and its head.
func (c *curating) role() (rolememory.State, uint64) {
	c.t.Helper()
	var state rolememory.State
	var head uint64
	require.NoError(c.t, c.roles.View(context.Background(), org, events.Role(reviewer), func(s *rolememory.State, position uint64) error {
		state, head = *s, position
		return nil
	}))
	return state, head
}

func (c *curating) stage(candidate events.ID) rolememory.Stage {
	c.t.Helper()
	state, _ := c.role()
	return state.Candidates[candidate].Stage
}

func TestTwoPeopleMakeAVersion(t *testing.T) {
	t.Parallel()
	b := setup()
	c := b.curating(t, b.log)
	c.people()
	memory, candidate := c.offer(proposer, "a", "Check the units of every table before the numbers.")
	c.do(curator, "accept", accepting(candidate))
	done := c.do(holder, "confirm", confirming(candidate))
	require.Equal(t, b.commits(t), int(done.Position), "the confirmer's commit is the last: who waits for it has seen the version")

	state, _ := c.role()
	version := state.Published[events.KindLesson]
	require.Equal(t, curator, version.AcceptedBy)
	require.Equal(t, holder, version.ConfirmedBy)
	require.Equal(t, "Check the units of every table before the numbers.", state.Candidates[candidate].Body)

	// Another process folds the same from the stream.
	again, _ := b.curating(t, b.log).role()
	require.Empty(t, cmp.Diff(state, again))

	// The next supersedes it, and names it.
	_, next := c.offer(proposer, "b", "Check units first, then the totals of each column.")
	c.do(curator, "accept next", accepting(next))
	c.do(holder, "confirm next", confirming(next))
	state, _ = c.role()
	require.Equal(t, version.ID, *state.Published[events.KindLesson].Supersedes)
	require.NotNil(t, state.Versions[0].EndedAt)
	require.Equal(t, rolememory.StageSuperseded, state.Candidates[candidate].Stage)
	require.Empty(t, state.Candidates[candidate].Body)

	// What was superseded is not touched by a withdrawal, and the one that stands is by its own.
	c.do(proposer, "forget first", member.Forget{MemoryID: memory})
	require.Equal(t, rolememory.StagePublished, c.stage(next))
}

// Nothing in the role's messages names the proposer: neither the id nor anything that is made of the command's id.
func TestARoleNamesNoContributor(t *testing.T) {
	t.Parallel()
	b := setup()
	c := b.curating(t, b.log)
	c.people()
	memory, candidate := c.offer(proposer, "a", "Check the units of every table before the numbers.")
	c.do(curator, "accept", accepting(candidate))
	c.do(holder, "confirm", confirming(candidate))
	command := c.as(proposer, "share a", member.ProposeShare{}).ID
	c.do(proposer, "forget", member.Forget{MemoryID: memory})

	_, head := c.role()
	messages, err := b.log.Load(context.Background(), org, events.Role(reviewer), 0, head)
	require.NoError(t, err)
	require.Len(t, messages, 4)
	for _, m := range messages {
		for _, link := range []events.ID{proposer, memory, command} {
			require.NotContains(t, string(m.Body), string(link))
		}
		commit, _, err := events.Read(m.Sequence, m.Body)
		require.NoError(t, err)
		for _, e := range commit.Events {
			require.NotEqual(t, events.EntityID(e.Time, command, 0), e.ID)
			require.NotEqual(t, string(proposer), e.Actor.ID)
		}
	}
	// And the book's own say which role, but the link is sealed.
	book, err := b.log.Head(context.Background(), org, events.Member(proposer))
	require.NoError(t, err)
	messages, err = b.log.Load(context.Background(), org, events.Member(proposer), 0, book)
	require.NoError(t, err)
	for _, m := range messages {
		require.NotContains(t, string(m.Body), string(candidate))
	}
}

// "Error returned, effect persisted", and its twin, on the batch of every command that reaches into a role: both commits or none,
// once, whoever asks again.
func TestLostAnswersMakeOneBatch(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"share", "accept", "confirm", "forget", "withdraw consent"} {
		for _, fault := range []eventlog.Fault{eventlog.ErrorBefore, eventlog.ErrorAfter} {
			for _, as := range []error{eventlog.ErrAmbiguous, eventlog.ErrConflict} {
				t.Run(fmt.Sprintf("%s/%d/%v", name, fault, as), func(t *testing.T) {
					t.Parallel()
					b := setup()
					faulty := eventlog.NewFaulty(b.log)
					c := b.curating(t, faulty)
					c.people()
					memory, candidate := c.offer(proposer, "a", "Check the units of every table before the numbers.")
					who, body := proposer, member.Command(member.Forget{MemoryID: memory})
					switch name {
					case "share":
						other := c.do(second, "say", lesson("Round at the end only.")).Events[0].Event.(*events.MemoryStated).MemoryID
						who, body = second, member.ProposeShare{MemoryID: other, Program: "default", Role: reviewer}
					case "accept":
						who, body = curator, accepting(candidate)
					case "confirm":
						c.do(curator, "accept", accepting(candidate))
						who, body = holder, confirming(candidate)
					case "withdraw consent":
						require.NoError(t, c.members.View(context.Background(), org, events.Member(proposer), func(s *member.State, _ uint64) error {
							body = member.Withdraw{EventID: s.Consents[events.PurposeDataStorage].EventID}
							return nil
						}))
					}
					_, before := c.role()
					all := b.commits(t)
					faulty.FailNextWith(eventlog.OpTogether, fault, as)
					command := c.as(who, "the command", body)
					first, err := c.members.Run(context.Background(), command)
					require.NoError(t, err)
					require.False(t, first.Repeated)
					require.Equal(t, all+2, b.commits(t))
					state, after := c.role()
					require.Equal(t, first.Position, after+1, "the role's commit stands right before the book's")
					require.Greater(t, after, before)

					other := b.curating(t, b.log)
					again, err := other.members.Run(context.Background(), command)
					require.NoError(t, err)
					require.True(t, again.Repeated)
					require.Equal(t, first.Position, again.Position)
					require.Empty(t, cmp.Diff(first.Events, again.Events, cmpopts.IgnoreUnexported(events.Recorded{})))
					require.Equal(t, all+2, b.commits(t))
					folded, _ := other.role()
					require.Empty(t, cmp.Diff(state, folded))
				})
			}
		}
	}
}

// When no answer comes at all the caller hears that nobody knows, and the same key finds out.
func TestAnUnknownBatchIsFoundAgain(t *testing.T) {
	t.Parallel()
	b := setup()
	faulty := eventlog.NewFaulty(b.log)
	c := b.curating(t, faulty)
	c.people()
	_, candidate := c.offer(proposer, "a", "Check the units of every table before the numbers.")
	c.do(curator, "accept", accepting(candidate))
	all := b.commits(t)
	faulty.FailNext(eventlog.OpTogether, eventlog.ErrorAfter)
	for range 2 { // of the attempt itself, and of the next one
		faulty.FailNext(eventlog.OpHead, eventlog.ErrorBefore)
	}
	command := c.as(holder, "confirm", confirming(candidate))
	_, err := c.members.Run(context.Background(), command)
	require.Error(t, err)
	for range 3 {
		if _, err = c.members.Run(context.Background(), command); err == nil {
			break
		}
	}
	require.NoError(t, err)
	require.Equal(t, all+2, b.commits(t))
	require.Equal(t, rolememory.StagePublished, c.stage(candidate))
}

// The four races, on one node and on three, with processes on nodes of their own.
func TestRacesOfCuration(t *testing.T) {
	t.Parallel()
	for name, logs := range nodes(t) {
		t.Run(name, func(t *testing.T) {
			b := setup()
			one, two := b.curating(t, logs[0]), b.curating(t, logs[1])
			three := b.curating(t, logs[2])
			one.people()
			roleLostBetween(one, two)
			roleLostMeanwhile(one, two, three)
			samePersonTwice(one, two, three)
			proposerCurates(one, two, three)
			twoConfirmers(one, two, three)
			withdrawnMeanwhile(one, two, three)
		})
	}
}

// at once runs all and says who was told yes. Refusals and nothing else may stand in the way.
func atOnce(t *testing.T, acts ...func() error) (yes []bool) {
	t.Helper()
	yes = make([]bool, len(acts))
	errs := make([]error, len(acts))
	var group sync.WaitGroup
	for i, act := range acts {
		group.Go(func() { errs[i] = act() })
	}
	group.Wait()
	for i, err := range errs {
		if _, refused := aggregates.AsRefusal(err); err != nil && !refused {
			require.NoError(t, err)
		}
		yes[i] = err == nil
	}
	return yes
}

func (c *curating) trying(who events.ID, key string, body member.Command) func() error {
	return func() error {
		_, err := c.try(who, key, body)
		return err
	}
}

// Role lost between accept and confirm.
func roleLostBetween(one, two *curating) {
	_, candidate := one.offer(proposer, "between", "Say which source each figure is from.")
	one.do(curator, "accept between", accepting(candidate))
	two.do(holder, "lose", member.TakeRole{Role: reviewer})
	one.refused("role_not_held", holder, "confirm between", confirming(candidate))
	require.Equal(one.t, rolememory.StageAccepted, two.stage(candidate))
	two.do(holder, "regain", member.GiveRole{Role: reviewer})
	one.do(holder, "confirm between again", confirming(candidate))
	require.Equal(one.t, rolememory.StagePublished, two.stage(candidate))
}

// Role lost at the very moment of the confirmation: either the version came first, or there is none. The book's order tells.
func roleLostMeanwhile(one, two, three *curating) {
	for round := range 8 {
		key := fmt.Sprint("meanwhile ", round)
		_, candidate := one.offer(proposer, key, fmt.Sprintf("Give the mean with the spread, case %d.", round))
		one.do(curator, "accept "+key, accepting(candidate))
		yes := atOnce(one.t, two.trying(holder, "confirm "+key, confirming(candidate)), three.trying(holder, "lose "+key, member.TakeRole{Role: reviewer}))
		require.True(one.t, yes[1])
		held := false
		require.NoError(one.t, one.members.View(context.Background(), org, events.Member(holder), func(s *member.State, _ uint64) error {
			_, held = s.Roles[reviewer]
			return nil
		}))
		require.False(one.t, held)
		order := one.last(holder, 2)
		if yes[0] {
			require.Equal(one.t, []events.Type{events.TypeCurationConfirmed, events.TypeRoleTaken}, order, "confirmed while it was held")
			require.Equal(one.t, rolememory.StagePublished, one.stage(candidate))
		} else {
			require.Equal(one.t, rolememory.StageAccepted, one.stage(candidate))
		}
		one.do(holder, "regain "+key, member.GiveRole{Role: reviewer})
	}
}

// last are the types of the newest n events of a book.
func (c *curating) last(who events.ID, n int) (types []events.Type) {
	c.t.Helper()
	head, err := c.source.Head(context.Background(), org, events.Member(who))
	require.NoError(c.t, err)
	messages, err := c.source.Load(context.Background(), org, events.Member(who), 0, head)
	require.NoError(c.t, err)
	for _, m := range messages {
		commit, _, err := events.Read(m.Sequence, m.Body)
		require.NoError(c.t, err)
		for _, e := range commit.Events {
			types = append(types, e.Type)
		}
	}
	return types[max(0, len(types)-n):]
}

// The same person twice, in a row and at once from two processes.
func samePersonTwice(one, two, three *curating) {
	one.do(curator, "curator is reviewer too", member.GiveRole{Role: reviewer})
	_, candidate := one.offer(proposer, "twice", "Plot before you test.")
	one.do(curator, "accept twice", accepting(candidate))
	two.refused("curation_needs_another_person", curator, "confirm twice", confirming(candidate))
	require.Equal(one.t, rolememory.StageAccepted, three.stage(candidate))

	_, candidate = one.offer(proposer, "twice at once", "Plot each variable before you test it.")
	for round := range 6 {
		key := fmt.Sprint("twice at once ", round)
		yes := atOnce(one.t, two.trying(curator, "accept "+key, accepting(candidate)), three.trying(curator, "confirm "+key, confirming(candidate)))
		require.False(one.t, yes[1])
	}
	require.Equal(one.t, rolememory.StageAccepted, one.stage(candidate))
	one.do(curator, "curator is a reviewer no more", member.TakeRole{Role: reviewer})
}

// The proposer can neither accept nor confirm, nor second what they curate, in whatever order the two acts come.
func proposerCurates(one, two, three *curating) {
	one.do(proposer, "proposer is reviewer too", member.GiveRole{Role: reviewer})
	_, candidate := one.offer(proposer, "own", "Name the units in the header.")
	two.refused("curation_needs_another_person", proposer, "accept own", accepting(candidate))
	one.do(curator, "accept own", accepting(candidate))
	two.refused("curation_needs_another_person", proposer, "confirm own", confirming(candidate))

	for round := range 6 {
		key := fmt.Sprint("seconds ", round)
		body := fmt.Sprintf("Name the units in the header, not in the cell, case %d.", round)
		_, candidate := one.offer(second, key, body)
		memory := one.do(proposer, "say "+key, lesson(body)).Events[0].Event.(*events.MemoryStated).MemoryID
		share := member.ProposeShare{MemoryID: memory, Program: "default", Role: reviewer, Seconds: candidate}
		yes := atOnce(one.t, two.trying(proposer, "accept "+key, accepting(candidate)), three.trying(proposer, "share "+key, share))
		require.NotEqual(one.t, yes[0], yes[1], "one of the two")
		state, _ := one.role()
		require.Equal(one.t, yes[0], state.Candidates[candidate].AcceptedBy == proposer)
		require.Len(one.t, state.Candidates[candidate].Contributions, map[bool]int{true: 1, false: 2}[yes[0]])
	}
	one.do(proposer, "proposer is a reviewer no more", member.TakeRole{Role: reviewer})
}

// Two confirm at once: one version.
func twoConfirmers(one, two, three *curating) {
	for round := range 8 {
		key := fmt.Sprint("confirmers ", round)
		_, candidate := one.offer(proposer, key, fmt.Sprintf("State the sample before the result, case %d.", round))
		one.do(curator, "accept "+key, accepting(candidate))
		before, _ := one.role()
		yes := atOnce(one.t, two.trying(holder, "confirm "+key, confirming(candidate)), three.trying(second, "confirm "+key, confirming(candidate)))
		require.NotEqual(one.t, yes[0], yes[1], "one of the two")
		state, _ := one.role()
		require.Len(one.t, state.Versions, len(before.Versions)+1)
		winner, loser := holder, second
		if yes[1] {
			winner, loser = second, holder
		}
		require.Equal(one.t, winner, state.Published[events.KindLesson].ConfirmedBy)
		require.Equal(one.t, one.confirmed(state, loser), count(one.last(loser, 1<<20), events.TypeCurationConfirmed), "the loser's book says nothing")
	}
}

func (c *curating) confirmed(s rolememory.State, who events.ID) (n int) {
	for _, v := range s.Versions {
		if v.ConfirmedBy == who {
			n++
		}
	}
	return n
}

func count(all []events.Type, wanted events.Type) (n int) {
	for _, t := range all {
		if t == wanted {
			n++
		}
	}
	return n
}

// The member forgets while it is confirmed: once the forget is acknowledged no process shows a version that rests on it.
func withdrawnMeanwhile(one, two, three *curating) {
	for round := range 8 {
		key := fmt.Sprint("withdrawn ", round)
		memory, candidate := one.offer(proposer, key, fmt.Sprintf("Report what was left out, case %d.", round))
		one.do(curator, "accept "+key, accepting(candidate))
		yes := atOnce(one.t, two.trying(holder, "confirm "+key, confirming(candidate)), three.trying(proposer, "forget "+key, member.Forget{MemoryID: memory}))
		require.True(one.t, yes[1])
		for _, process := range []*curating{one, two, three} {
			state, _ := process.role()
			standing := state.Published[events.KindLesson]
			require.True(one.t, standing == nil || standing.CandidateID != candidate)
			want := rolememory.StageWithdrawn
			if yes[0] {
				want = rolememory.StageReopened
			}
			require.Equal(one.t, want, state.Candidates[candidate].Stage)
		}
	}
}
