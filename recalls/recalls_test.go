package recalls_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/natsserver/natscluster"
	"iris.example/iris/internal/testkeys"
	"iris.example/iris/recall"
	"iris.example/iris/recalls"
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

// bench is a member with one memory, and the processes that work on it.
type bench struct {
	t       *testing.T
	ctx     context.Context
	log     eventlog.Log
	keys    *testkeys.Keys
	defined *organisation.State
	memory  events.ID
	writer  *runner.Runner[*member.State, member.Command]
}

func setup(t *testing.T, l eventlog.Log) *bench {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // without a time: what runs side by side begins when it has its turn
	t.Cleanup(cancel)
	b := &bench{t: t, ctx: ctx, log: l, keys: testkeys.New(), defined: organisation.Initial(org)}
	require.NoError(t, l.CreateOrganisation(ctx, org))
	for _, e := range []events.Event{
		&events.OrganisationFounded{OrganizationID: org}, &events.ProgramDefined{Program: "default"},
		&events.TermsPublished{TermsID: "memory", Version: "1", Locale: "en", Text: "We keep what you ask us to keep."},
	} {
		b.defined = organisation.Evolve(b.defined, events.Recorded{Event: e})
	}
	b.writer = b.members(l)
	b.run(member.Register{})
	b.run(member.Join{Program: "default"})
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage} {
		b.run(member.Grant{Answer: member.Answer{Key: key, TermsID: "memory", TermsVersion: "1"}, Source: events.SourceSettingsToggle, Locale: "en", Shown: "May I?"})
	}
	for _, e := range b.run(member.StateWords{Draft: member.Draft{
		Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile},
		Category: events.CategoryPreference, Body: "Prefers green tea.",
	}}) {
		if stated, ok := e.Event.(*events.MemoryStated); ok {
			b.memory = stated.MemoryID
		}
	}
	require.NotEmpty(t, b.memory)
	return b
}

func (b *bench) config(l runner.Log) runner.Config {
	c, err := contract()
	require.NoError(b.t, err)
	return runner.Config{Log: l, Keys: b.keys, Codec: events.Codec{Keys: b.keys, Contract: c}, Screen: screen(), Now: time.Now}
}

func (b *bench) members(l runner.Log) *runner.Runner[*member.State, member.Command] {
	r, err := runner.Members(b.config(l))
	require.NoError(b.t, err)
	return r
}

// run carries a command out, in a process that isn't the one that recalls.
func (b *bench) run(command member.Command) []events.Recorded {
	b.t.Helper()
	id, err := events.RandomID()
	require.NoError(b.t, err)
	done, err := b.writer.Run(b.ctx, runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(person), ID: id, Received: events.At(time.Now()),
		Actor: events.Actor{ID: string(person), Kind: events.ActorMember}, Setting: runner.Setting{Policy: b.defined.Policy, Defined: b.defined},
		Request: []byte(id), Body: command,
	})
	require.NoError(b.t, err)
	return done.Events
}

func (b *bench) service(fence recalls.Fence) *recalls.Service {
	config := b.config(b.log)
	organisations, err := runner.Organisations(config)
	require.NoError(b.t, err)
	return &recalls.Service{
		Members: b.members(b.log), Organisations: organisations, Access: b.log, Fence: fence, Screen: config.Screen, Codec: config.Codec, Now: time.Now,
	}
}

func (b *bench) recall(s *recalls.Service) (recalls.Answer, error) {
	who := recalls.Asker{Organisation: org, Member: person, Actor: events.Actor{ID: string(person), Kind: events.ActorMember}}
	return s.Recall(b.ctx, who, events.RecallAsk{
		Surface: "assistant", Consumer: events.ConsumerAssistant, Scope: events.Scope{Kind: events.ScopeProfile}, AdapterScope: events.AdapterAssistantProfile,
		Program: "default", Query: "tea or coffee", Contexts: []string{}, Purpose: "assist",
	})
}

// on is what stands on a stream, of a subject.
func (b *bench) on(stream, subject string) (all []eventlog.Message) {
	b.t.Helper()
	last, err := b.log.Last(b.ctx, stream)
	require.NoError(b.t, err)
	for n := range last {
		m, err := b.log.At(b.ctx, stream, n+1)
		require.NoError(b.t, err)
		if m.Subject == subject {
			all = append(all, m)
		}
	}
	return all
}

