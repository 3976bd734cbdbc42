package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/api"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
)

const unknownID = "0193a000-0000-7000-8000-000000000000"

// partsOf fills in what a path names beside an id: nothing that is there.
var partsOf = strings.NewReplacer("{producer}", "nobody", "{program}", "nowhere", "{role}", "nothing", "{tenant}", "nobody", "{client}", "nobody",
	"{tool}", "memory.propose_note",
	"{member}", unknownID)

// sample is a request that the route understands, about a thing.
func sample(route api.Route, id, token string) request {
	r := request{method: route.Method, path: partsOf.Replace(strings.ReplaceAll(route.Pattern, "{id}", id)), token: token}
	for _, p := range route.Query {
		if p.Required {
			r.path += "?" + p.Name + "=c-1"
		}
	}
	if route.Conditional {
		r = r.with("If-Match", `"`+id+`"`)
	}
	switch route.Request {
	case "propose":
		r.body = proposal()
	case "tool":
		r.body = `{"arguments":{"body":"Prefers metric units in all tables."}}`
	case "turn":
		r.body = `{"role":"user","text":"Hello."}`
	case "item":
		r.body = item()
	case "recall":
		r.body = question()
	case "state":
		r.body = words()
	case "used":
		r.body = `{"memoryIds":["` + unknownID + `"]}`
	case "opt-outs":
		r.body = `[]`
	case "terms":
		r.body = `{"id":"memory","version":"1","locale":"en","text":"We keep it."}`
	case "member":
		r.body = `{"subject":"somebody"}`
	case "membership-change":
		r.body = `{"subject":"nobody","program":"default","action":"end"}`
	case "share":
		r.body = `{"role":"reviewer"}`
	case "client":
		r.body = `{"consumers":["assistant"]}`
	case "policy":
		r.body = `{"version":"1"}`
	case "producer":
		r.body = `{"producer":"notes","consumer":"assistant"}`
	case "consent":
		r.body = `{"key":"cross_domain","decision":"grant","termsId":"memory","termsVersion":"2026-11","source":"settings-toggle","locale":"en","shown":"May it?"}`
	}
	return r
}

// TestEveryRouteKnowsWhoAsks walks the table: no route answers without a principal but the public ones, and none without its
// permission (spec 9.5).
func TestEveryRouteKnowsWhoAsks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	public := []string{}
	all := identity.AllPermissions()
	stranger := b.mint(devissuer.Claims{Subject: "stranger", Client: assistantApp, Organisation: acme, Permissions: all, PersonaVersion: 4})
	for _, route := range api.Routes() {
		if route.Who == api.Public {
			require.Empty(t, route.Permission)
			public = append(public, route.Pattern)
			b.ok(sample(route, unknownID, ""))
			continue
		}
		before := b.lasts()
		for _, token := range []string{"", "x.y.z"} {
			p := b.refused(sample(route, unknownID, token), http.StatusUnauthorized, "unauthenticated")
			require.Len(t, p.Errors, 1)
		}
		if route.Permission != "" {
			others := slices.DeleteFunc(slices.Clone(all), func(p identity.Permission) bool { return p == route.Permission })
			token := b.mint(devissuer.Claims{Subject: "ada", Client: assistantApp, Organisation: acme, Permissions: others, PersonaVersion: 4})
			b.refused(sample(route, unknownID, token), http.StatusForbidden, "permission_missing")
		}
		if route.Who == api.Member {
			require.True(t, strings.HasPrefix(route.Pattern, "/v1/me/") || strings.HasPrefix(route.Pattern, "/v1/programs/") || strings.HasPrefix(route.Pattern, "/v1/role-memory/"))
			b.refused(sample(route, unknownID, stranger), http.StatusForbidden, "member_required")
		}
		require.Equal(t, before, b.lasts(), route.Pattern)
	}
	require.ElementsMatch(t, []string{"/v1/about", "/healthz", "/readyz", "/metrics", "/openapi.json"}, public)
}

