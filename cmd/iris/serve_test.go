package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/natsserver/natscluster"
	"iris.example/iris/internal/pgserver"
	"iris.example/iris/metrics"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/vault"
)

var conversations = natsserver.Producer{Org: "acme", Name: "conversations"}

const audience = "iris"

// deployment is a NATS cluster, a PostgreSQL and an issuer, and the processes of Iris that run against them.
type deployment struct {
	t        *testing.T
	dir      string
	cluster  *natscluster.Cluster
	postgres *pgserver.Server
	issuer   *devissuer.Issuer
	url      string // of the issuer
	env      []string
	tokens   map[string]string
}

func deploy(t *testing.T) *deployment {
	t.Helper()
	d := &deployment{t: t, dir: program(t), tokens: map[string]string{}}
	d.cluster = natscluster.Start(t, natscluster.Config{Producers: []natsserver.Producer{conversations}})
	var err error
	d.postgres, err = pgserver.Start(t.Context(), pgserver.Config{DataDir: filepath.Join(d.dir, "postgres"), UnsafeNoSync: true, Settings: map[string]string{"max_connections": "200"}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.postgres.Stop(context.Background())) })
	d.issue()
	server, err := url.Parse(d.postgres.URL("", ""))
	require.NoError(t, err)
	server.User, server.Path = nil, "/"
	d.env = append(os.Environ(),
		"IRIS_NATS="+d.cluster.URLs(), "IRIS_NATS_CA="+d.cluster.Authority(), "IRIS_NATS_SEED="+d.cluster.CoreSeed(t),
		"IRIS_POSTGRES="+server.String(), "IRIS_KEYS="+filepath.Join(d.dir, "keys"), "IRIS_OIDC_ISSUER="+d.url, "IRIS_OIDC_AUDIENCE="+audience)
	d.migrate()
	d.admit()
	return d
}

// issue serves an issuer's discovery and keys, as a provider does.
func (d *deployment) issue() {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	d.t.Cleanup(server.Close)
	d.url = server.URL + "/realm"
	var err error
	d.issuer, err = devissuer.Open(d.t.Context(), devissuer.Config{Dir: filepath.Join(d.dir, "issuer"), URL: d.url, Audience: audience, Now: time.Now})
	require.NoError(d.t, err)
	mux.Handle("/realm/", http.StripPrefix("/realm", d.issuer.Handler()))
	for role, c := range map[string]devissuer.Claims{
		"member":    {Subject: "ada", Client: "iris-pages", Permissions: []identity.Permission{identity.AgentMemoryManage}},
		"assistant": {Subject: "ada", Client: "assistant-app", Permissions: []identity.Permission{identity.Propose, identity.Recall}},
		"admin":     {Subject: "ingrid", Client: "iris-pages", Permissions: []identity.Permission{identity.Admin}},
	} {
		c.Organisation = "acme"
		d.tokens[role], err = d.issuer.Mint(d.t.Context(), c, time.Hour)
		require.NoError(d.t, err)
	}
}

func (d *deployment) command(name string, env []string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(d.dir, "bin", "iris"), append([]string{name}, args...)...)
	c.Env = append(d.env, env...)
	return c
}

// migrate makes what the processes find, as the provisioner and a superuser; twice, which changes nothing.
func (d *deployment) migrate() {
	d.t.Helper()
	admin := d.postgres.URL("postgres", d.postgres.Superuser())
	for range 2 {
		c := d.command("migrate", []string{"IRIS_NATS_SEED=" + d.cluster.ProvisionerSeed(d.t), "IRIS_POSTGRES_ADMIN=" + admin},
			"--organisation", "acme", "--producer", "acme/conversations=assistant:"+d.cluster.ProducerKey(d.t, conversations))
		out, err := c.CombinedOutput()
		require.NoError(d.t, err, string(out))
	}
}

