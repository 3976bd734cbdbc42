package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/api"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/policy"
)

type person struct {
	MemberID    string
	DisplayName *string
	Programs    []struct {
		Program, State string
		ForgetAt       *string
	}
	Roles, InspectionRoles []struct{ Role string }
}

type people struct {
	Items []person
	Next  *string
}

// An administrator's day: somebody comes, holds roles, leaves, comes back and is gone.
func TestWhoBelongsWhere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	enrolled := into[map[string]any](b, b.ok(put("/v1/admin/members", admin, `{"subject":"dora","displayName":"Dora"}`)))
	require.Equal(t, true, enrolled["created"])
	dora := enrolled["memberId"].(string)
	again := into[map[string]any](b, b.ok(put("/v1/admin/members", admin, `{"subject":"dora","displayName":"Dora Lee"}`)))
	require.Equal(t, map[string]any{"memberId": dora, "created": false}, again)

	b.refused(put("/v1/admin/members", admin, `{"subject":"do\u000ara"}`), http.StatusBadRequest, "invalid_text")
	b.refused(put("/v1/admin/members", admin, `{"subject":"dora","displayName":"Dora\u001b[2J"}`), http.StatusBadRequest, "invalid_text")
	b.ok(put("/v1/admin/members", admin, `{"subject":"dora","displayName":"Dora Le\u0301e"}`))
	require.Equal(t, "Dora L\u00e9e", *into[person](b, b.ok(get("/v1/admin/members/"+dora, admin))).DisplayName)
	b.ok(put("/v1/admin/members", admin, `{"subject":"dora","displayName":"Dora Lee"}`))

	b.ok(put("/v1/admin/programs/atlas", admin, ""))
	b.ok(put("/v1/admin/programs/atlas", admin, ""))
	b.ok(put("/v1/admin/roles/reviewer", admin, ""))
	b.refused(put("/v1/admin/roles/legal", admin, ""), http.StatusUnprocessableEntity, "role_reserved")
	membership, holder, inspector := "/v1/admin/memberships/"+dora+"/atlas", "/v1/admin/roles/reviewer/holders/"+dora, "/v1/admin/inspection-roles/legal/holders/"+dora
	b.refused(put(membership, admin, `{"resume":true}`), http.StatusConflict, "membership_unknown")
	b.ok(put(membership, admin, ""))
	b.ok(put(holder, admin, ""))
	got := b.ok(put(inspector, admin, ""))

	one := into[person](b, b.ok(get("/v1/admin/members/"+dora, admin).waiting(got.position)))
	require.Equal(t, "Dora Lee", *one.DisplayName)
	require.Equal(t, "reviewer", one.Roles[0].Role)
	require.Equal(t, "legal", one.InspectionRoles[0].Role)
	require.Equal(t, "current", one.Programs[0].State)
	all := into[people](b, b.ok(get("/v1/admin/members?limit=1", admin)))
	require.Equal(t, dora, all.Items[0].MemberID)
	require.Nil(t, all.Items[0].DisplayName, "a list has no names")
	require.NotNil(t, all.Next)
	rest := into[people](b, b.ok(get("/v1/admin/members?limit=50&cursor="+*all.Next, admin)))
	require.NotContains(t, string(mustJSON(t, rest)), dora)
	for _, path := range []string{"/v1/admin/roles/reviewer/holders", "/v1/admin/inspection-roles/legal/holders"} {
		require.Contains(t, string(b.ok(get(path, admin)).body), dora)
		require.NotContains(t, string(b.ok(get(path, admin)).body), "Dora")
	}

	ended := into[map[string]any](b, b.ok(remove(membership, admin).with("Idempotency-Key", "leave")))
	require.Equal(t, "ended", ended["state"])
	at, err := time.Parse(time.RFC3339, ended["forgetAt"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, b.now().Add(90*24*time.Hour), at, time.Minute)
	repeated := into[map[string]any](b, b.ok(remove(membership, admin).with("Idempotency-Key", "leave")))
	require.Equal(t, ended, repeated)
	b.ok(put(membership, admin, `{"resume":true}`))
	b.ok(remove(holder, admin))
	b.ok(remove(holder, admin))
	got = b.ok(remove(inspector, admin))
	require.NotContains(t, string(b.ok(get("/v1/admin/roles/reviewer/holders", admin).waiting(got.position)).body), dora)

	gone := b.ok(remove("/v1/admin/members/"+dora, admin).with("Idempotency-Key", "gone"))
	require.Equal(t, string(gone.body), string(b.ok(remove("/v1/admin/members/"+dora, admin).with("Idempotency-Key", "gone")).body))
	for _, r := range []request{
		remove("/v1/admin/members/"+dora, admin), put(membership, admin, ""), remove(membership, admin), put(holder, admin, ""), put(inspector, admin, ""),
		get("/v1/admin/members/"+dora, admin).waiting(gone.position),
	} {
		b.refused(r, http.StatusNotFound, "not_found")
	}
	require.NotContains(t, string(b.ok(get("/v1/admin/members", admin)).body), dora)
	fresh := into[map[string]any](b, b.ok(put("/v1/admin/members", admin, `{"subject":"dora"}`)))
	require.NotEqual(t, dora, fresh["memberId"], "who comes back is somebody new")
	require.NotContains(t, b.stream(acme), "Dora")
	require.NotContains(t, b.logged.String(), "dora")
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	content, err := json.Marshal(v)
	require.NoError(t, err)
	return content
}