// TestTheTableIsWhole: what the checks lean on.
func TestTheTableIsWhole(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, route := range api.Routes() {
		name := route.Method + " " + route.Pattern
		require.False(t, seen[name], name)
		seen[name] = true
		require.NotEmpty(t, route.Summary, name)
		require.True(t, route.Answer != nil, name)
		require.False(t, route.Command && route.Method == http.MethodGet, name)
		require.False(t, route.Command && route.Waits, name)
		if route.Method != http.MethodGet && route.Pattern != "/v1/recall" { // a recall changes nothing that is remembered
			require.True(t, route.Command, name)
		}
		if strings.HasPrefix(route.Pattern, "/v1/me/") {
			require.Equal(t, api.Member, route.Who, name)
		}
		if strings.HasPrefix(route.Pattern, "/v1/audit/") {
			require.Equal(t, identity.AuditRead, route.Permission, name)
		}
	}
}

// TestAnotherOrganisationSeesNothing: with every id of one organisation, the other's people get the answer that an unknown id
// gets, byte for byte (spec 9.5).
func TestAnotherOrganisationSeesNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	memory, _ := b.keep(acme, "ada")
	got := b.ok(post("/v1/proposals", b.assistant(acme, "ada"), proposal("body", `"Likes tea."`, "subject", `"tea"`)))
	claim := into[claimed](b, got).ProposalID
	grant := b.consent(b.member(acme, "ada"), "data_processing", got.position)["eventId"].(string)
	recall := into[recalled](b, b.ok(post("/v1/recall", b.assistant(acme, "ada"), question()))).RecallID
	session := b.session(b.assistant(acme, "ada"), "{}")
	auditor := b.auditor(acme)
	b.ok(get("/v1/audit/recalls/"+recall+"/replay", auditor))
	parked := b.park(acme, "{", "invalid_json")
	before := b.lasts()

	foreigners := map[string][4]string{ // member, assistant, auditor, administrator
		"the same people in another organisation": {b.member(borealis, "ada"), b.assistant(borealis, "ada"), b.auditor(borealis), b.admin(borealis)},
		"another member": {b.member(acme, "ben"), "", "", ""},
		"another client": {"", b.mint(devissuer.Claims{Subject: "ada", Client: "veritas-app", Organisation: acme, Permissions: []identity.Permission{identity.Propose}}), "", ""},
	}
	for who, tokens := range foreigners {
		for _, route := range api.Routes() {
			if !strings.Contains(route.Pattern, "{id}") {
				continue
			}
			id, token := memory, tokens[0]
			switch {
			case strings.Contains(route.Pattern, "/me/proposals/"):
				id = claim
			case strings.Contains(route.Pattern, "/consents/"):
				id = grant
			case strings.Contains(route.Pattern, "/v1/proposals/"):
				id, token = claim, tokens[1]
			case strings.Contains(route.Pattern, "/v1/recall/"):
				if id, token = recall, tokens[1]; who == "another client" { // of the member whose recall it is
					token = ""
				}
			case strings.Contains(route.Pattern, "/v1/sessions/"):
				id, token = session, tokens[1]
			case strings.Contains(route.Pattern, "/v1/role-memory/"): // a real candidate is in TestThreePeopleAndAVersion
				if token != "" {
					token = b.persona(borealis, "ada", 4, identity.RoleMemoryRead, identity.RoleMemoryManage)
				}
			case strings.Contains(route.Pattern, "/recalls/"):
				id, token = recall, tokens[2]
			case strings.Contains(route.Pattern, "/admin/parked/"):
				id, token = parked, tokens[3]
			}
			if token == "" {
				continue
			}
			foreign, unknown := b.do(sample(route, id, token)), b.do(sample(route, unknownID, token))
			want := http.StatusNotFound
			if strings.HasSuffix(route.Pattern, "/confirm") { // who doesn't hold the role is told that, of every candidate
				want = http.StatusForbidden
			}
			require.Equal(t, want, foreign.status, "%s: %s %s: %s", who, route.Method, route.Pattern, foreign)
			require.Equal(t, string(unknown.body), string(foreign.body))
			require.Equal(t, shape(unknown.header), shape(foreign.header))
		}
	}
	require.Equal(t, before, b.lasts())

	// Lists and recalls of the others are empty.
	for _, path := range []string{"/v1/me/memory", "/v1/me/proposals"} {
		for _, token := range []string{b.member(borealis, "ada"), b.member(acme, "ben")} {
			require.Empty(t, into[listed](b, b.ok(get(path, token))).Items)
		}
	}
	for _, token := range []string{b.assistant(borealis, "ada"), b.assistant(acme, "ben")} {
		require.Empty(t, into[recalled](b, b.ok(post("/v1/recall", token, question()))).Entries)
	}
	require.Len(t, into[recalled](b, b.ok(post("/v1/recall", b.assistant(acme, "ada"), question()))).Entries, 1)
}