func (b *bench) fences() []eventlog.Message {
	return b.on(events.StreamFor(org), events.FenceSubject(org))
}
func (b *bench) envelopes() []eventlog.Message {
	return b.on(events.AccessStreamFor(org), events.RecallSubject(org))
}

// meanwhile does something between the reading of the head and its fence.
type meanwhile struct {
	recalls.Fence
	do func()
}

func (m *meanwhile) AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error) {
	m.do()
	return m.Fence.AppendFence(ctx, org, a, head, body)
}

func TestOnOneNodeTheHeadSuffices(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	answer, err := b.recall(b.service(nil))
	require.NoError(t, err)
	require.Equal(t, []events.ID{b.memory}, answer.Envelope.ReturnedIDs)
	require.Empty(t, b.fences())
	require.Len(t, b.envelopes(), 1)
}

// On replicated streams the fence stands at the head that the answer rests on, and commits to the envelope that follows it.
func TestAFenceGoesBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	head, err := b.log.Head(b.ctx, org, events.Member(person))
	require.NoError(t, err)
	for n := range 3 {
		answer, err := b.recall(b.service(b.log))
		require.NoError(t, err)
		require.Equal(t, []events.ID{b.memory}, answer.Envelope.ReturnedIDs)
		fences, envelopes := b.fences(), b.envelopes()
		require.Len(t, fences, n+1)
		require.Len(t, envelopes, n+1)
		var body map[string]string
		require.NoError(t, json.Unmarshal(fences[n].Body, &body))
		require.Equal(t, map[string]string{
			"aggregate": events.Member(person).String(), "expected": fmt.Sprint(head), "envelope": events.Hash(envelopes[n].Body),
		}, body)
	}
}

// What was forgotten between the look and the answer isn't answered: the fence is refused, and it is decided again.
func TestARefusedFenceIsDecidedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	forget := sync.OnceFunc(func() { b.run(member.Forget{MemoryID: b.memory}) })
	answer, err := b.recall(b.service(&meanwhile{b.log, forget}))
	require.NoError(t, err)
	require.Empty(t, answer.Envelope.ReturnedIDs)
	require.Empty(t, answer.Result.Entries)
	require.Len(t, b.fences(), 1)
	require.Len(t, b.envelopes(), 1, "the answer that wasn't given has no envelope")
}

func TestABookThatNeverRestsIsNotAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	n := 0
	_, err := b.recall(b.service(&meanwhile{b.log, func() {
		n++
		b.run(member.StateWords{Draft: member.Draft{
			Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile},
			Category: events.CategoryPreference, Body: fmt.Sprintf("Likes the number %d.", n),
		}})
	}}))
	require.ErrorIs(t, err, recalls.ErrStateUnknown)
	require.Equal(t, 5, n)
	require.Empty(t, b.fences())
	require.Empty(t, b.envelopes())
}

func TestAFenceWithoutAnAnswerIsNoAnswer(t *testing.T) {
	t.Parallel()
	for _, fault := range []eventlog.Fault{eventlog.ErrorBefore, eventlog.ErrorAfter} {
		for _, as := range []error{eventlog.ErrAmbiguous, eventlog.ErrUnavailable, eventlog.ErrMissingStream} {
			b := setup(t, eventlog.NewMemory(org))
			faulty := eventlog.NewFaulty(b.log)
			faulty.FailNextWith(eventlog.OpAppendFence, fault, as)
			_, err := b.recall(b.service(faulty))
			require.ErrorIs(t, err, recalls.ErrStateUnknown)
			require.Empty(t, b.envelopes())
			_, err = b.recall(b.service(faulty))
			require.NoError(t, err)
		}
	}
}

// founding is a log whose organisations somebody with more rights founds.
type founding struct {
	eventlog.Log
	founder *eventlog.JetStream
}

func (f founding) CreateOrganisation(ctx context.Context, org string) error {
	return f.founder.CreateOrganisation(ctx, org)
}

