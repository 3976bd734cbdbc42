package web_test

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/policy"
	"iris.example/iris/projections"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
	"iris.example/iris/vault"
	"iris.example/iris/web"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const (
	org      = "acme"
	audience = "https://iris.example/api"
	terms    = "We keep what you ask us to keep, for as long as you want.\n\n  Take it back at any time."
)

// bundle is the whole stack behind the pages: broker, vault, read models, issuer, and the pages on a port.
type bundle struct {
	t       testing.TB
	acts    *acts.Acts
	vault   *vault.Vault
	issuer  *devissuer.Issuer
	server  *httptest.Server
	gate    *gate
	codes   map[string]string // code → token
	members map[string]events.ID
	logged  record
	models  *reader.Reader
	log     eventlog.Log
}

// record is a log that tests read.
type record struct {
	mu   sync.Mutex
	text strings.Builder
}

func (r *record) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(p)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.String()
}

func setup(t testing.TB) *bundle {
	t.Helper()
	ctx := context.Background()
	b := &bundle{t: t, gate: &gate{}, codes: map[string]string{}, members: map[string]events.ID{}}

	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	log, err := eventlog.New(conn, eventlog.Config{})
	require.NoError(t, err)
	require.NoError(t, log.CreateOrganisation(ctx, org))
	b.log = log

	b.openVault(ctx)
	contract, err := schemas.Compile()
	require.NoError(t, err)
	codec := events.Codec{Keys: b.vault, Contract: contract}
	config := runner.Config{Log: log, Codec: codec, Keys: b.vault, Screen: screening.New(), Now: time.Now}
	members, err := runner.Members(config)
	require.NoError(t, err)
	roles, err := runner.Roles(config)
	require.NoError(t, err)
	members.With(events.AggregateRole, roles)
	organisations, err := runner.Organisations(config)
	require.NoError(t, err)

	read := b.openReadModels(ctx, log, codec)
	b.issuer, err = devissuer.Open(ctx, devissuer.Config{
		Dir: filepath.Join(t.TempDir(), "issuer"), URL: "http://127.0.0.1:1", Audience: audience, Now: time.Now,
	})
	require.NoError(t, err)
	b.acts = &acts.Acts{
		Members: members, Organisations: organisations, Roles: roles, Directory: b.vault, Issuer: "http://127.0.0.1:1", Read: read, Codec: codec,
		Keys: b.vault, Now: time.Now,
	}
	for _, command := range []organisation.Command{
		organisation.Found{}, organisation.DefineProgram{Program: "atlas"}, organisation.DefineRole{Role: "reviewer"},
		organisation.PublishTerms{ID: "memory", Version: "2026-11", Locale: "en", Text: terms},
		organisation.RegisterClient{Client: "assistant-1", Consumers: []events.Consumer{events.ConsumerAssistant}},
	} {
		b.define(ctx, command)
	}
	b.serve()
	return b
}

func (b *bundle) openVault(ctx context.Context) {
	database := testkit.Postgres(b.t)
	require.NoError(b.t, vault.Migrate(ctx, database.URL(database.Superuser())))
	master, err := vault.OpenMasterKey(filepath.Join(b.t.TempDir(), "master.key"))
	require.NoError(b.t, err)
	b.vault, err = vault.Open(ctx, vault.Config{URL: database.URL(vault.Role), Master: master})
	require.NoError(b.t, err)
	b.t.Cleanup(b.vault.Close)
	require.NoError(b.t, b.vault.EnsureOrganisation(ctx, org))
}

func (b *bundle) openReadModels(ctx context.Context, log eventlog.Log, codec events.Codec) acts.Read {
	database := testkit.Postgres(b.t)
	require.NoError(b.t, migrations.Prepare(ctx, database.URL(database.Superuser()), migrations.Schema))
	require.NoError(b.t, migrations.Up(ctx, database.URL(migrations.Owner), migrations.Schema))
	models, err := reader.Open(ctx, reader.Config{URL: database.URL(migrations.App), MaxConns: 4})
	require.NoError(b.t, err)
	b.models = models
	b.t.Cleanup(models.Close)
	marks := engine.NewWatermarks(models, engine.Silence)
	for _, of := range projections.Lines(org) {
		if of.Stream == events.StreamFor(org) {
			b.project(ctx, of, database.URL(migrations.Projector), log, codec, marks)
		}
	}
	return acts.Read{Models: models, Wait: marks}
}

