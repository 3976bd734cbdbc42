package rolememory_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// A story is given/when/then in a file. The acts before must succeed. People, candidates, contributions and versions are named by
// words; the world makes ids of them.
type story struct {
	Name  string
	Given []act
	When  act
	Then  then
}

type act struct {
	Do    string            // offer, second, accept, confirm, reject, take-back
	Of    string            // the candidate
	By    string            // the person; ada offers unless somebody else is named
	As    string            // the contribution that an offer makes
	Makes string            // the version that a confirm makes
	Kind  events.MemoryKind // of an offer
	Body  string            // of an offer
	Takes []string          // the contributions of a take-back
	Least int               // role.minContributors of the policy, where it isn't the default
	Lost  bool              // nobody can read the policy in force
}

type then struct {
	Events   []expected
	Nothing  bool
	Refused  string
	Existing string           // the candidate that a refusal names
	Stage    rolememory.Stage // of when's candidate, afterwards
	Text     *bool            // whether the state still holds its text
}

type expected struct {
	Type       events.Type
	Of         string
	Supersedes string
}

type world struct {
	t     testing.TB
	state *rolememory.State
	count int
	now   events.Time
}

var shipped = sync.OnceValue(policy.Default) // nobody changes it

func newWorld(t testing.TB) *world {
	return &world{t: t, state: rolememory.Initial("acme", "reviewer"), now: events.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC))}
}

// id makes one of a word; no word, no id.
func id(word string) events.ID {
	if word == "" {
		return ""
	}
	return events.EntityID(events.At(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)), events.CommandID(word), 0)
}

func (a act) command() rolememory.Command {
	switch a.Do {
	case "offer", "second":
		kind, by, body := a.Kind, a.By, a.Body
		if kind == "" {
			kind = events.KindLesson
		}
		if by == "" {
			by = "ada"
		}
		if body == "" {
			body = "Reviews end on Fridays."
		}
		return rolememory.Offer{
			CandidateID: id(a.Of), ContributionID: id(a.As), Seconds: a.Do == "second", Kind: kind,
			Category: events.CategoryPreference, Body: body, By: id(by),
		}
	case "accept":
		return rolememory.Accept{CandidateID: id(a.Of), By: id(a.By)}
	case "confirm":
		return rolememory.Confirm{CandidateID: id(a.Of), VersionID: id(a.Makes), By: id(a.By)}
	case "reject":
		return rolememory.Reject{CandidateID: id(a.Of)}
	case "take-back":
		var all []events.ID
		for _, name := range a.Takes {
			all = append(all, id(name))
		}
		return rolememory.TakeBack{ContributionIDs: all}
	}
	return nil
}

func (w *world) perform(a act) ([]events.Event, error) {
	w.count++
	w.now = w.now.Plus(time.Second)
	env := aggregates.Env{Now: w.now, Received: w.now, Command: events.CommandID(fmt.Sprint(w.count)), Policy: shipped(), Keys: []events.ID{id(fmt.Sprint("key ", w.count))}}
	if a.Least > 0 {
		asked := *shipped()
		asked.Role.MinContributors = a.Least
		env.Policy = &asked
	}
	if a.Lost {
		defined := organisation.Evolve(organisation.Initial("acme"), events.Recorded{Event: &events.PolicyApplied{Version: "2", Document: []byte("{}")}})
		env.Policy, env.Defined = defined.Policy, defined
	}
	decided, err := rolememory.Decide(w.state, a.command(), env)
	for _, e := range decided {
		w.state = rolememory.Evolve(w.state, events.Recorded{Event: e, Meta: events.Meta{
			Type: e.EventType(), RecordedAt: w.now, Actor: events.Actor{Kind: events.ActorMember, ID: string(id(a.By))},
		}})
	}
	return decided, err
}

func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		require.NoError(t, err)
		var stories []story
		require.NoError(t, json.Unmarshal(raw, &stories), file)
		for _, s := range stories {
			t.Run(filepath.Base(file)+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				s.tell(t)
			})
		}
	}
}