// What a member kept in a program that they left: seen and forgettable until its instant, then forgotten; not added to meanwhile.
func TestAMembershipEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin, ada := b.admin(acme), b.member(acme, "ada")
	memory, _ := b.keep(acme, "ada")
	id := string(b.memberID(acme, "ada"))
	got := b.ok(remove("/v1/admin/memberships/"+id+"/default", admin))

	b.refused(post("/v1/me/memory", ada, words("body", `"Likes rain."`)), http.StatusUnprocessableEntity, "not_in_program")
	b.refused(post("/v1/proposals", b.assistant(acme, "ada"), proposal("body", `"Likes snow."`)), http.StatusUnprocessableEntity, "not_in_program")
	b.refused(post("/v1/recall", b.assistant(acme, "ada"), question()), http.StatusUnprocessableEntity, "not_in_program")
	b.ok(get("/v1/me/memory/"+memory, ada).waiting(got.position))
	require.Contains(t, string(b.ok(get("/v1/me/memory", ada)).body), memory)

	b.offset.Store(int64(91 * 24 * time.Hour))
	admin, ada = b.admin(acme), b.member(acme, "ada")
	require.NotContains(t, string(b.ok(get("/v1/me/memory", ada)).body), memory)
	require.Contains(t, string(b.ok(get("/v1/me/memory?forgotten=true", ada)).body), memory)
	b.ok(put("/v1/admin/memberships/"+id+"/default", admin, ""))
	require.Empty(t, into[recalled](b, b.ok(post("/v1/recall", b.assistant(acme, "ada"), question()))).Entries, "coming back late brings nothing back")
	got = b.ok(post("/v1/me/memory/"+memory+"/restore", ada, ""))
	require.Len(t, into[recalled](b, b.ok(post("/v1/recall", b.assistant(acme, "ada"), question()))).Entries, 1)
	require.Contains(t, string(b.ok(get("/v1/me/memory", ada).waiting(got.position)).body), memory)
}

// A feed's line: one commit, once under its key, and nobody is registered by a line that can't be carried out.
func TestAFeedsLine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	b.ok(put("/v1/admin/roles/reviewer", admin, ""))
	change := func(body string) request { return post("/v1/admin/memberships", admin, body) }
	start := change(`{"subject":"emil","displayName":"Emil","program":"default","action":"start","rolesGiven":["reviewer"]}`).with("Idempotency-Key", "line-1")
	first := into[map[string]any](b, b.ok(start))
	require.Equal(t, "changed", first["outcome"])
	before := b.lasts()
	require.Equal(t, first, into[map[string]any](b, b.ok(start)))
	require.Equal(t, "unchanged", into[map[string]any](b, b.ok(start.with("Idempotency-Key", "line-2")))["outcome"])
	for body, want := range map[string]string{
		`{"subject":"nobody","program":"default","action":"end"}`:                                 "404 not_found",
		`{"subject":"nobody","program":"nowhere","action":"start"}`:                               "422 program_unknown",
		`{"subject":"nobody","program":"default","action":"start","rolesGiven":["statistician"]}`: "422 role_unknown",
		`{"subject":"emil","rolesGiven":["reviewer"],"rolesTaken":["reviewer"]}`:                  "422 role_named_twice",
		`{"subject":"emil","rolesGiven":["legal"]}`:                                               "422 role_unknown",
		`{"subject":"emil"}`: "400 schema_violation",
		`{"subject":"emil\u0000","rolesTaken":["reviewer"]}`: "400 invalid_text",
	} {
		got := b.do(change(body))
		require.Equal(t, want, fmt.Sprint(got.status, " ", into[problem](b, got).Code), body)
	}
	require.Equal(t, before, b.lasts())
	ended := into[map[string]any](b, b.ok(change(`{"subject":"emil","program":"default","action":"end","rolesTaken":["reviewer"]}`)))
	require.NotNil(t, ended["forgetAt"])
	require.Equal(t, "changed", into[map[string]any](b, b.ok(change(`{"subject":"emil","program":"default","action":"resume"}`)))["outcome"])
	require.NotContains(t, b.stream(acme), "emil")
}

