package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/api"
	"iris.example/iris/limits"
)

// again starts the server anew with another configuration.
func (b *bundle) again(change func(*api.Config)) {
	config := b.config
	change(&config)
	b.server = httptest.NewServer(b.handler(config))
	b.t.Cleanup(b.server.Close)
}

// TestLimits: each principal has its own reads, commands and recalls, and whoever shows no credential shares its address's. The
// clock of the limits is the product's here, and moves only when it is moved.
func TestLimits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := time.Unix(0, 0)
	limiter, err := limits.New(limits.Config{
		Reads: limits.Rate{PerSecond: 1, Burst: 2}, Commands: limits.Rate{PerSecond: 0.5, Burst: 1}, Recalls: limits.Rate{PerSecond: 1, Burst: 1},
		Unauthenticated: limits.Rate{PerSecond: 0.1, Burst: 3}, Now: func() time.Time { return now },
	})
	require.NoError(t, err)
	b.again(func(c *api.Config) { c.Limits = limiter })
	ada, ben := b.member(acme, "ada"), b.member(acme, "ben")
	limited := func(r request, after string) {
		t.Helper()
		got := b.do(r)
		require.Equal(t, http.StatusTooManyRequests, got.status, got)
		require.Equal(t, after, got.header.Get("Retry-After"))
		p := into[problem](b, got)
		require.Equal(t, "rate_limited", p.Code)
		require.Contains(t, p.Detail, "wait as many seconds as Retry-After says")
	}

	b.ok(get("/v1/me/consents", ada))
	b.ok(get("/v1/terms", ada))
	limited(get("/v1/me/consents", ada), "1")
	b.ok(get("/v1/me/consents", ben))
	kept := b.ok(post("/v1/me/memory", ada, words()))
	before := b.lasts()
	limited(post("/v1/me/memory", ada, words()), "2")
	require.Equal(t, before, b.lasts(), "nothing was done")
	require.NotEmpty(t, kept.position)
	b.ok(post("/v1/recall", b.assistant(acme, "ada"), question()))
	limited(post("/v1/recall", b.assistant(acme, "ada"), question()), "1")
	now = now.Add(2 * time.Second)
	b.ok(post("/v1/me/memory", ada, strings.Replace(words(), "tea", "milk", 1)))

	// Three without a credential, of whatever kind, from one address; principals are not held up by it.
	b.ok(get("/healthz", ""))
	b.refused(get("/v1/terms", ""), http.StatusUnauthorized, "unauthenticated")
	b.refused(get("/v1/terms", "x.y.z"), http.StatusUnauthorized, "unauthenticated")
	limited(get("/v1/terms", "x.y.z"), "10")
	limited(get("/readyz", ""), "10")
	b.ok(get("/v1/terms", ada))
	require.NotContains(t, b.logged.String(), "127.0.0.1")
	require.NotContains(t, b.logged.String(), "ada@")
}

// TestObservations: each answer is observed once, by pattern, and the page of metrics is what it was given.
func TestObservations(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var mu sync.Mutex
	var seen []api.Observation
	b.again(func(c *api.Config) {
		c.Observe = func(o api.Observation) {
			mu.Lock()
			defer mu.Unlock()
			o.Took = 0
			seen = append(seen, o)
		}
		c.Metrics = func() (string, []byte, error) {
			return "text/plain; version=0.0.4; charset=utf-8", []byte("iris_x 1\n"), nil
		}
	})
	require.Equal(t, "iris_x 1\n", string(b.ok(get("/metrics", "")).body))
	b.refused(get("/v1/me/memory/"+unknownID, b.member(acme, "ada")), http.StatusNotFound, "not_found")
	b.do(get("/v1/secret/word", ""))
	b.do(request{method: "SECRET", path: "/v1/terms"})
	b.server.Close() // an answer is observed after it was sent
	require.Equal(t, []api.Observation{
		{Method: "GET", Pattern: "/metrics", Status: 200},
		{Method: "GET", Pattern: "/v1/me/memory/{id}", Status: 404, Code: "not_found"},
		{Method: "GET", Pattern: "unmatched", Status: 404, Code: "not_found"},
		{Method: "other", Pattern: "/v1/terms", Status: 405, Code: "method_not_allowed"},
	}, seen)

	b.again(func(c *api.Config) {
		c.Metrics = func() (string, []byte, error) { return "", nil, errors.New("gathered twice") }
	})
	b.refused(get("/metrics", ""), http.StatusInternalServerError, "internal")
}