// shape is what of the headers could tell two refusals apart.
func shape(h http.Header) http.Header {
	h = h.Clone()
	for _, own := range []string{"Iris-Request", "Date", "Idempotency-Key"} {
		h.Del(own)
	}
	return h
}

// TestADelegateActsInItsOwnBook: with act, the member of every call is act.sub. The delegate reads and writes its own tiers only, what it
// says is tagged with the principal, and the principal's book doesn't move (spec 1.1, 9.5).
func TestADelegateActsInItsOwnBook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.own(b.member(acme, "ada"), "body", `"The principal's own."`)
	principal := quoted(string(b.memberID(acme, "ada")))
	before := b.head(acme, "ada")
	claims := devissuer.Claims{Subject: "ada", Actor: "ben", Client: pages, Organisation: acme, Permissions: []identity.Permission{identity.AgentMemoryManage}}
	delegate, ben := b.mint(claims), b.member(acme, "ben")
	claims.Client, claims.Permissions = assistantApp, []identity.Permission{identity.Propose, identity.Recall}
	assistant := b.mint(claims)

	got := b.ok(post("/v1/me/memory", delegate, words("onBehalfOf", principal)))
	id := into[kept](b, got).MemoryID
	memory := into[map[string]any](b, b.ok(get("/v1/me/memory/"+id, ben).waiting(got.position)))
	require.Equal(t, principal, quoted(memory["onBehalfOf"].(string)))
	b.refused(get("/v1/me/memory/"+id, b.member(acme, "ada")), http.StatusNotFound, "not_found")

	// What the delegate's assistant proposes lies in the delegate's book, tagged, and stays tagged when it is kept and promoted.
	got = b.ok(post("/v1/proposals", assistant, proposal()))
	claim := into[claimed](b, got).ProposalID
	pending := into[listed](b, b.ok(get("/v1/me/proposals", ben).waiting(got.position))).Items
	require.Len(t, pending, 1)
	require.Equal(t, principal, quoted(pending[0]["onBehalfOf"].(string)))
	b.ok(post("/v1/me/proposals/"+claim+"/accept", delegate, "{}"))
	got = b.ok(post("/v1/programs/default/agent-memory/"+claim+"/promote", delegate, ""))
	for _, item := range into[listed](b, b.ok(get("/v1/me/memory", delegate).waiting(got.position))).Items {
		require.Equal(t, principal, quoted(item["onBehalfOf"].(string)))
	}
	require.Len(t, b.bodies(assistant), 2, "of the delegate's own, and nothing of the principal's")
	require.NotContains(t, b.bodies(assistant), "The principal's own.")

	// Everything else that is a member's own is the delegate's own, too.
	b.ok(put("/v1/me/settings", delegate, `{"implicitPromotion":false}`))
	b.ok(put("/v1/me/opt-outs", delegate, `[{"kind":"category","key":"goal"}]`))
	b.ok(remove("/v1/programs/default/agent-memory", delegate))
	require.Contains(t, string(b.ok(get("/v1/me/settings", ben)).body), `"implicitPromotion":false`)
	require.Equal(t, before, b.head(acme, "ada"), "the principal's book is untouched")
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory", b.member(acme, "ada")))).Items, 1)

	b.refused(post("/v1/me/memory", delegate, words("onBehalfOf", quoted(string(b.memberID(acme, "ben"))))), http.StatusForbidden, "claim_mismatch")
	stranger := b.mint(devissuer.Claims{Subject: "nobody", Actor: "ben", Client: pages, Organisation: acme})
	b.refused(get("/v1/me/memory", stranger), http.StatusNotFound, "not_found") // it could not be said for whom
}

// head is where a member's book stands.
func (b *bundle) head(org, subject string) uint64 {
	b.t.Helper()
	head, err := b.log.Head(context.Background(), org, events.Member(b.memberID(org, subject)))
	require.NoError(b.t, err)
	return head
}

