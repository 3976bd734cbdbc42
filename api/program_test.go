package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/runner"
)

// join lets a member into the program atlas.
func (b *bundle) join(org, subject string) {
	b.t.Helper()
	id := b.memberID(org, subject)
	var defined *organisation.State
	require.NoError(b.t, b.acts.Organisations.View(context.Background(), org, events.Organisation(), func(s *organisation.State, _ uint64) error {
		defined = s
		return nil
	}))
	_, err := b.acts.Members.Run(context.Background(), runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(id), ID: events.CommandID(org, string(id), "atlas"), Received: events.At(b.now()),
		Actor: events.Actor{ID: "iris", Kind: events.ActorSystem}, Setting: runner.Setting{Policy: defined.Policy, Defined: defined},
		Request: []byte("join"), Body: member.Join{Program: "atlas"},
	})
	require.NoError(b.t, err)
}

type promoted struct {
	MemoryID, Outcome, Reason, Tier string
	RevisionID                      *string
}

// The two-program tier-2 test (spec 1.9): what was promoted is recalled in every program, tier 1 in its own only. The member sees one
// memory, and forgets one.
func TestAPromotedMemoryIsRecalledInEveryProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.join(acme, "ada")
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	bodies := func(program string) []string {
		said := []string{}
		for _, e := range into[recalled](b, b.ok(post("/v1/recall", assistant, question("program", quoted(program))))).Entries {
			said = append(said, e["body"].(string)+" "+e["tier"].(string))
		}
		return said
	}
	mine := into[kept](b, b.ok(post("/v1/me/memory", ada, words("program", `"atlas"`, "subject", `"answers"`, "sourceRefs", `[{"kind":"conversation","ref":"c-1"}]`)))).MemoryID
	b.own(ada, "body", `"In default I like tables."`)
	require.Equal(t, []string{"I like short answers. individual"}, bodies("atlas"))
	require.Equal(t, []string{"In default I like tables. individual"}, bodies("default"))

	call := post("/v1/programs/atlas/agent-memory/"+mine+"/promote", ada, "").with("Idempotency-Key", "p-1")
	got := b.ok(call)
	p := into[promoted](b, got)
	require.Equal(t, "person", p.Tier)
	require.NotNil(t, p.RevisionID)
	require.NotEqual(t, mine, p.MemoryID)
	again := b.ok(call)
	require.Equal(t, got.body, again.body)
	require.Equal(t, got.position, again.position)
	require.ElementsMatch(t, []string{"I like short answers. person"}, bodies("atlas"))
	require.ElementsMatch(t, []string{"I like short answers. person", "In default I like tables. individual"}, bodies("default"))

	// One memory, at the person's namespace, without the provenance of the old one.
	list := into[listed](b, b.ok(get("/v1/me/memory?tier=person", ada).waiting(got.position)))
	require.Len(t, list.Items, 1)
	require.Equal(t, "org/acme/user/"+string(b.memberID(acme, "ada")), list.Items[0]["namespace"])
	require.Equal(t, mine, list.Items[0]["promotedFrom"])
	require.Equal(t, []any{}, list.Items[0]["sourceRefs"])
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory", ada))).Items, 2)
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory?lifecycle=superseded", ada))).Items, 1)
	require.Empty(t, into[listed](b, b.ok(get("/v1/programs/atlas/agent-memory", ada))).Items)
	require.Len(t, into[listed](b, b.ok(get("/v1/programs/default/agent-memory", ada))).Items, 1)
	history := into[listed](b, b.ok(get("/v1/me/memory/"+mine+"/history", ada))).Items
	require.Equal(t, "iris.memory.promoted.v1", history[0]["event"])
	require.Equal(t, "I like short answers.", history[0]["body"], "its own text stays its own")
	found := into[listed](b, b.ok(get("/v1/me/memory?q=answers&tier=person", ada).waiting(got.position))).Items
	require.Len(t, found, 1)

	// What the member forgets is forgotten in both places, and comes back in both.
	got = b.ok(remove("/v1/me/memory/"+p.MemoryID, ada))
	require.Empty(t, bodies("atlas"))
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory?forgotten=true", ada).waiting(got.position))).Items, 2)
	b.ok(post("/v1/me/memory/"+p.MemoryID+"/restore", ada, ""))
	require.Equal(t, []string{"I like short answers. person"}, bodies("atlas"))
}

