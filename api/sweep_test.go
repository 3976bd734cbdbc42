package api_test

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/runner"
)

const fromC1 = `[{"kind":"conversation","ref":"canary-5e"}]`

// "Forget everything from this source": memories and drafts, at once, and each can be restored by itself (spec 1.2).
func TestForgetEverythingFromASource(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	one, _ := b.own(ada, "sourceRefs", fromC1)
	b.own(ada, "body", `"I like tea."`)
	b.own(b.member(acme, "ben"), "sourceRefs", fromC1)
	claim := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal("sourceRefs", fromC1)))).ProposalID

	call := remove("/v1/me/memory?source_ref=canary-5e", ada).with("Idempotency-Key", "s-1")
	got := b.ok(call)
	swept := into[map[string]any](b, got)
	require.EqualValues(t, 1, swept["memories"])
	require.EqualValues(t, 1, swept["proposals"])
	require.NotNil(t, swept["forgetAt"])
	again := b.ok(call)
	require.Equal(t, got.body, again.body)
	require.Equal(t, got.position, again.position)
	require.Equal(t, []string{"I like tea."}, b.bodies(assistant))
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory", ada).waiting(got.position))).Items, 1)
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory?forgotten=true", ada))).Items, 1)
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/proposals", ada))).Items)
	b.refused(post("/v1/me/proposals/"+claim+"/accept", ada, "{}"), http.StatusConflict, "proposal_answered")
	require.Len(t, b.bodies(b.assistant(acme, "ben")), 1, "another member's source of that name")
	history := into[listed](b, b.ok(get(one+"/history", ada))).Items
	require.Equal(t, "iris.memories.forgotten.v1", history[0]["event"])

	b.ok(post(one+"/restore", ada, ""))
	require.Len(t, b.bodies(assistant), 2)
	nothing := into[map[string]any](b, b.ok(remove("/v1/me/memory?source_ref=c-9", ada)))
	require.EqualValues(t, 0, nothing["memories"])
	require.Nil(t, nothing["forgetAt"])
	for _, path := range []string{"/v1/me/memory", "/v1/me/memory?source_ref=canary-5e&scope=notebook:n-1", "/v1/me/memory?scope=profile:x", "/v1/me/memory?scope=notebook:", "/v1/me/memory?source_ref="} {
		b.refused(remove(path, ada), http.StatusBadRequest, "invalid_parameter")
	}
	require.NotContains(t, b.logged.String(), "canary-5e")
}

// A source is found however its name was composed, and however long it may be.
func TestForgetASourceByAnyNameOfIt(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	long := strings.Repeat("\u00e9", 512)
	for proposed, asked := range map[string]string{
		"re\u0301sume\u0301-1": "r\u00e9sum\u00e9-1", "caf\u00e9-2": "cafe\u0301-2", long: "conversation:" + long,
	} {
		b.own(ada, "body", quoted("Of "+asked[:4]+"."), "sourceRefs", `[{"kind":"conversation","ref":`+quoted(proposed)+`}]`)
		swept := into[map[string]any](b, b.ok(remove("/v1/me/memory?source_ref="+url.QueryEscape(asked), ada)))
		require.EqualValues(t, 1, swept["memories"], asked)
	}
	b.refused(remove("/v1/me/memory?source_ref="+strings.Repeat("x", 578), ada), http.StatusBadRequest, "invalid_parameter")
}

func TestANotebookEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	in := func(id string) []string {
		return []string{"scope", `{"kind":"notebook","notebookId":"` + id + `"}`, "body", `"In ` + id + `."`}
	}
	b.own(ada, in("n-1")...)
	b.own(ada, in("n-2")...)
	got := b.ok(remove("/v1/me/memory?scope=notebook:n-1", ada))
	require.EqualValues(t, 1, into[map[string]any](b, got)["memories"])
	left := into[listed](b, b.ok(get("/v1/me/memory", ada).waiting(got.position))).Items
	require.Len(t, left, 1)
	require.Equal(t, "In n-2.", left[0]["body"])
}

