package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/rebuild"
	"iris.example/iris/vault"
)

// between puts a proxy before every node and before PostgreSQL; processes that start from now on go through them.
func (d *deployment) between() (nodes []*testkit.Proxy, database *testkit.Proxy) {
	d.t.Helper()
	var urls []string
	for _, address := range strings.Split(d.cluster.URLs(), ",") {
		p := testkit.NewProxy(d.t, "tcp", "127.0.0.1:0", strings.TrimPrefix(address, "tls://"))
		nodes, urls = append(nodes, p), append(urls, "tls://"+p.Address())
	}
	server, err := url.Parse(d.postgres.URL("", ""))
	require.NoError(d.t, err)
	q := server.Query()
	dir, err := os.MkdirTemp("", "iris-proxy-") // short: a socket's path has about a hundred characters
	require.NoError(d.t, err)
	d.t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := ".s.PGSQL." + q.Get("port")
	database = testkit.NewProxy(d.t, "unix", filepath.Join(dir, socket), filepath.Join(q.Get("host"), socket))
	q.Set("host", dir)
	server.User, server.Path, server.RawQuery = nil, "/", q.Encode()
	d.env = append(d.env, "IRIS_NATS="+strings.Join(urls, ","), "IRIS_POSTGRES="+server.String())
	return nodes, database
}

// Connections to NATS and PostgreSQL are cut, delayed and silent: what was acknowledged is there, once, read models equal a rebuild,
// a 503 says what to do meanwhile, and everything resumes by itself.
func TestConnectionsCutDelayedAndSilent(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	nodes, database := d.between()
	serve, worker := d.run("serve", "serve"), d.run("worker", "worker", "intake", "projector")
	require.Eventually(t, func() bool { return serve.ready() && worker.ready() }, time.Minute, 50*time.Millisecond)
	s := d.speaker()
	all := append([]*testkit.Proxy{database}, nodes...)
	acknowledged, n, position := map[string]any{}, 0, ""
	propose := func() {
		t.Helper()
		n++
		body := fmt.Sprintf("Likes the number %d.", n)
		a := serve.ask("assistant", "POST", "/v1/proposals", proposalOf(body))
		require.Equal(t, 202, a.status, a.body)
		acknowledged[body], position = a.body["proposalId"], a.position
	}
	for round := range 3 { // cut in the middle of commands
		for range 6 {
			propose()
			for _, p := range all {
				p.Cut()
			}
		}
		body := fmt.Sprintf("Prefers tea of the sort %d.", round)
		acknowledged[body] = s.says(fmt.Sprint("c-", round), body)
	}
	t.Log("delayed")
	for _, p := range all {
		p.Delay(20 * time.Millisecond)
	}
	for range 3 {
		propose()
	}
	for _, p := range all {
		p.Delay(0)
	}

	// Error returned, effect persisted: the cluster stores it, and the answer never comes.
	for _, p := range nodes {
		p.HushAnswers()
	}
	t.Log("unheard")
	n++
	body := fmt.Sprintf("Likes the number %d.", n)
	last := d.last()
	a, err := serve.try("assistant", "POST", "/v1/proposals", proposalOf(body), "unheard")
	require.NoError(t, err)
	require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
	require.NotEmpty(t, a.body["detail"])
	before := d.last()
	for _, p := range nodes {
		p.Speak()
		p.Cut()
	}
	require.Eventually(t, func() bool {
		a, err = serve.try("assistant", "POST", "/v1/proposals", proposalOf(body), "unheard")
		return err == nil && a.status == 202
	}, time.Minute, 50*time.Millisecond, "%v", &a)
	acknowledged[body], position = a.body["proposalId"], a.position
	require.LessOrEqual(t, last, before)

	t.Log("silent")
	for _, p := range all { // nobody says anything, and nobody closes: what hangs is given up and dialled anew
		p.Hush()
		a, err := serve.try("assistant", "POST", "/v1/recall", asked, "")
		require.NoError(t, err)
		require.Contains(t, []int{http.StatusOK, http.StatusServiceUnavailable}, a.status, a.body)
		p.Speak()
	}
	propose()
	for _, p := range []*part{serve, worker} {
		require.Eventually(t, p.ready, time.Minute, 50*time.Millisecond, "%s is well again by itself", p.name)
	}
	require.Equal(t, acknowledged, serve.pending(position))
	d.inside(func(rooms *assembly.Rooms, _ *vault.Vault, l *eventlog.JetStream) {
		_, err := rebuild.Run(context.Background(), rebuild.Config{
			AdminURL: d.postgres.URL(assembly.ModelsDatabase, d.postgres.Superuser()), OwnerURL: d.postgres.URL(assembly.ModelsDatabase, migrations.Owner),
			ProjectorURL: d.postgres.URL(assembly.ModelsDatabase, migrations.Projector), Organisations: []string{"acme"},
			Follow: engine.Followed(l), Last: l.Last, Codec: rooms.Codec,
		})
		require.NoError(t, err, "read models equal a rebuild")
	})
	serve.stop()
	worker.stop()
}

