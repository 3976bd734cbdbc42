package web_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/limits"
	"iris.example/iris/web"
)

// TestPagesAreLimited: a member's reads and forms are counted apart from another's, and tries to sign in by address, before it is
// known whether they are right. A form that came too often keeps its key, and can be sent again.
func TestPagesAreLimited(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.member("bea")
	b.codes["a-code"] = b.token("ann")
	ann, bea := b.signedIn("ann"), b.signedIn("bea")
	limiter, err := limits.New(limits.Config{
		Reads: limits.Rate{PerSecond: 1, Burst: 1}, Commands: limits.Rate{PerSecond: 0.1, Burst: 1}, Unauthenticated: limits.Rate{PerSecond: 1, Burst: 1},
		Now: func() time.Time { return time.Unix(0, 0) },
	})
	require.NoError(t, err)
	config := b.config()
	config.Limits = limiter
	site, err := web.New(config)
	require.NoError(t, err)
	server := httptest.NewServer(site.Handler())
	t.Cleanup(server.Close)
	was, err := url.Parse(b.server.URL)
	require.NoError(t, err)
	b.server = server
	now, err := url.Parse(server.URL)
	require.NoError(t, err)
	for _, v := range []*visitor{ann, bea} {
		v.http.Jar.SetCookies(now, v.http.Jar.Cookies(was))
	}
	limited := func(page answered, after string) {
		t.Helper()
		require.Equal(t, http.StatusTooManyRequests, page.status, page.body)
		require.Equal(t, after, page.header.Get("Retry-After"))
		require.Contains(t, page.body, "You have asked more often than one may.")
	}

	require.Equal(t, http.StatusOK, ann.get("/consents").status)
	limited(ann.get("/consents"), "1")
	require.Equal(t, http.StatusOK, bea.get("/consents").status)
	require.Equal(t, http.StatusBadRequest, bea.post("/consents", url.Values{}).status, "what is wrong counts too")
	limited(bea.post("/consents", url.Values{"key": {"k"}}), "10")

	stranger := b.visitor()
	require.Equal(t, http.StatusUnauthorized, stranger.post("/sign-in", url.Values{"code": {"guess"}}).status)
	limited(stranger.post("/sign-in", url.Values{"code": {"a-code"}}), "1")
	require.Empty(t, stranger.http.Jar.Cookies(now))
	require.NotContains(t, b.logged.String(), "127.0.0.1")
}