// What a sweep hid and has not named, since it was cut off, is as gone as the rest once its forget is final (spec 2.1): the read models
// know nothing of it, the book does.
func TestWhatASweepHasNotNamedIsGoneInTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	paths := []string{}
	for _, body := range []string{`"One."`, `"Two."`, `"Three."`} {
		path, _ := b.own(ada, "body", body)
		paths = append(paths, path)
	}
	position := b.cutOff("ada", "sweep-1")
	for _, path := range paths {
		require.NotNil(t, into[map[string]any](b, b.ok(get(path, ada).waiting(position)))["forgetAt"])
	}
	b.offset.Add(int64(91 * 24 * time.Hour))
	ada = b.member(acme, "ada")
	for _, path := range paths {
		b.refused(get(path, ada), http.StatusNotFound, "not_found")
		for _, revision := range into[listed](b, b.ok(get(path+"/history", ada))).Items {
			require.Equal(t, true, revision["erased"])
			require.Empty(t, revision["body"])
		}
	}
}

// A sweep in several commits that is cut off after the first: nothing of it is used or listed from then on, and repeating it under the
// same key finishes it (spec 9.2).
func TestASweepThatWasCutOffIsFinished(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.join(acme, "ada")
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	for _, body := range []string{`"One."`, `"Two."`, `"Three."`, `"Four."`, `"Five."`} {
		b.own(ada, "body", body)
	}
	b.own(ada, "body", `"Elsewhere."`, "program", `"atlas"`)
	draft := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal("body", `"Six."`)))).ProposalID
	b.acts.MaxSwept = 2

	const key = "sweep-1"
	position := b.cutOff("ada", key)
	require.Empty(t, b.bodies(assistant))
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory", ada).waiting(position))).Items, 1)
	one := "/v1/me/memory/" + draft
	b.refused(get(one, ada), http.StatusNotFound, "not_found")
	require.Equal(t, true, into[listed](b, b.ok(get(one+"/history", ada))).Items[0]["erased"], "a draft is over at once, named or not")

	call := remove("/v1/programs/default/agent-memory", ada).with("Idempotency-Key", key)
	got := b.ok(call)
	require.EqualValues(t, 5, into[map[string]any](b, got)["memories"])
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory?forgotten=true", ada).waiting(got.position))).Items, 5)
	last := b.lasts()
	require.Equal(t, got.body, b.ok(call).body)
	require.Equal(t, last, b.lasts(), "there is nothing left to do")
	require.Len(t, into[listed](b, b.ok(get("/v1/programs/atlas/agent-memory", ada))).Items, 1)
	b.refused(remove("/v1/programs/nowhere/agent-memory", ada), http.StatusNotFound, "not_found")
	b.refused(remove("/v1/programs/atlas/agent-memory", b.member(acme, "ben")), http.StatusNotFound, "not_found")
	require.EqualValues(t, 0, into[map[string]any](b, b.ok(remove("/v1/programs/default/agent-memory", b.member(borealis, "ada"))))["memories"])
}

// cutOff stores the first part alone of what forgets everything of program default, two memories, as a process would leave it that
// dies after it.
func (b *bundle) cutOff(subject, key string) (position string) {
	b.t.Helper()
	c := acts.Caller{Organisation: acme, Member: b.memberID(acme, subject), Principal: identity.Principal{Issuer: issuerURL, Subject: subject, Client: pages}}
	require.NoError(b.t, b.acts.Organisations.View(context.Background(), acme, events.Organisation(), func(s *organisation.State, _ uint64) error {
		c.Defined = s
		return nil
	}))
	first := events.CommandID(acme, issuerURL, subject, "", pages, "DELETE /v1/programs/default/agent-memory", key)
	what := events.Sweep{Kind: events.SweepProgram, Program: "default"}
	canonical, err := events.Canonical(what)
	require.NoError(b.t, err)
	outcome, err := b.acts.Members.Run(context.Background(), runner.Command[member.Command]{
		Organisation: acme, Aggregate: events.Member(c.Member), ID: first, Received: events.At(b.now()), Request: canonical,
		Actor: events.Actor{ID: string(c.Member), Kind: events.ActorMember}, Setting: runner.Setting{Policy: c.Defined.Policy, Defined: c.Defined},
		Body: member.ForgetMany{Sweep: what, SweepID: first, Most: 2},
	})
	require.NoError(b.t, err)
	require.Len(b.t, outcome.Events, 1)
	return strconv.FormatUint(outcome.Position, 10)
}