// All three nodes go and come back: writes and recalls answer 503 and what to do meanwhile, and go on by themselves.
func TestClusterStoppedAndStarted(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	serve, worker := d.run("serve", "serve"), d.run("worker", "worker", "intake", "projector")
	require.Eventually(t, func() bool { return serve.ready() && worker.ready() }, time.Minute, 50*time.Millisecond)
	acknowledged := map[string]any{}
	first := serve.ask("assistant", "POST", "/v1/proposals", proposalOf("Prefers tea."))
	acknowledged["Prefers tea."] = first.body["proposalId"]
	for i := range 3 {
		d.cluster.StopNode(i)
	}
	for path, body := range map[string]string{"/v1/proposals": proposalOf("Prefers coffee."), "/v1/recall": asked} {
		a, err := serve.try("assistant", "POST", path, body, "meanwhile")
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, a.status, a.body)
		require.NotEmpty(t, a.body["detail"], "what to do")
	}
	require.False(t, serve.ready())
	d.cluster.StartAll(t)
	var a httpAnswer
	require.Eventually(t, func() bool {
		var err error
		a, err = serve.try("assistant", "POST", "/v1/proposals", proposalOf("Prefers coffee."), "meanwhile")
		return err == nil && a.status == 202
	}, time.Minute, 50*time.Millisecond, "%v", &a)
	acknowledged["Prefers coffee."] = a.body["proposalId"]
	require.Equal(t, acknowledged, serve.pending(a.position))
	require.Eventually(t, func() bool { return serve.ready() && worker.ready() }, time.Minute, 50*time.Millisecond)
	serve.stop()
	worker.stop()
}

func proposalOf(body string) string {
	return fmt.Sprintf(`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":%q,"origin":"model-inferred"}`, body)
}

// last is where the organisation's stream ends, asked past every proxy.
func (d *deployment) last() uint64 {
	d.t.Helper()
	l, err := eventlog.New(d.cluster.Connect(d.t), eventlog.Config{Replicas: 3})
	require.NoError(d.t, err)
	last, err := l.Last(d.t.Context(), events.StreamFor("acme"))
	require.NoError(d.t, err)
	return last
}

// pending reads everything that waits for the member, at a position, and fails when something stands there twice.
func (p *part) pending(position string) map[string]any {
	t := p.d.t
	t.Helper()
	found := map[string]any{}
	var a httpAnswer
	require.Eventually(t, func() bool {
		var err error
		a, err = p.try("member", "GET", "/v1/me/proposals?state=pending&limit=200", "", "", "Iris-Wait", position)
		return err == nil && a.status == 200
	}, time.Minute, 50*time.Millisecond, "%v", &a)
	for _, item := range a.body["items"].([]any) {
		m := item.(map[string]any)
		require.NotContains(t, found, m["body"], "doubled")
		found[m["body"].(string)] = m["proposalId"]
	}
	return found
}