func (b *bundle) project(ctx context.Context, of projections.Line, database string, log eventlog.Log, codec events.Codec, marks *engine.Watermarks) {
	decoder, err := of.Decoder(codec)
	require.NoError(b.t, err)
	line, err := engine.New(engine.Config{
		Organisation: org, Stream: of.Stream, Name: of.Name, DatabaseURL: database, Projections: of.Projections, Park: of.Park,
		Follow: b.gate.before(engine.Followed(log)), Decoder: decoder, Announce: marks,
	})
	require.NoError(b.t, err)
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- line.Run(running) }()
	b.t.Cleanup(func() {
		stop()
		require.NoError(b.t, <-done)
	})
}

func (b *bundle) serve() {
	site, err := web.New(b.config())
	require.NoError(b.t, err)
	b.server = httptest.NewServer(site.Handler())
	b.t.Cleanup(b.server.Close)
}

func (b *bundle) config() web.Config {
	return web.Config{
		Acts: b.acts, Verifier: b.issuer.Verifier(), Now: time.Now, Logger: slog.New(slog.NewTextHandler(&b.logged, nil)),
		Codes: func(code string) (string, string, bool) {
			token, ok := b.codes[code]
			return "Ann <Archer>", token, ok
		},
	}
}

// gate holds the projector back on request.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // nil: open
}

// close holds back whatever is not projected yet; the returned func lets it go on.
func (g *gate) close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	shut := make(chan struct{})
	g.shut = shut
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.shut = nil
		close(shut)
	})
}

type gated struct {
	engine.Source
	gate *gate
}

func (g *gate) before(follow engine.Follow) engine.Follow {
	return func(ctx context.Context, stream string, after uint64) (engine.Source, error) {
		source, err := follow(ctx, stream, after)
		if err != nil {
			return nil, err
		}
		return gated{source, g}, nil
	}
}