// TestAServiceNamesAMember with the permission for it, and nobody else does (spec 10).
func TestAServiceNamesAMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.keep(acme, "ada")
	ada := quoted(string(b.memberID(acme, "ada")))
	service := b.service(acme, identity.Propose, identity.Recall, identity.RecallService)
	require.Len(t, into[recalled](b, b.ok(post("/v1/recall", service, question("member", ada)))).Entries, 1)
	got := b.ok(post("/v1/proposals", service, proposal("member", `{"subject":"ada"}`, "body", `"Likes tea."`)))
	require.Len(t, into[listed](b, b.ok(get("/v1/me/proposals", b.member(acme, "ada")).waiting(got.position))).Items, 1)
}

// TestWaiting: a position that isn't visible in time is a 503 that says when to come again.
func TestWaiting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	config := b.config
	config.Wait = time.Millisecond
	b.server = httptest.NewServer(b.handler(config))
	t.Cleanup(b.server.Close)
	for _, route := range api.Routes() {
		if !route.Waits {
			continue
		}
		token := b.mint(devissuer.Claims{Subject: "ada", Client: assistantApp, Organisation: acme, Permissions: identity.AllPermissions()})
		got := b.do(sample(route, unknownID, token).waiting("9223372036854775807"))
		require.Equal(t, http.StatusServiceUnavailable, got.status, route.Pattern)
		require.Equal(t, "projection_behind", into[problem](b, got).Code)
		require.Equal(t, "1", got.header.Get("Retry-After"))
	}
}

func TestMethodNotAllowedNamesThoseThatAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	got := b.do(request{method: http.MethodPut, path: "/v1/me/memory/" + unknownID})
	require.Equal(t, http.StatusMethodNotAllowed, got.status)
	require.Equal(t, "GET, HEAD, DELETE, PATCH", got.header.Get("Allow"))
}

func TestAboutAndHealth(t *testing.T) {
	t.Parallel()
	b := setup(t)
	about := into[map[string]any](b, b.ok(get("/v1/about", "")))
	require.Equal(t, map[string]any{
		"name": "Iris", "version": "test", "noTraining": events.NoTraining, "fixedPhrase": events.FixedPhrase, "engine": "recall/1",
		"policyId": "iris-memory-recall-v1",
	}, about)
	b.ok(get("/healthz", ""))
	b.ok(get("/readyz", ""))

	config := b.config
	config.ClockOffset = 36 * time.Hour
	config.Ready = func(context.Context) map[string]error {
		return map[string]error{"nats": nil, "postgres": errors.New("dial postgres://secret@10.0.0.1")}
	}
	b.server = httptest.NewServer(b.handler(config))
	t.Cleanup(b.server.Close)
	require.Equal(t, "36h0m0s", into[map[string]any](b, b.ok(get("/v1/about", "")))["clockOffset"])
	b.ok(get("/healthz", ""))
	p := b.refused(get("/readyz", ""), http.StatusServiceUnavailable, "not_ready")
	require.Len(t, p.Errors, 1)
	require.Equal(t, "/postgres", p.Errors[0].Pointer)
	require.NotContains(t, p.Errors[0].Detail, "secret")
}

// faulty is a verifier that goes wrong.
type faulty func() (identity.Principal, error)

func (f faulty) Verify(context.Context, string) (identity.Principal, error) { return f() }

// TestFaultsSayNothing: a panic and an unknown error are the same 500, and the log has no word of a panic.
func TestFaultsSayNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, fault := range []faulty{
		func() (identity.Principal, error) { panic("ada's secret") },
		func() (identity.Principal, error) { panic(errors.New("ada's secret")) },
		func() (identity.Principal, error) { return identity.Principal{}, errors.New("something new") },
	} {
		config := b.config
		config.Verifier = fault
		b.server = httptest.NewServer(b.handler(config))
		t.Cleanup(b.server.Close)
		p := b.refused(get("/v1/terms", "a.b.c"), http.StatusInternalServerError, "internal")
		require.Empty(t, p.Errors)
	}
	require.NotContains(t, b.logged.String(), "secret")
	require.Contains(t, b.logged.String(), "request panicked")
	require.Contains(t, b.logged.String(), "something new")
	require.Equal(t, 3, strings.Count(b.logged.String(), `"status":500`))
}