// What stops a promotion, each with its code, and nothing changes (spec 1.5, 1.7).
func TestWhatStopsAPromotion(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.join(acme, "ada")
	ada := b.member(acme, "ada")
	promote := func(program, path string) request {
		return post("/v1/programs/"+program+"/agent-memory/"+path[len("/v1/me/memory/"):]+"/promote", ada, "")
	}
	lesson, _ := b.own(ada, "kind", `"lesson"`)
	b.refused(promote("default", lesson), http.StatusUnprocessableEntity, "kind_not_promotable")

	leaking, revision := b.own(ada, "body", `"👋 Write to ada@example.org."`)
	before := b.lasts()
	got := b.do(promote("default", leaking))
	require.Equal(t, http.StatusUnprocessableEntity, got.status)
	problem := into[struct {
		Code, Field string
		Findings    []struct {
			Item       string
			Start, End int
		}
	}](b, got)
	require.Equal(t, "scrub_findings", problem.Code)
	require.Equal(t, "body", problem.Field)
	require.Len(t, problem.Findings, 1)
	require.Equal(t, "email_address", problem.Findings[0].Item)
	require.Equal(t, []int{11, 26}, []int{problem.Findings[0].Start, problem.Findings[0].End}, "in code points")
	require.NotContains(t, string(got.body), "ada@example.org")
	require.Equal(t, before, b.lasts())
	require.NotContains(t, b.logged.String(), "example.org")
	b.ok(patch(leaking, ada, revision, `{"body":"Write to my desk."}`))
	b.ok(promote("default", leaking))

	named, _ := b.own(ada, "body", `"Call me ada in letters."`) // the directory knows the member as that
	b.refused(promote("default", named), http.StatusUnprocessableEntity, "scrub_findings")

	// Another program, another member, another organisation, a program that one isn't in: all unknown.
	own, _ := b.own(ada, "body", `"I like long walks."`)
	b.refused(promote("atlas", own), http.StatusNotFound, "not_found")
	b.refused(promote("nowhere", own), http.StatusNotFound, "not_found")
	id := own[len("/v1/me/memory/"):]
	for _, other := range []string{b.member(acme, "ben"), b.member(borealis, "ada")} {
		b.refused(post("/v1/programs/default/agent-memory/"+id+"/promote", other, ""), http.StatusNotFound, "not_found")
		b.refused(remove("/v1/programs/default/agent-memory/"+id, other), http.StatusNotFound, "not_found")
		require.Empty(t, into[listed](b, b.ok(get("/v1/programs/default/agent-memory", other))).Items)
		b.refused(get("/v1/programs/atlas/agent-memory", other), http.StatusNotFound, "not_found")
	}
	b.refused(remove("/v1/programs/atlas/agent-memory/"+id, ada), http.StatusNotFound, "not_found")
	without := b.mint(devissuer.Claims{Subject: "ada", Client: pages, Organisation: acme})
	b.refused(remove("/v1/programs/default/agent-memory/"+id, without), http.StatusForbidden, "permission_missing")
	b.ok(get("/v1/programs/default/agent-memory", without)) // everyone in the program reads their own
	b.ok(remove("/v1/programs/default/agent-memory/"+id, ada))

	// A newer one of the person takes the older one's place; what the member stated stays before what was confirmed only by time.
	first, _ := b.own(ada, "body", `"I like miles."`, "subject", `"units"`, "program", `"atlas"`)
	old := into[promoted](b, b.ok(promote("atlas", first)))
	second, _ := b.own(ada, "body", `"I like metres."`, "subject", `"units"`)
	position := b.ok(promote("default", second)).position
	list := into[listed](b, b.ok(get("/v1/me/memory?tier=person&lifecycle=superseded", ada).waiting(position)))
	require.Len(t, list.Items, 1)
	require.Equal(t, old.MemoryID, list.Items[0]["memoryId"])
}
