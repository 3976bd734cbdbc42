package recalls_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/policy"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
)

func TestAProgramThatWasLeftAsksNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	service := b.service(nil)
	before, err := b.recall(service)
	require.NoError(t, err)
	require.Equal(t, []events.ID{b.memory}, before.Result.ReturnedIDs)

	b.run(member.Leave{Program: events.DefaultProgram})
	_, err = b.recall(service)
	requireRefused(t, "not_in_program", err)

	b.run(member.Join{Program: events.DefaultProgram})
	again, err := b.recall(service)
	require.NoError(t, err)
	require.Equal(t, before.Result.ReturnedIDs, again.Result.ReturnedIDs)

	b.run(member.Remove{})
	_, err = b.recall(service)
	requireRefused(t, "member_unknown", err)
}

// A quarantine is honoured by the next recall, and lifted by its release; each answer stays provable, whatever came after it.
func TestAQuarantinedTenantIsNotSaid(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	service, tenant := b.service(nil), "north-school"
	organise := func(c organisation.Command) {
		id, err := events.RandomID()
		require.NoError(t, err)
		// Another process than the one that recalls.
		organisations, err := runner.Organisations(b.config(b.log))
		require.NoError(t, err)
		_, err = organisations.Run(b.ctx, runner.Command[organisation.Command]{
			Organisation: org, Aggregate: events.Organisation(), ID: id, Received: events.At(time.Now()), Actor: events.Actor{ID: "iris", Kind: events.ActorAdmin},
			Setting: runner.Setting{Policy: b.defined.Policy, Defined: b.defined}, Request: []byte(id), Body: c,
		})
		require.NoError(t, err)
	}
	organise(organisation.Found{})
	organise(organisation.DefineTenant{Tenant: tenant})
	b.run(member.StateWords{Draft: member.Draft{
		Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile}, TenantID: &tenant,
		Category: events.CategoryPreference, Body: "Prefers tea from the school's kitchen.",
	}})

	var answers []recalls.Answer
	ask := func(want int, suppressed map[string]int) {
		answer, err := service.Recall(b.ctx, recalls.Asker{Organisation: org, Member: person, Actor: events.Actor{ID: "app", Kind: events.ActorClient}}, events.RecallAsk{
			Surface: "assistant", Consumer: events.ConsumerAssistant, Scope: events.Scope{Kind: events.ScopeProfile}, AdapterScope: events.AdapterAssistantProfile,
			Program: "default", Query: "tea or coffee", Contexts: []string{}, Purpose: "assist", TenantID: &tenant,
		})
		require.NoError(t, err)
		require.Len(t, answer.Result.Entries, want)
		require.Equal(t, suppressed, answer.Result.SuppressionCounts)
		answers = append(answers, answer)
	}
	ask(2, map[string]int{})
	organise(organisation.Quarantine{Tenant: tenant})
	ask(1, map[string]int{"tenant-quarantine": 1})
	organise(organisation.Release{Tenant: tenant})
	ask(2, map[string]int{})
	organise(organisation.RemoveTenant{Tenant: tenant})
	ask(1, map[string]int{"tenant-quarantine": 1})
	for _, answer := range answers {
		proof, err := service.Prove(b.ctx, org, answer.Envelope)
		require.NoError(t, err)
		require.Equal(t, recalls.Verified, proof.Result, proof.Reason)
	}
}

func requireRefused(t *testing.T, code string, err error) {
	t.Helper()
	refusal, ok := aggregates.AsRefusal(err)
	require.True(t, ok, "%v", err)
	require.Equal(t, code, refusal.Code)
}

// A policy that this version can't read leaves none in force: nothing is recalled or decided by the one before it, until another is
// applied (spec 8).
func TestNothingIsRecalledUnderAPolicyThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t, eventlog.NewMemory(org))
	service := b.service(nil)
	// What a later version of Iris may have stored.
	stream, err := runner.New(b.config(b.log), runner.Decider[*organisation.State, events.Event]{
		Initial: func(org string, _ events.Aggregate) *organisation.State { return organisation.Initial(org) },
		Decide: func(_ *organisation.State, e events.Event, _ aggregates.Env) ([]events.Event, error) {
			return []events.Event{e}, nil
		},
		Evolve: organisation.Evolve,
		Keys:   func(events.Event) int { return 0 },
	})
	require.NoError(t, err)
	store := func(e events.Event) uint64 {
		id, err := events.RandomID()
		require.NoError(t, err)
		done, err := stream.Run(b.ctx, runner.Command[events.Event]{
			Organisation: org, Aggregate: events.Organisation(), ID: id, Received: events.At(time.Now()), Actor: events.Actor{ID: "iris", Kind: events.ActorAdmin},
			Setting: runner.Setting{Policy: policy.Default()}, Request: []byte(id), Body: e,
		})
		require.NoError(t, err)
		return done.Position
	}
	store(&events.OrganisationFounded{OrganizationID: org})
	before, err := b.recall(service)
	require.NoError(t, err)
	require.Equal(t, []events.ID{b.memory}, before.Result.ReturnedIDs)

	position := store(&events.PolicyApplied{Version: "2", SHA256: strings.Repeat("0", 64), Document: []byte(`{"version":"2","later":true}`)})
	_, err = b.recall(service)
	requireRefused(t, "policy_unreadable", err)
	proof, err := service.Prove(b.ctx, org, before.Envelope)
	require.NoError(t, err)
	require.Equal(t, recalls.Verified, proof.Result, "what was recalled before stays provable: %s", proof.Reason)
	before.Envelope.Heads[1].Sequence = strconv.FormatUint(position, 10) // of the organisation
	_, err = service.Prove(b.ctx, org, before.Envelope)
	requireRefused(t, "policy_unreadable", err)

	store(&events.PolicyApplied{Version: "3", SHA256: policy.Default().SHA256(), Document: policy.Default().Canonical()})
	after, err := b.recall(service)
	require.NoError(t, err)
	require.Equal(t, []events.ID{b.memory}, after.Result.ReturnedIDs)
}