func (s gated) Next(ctx context.Context, limit int) ([]eventlog.Message, error) {
	messages, err := s.Source.Next(ctx, limit)
	s.gate.mu.Lock()
	shut := s.gate.shut
	s.gate.mu.Unlock()
	if shut != nil {
		select {
		case <-shut:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return messages, err
}

func newID(t testing.TB) events.ID {
	t.Helper()
	id, err := events.RandomID()
	require.NoError(t, err)
	return id
}

func system() events.Actor { return events.Actor{ID: "iris", Kind: events.ActorSystem} }

func (b *bundle) define(ctx context.Context, body organisation.Command) {
	b.t.Helper()
	_, err := b.acts.Organisations.Run(ctx, runner.Command[organisation.Command]{
		Organisation: org, Aggregate: events.Organisation(), ID: newID(b.t), Received: events.At(time.Now()), Actor: system(),
		Request: []byte("{}"), Setting: runner.Setting{Policy: policy.Default()}, Body: body,
	})
	require.NoError(b.t, err)
}

// member opens a book for a subject, in the programs default and atlas.
func (b *bundle) member(subject string) events.ID {
	b.t.Helper()
	ctx := context.Background()
	id, _, err := b.vault.Register(ctx, org, b.acts.Issuer, subject, subject)
	require.NoError(b.t, err)
	require.NoError(b.t, b.vault.EnsureMember(ctx, org, id))
	for _, body := range []member.Command{member.Register{}, member.Join{Program: "default"}, member.Join{Program: "atlas"}} {
		b.tell(subject, id, body)
	}
	b.members[subject] = id
	return id
}

// tell has the organisation say something of a member's book.
func (b *bundle) tell(subject string, id events.ID, body member.Command) {
	b.t.Helper()
	caller := b.caller(subject)
	_, err := b.acts.Members.Run(context.Background(), runner.Command[member.Command]{
		Organisation: org, Aggregate: events.Member(id), ID: newID(b.t), Received: events.At(time.Now()), Actor: system(),
		Request: []byte("{}"), Setting: runner.Setting{Policy: caller.Defined.Policy, Defined: caller.Defined}, Body: body,
	})
	require.NoError(b.t, err)
}

// token is what a member signs in with.
func (b *bundle) token(subject string) string { return b.mint(subject, "pages") }

func (b *bundle) mint(subject, client string) string {
	b.t.Helper()
	token, err := b.issuer.Mint(context.Background(), devissuer.Claims{
		Subject: subject, Client: client, Organisation: org, Permissions: b.may(subject), PersonaVersion: 4,
	}, time.Hour)
	require.NoError(b.t, err)
	return token
}

// may says what a person's token permits: everybody manages their own, ruth reads role memory, and carl curates it.
func (b *bundle) may(subject string) []identity.Permission {
	switch subject {
	case "ruth":
		return []identity.Permission{identity.AgentMemoryManage, identity.RoleMemoryRead}
	case "carl":
		return []identity.Permission{identity.AgentMemoryManage, identity.RoleMemoryRead, identity.RoleMemoryManage}
	}
	return []identity.Permission{identity.AgentMemoryManage}
}

func (b *bundle) caller(subject string) acts.Caller { return b.callerBy(subject, "pages") }

func (b *bundle) callerBy(subject, client string) acts.Caller {
	b.t.Helper()
	principal, err := b.issuer.Verifier().Verify(context.Background(), b.mint(subject, client))
	require.NoError(b.t, err)
	caller, err := b.acts.Identify(context.Background(), principal)
	require.NoError(b.t, err)
	return caller
}

func (b *bundle) request() acts.Request {
	return acts.Request{Route: "test", Key: string(newID(b.t)), Received: events.At(time.Now())}
}

// propose makes an assistant's claim and waits until the pages can show it.
func (b *bundle) propose(subject string, p acts.Proposal) events.ID {
	b.t.Helper()
	if p.Tier == "" {
		p.Tier = events.TierIndividual
	}
	if p.Kind == "" {
		p.Kind = events.KindPreference
	}
	if p.Scope.Kind == "" {
		p.Scope.Kind = events.ScopeProfile
	}
	if p.Category == "" {
		p.Category = events.CategoryPreference
	}
	p.Origin = events.OriginModelInferred
	answer, err := b.acts.Propose(context.Background(), b.callerBy(subject, "assistant-1"), b.request(), p)
	require.NoError(b.t, err)
	require.Equal(b.t, events.OutcomePending, answer.Outcome)
	b.await(answer.Position)
	return answer.ProposalID
}

func (b *bundle) await(position uint64) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	require.NoError(b.t, b.acts.Visible(ctx, acts.Caller{Organisation: org}, position))
}

func (b *bundle) consent(subject string, decision string, keys ...events.ConsentKey) {
	b.t.Helper()
	for _, key := range keys {
		done, err := b.acts.Decide(context.Background(), b.caller(subject), b.request(), acts.Decision{
			ConsentRef: acts.ConsentRef{Key: key, TermsID: "memory", TermsVersion: "2026-11"}, Decision: decision,
			Source: events.SourceSettingsToggle, Locale: "en", Shown: member.ConsentQuestion(key),
		})
		require.NoError(b.t, err)
		b.await(done.Position)
	}
}

func (b *bundle) remember(subject, words string, category events.Category) events.ID {
	b.t.Helper()
	kept, err := b.acts.Remember(context.Background(), b.caller(subject), b.request(), acts.Words{
		Kind: events.KindPreference, Category: category, Body: words,
	})
	require.NoError(b.t, err)
	b.await(kept.Position)
	return kept.MemoryID
}

// edit is what another page of the same member makes of a memory.
func (b *bundle) edit(subject string, id events.ID, words string) events.ID {
	b.t.Helper()
	caller := b.caller(subject)
	m, err := b.acts.Memory(context.Background(), caller, id)
	require.NoError(b.t, err)
	kept, err := b.acts.Revise(context.Background(), caller, b.request(), id, m.RevisionID, acts.Edits{Body: &words})
	require.NoError(b.t, err)
	b.await(kept.Position)
	return kept.RevisionID
}

func (b *bundle) pause(subject string, id events.ID) {
	b.t.Helper()
	moved, err := b.acts.Pause(context.Background(), b.caller(subject), b.request(), id, acts.Break{})
	require.NoError(b.t, err)
	b.await(moved.Position)
}

func (b *bundle) decline(subject string, id events.ID) {
	b.t.Helper()
	done, err := b.acts.Decline(context.Background(), b.caller(subject), b.request(), id, acts.Refusal{})
	require.NoError(b.t, err)
	b.await(done.Position)
}

func (b *bundle) optOut(subject string, all ...events.OptOut) {
	b.t.Helper()
	_, done, err := b.acts.SetOptOuts(context.Background(), b.caller(subject), b.request(), all)
	require.NoError(b.t, err)
	b.await(done.Position)
}

// forgotten forgets and is the address that a page is sent to then.
func (b *bundle) forgotten(subject string, id events.ID) string {
	b.t.Helper()
	done, err := b.acts.Forget(context.Background(), b.caller(subject), b.request(), id, false)
	require.NoError(b.t, err)
	b.await(done.Position)
	return fmt.Sprintf("/memory?done=forgotten&id=%s&at=%d", id, done.Position)
}

// awaitWords waits until everything that was said can be found.
func (b *bundle) awaitWords() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	last, err := b.log.Last(ctx, events.StreamFor(org))
	require.NoError(b.t, err)
	require.NoError(b.t, b.acts.Searchable(ctx, acts.Caller{Organisation: org}, last))
}

