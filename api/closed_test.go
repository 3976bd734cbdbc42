package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/policy"
	"iris.example/iris/runner"
)

// losePolicy stores what a later version of Iris may have: a policy that this one can't read.
func (b *bundle) losePolicy(org, version string) {
	b.t.Helper()
	later, err := runner.New(runner.Config{Log: b.log, Codec: b.acts.Codec, Keys: b.vault, Screen: b.acts.Screen, Now: b.now}, runner.Decider[*organisation.State, events.Event]{
		Initial: func(org string, _ events.Aggregate) *organisation.State { return organisation.Initial(org) },
		Decide: func(_ *organisation.State, e events.Event, _ aggregates.Env) ([]events.Event, error) {
			return []events.Event{e}, nil
		},
		Evolve: organisation.Evolve,
		Keys:   func(events.Event) int { return 0 },
	})
	require.NoError(b.t, err)
	_, err = later.Run(context.Background(), runner.Command[events.Event]{
		Organisation: org, Aggregate: events.Organisation(), ID: events.CommandID(org, "policy", version), Received: events.At(b.now()),
		Actor: events.Actor{ID: "iris", Kind: events.ActorAdmin}, Setting: runner.Setting{Policy: policy.Default()}, Request: []byte(version),
		Body: &events.PolicyApplied{Version: version, SHA256: strings.Repeat("0", 64), Document: []byte(`{"version":"` + version + `","later":true}`)},
	})
	require.NoError(b.t, err)
}

// While nobody can read the policy in force nothing is said and nothing let in, and a member takes back whatever they want. When it can
// be read again, what was taken back is.
func TestAMemberTakesBackWhileThePolicyCannotBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant, admin := b.member(acme, "ada"), b.assistant(acme, "ada"), b.admin(acme)
	b.ok(put("/v1/admin/roles/reviewer", admin, ""))
	forgotten, _ := b.own(ada, "body", `"Likes rain."`)
	paused, _ := b.own(ada, "body", `"Likes fog."`)
	b.own(ada, "body", `"Likes snow."`)
	lesson, _ := b.own(ada, "kind", `"lesson"`, "body", `"Check the units before the numbers."`)
	shared := post("/v1/programs/default/agent-memory/"+lesson[len("/v1/me/memory/"):]+"/propose-share", ada, `{"role":"reviewer"}`)
	b.ok(shared)
	open := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal()))).ProposalID
	granted := b.consent(ada, "data_storage")["eventId"].(string)
	ask := func() recalled { return into[recalled](b, b.ok(post("/v1/recall", assistant, question()))) }
	bodies := func() (all []any) {
		for _, e := range ask().Entries {
			all = append(all, e["body"])
		}
		return all
	}
	require.Len(t, bodies(), 4)
	before, err := b.log.Last(context.Background(), events.StreamFor(acme))
	require.NoError(t, err)

	b.losePolicy(acme, "2")
	const code = "policy_unreadable"
	decision := func(key, decision string) request {
		return post("/v1/me/consents", ada, `{"key":`+quoted(key)+`,"decision":`+quoted(decision)+
			`,"termsId":"memory","termsVersion":"2026-11","source":"settings-toggle","locale":"en","shown":"May I?"}`)
	}
	for _, waits := range []request{
		post("/v1/recall", assistant, question()), post("/v1/proposals", assistant, proposal("body", `"Likes hail."`)), decision("goal", "grant"),
		post("/v1/me/proposals/"+open+"/accept", ada, "{}"), post("/v1/me/memory", ada, words("body", `"Likes hail."`)),
		post(paused+"/resume", ada, ""),
	} {
		b.refused(waits, http.StatusServiceUnavailable, code)
	}

	withdrawn := into[map[string]any](b, b.ok(post("/v1/me/consents/"+granted+"/withdraw", ada, "")))
	require.Equal(t, "withdrawn", withdrawn["state"])
	require.NotEmpty(t, withdrawn["receipt"])
	b.ok(decision("medical", "deny"))
	b.ok(remove(forgotten, ada))
	b.ok(post(paused+"/pause", ada, "{}"))
	b.ok(post("/v1/me/proposals/"+open+"/decline", ada, "{}"))
	b.ok(put("/v1/me/opt-outs", ada, `[{"kind":"category","key":"goal"}]`))
	last := b.ok(put("/v1/me/settings", ada, `{"implicitPromotion":false}`))
	b.refused(put("/v1/me/opt-outs", ada, `[]`), http.StatusServiceUnavailable, code)
	b.refused(post(forgotten+"/restore", ada, ""), http.StatusServiceUnavailable, code)
	b.refused(post("/v1/recall", assistant, question()), http.StatusServiceUnavailable, code)
	require.Equal(t, []any{"withdrawn"}, pluck(into[listed](b, b.ok(get("/v1/role-memory/reviewer/candidates", b.persona(acme, "ben", 4, identity.RoleMemoryManage)))), "state"), "the withdrawal climbed")
	b.ok(get("/v1/me/memory", ada).waiting(last.position))

	for _, named := range b.policiesAfter(acme, before+1) { // the first is the one that was lost
		require.Equal(t, policy.ClosedVersion, named, "a decision names what it was made under")
	}

	b.ok(put("/v1/admin/policy", admin, strings.Replace(string(policy.Default().Canonical()), `"version":"1"`, `"version":"3"`, 1)))
	require.Empty(t, bodies(), "data_storage is withdrawn")
	b.refused(post("/v1/me/memory", ada, words("body", `"Likes hail."`)), http.StatusUnprocessableEntity, "consent_required")
	b.ok(decision("data_storage", "grant"))
	require.ElementsMatch(t, []any{"Likes snow.", "Check the units before the numbers."}, bodies(), "one was forgotten, one paused")
}

func pluck(of listed, name string) (all []any) {
	for _, item := range of.Items {
		all = append(all, item[name])
	}
	return all
}

// policiesAfter is the version that each event of the stream names, from after a position on.
func (b *bundle) policiesAfter(org string, after uint64) (versions []string) {
	b.t.Helper()
	ctx := context.Background()
	last, err := b.log.Last(ctx, events.StreamFor(org))
	require.NoError(b.t, err)
	for n := after + 1; n <= last; n++ {
		m, err := b.log.At(ctx, events.StreamFor(org), n)
		require.NoError(b.t, err)
		commit, _, err := events.Read(m.Sequence, m.Body)
		require.NoError(b.t, err)
		for _, e := range commit.Events {
			versions = append(versions, e.Policy)
		}
	}
	require.NotEmpty(b.t, versions)
	return versions
}