func (s story) tell(t *testing.T) {
	w := newWorld(t)
	for i, a := range s.Given {
		decided, err := w.perform(a)
		require.NoError(t, err, "given %d", i)
		require.NotEmpty(t, decided, "given %d", i)
	}
	decided, err := w.perform(s.When)
	if s.Then.Refused != "" {
		refusal, is := aggregates.AsRefusal(err)
		require.True(t, is, "%v", err)
		require.Equal(t, s.Then.Refused, refusal.Code)
		require.Equal(t, id(s.Then.Existing), refusal.Existing)
		require.Empty(t, decided)
		return
	}
	require.NoError(t, err)
	require.Equal(t, s.Then.Nothing, len(decided) == 0)
	require.Len(t, decided, len(s.Then.Events))
	for i, e := range decided {
		s.Then.Events[i].check(t, e)
	}
	if s.Then.Stage != "" {
		require.Equal(t, s.Then.Stage, w.state.Candidates[id(s.When.Of)].Stage)
	}
	if s.Then.Text != nil {
		require.Equal(t, *s.Then.Text, w.state.Candidates[id(s.When.Of)].Body != "")
	}
}

func (x expected) check(t *testing.T, e events.Event) {
	require.Equal(t, x.Type, e.EventType())
	switch e := e.(type) {
	case *events.VersionPublished:
		require.Equal(t, id(x.Of), e.CandidateID)
		if x.Supersedes == "" {
			require.Nil(t, e.Supersedes)
			return
		}
		require.Equal(t, id(x.Supersedes), *e.Supersedes)
	case *events.CandidateReopened:
		require.Equal(t, id(x.Of), e.CandidateID)
	case *events.ContributionWithdrawn:
		require.Equal(t, id(x.Of), e.CandidateID)
	}
}

// TestWhateverHappensNothingStandsWithoutItsPeople draws acts at random, the impossible ones too, and holds after each: every version
// that stands was accepted and confirmed by two people, has as many contributors as the policy asks, and is the only one of its kind;
// what nobody may read any more has no text.
func TestWhateverHappensNothingStandsWithoutItsPeople(t *testing.T) {
	t.Parallel()
	people := []string{"ada", "ben", "cy"}
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		texts := []string{"Reviews end on Fridays.", "Drafts are blue.", "Two people read each."}
		for n := range rapid.IntRange(1, 40).Draw(rt, "acts") {
			a := act{
				Do: rapid.SampledFrom([]string{"offer", "second", "accept", "confirm", "reject", "take-back"}).Draw(rt, "do"),
				Of: rapid.SampledFrom([]string{"c0", "c1", "c2"}).Draw(rt, "of"), By: rapid.SampledFrom(people).Draw(rt, "by"),
				As: fmt.Sprint("contribution ", n), Makes: fmt.Sprint("version ", n), Body: rapid.SampledFrom(texts).Draw(rt, "body"),
			}
			if n > 0 {
				a.Takes = []string{fmt.Sprint("contribution ", rapid.IntRange(0, n-1).Draw(rt, "takes"))}
			}
			if _, known := w.state.Candidates[id(a.Of)]; known && a.Do == "offer" {
				continue // ids of candidates are random: none comes twice
			}
			_, _ = w.perform(a)
			w.holds(rt)
		}
	})
}

func (w *world) holds(t require.TestingT) {
	standing := map[events.MemoryKind]int{}
	for _, v := range w.state.Versions {
		if v.EndedAt != nil {
			continue
		}
		c := w.state.Candidates[v.CandidateID]
		standing[v.Kind]++
		require.Equal(t, rolememory.StagePublished, c.Stage)
		require.NotEqual(t, v.AcceptedBy, v.ConfirmedBy)
		require.GreaterOrEqual(t, len(c.Contributions), shipped().Role.MinContributors)
		require.NotEmpty(t, c.Body)
		require.Equal(t, v, w.state.Published[v.Kind])
	}
	for _, n := range standing {
		require.Equal(t, 1, n)
	}
	for _, c := range w.state.Candidates {
		switch c.Stage {
		case rolememory.StageRejected, rolememory.StageWithdrawn, rolememory.StageSuperseded:
			require.Empty(t, c.Body)
		}
	}
}