// TestTheLogKnowsRoutesNotPaths: one line for a request, without address, query, token or body.
func TestTheLogKnowsRoutesNotPaths(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	b.do(get("/v1/me/memory/"+unknownID+"?secret=word", ada))
	b.do(get("/v1/secret/word", ada))
	b.do(request{method: "SECRET", path: "/v1/terms", token: ada})
	for line := range strings.Lines(b.logged.String()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		require.Equal(t, "request", entry["msg"])
		require.ElementsMatch(t, []string{"time", "level", "msg", "method", "route", "status", "code", "duration", "organisation", "request"}, keysOf(entry))
	}
	require.NotContains(t, strings.ToLower(b.logged.String()), "secret")
	require.NotContains(t, b.logged.String(), unknownID)
	require.Equal(t, 3, strings.Count(b.logged.String(), "\n"))
}

func keysOf(m map[string]any) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// TestATraceIsTakenUp where it is well formed; one that isn't is no reason to refuse.
func TestATraceIsTakenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	n := 0
	for parent, want := range map[string]string{
		good: good, "": "", "00-00000000000000000000000000000000-00f067aa0ba902b7-01": "", "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": "",
		"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01": "", strings.ToUpper(good): "", good + "-extra": "", "ada's secret": "",
	} {
		n++
		got := b.ok(post("/v1/me/memory", b.member(acme, "ada"), words("body", quoted("Trace "+strconv.Itoa(n)))).with("Traceparent", parent))
		at, err := strconv.ParseUint(got.position, 10, 64)
		require.NoError(t, err)
		message, err := b.log.At(context.Background(), events.StreamFor(acme), at)
		require.NoError(t, err)
		require.NotContains(t, string(message.Body), "secret")
		commit, _, err := events.Read(at, message.Body)
		require.NoError(t, err)
		require.Equal(t, want, commit.Events[0].Trace.Parent, parent)
	}
}

func TestConfigIsWhole(t *testing.T) {
	t.Parallel()
	good := api.Config{
		Acts: &acts.Acts{}, Verifier: faulty(nil), Contract: accepting{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)), Now: time.Now,
		CursorKey: make([]byte, 32),
	}
	_, err := api.New(good)
	require.NoError(t, err)
	for name, spoil := range map[string]func(*api.Config){
		"acts":             func(c *api.Config) { c.Acts = nil },
		"verifier":         func(c *api.Config) { c.Verifier = nil },
		"contract":         func(c *api.Config) { c.Contract = nil },
		"logger":           func(c *api.Config) { c.Logger = nil },
		"clock":            func(c *api.Config) { c.Now = nil },
		"cursor key":       func(c *api.Config) { c.CursorKey = make([]byte, 31) },
		"clock moved back": func(c *api.Config) { c.ClockOffset = -time.Second },
		"long wait":        func(c *api.Config) { c.Wait = 6 * time.Second },
	} {
		config := good
		spoil(&config)
		_, err := api.New(config)
		require.Error(t, err, name)
	}
}

type accepting struct{}

func (accepting) CheckRequest(string, []byte) error { return nil }

func (accepting) CheckArguments(string, []byte) error { return nil }

// TestTheContractIsCommitted: after a change of the table, schemas or answers: go generate ./api.
func TestTheContractIsCommitted(t *testing.T) {
	t.Parallel()
	want, err := api.OpenAPI()
	require.NoError(t, err)
	committed, err := os.ReadFile("../schemas/openapi.json")
	require.NoError(t, err)
	require.Equal(t, string(want), string(committed), "drifted: go generate ./api")
}

// TestTheContractHoldsTogether: every reference is defined, and every request schema of the contract judges as ours does.
func TestTheContractHoldsTogether(t *testing.T) {
	t.Parallel()
	text, err := api.OpenAPI()
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(text, &doc))
	references := 0
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, item := range node {
				walk(item)
			}
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				references++
				at := any(doc)
				for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					at = at.(map[string]any)[part]
				}
				require.NotNil(t, at, ref)
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(doc)
	require.Greater(t, references, 50)
	for _, route := range api.Routes() {
		if route.Request != "" {
			examples, err := os.ReadDir("../schemas/examples/api/" + route.Request + "/valid")
			require.NoError(t, err)
			require.NotEmpty(t, examples)
			for _, example := range examples {
				document, err := os.ReadFile("../schemas/examples/api/" + route.Request + "/valid/" + example.Name())
				require.NoError(t, err)
				validate(t, "/components/schemas/api."+route.Request, document)
			}
		}
	}
}

func TestTheServedContractIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	committed, err := os.ReadFile("../schemas/openapi.json")
	require.NoError(t, err)
	require.JSONEq(t, string(committed), string(b.ok(get("/openapi.json", "")).body))
}
