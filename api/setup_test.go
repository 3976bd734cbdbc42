package api_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/api"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
	"iris.example/iris/vault"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	acme, borealis = "acme", "borealis"
	audience       = "iris"
	issuerURL      = "http://127.0.0.1:1/issuer"
	pages          = "pages"
	assistantApp   = "assistant-app"
)

// bundle is the whole of Iris behind HTTP, with two organisations: in each, ada and ben are members, and gus is an auditor.
type bundle struct {
	t      testing.TB
	server *httptest.Server
	log    *eventlog.JetStream
	acts   *acts.Acts
	vault  *vault.Vault
	issuer *devissuer.Issuer
	keys   string // the issuer's key file
	config api.Config
	offset atomic.Int64 // of the product's clock
	logged *buffer
	nats   *natsserver.Server
	parked uint64
}

// buffer is a log that many write.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func (b *bundle) now() time.Time { return time.Now().Add(time.Duration(b.offset.Load())) }

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx := context.Background()
	b := &bundle{t: t, logged: &buffer{}}

	nats := testkit.NATS(t)
	b.nats = nats
	conn, err := nats.Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	b.log, err = eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, b.log.CreateInbox(ctx))
	db := testkit.Postgres(t)
	require.NoError(t, vault.Migrate(ctx, db.URL(db.Superuser())))
	require.NoError(t, migrations.Prepare(ctx, db.URL(db.Superuser()), migrations.Schema))
	require.NoError(t, migrations.Up(ctx, db.URL(migrations.Owner), migrations.Schema))
	master, err := vault.OpenMasterKey(filepath.Join(t.TempDir(), "master.key"))
	require.NoError(t, err)
	b.vault, err = vault.Open(ctx, vault.Config{URL: db.URL(vault.Role), Master: master})
	require.NoError(t, err)
	t.Cleanup(b.vault.Close)
	models, err := reader.Open(ctx, reader.Config{URL: db.URL(migrations.App), MaxConns: 4})
	require.NoError(t, err)
	t.Cleanup(models.Close)
	contract, err := schemas.Compile()
	require.NoError(t, err)

	codec := events.Codec{Keys: b.vault, Contract: contract}
	shared := runner.Config{Log: b.log, Codec: codec, Keys: b.vault, Screen: screening.New(), Now: b.now}
	members, err := runner.Members(shared)
	require.NoError(t, err)
	roles, err := runner.Roles(shared)
	require.NoError(t, err)
	members.With(events.AggregateRole, roles)
	organisations, err := runner.Organisations(shared)
	require.NoError(t, err)
	sessions, err := runner.Sessions(shared)
	require.NoError(t, err)
	marks := engine.NewWatermarks(models, engine.Silence)
	b.acts = &acts.Acts{
		Members: members, Organisations: organisations, Roles: roles, Sessions: sessions, Screen: shared.Screen, Directory: b.vault, Issuer: issuerURL,
		Recalls: &recalls.Service{Members: members, Organisations: organisations, Access: b.log, Screen: shared.Screen, Codec: codec, Now: b.now},
		Read:    acts.Read{Models: models, Wait: marks}, Stream: b.log, Codec: codec, Keys: b.vault, Now: b.now,
		Intake: b.vault, Sealed: contract, Parked: b.vault, Inbox: b.log, Credentials: broker{nats},
	}
	keys := t.TempDir()
	b.keys = filepath.Join(keys, "dev-issuer.json")
	b.issuer, err = devissuer.Open(ctx, devissuer.Config{Dir: keys, URL: issuerURL, Audience: audience, Now: b.now})
	require.NoError(t, err)

	for _, org := range []string{acme, borealis} {
		b.found(ctx, org)
		for _, line := range projections.Lines(org) {
			b.project(org, line, db.URL(migrations.Projector), codec, marks)
		}
	}
	b.config = api.Config{
		Acts: b.acts, Verifier: b.issuer.Verifier(), Contract: contract, Now: b.now, CursorKey: bytes.Repeat([]byte("k"), 32), Version: "test",
		Logger: slog.New(slog.NewJSONHandler(b.logged, nil)),
	}
	b.server = httptest.NewServer(b.handler(b.config))
	t.Cleanup(b.server.Close)
	return b
}

func (b *bundle) handler(config api.Config) http.Handler {
	service, err := api.New(config)
	require.NoError(b.t, err)
	return service.Handler()
}

func (b *bundle) project(org string, of projections.Line, database string, codec events.Codec, marks *engine.Watermarks) {
	decoder, err := of.Decoder(codec)
	require.NoError(b.t, err)
	line, err := engine.New(engine.Config{
		Organisation: org, Stream: of.Stream, Name: of.Name, DatabaseURL: database, Projections: of.Projections, Follow: engine.Followed(b.log),
		Decoder: decoder, Announce: marks, Park: of.Park,
	})
	require.NoError(b.t, err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- line.Run(ctx) }()
	b.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			b.t.Errorf("line of %s: %v", of.Name, err)
		}
	})
}