// A policy that weakens a given rule is refused with the rule and the place; a stricter one binds what starts after the answer.
func TestAPolicyIsPutInForce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	inForce := into[map[string]any](b, b.ok(get("/v1/admin/policy", admin)))
	require.Equal(t, "1", inForce["version"])
	shipped := string(policy.Default().Canonical())
	as := func(pairs ...string) string {
		return strings.NewReplacer(append([]string{`"version":"1"`, `"version":"2"`}, pairs...)...).Replace(shipped)
	}
	for body, want := range map[string][2]string{
		as(`"IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD":3`, `"IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD":1`): {"policy_weakens_given_rule", "/IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD"},
		as(`"graceDays":30`, `"graceDays":0`):              {"policy_invalid", "/forget/graceDays"},
		as(`"graceDays":30`, `"graceDays":30,"amnesia":1`): {"policy_malformed", "/forget/amnesia"},
	} {
		p := b.refused(put("/v1/admin/policy", admin, body), http.StatusUnprocessableEntity, want[0])
		require.Equal(t, want[1], p.Errors[0].Pointer)
	}
	b.refused(put("/v1/admin/policy", admin, strings.Replace(shipped, `"graceDays":30`, `"graceDays":29`, 1)), http.StatusConflict, "policy_version_taken")
	strict := as(`"lapseDays":14`, `"lapseDays":1`)
	applied := into[map[string]any](b, b.ok(put("/v1/admin/policy", admin, strict)))
	require.Equal(t, "2", applied["version"])
	require.Equal(t, applied["sha256"], into[map[string]any](b, b.ok(get("/v1/admin/policy", admin)))["sha256"])
	require.Equal(t, "1", into[map[string]any](b, b.ok(get("/v1/admin/policy", b.admin(borealis))))["version"])
	got := b.ok(post("/v1/proposals", b.assistant(acme, "ada"), proposal()))
	pending := into[struct{ Items []struct{ ExpiresAt string } }](b, b.ok(get("/v1/me/proposals", b.member(acme, "ada")).waiting(got.position)))
	at, err := time.Parse(time.RFC3339, pending.Items[0].ExpiresAt)
	require.NoError(t, err)
	require.WithinDuration(t, b.now().Add(24*time.Hour), at, time.Minute)
}

func TestClientsAndTenants(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	b.ok(put("/v1/admin/clients/shell-app", admin, `{"consumers":["shell"]}`))
	require.Contains(t, string(b.ok(get("/v1/admin/clients", admin)).body), "shell-app")
	once := put("/v1/admin/clients/shell-app", admin, `{"consumers":["shell","tara"]}`).with("Idempotency-Key", "once")
	first := b.ok(once)
	require.Equal(t, first.position, b.ok(once).position)
	once.body = `{"consumers":["tara"]}`
	b.refused(once, http.StatusUnprocessableEntity, "idempotency_key_reused")
	b.refused(put("/v1/admin/clients/shell-app", admin, `{"consumers":["anyone"]}`), http.StatusBadRequest, "schema_violation")
	b.refused(remove("/v1/admin/clients/nobody", admin), http.StatusNotFound, "not_found")
	b.ok(remove("/v1/admin/clients/"+assistantApp, admin))
	b.refused(post("/v1/recall", b.assistant(acme, "ada"), question()), http.StatusForbidden, "claim_mismatch")
	b.refused(get("/v1/me/memory", b.assistant(acme, "ada")), http.StatusForbidden, "member_required")
	require.NotContains(t, string(b.ok(get("/v1/admin/clients", admin)).body), assistantApp)

	b.refused(put("/v1/admin/tenants/north/quarantine", admin, ""), http.StatusNotFound, "not_found")
	for _, step := range []struct {
		request
		state string
	}{
		{put("/v1/admin/tenants/north", admin, ""), "active"}, {put("/v1/admin/tenants/north/quarantine", admin, ""), "quarantined"},
		{remove("/v1/admin/tenants/north/quarantine", admin), "active"}, {remove("/v1/admin/tenants/north", admin), "removed"},
	} {
		require.JSONEq(t, `{"tenant":"north","state":"`+step.state+`"}`, string(b.ok(step.request).body))
		require.JSONEq(t, `{"items":[{"tenant":"north","state":"`+step.state+`"}],"next":null}`, string(b.ok(get("/v1/admin/tenants", admin)).body))
	}
	require.JSONEq(t, `{"items":[],"next":null}`, string(b.ok(get("/v1/admin/tenants", b.admin(borealis))).body))
}