func (b *bundle) forget(subject string, id events.ID) {
	b.t.Helper()
	done, err := b.acts.Forget(context.Background(), b.caller(subject), b.request(), id, false)
	require.NoError(b.t, err)
	b.await(done.Position)
}

// visitor is a browser without a window: it keeps cookies and follows redirects.
type visitor struct {
	b    *bundle
	http *http.Client
}

// answered is a page that was got.
type answered struct {
	status int
	url    *url.URL
	header http.Header
	body   string
}

func (b *bundle) visitor() *visitor {
	jar, err := cookiejar.New(nil)
	require.NoError(b.t, err)
	return &visitor{b, &http.Client{Jar: jar, Timeout: time.Minute}}
}

func (b *bundle) signedIn(subject string) *visitor {
	v := b.visitor()
	page := v.post("/sign-in", url.Values{"token": {b.token(subject)}})
	require.Equal(b.t, http.StatusOK, page.status, page.body)
	return v
}

func (v *visitor) get(path string) answered {
	v.b.t.Helper()
	answer, err := v.http.Get(v.b.server.URL + path)
	return v.read(answer, err)
}

func (v *visitor) post(path string, form url.Values) answered {
	v.b.t.Helper()
	answer, err := v.http.PostForm(v.b.server.URL+path, form)
	return v.read(answer, err)
}

func (v *visitor) read(answer *http.Response, err error) answered {
	v.b.t.Helper()
	require.NoError(v.b.t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(v.b.t, err)
	return answered{answer.StatusCode, answer.Request.URL, answer.Header, string(body)}
}

// said is what the live region says.
func (a answered) said() string {
	return strings.TrimSpace(between(a.body, `<div id="status" role="status" tabindex="-1">`, `</div>`))
}

func between(s, from, to string) string {
	_, rest, ok := strings.Cut(s, from)
	if !ok {
		return ""
	}
	inner, _, _ := strings.Cut(rest, to)
	return inner
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([a-zA-Z]+)" value="([^"]*)">`)

// form reads the hidden fields of the form with an action, as a browser would send them.
func (a answered) form(t testing.TB, action string) url.Values {
	t.Helper()
	inner := between(a.body, fmt.Sprintf(`action="%s"`, action), "</form>")
	require.NotEmpty(t, inner, "no form for %s", action)
	values := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(inner, -1) {
		values.Add(field[1], html.UnescapeString(field[2]))
	}
	return values
}

// field is the text of a textarea, as a browser reads it.
func (a answered) field(id string) string {
	_, rest, _ := strings.Cut(a.body, `<textarea id="`+id+`"`)
	return html.UnescapeString(strings.TrimPrefix(between(rest, ">", "</textarea>"), "\n"))
}

// words is what a listed memory says; empty: it isn't listed.
func (a answered) words(id events.ID) string {
	return html.UnescapeString(between(a.body, `id="w-`+string(id)+`" dir="auto">`, "</p>"))
}