// inside connects the rooms in this process, as one more of the deployment.
func (d *deployment) inside(act func(rooms *assembly.Rooms, keys *vault.Vault, l *eventlog.JetStream)) {
	t, ctx := d.t, d.t.Context()
	t.Helper()
	l, err := eventlog.New(d.cluster.Connect(t), eventlog.Config{Replicas: 3})
	require.NoError(t, err)
	streams, err := assembly.OpenStreams(l, filepath.Join(d.dir, "evidence-admin"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer streams.Close()
	master, err := vault.OpenMasterKey(filepath.Join(d.dir, "keys", "master.key"))
	require.NoError(t, err)
	keys, err := vault.Open(ctx, vault.Config{URL: d.postgres.URL(assembly.VaultDatabase, vault.Role), Master: master})
	require.NoError(t, err)
	defer keys.Close()
	models, err := reader.Open(ctx, reader.Config{URL: d.postgres.URL(assembly.ModelsDatabase, migrations.App)})
	require.NoError(t, err)
	defer models.Close()
	contract, err := schemas.Compile()
	require.NoError(t, err)
	rooms, err := assembly.Connect(assembly.Config{
		Conn: d.cluster.Connect(t), Log: l, Streams: streams, Vault: keys, Models: models, Contract: contract, Issuer: d.url, Now: time.Now,
		Metrics: metrics.New("test"), Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	writable, err := streams.Watch(ctx, "acme")
	require.NoError(t, err)
	require.True(t, writable)
	act(rooms, keys, l)
}

// admit gives the organisation what an administrator would, and its member a book.
func (d *deployment) admit() {
	d.t.Helper()
	d.inside(d.onboard)
}

func (d *deployment) onboard(rooms *assembly.Rooms, keys *vault.Vault, _ *eventlog.JetStream) {
	t, ctx := d.t, d.t.Context()
	t.Helper()
	for _, command := range []organisation.Command{
		organisation.PublishTerms{ID: "memory", Version: "1", Locale: "en", Text: "We keep what you ask us to keep."},
		organisation.RegisterClient{Client: "assistant-app", Consumers: []events.Consumer{events.ConsumerAssistant}},
	} {
		_, err := rooms.Acts.Organisations.Run(ctx, runner.Command[organisation.Command]{
			Organisation: "acme", Aggregate: events.Organisation(), ID: randomID(t), Received: events.At(time.Now()), Actor: events.Actor{ID: "iris", Kind: events.ActorSystem},
			Setting: runner.Setting{Policy: organisation.Initial("acme").Policy}, Request: []byte("x"), Body: command,
		})
		require.NoError(t, err)
	}
	id, _, err := keys.Register(ctx, "acme", d.url, "ada", "Ada")
	require.NoError(t, err)
	require.NoError(t, keys.EnsureMember(ctx, "acme", id))
	var defined *organisation.State
	require.NoError(t, rooms.Acts.Organisations.View(ctx, "acme", events.Organisation(), func(s *organisation.State, _ uint64) error { defined = s; return nil }))
	commands := []member.Command{member.Register{}, member.Join{Program: events.DefaultProgram}}
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage} {
		commands = append(commands, member.Grant{
			Answer: member.Answer{Key: key, TermsID: "memory", TermsVersion: "1"}, Source: events.SourceSettingsToggle, Locale: "en", Shown: member.ConsentQuestion(key),
		})
	}
	for _, command := range commands {
		_, err := rooms.Acts.Members.Run(ctx, runner.Command[member.Command]{
			Organisation: "acme", Aggregate: events.Member(id), ID: randomID(t), Received: events.At(time.Now()), Actor: events.Actor{ID: string(id), Kind: events.ActorMember},
			Setting: runner.Setting{Policy: defined.Policy, Defined: defined}, Request: []byte("x"), Body: command,
		})
		require.NoError(t, err)
	}
}

func randomID(t *testing.T) events.ID {
	t.Helper()
	id, err := events.RandomID()
	require.NoError(t, err)
	return id
}

// part is a process of the deployment.
type part struct {
	d       *deployment
	name    string
	command *exec.Cmd
	address string
	ended   bool
}

// run starts `iris serve` or `iris worker …`, with a folder of its own, and returns when it works.
func (d *deployment) run(name string, args ...string) *part {
	d.t.Helper()
	p := &part{d: d, name: name}
	p.command = d.command(args[0], []string{"IRIS_EVIDENCE=" + filepath.Join(d.dir, "evidence-"+name), "IRIS_HTTP=127.0.0.1:0"}, args[1:]...)
	said, err := p.command.StderrPipe()
	require.NoError(d.t, err)
	require.NoError(d.t, p.command.Start())
	d.t.Cleanup(func() {
		if !p.ended {
			p.kill()
		}
	})
	lines := bufio.NewScanner(said)
	var before []string
	for p.address == "" && lines.Scan() {
		before = append(before, lines.Text())
		if running, ok := strings.CutPrefix(lines.Text(), "iris: running "); ok {
			p.address = running[strings.LastIndex(running, " ")+1:]
		}
	}
	require.NotEmpty(d.t, p.address, "%s didn't come up: %s", name, strings.Join(before, "\n"))
	go func() { _, _ = io.Copy(io.Discard, said) }()
	return p
}

func (p *part) kill() {
	p.ended = true
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// stop ends it as an operator would.
func (p *part) stop() {
	p.d.t.Helper()
	p.ended = true
	require.NoError(p.d.t, p.command.Process.Signal(syscall.SIGTERM))
	require.NoError(p.d.t, p.command.Wait(), "%s: a graceful stop ends with 0", p.name)
}

type httpAnswer struct {
	status   int
	position string
	body     map[string]any
}

func (p *part) try(role, method, path, body, key string, headers ...string) (httpAnswer, error) {
	request, err := http.NewRequest(method, p.address+path, strings.NewReader(body))
	if err != nil {
		return httpAnswer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+p.d.tokens[role])
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return httpAnswer{}, err
	}
	defer response.Body.Close()
	a := httpAnswer{status: response.StatusCode, position: response.Header.Get("Iris-Position")}
	return a, json.NewDecoder(response.Body).Decode(&a.body)
}

// ask repeats what a store that is going or coming has no answer to, with the same key: nothing is done twice.
func (p *part) ask(role, method, path, body string) httpAnswer {
	p.d.t.Helper()
	key := string(randomID(p.d.t))
	var last httpAnswer
	require.Eventually(p.d.t, func() bool {
		a, err := p.try(role, method, path, body, key)
		require.NoError(p.d.t, err)
		last = a
		if a.status == http.StatusServiceUnavailable {
			require.NotEmpty(p.d.t, a.body["detail"], "a 503 says what to do")
		}
		return a.status < 500 || a.status == http.StatusNotImplemented
	}, time.Minute, 50*time.Millisecond, "%s %s: %v", method, path, &last)
	return last
}

func (p *part) ready() bool {
	a, err := p.try("member", "GET", "/readyz", "", "")
	return err == nil && a.status == 200
}

const asked = `{"surface":"assistant","consumer":"assistant","scope":{"kind":"profile"},"query":"tea or coffee","purpose":"assist","consentedCategories":null}`

func (p *part) recalls() []any {
	p.d.t.Helper()
	a := p.ask("assistant", "POST", "/v1/recall", asked)
	require.Equal(p.d.t, 200, a.status, a.body)
	return a.body["entries"].([]any)
}

// speaker is the producer on the cluster.
type speaker struct {
	t        *testing.T
	conn     *nats.Conn
	outcomes *nats.Subscription
}

func (d *deployment) speaker() *speaker {
	d.t.Helper()
	conn := d.cluster.ConnectProducer(d.t, conversations)
	outcomes, err := conn.SubscribeSync(conversations.Outcomes())
	require.NoError(d.t, err)
	require.NoError(d.t, conn.Flush())
	return &speaker{d.t, conn, outcomes}
}

// says has a claim become a proposal.
func (s *speaker) says(id, body string) string {
	s.t.Helper()
	told := s.hears(id, body)
	require.Contains(s.t, []any{"pending", "duplicate"}, told["outcome"], told)
	return told["proposalId"].(string)
}

// hears publishes a claim until the inbox has it, and once more until its outcome is heard: the same id makes one proposal.
func (s *speaker) hears(id, body string) map[string]any {
	s.t.Helper()
	message := fmt.Sprintf(`{"specversion":"1.0","id":%q,"source":"/producers/conversations","type":"iris.memory.proposed.v1","datacontenttype":"application/json",
		"data":{"member":{"subject":"ada"},"program":"default","tier":"individual","kind":"preference","scope":{"kind":"profile"},
		"category":"preference","subject":"tea","body":%q,"origin":"model-inferred","sourceRefs":[{"kind":"conversation","ref":"c-1","turns":[1,2]}]}}`, id, body)
	var told struct{ Data map[string]any }
	require.Eventually(s.t, func() bool {
		reply, err := s.conn.Request(conversations.Subject(), []byte(message), 2*time.Second)
		if err != nil || !strings.Contains(string(reply.Data), `"seq"`) {
			return false
		}
		heard, err := s.outcomes.NextMsg(5 * time.Second)
		return err == nil && json.Unmarshal(heard.Data, &told) == nil && told.Data["claim"] == id
	}, time.Minute, 50*time.Millisecond)
	return told.Data
}

// The walk, on three NATS nodes and a PostgreSQL that aren't ours, by processes of which some are killed in the middle of it.
func TestServeWalk(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	first, second := d.run("serve-1", "serve"), d.run("serve-2", "serve")
	worker, other := d.run("worker-1", "worker", "intake", "projector", "streamguard"), d.run("worker-2", "worker", "projector", "intake", "streamguard")
	for _, p := range []*part{first, second, worker, other} {
		require.Eventually(t, p.ready, time.Minute, 50*time.Millisecond, p.name)
	}
	asked := d.command("ready", nil, second.address)
	require.NoError(t, asked.Run(), "what a container's health check asks")
	s := d.speaker()

	proposal := s.says("c-1", "Prefers green tea.")
	kept := first.ask("member", "POST", "/v1/me/proposals/"+proposal+"/accept", "{}")
	require.Equal(t, 200, kept.status, kept.body)
	require.Len(t, second.recalls(), 1, "what one process accepted another says back at once")
	forgotten := first.ask("member", "DELETE", fmt.Sprintf("/v1/me/memory/%s", kept.body["memoryId"]), "")
	require.Equal(t, 200, forgotten.status, forgotten.body)
	require.Empty(t, second.recalls(), "a forget is honoured by the other process's next recall")

	unmanaged := second.ask("admin", "POST", "/v1/admin/producers", `{"producer":"another","consumer":"assistant"}`)
	require.Equal(t, http.StatusNotImplemented, unmanaged.status, unmanaged.body)
	require.Contains(t, unmanaged.body["detail"], "iris migrate --producer")

	d.signsIn()

	first.kill()
	worker.kill()
	d.cluster.StopNode(d.cluster.Leader(t, events.StreamFor("acme")))
	proposal = s.says("c-2", "Never drinks coffee.")
	kept = second.ask("member", "POST", "/v1/me/proposals/"+proposal+"/accept", "{}")
	require.Equal(t, 200, kept.status, kept.body)
	require.Len(t, second.recalls(), 1)

	third := d.run("serve-1", "serve") // in the folder of the killed one
	require.Len(t, third.recalls(), 1)
	var listed httpAnswer
	require.Eventually(t, func() bool {
		a, err := third.try("member", "GET", "/v1/me/memory", "", "")
		listed = a
		return err == nil && a.status == 200 && len(a.body["items"].([]any)) == 1
	}, time.Minute, 50*time.Millisecond, "the projector that is left carries on: %v", &listed)
	require.Equal(t, 200, third.ask("member", "DELETE", fmt.Sprintf("/v1/me/memory/%s", kept.body["memoryId"]), "").status)
	require.Empty(t, second.recalls())
	require.Eventually(t, second.ready, time.Minute, 50*time.Millisecond, "two nodes of three are enough")

	d.revokes(second, s)
	d.drains(third, second)
	for _, p := range []*part{second, other} {
		p.stop()
	}
}

// revokes has the organisation take no more claims of a producer that the broker still lets publish.
func (d *deployment) revokes(by *part, s *speaker) {
	d.t.Helper()
	done := by.ask("admin", "DELETE", "/v1/admin/producers/conversations", "")
	require.Equal(d.t, 200, done.status, done.body)
	require.Equal(d.t, map[string]any{"producer": "conversations", "state": "revoked", "credential": "broker_administrator"}, done.body)
	told := s.hears("c-3", "Likes cocoa.")
	require.Equal(d.t, "rejected", told["outcome"], told)
	require.Equal(d.t, "producer_revoked", told["reason"], told)
	require.Equal(d.t, http.StatusNotFound, by.ask("admin", "DELETE", "/v1/admin/producers/nobody", "").status)
}

// drains stops a process while commands are on their way to it: what it answered stands, what it didn't take in is refused at the door.
func (d *deployment) drains(stopping, stays *part) {
	d.t.Helper()
	acknowledged := map[string]string{}
	var mu sync.Mutex
	begun := make(chan struct{}, 1)
	var group sync.WaitGroup
	for lane := range 4 {
		group.Go(func() {
			for n := 0; ; n++ {
				body := fmt.Sprintf("Likes the number %d.", lane*1000+n)
				a, err := stopping.try("assistant", "POST", "/v1/proposals", fmt.Sprintf(
					`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":%q,"origin":"model-inferred"}`, body), fmt.Sprintf("drain-%d-%d", lane, n))
				if err != nil {
					return // the door is shut
				}
				if a.status != http.StatusAccepted {
					if a.status < 500 && a.status != http.StatusTooManyRequests {
						d.t.Errorf("%d %v", a.status, a.body)
					}
					continue
				}
				mu.Lock()
				acknowledged[a.body["proposalId"].(string)] = body
				mu.Unlock()
				select {
				case begun <- struct{}{}:
				default:
				}
			}
		})
	}
	select {
	case <-begun:
	case <-time.After(time.Minute):
		require.Fail(d.t, "nothing was answered")
	}
	stopping.stop()
	group.Wait()
	require.NotEmpty(d.t, acknowledged)
	for id := range acknowledged {
		var a httpAnswer
		require.Eventually(d.t, func() bool { // it may not be visible yet, and so many may not be asked for at once
			var err error
			a, err = stays.try("assistant", "GET", "/v1/proposals/"+id, "", "")
			return err == nil && a.status == 200
		}, time.Minute, 50*time.Millisecond, "%v", &a)
	}
}