// A leader that is cut off may still answer what it knows. Nothing is said on its word.
func TestACutOffLeaderIsNotBelieved(t *testing.T) {
	t.Parallel()
	c := natscluster.Start(t, natscluster.Config{})
	l, err := eventlog.New(c.Connect(t), eventlog.Config{Replicas: 3})
	require.NoError(t, err)
	founder, err := eventlog.New(c.ConnectProvisioner(t), eventlog.Config{Replicas: 3})
	require.NoError(t, err)
	b := setup(t, founding{l, founder})
	answer, err := b.recall(b.service(l))
	require.NoError(t, err)
	require.Equal(t, []events.ID{b.memory}, answer.Envelope.ReturnedIDs)
	require.Len(t, b.fences(), 1)
	last, err := l.LastCommit(b.ctx, org)
	require.NoError(t, err)
	head, err := l.Head(b.ctx, org, events.Member(person))
	require.NoError(t, err)
	require.Equal(t, head, last.Sequence, "a fence behind it is stepped over")

	leader := c.Leader(t, events.StreamFor(org))
	alone, err := eventlog.New(c.ConnectTo(t, leader), eventlog.Config{Replicas: 3, WriteTimeout: time.Second, ReadTimeout: time.Second})
	require.NoError(t, err)
	others := []int{(leader + 1) % 3, (leader + 2) % 3}
	for _, node := range others {
		c.StopNode(node)
	}
	b.log = alone
	_, err = b.recall(b.service(alone))
	require.ErrorIs(t, err, recalls.ErrStateUnknown)

	for _, node := range others {
		c.StartNode(t, node)
	}
	b.log = l
	for answered := false; !answered; { // as soon as a majority has a leader again
		answer, err = b.recall(b.service(l))
		answered = err == nil
		if !answered {
			require.ErrorIs(t, err, recalls.ErrStateUnknown)
		}
	}
	require.Equal(t, []events.ID{b.memory}, answer.Envelope.ReturnedIDs)
	require.False(t, errors.Is(b.ctx.Err(), context.DeadlineExceeded))
}

// stricter are the rules of tomorrow: they suspect what those of today let in.
type stricter string

func (s stricter) Suspicious(text string) bool { return strings.Contains(text, string(s)) }

func TestWhatLeavesIsScreenedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory())
	b.run(member.StateWords{Draft: member.Draft{
		Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile},
		Category: events.CategoryPreference, Body: "Prefers coffee at noon.",
	}})
	today := b.service(nil)
	before, err := b.recall(today)
	require.NoError(t, err)
	require.Len(t, before.Result.Entries, 2)

	tomorrow := b.service(nil)
	tomorrow.Screen = stricter("green tea")
	after, err := b.recall(tomorrow)
	require.NoError(t, err)
	require.Len(t, after.Result.Entries, 1)
	require.NotContains(t, after.Envelope.ReturnedIDs, b.memory)
	require.Equal(t, map[string]int{recall.ReasonInjectionSuspected: 1}, after.Result.SuppressionCounts)
	require.Equal(t, "warning", after.Envelope.Severity)
	require.Equal(t, recall.Verdict{MemoryID: b.memory, Reason: recall.ReasonInjectionSuspected}, after.Result.Dropped()[b.memory])

	for name, prover := range map[string]*recalls.Service{"today": today, "tomorrow": tomorrow} {
		for _, answer := range []recalls.Answer{before, after} {
			proof, err := prover.Prove(b.ctx, org, answer.Envelope)
			require.NoError(t, err, name)
			require.Equal(t, recalls.Verified, proof.Result, "%s: %s", name, proof.Reason)
		}
	}
	lie := *before.Envelope
	lie.Findings.Plain.Verdicts = slices.Clone(lie.Findings.Plain.Verdicts)
	lie.Findings.Plain.Verdicts[0] = events.RecallVerdict{MemoryID: lie.Findings.Plain.Verdicts[0].MemoryID, Reason: recall.ReasonInjectionSuspected}
	proof, err := today.Prove(b.ctx, org, &lie)
	require.NoError(t, err)
	require.Equal(t, recalls.NotVerified, proof.Result, "nobody dropped it then")
}