func (b *bundle) found(ctx context.Context, org string) {
	require.NoError(b.t, b.log.CreateOrganisation(ctx, org))
	require.NoError(b.t, b.vault.EnsureOrganisation(ctx, org))
	system := events.Actor{ID: "iris", Kind: events.ActorSystem}
	for n, command := range []organisation.Command{
		organisation.Found{}, organisation.DefineProgram{Program: "atlas"},
		organisation.PublishTerms{ID: "memory", Version: "2026-11", Locale: "en", Text: "We keep what you ask us to keep."},
		organisation.RegisterClient{Client: assistantApp, Consumers: []events.Consumer{events.ConsumerAssistant}},
		organisation.RegisterClient{Client: "veritas-app", Consumers: []events.Consumer{events.ConsumerVeritas}},
	} {
		_, err := b.acts.Organisations.Run(ctx, runner.Command[organisation.Command]{
			Organisation: org, Aggregate: events.Organisation(), ID: events.CommandID(org, "found", strconv.Itoa(n)), Received: events.At(b.now()),
			Actor: system, Setting: runner.Setting{Policy: organisation.Initial(org).Policy}, Request: []byte("found"), Body: command,
		})
		require.NoError(b.t, err)
	}
	for _, subject := range []string{"ada", "ben"} {
		b.admit(ctx, org, subject)
	}
}

func (b *bundle) admit(ctx context.Context, org, subject string) {
	id, _, err := b.vault.Register(ctx, org, issuerURL, subject, subject)
	require.NoError(b.t, err)
	require.NoError(b.t, b.vault.EnsureMember(ctx, org, id))
	var defined *organisation.State
	require.NoError(b.t, b.acts.Organisations.View(ctx, org, events.Organisation(), func(s *organisation.State, _ uint64) error {
		defined = s
		return nil
	}))
	commands := []member.Command{member.Register{}, member.Join{Program: events.DefaultProgram}}
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage} {
		commands = append(commands, member.Grant{
			Answer: member.Answer{Key: key, TermsID: "memory", TermsVersion: "2026-11"}, Source: events.SourceSettingsToggle, Locale: "en",
			Shown: member.ConsentQuestion(key),
		})
	}
	for n, command := range commands {
		_, err := b.acts.Members.Run(ctx, runner.Command[member.Command]{
			Organisation: org, Aggregate: events.Member(id), ID: events.CommandID(org, string(id), strconv.Itoa(n)), Received: events.At(b.now()),
			Actor: events.Actor{ID: string(id), Kind: events.ActorMember}, Setting: runner.Setting{Policy: defined.Policy, Defined: defined},
			Request: []byte("admit"), Body: command,
		})
		require.NoError(b.t, err)
	}
}

func (b *bundle) memberID(org, subject string) events.ID {
	id, found, err := b.vault.Resolve(context.Background(), org, issuerURL, subject)
	require.NoError(b.t, err)
	require.True(b.t, found)
	return id
}

// Tokens.

func (b *bundle) mint(c devissuer.Claims) string {
	b.t.Helper()
	token, err := b.issuer.Mint(context.Background(), c, time.Hour)
	require.NoError(b.t, err)
	return token
}

func (b *bundle) member(org, subject string) string {
	return b.mint(devissuer.Claims{Subject: subject, Client: pages, Organisation: org, Permissions: []identity.Permission{identity.AgentMemoryManage}})
}

func (b *bundle) assistant(org, subject string) string {
	return b.mint(devissuer.Claims{
		Subject: subject, Client: assistantApp, Organisation: org, Permissions: []identity.Permission{identity.Propose, identity.Recall},
	})
}

func (b *bundle) auditor(org string) string {
	return b.mint(devissuer.Claims{Subject: "gus", Client: pages, Organisation: org, Permissions: []identity.Permission{identity.AuditRead}})
}

// service is nobody's assistant: its person is no member.
func (b *bundle) service(org string, permissions ...identity.Permission) string {
	return b.mint(devissuer.Claims{Subject: "service", Client: assistantApp, Organisation: org, Permissions: permissions})
}