// With the names of one organisation's things the other's administrator gets what an unknown name gets, and changes nothing there.
// An auditor sees who administered: a member by their opaque id, a program that is nobody by its client.
func TestWhoAdministersIsOnRecord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.mint(devissuer.Claims{Subject: "ada", Client: "console", Organisation: acme, Permissions: []identity.Permission{identity.Admin}})
	nobody := b.service(acme, identity.Admin)
	for program, c := range map[string]struct{ token, actor string }{
		"by-ada": {ada, string(b.memberID(acme, "ada"))}, "by-nobody": {nobody, assistantApp},
	} {
		position, err := strconv.ParseUint(b.ok(put("/v1/admin/programs/"+program, c.token, "")).header.Get("Iris-Position"), 10, 64)
		require.NoError(t, err)
		message, err := b.log.At(t.Context(), events.StreamFor(acme), position)
		require.NoError(t, err)
		commit, err := b.acts.Codec.Decode(t.Context(), position, message.Body)
		require.NoError(t, err)
		require.Equal(t, events.Actor{ID: c.actor, Kind: events.ActorAdmin}, commit.Events[0].Actor, program)
	}
}

func TestAnotherAdministratorReachesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin, foreign := b.admin(acme), b.admin(borealis)
	for _, r := range []request{
		put("/v1/admin/programs/secret", admin, ""), put("/v1/admin/roles/reviewer", admin, ""), put("/v1/admin/tenants/north", admin, ""),
		put("/v1/admin/clients/shell-app", admin, `{"consumers":["shell"]}`),
	} {
		b.ok(r)
	}
	ada := string(b.memberID(acme, "ada"))
	got := b.ok(put("/v1/admin/roles/reviewer/holders/"+ada, admin, ""))
	before := b.lasts()
	real := strings.NewReplacer("{member}", ada, "{program}", "default", "{role}", "reviewer", "{tenant}", "north", "{client}", "shell-app")
	for _, route := range api.Routes() {
		defines := slices.Contains([]string{"/v1/admin/programs/{program}", "/v1/admin/roles/{role}", "/v1/admin/clients/{client}", "/v1/admin/tenants/{tenant}"}, route.Pattern)
		if route.Permission != identity.Admin || !strings.Contains(route.Pattern, "{") || strings.Contains(route.Pattern, "{id}") ||
			strings.Contains(route.Pattern, "{producer}") || defines && route.Method == http.MethodPut {
			continue
		}
		r := sample(route, unknownID, foreign)
		r.path = strings.Replace(real.Replace(route.Pattern), "inspection-roles/reviewer", "inspection-roles/legal", 1)
		if strings.HasSuffix(route.Pattern, "inspection-roles/{role}/holders") {
			require.JSONEq(t, `{"items":[],"next":null}`, string(b.ok(r).body))
			continue
		}
		b.refused(r, http.StatusNotFound, "not_found")
	}
	for _, path := range []string{"programs", "roles", "members", "clients", "tenants"} {
		body := string(b.ok(get("/v1/admin/"+path, foreign)).body)
		for _, theirs := range []string{"secret", "reviewer", ada, "shell-app", "north"} {
			require.NotContains(t, body, theirs, path)
		}
	}
	require.Equal(t, before, b.lasts())
	require.Contains(t, string(b.ok(get("/v1/admin/roles/reviewer/holders", admin).waiting(got.position)).body), ada)
}