// forge signs whatever the test says with the issuer's own key.
func (b *bundle) forge(change func(claims map[string]any, key ed25519.PrivateKey) string) string {
	b.t.Helper()
	text, err := os.ReadFile(b.keys)
	require.NoError(b.t, err)
	var file struct {
		Current jose.JSONWebKey `json:"current"`
	}
	require.NoError(b.t, json.Unmarshal(text, &file))
	now := b.now().Unix()
	return change(map[string]any{
		"iss": issuerURL, "aud": audience, "exp": now + 600, "iat": now, "nbf": now, "sub": "ada", "client_id": assistantApp, "org": acme,
		"tenant": nil, "permissions": []string{"iris.propose", "iris.recall", "iris.audit.read"}, "PERSONA_VERSION": 0,
	}, file.Current.Key.(ed25519.PrivateKey))
}

func (b *bundle) forged(name string, value any) string {
	return b.forge(func(claims map[string]any, key ed25519.PrivateKey) string {
		claims[name] = value
		return b.sign(jose.EdDSA, key, claims)
	})
}

func (b *bundle) sign(algorithm jose.SignatureAlgorithm, key any, claims map[string]any) string {
	b.t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	require.NoError(b.t, err)
	payload, err := json.Marshal(claims)
	require.NoError(b.t, err)
	signed, err := signer.Sign(payload)
	require.NoError(b.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(b.t, err)
	return token
}

// Requests.

type request struct {
	method, path string
	token        string
	body         string
	header       http.Header
}

func get(path, token string) request {
	return request{method: http.MethodGet, path: path, token: token}
}

func post(path, token, body string) request {
	return request{method: http.MethodPost, path: path, token: token, body: body}
}

func remove(path, token string) request {
	return request{method: http.MethodDelete, path: path, token: token}
}

func (r request) with(name string, values ...string) request {
	header := r.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header[name] = values
	r.header = header
	return r
}

func (r request) waiting(position string) request { return r.with("Iris-Wait", position) }

type response struct {
	status   int
	header   http.Header
	body     []byte
	position string
}

func (r response) String() string { return fmt.Sprintf("%d %s", r.status, r.body) }

// into reads the body; a number stays as it was written.
func into[T any](b *bundle, r response) T {
	b.t.Helper()
	var v T
	require.NoError(b.t, json.Unmarshal(r.body, &v), r)
	return v
}

func (b *bundle) do(r request) response {
	b.t.Helper()
	target, err := url.Parse(b.server.URL + r.path)
	require.NoError(b.t, err)
	raw, err := http.NewRequestWithContext(context.Background(), r.method, target.String(), strings.NewReader(r.body))
	require.NoError(b.t, err)
	if r.body != "" {
		raw.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		raw.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, values := range r.header {
		raw.Header[name] = values
	}
	got, err := b.server.Client().Do(raw)
	require.NoError(b.t, err)
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	require.NoError(b.t, err)
	answer := response{got.StatusCode, got.Header, body, got.Header.Get("Iris-Position")}
	b.checkAnswer(r, answer)
	return answer
}

// visible waits until the read models have all that was recorded: a test that lists asks for what it did, not for how fast that shows.
func (b *bundle) visible() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, org := range []string{acme, borealis} {
		last, err := b.log.Last(ctx, events.StreamFor(org))
		require.NoError(b.t, err)
		require.NoError(b.t, b.acts.Visible(ctx, acts.Caller{Organisation: org}, last))
	}
}

// ok does a request that must succeed; where the read models are behind on a busy machine, again, as it is told to.
func (b *bundle) ok(r request) response {
	b.t.Helper()
	if r.method == http.MethodGet {
		b.visible()
	}
	got := b.do(r)
	for begun := time.Now(); bytes.Contains(got.body, []byte(`"projection_behind"`)) && time.Since(begun) < time.Minute; {
		got = b.do(r)
	}
	require.Less(b.t, got.status, 300, "%s %s: %s", r.method, r.path, got)
	return got
}

type problem struct {
	Type, Title, Detail, Code string
	Status                    int
	Errors                    []struct{ Pointer, Code, Detail string }
	ProposalID                string
}

// refused does a request that must be refused with a code, in the one shape.
func (b *bundle) refused(r request, status int, code string) problem {
	b.t.Helper()
	got := b.do(r)
	require.Equal(b.t, status, got.status, "%s %s: %s", r.method, r.path, got)
	p := into[problem](b, got)
	require.Equal(b.t, code, p.Code, "%s %s: %s", r.method, r.path, got)
	return p
}

// checkAnswer holds every answer of every test to what is promised of all of them, and to the contract.
func (b *bundle) checkAnswer(r request, got response) {
	b.t.Helper()
	require.Equal(b.t, "no-store", got.header.Get("Cache-Control"))
	require.Equal(b.t, "nosniff", got.header.Get("X-Content-Type-Options"))
	require.NotEmpty(b.t, got.header.Get("Iris-Request"))
	if got.status >= 400 {
		require.Equal(b.t, "application/problem+json", got.header.Get("Content-Type"), got)
		p := into[problem](b, got)
		require.Equal(b.t, got.status, p.Status)
		require.Equal(b.t, "https://iris.example/problems/"+p.Code, p.Type)
		require.NotEmpty(b.t, p.Title)
		require.NotEmpty(b.t, p.Detail)
		validate(b.t, "/components/schemas/problem", got.body)
		return
	}
	route, found := routeOf(r)
	require.True(b.t, found, "an answer of a route that isn't in the table: %s %s", r.method, r.path)
	if route.Pattern == "/metrics" {
		require.Contains(b.t, got.header.Get("Content-Type"), "text/plain; version=0.0.4")
		return
	}
	require.Equal(b.t, "application/json", got.header.Get("Content-Type"))
	if route.Command {
		_, err := strconv.ParseUint(got.position, 10, 64)
		require.NoError(b.t, err, "Iris-Position")
		require.NotEmpty(b.t, got.header.Get("Idempotency-Key"))
	}
	if got.status != route.Success {
		require.Equal(b.t, route.Unchanged, got.status)
	}
	validate(b.t, fmt.Sprintf("/paths/%s/%s/responses/%d/content/application~1json/schema",
		strings.NewReplacer("~", "~0", "/", "~1").Replace(route.Pattern), strings.ToLower(route.Method), got.status), got.body)
}

func routeOf(r request) (api.Route, bool) {
	path, _, _ := strings.Cut(r.path, "?")
	for _, route := range api.Routes() {
		if route.Method == r.method && fits(route.Pattern, path) {
			return route, true
		}
	}
	return api.Route{}, false
}

func fits(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return false
	}
	for i := range want {
		if !strings.HasPrefix(want[i], "{") && want[i] != got[i] {
			return false
		}
	}
	return true
}

var published struct {
	sync.Mutex
	compiler *jsonschema.Compiler
	byPlace  map[string]*jsonschema.Schema
}

// validate judges a document by a schema of the published contract.
func validate(t testing.TB, place string, document []byte) {
	t.Helper()
	published.Lock()
	defer published.Unlock()
	if published.compiler == nil {
		text, err := api.OpenAPI()
		require.NoError(t, err)
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		published.compiler, published.byPlace = jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
		published.compiler.AssertFormat()
		require.NoError(t, published.compiler.AddResource("openapi.json", doc))
	}
	schema, known := published.byPlace[place]
	if !known {
		var err error
		schema, err = published.compiler.Compile("openapi.json#" + url.PathEscape(place))
		if err != nil {
			schema, err = published.compiler.Compile("openapi.json#" + place)
		}
		require.NoError(t, err)
		published.byPlace[place] = schema
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value), "%s", document)
}

// lasts is where every stream of both organisations ends.
func (b *bundle) lasts() [4]uint64 {
	b.t.Helper()
	var all [4]uint64
	for i, org := range []string{acme, borealis} {
		for j, stream := range []string{events.StreamFor(org), events.AccessStreamFor(org)} {
			last, err := b.log.Last(context.Background(), stream)
			require.NoError(b.t, err)
			all[2*i+j] = last
		}
	}
	return all
}

// proposal is a body of POST /v1/proposals with some fields set to other JSON.
func proposal(fields ...string) string {
	p := map[string]json.RawMessage{
		"tier": json.RawMessage(`"individual"`), "kind": json.RawMessage(`"preference"`), "scope": json.RawMessage(`{"kind":"profile"}`),
		"category": json.RawMessage(`"preference"`), "subject": json.RawMessage(`"units"`),
		"body": json.RawMessage(`"Prefers metric units in all tables."`), "origin": json.RawMessage(`"model-inferred"`),
	}
	return object(p, fields)
}

func words(fields ...string) string {
	p := map[string]json.RawMessage{
		"kind": json.RawMessage(`"preference"`), "category": json.RawMessage(`"preference"`), "body": json.RawMessage(`"I like short answers."`),
	}
	return object(p, fields)
}

func question(fields ...string) string {
	p := map[string]json.RawMessage{
		"surface": json.RawMessage(`"assistant"`), "consumer": json.RawMessage(`"assistant"`), "scope": json.RawMessage(`{"kind":"profile"}`),
		"query": json.RawMessage(`"which units should the table use?"`), "purpose": json.RawMessage(`"assist"`),
	}
	return object(p, fields)
}

// object writes fields by hand, so that values that no encoder would write can stand there.
func object(p map[string]json.RawMessage, fields []string) string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i+1] == "" {
			delete(p, fields[i])
			continue
		}
		p[fields[i]] = json.RawMessage(fields[i+1])
	}
	var parts []string
	for name, value := range p {
		parts = append(parts, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}
