package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/testkit/oidctest"
)

// signsIn goes to the provider from one process of `iris serve` and comes back to another, as behind a balancer.
func (d *deployment) signsIn() {
	d.t.Helper()
	provider := oidctest.Start(d.t)
	const back = "http://127.0.0.1:1/sign-in/callback" // the balancer's
	provider.Change(func(s *oidctest.State) { s.RedirectURL, s.Secret = back, "s3cret" })
	secret := filepath.Join(d.dir, "client-secret")
	require.NoError(d.t, os.WriteFile(secret, []byte("s3cret\n"), 0o600))
	with := *d
	with.env = append(slices.Clone(d.env), "IRIS_OIDC_ISSUER="+provider.URL, "IRIS_OIDC_AUDIENCE="+oidctest.Audience,
		"IRIS_OIDC_CLIENT_ID="+oidctest.Client, "IRIS_OIDC_CLIENT_SECRET_FILE="+secret, "IRIS_OIDC_REDIRECT_URL="+back, "IRIS_OIDC_SCOPES=")
	one, other := with.run("login-1", "serve"), with.run("login-2", "serve")
	var cookies []*http.Cookie
	ask := func(method, address string) *http.Response {
		d.t.Helper()
		request, err := http.NewRequest(method, address, nil)
		require.NoError(d.t, err)
		for _, c := range cookies {
			request.AddCookie(c)
		}
		answer, err := http.DefaultTransport.RoundTrip(request)
		require.NoError(d.t, err)
		body, err := io.ReadAll(answer.Body)
		require.NoError(d.t, err)
		require.NoError(d.t, answer.Body.Close())
		require.Less(d.t, answer.StatusCode, 400, string(body))
		return answer
	}
	sent := ask("POST", one.address+"/sign-in/oidc")
	cookies = sent.Cookies()
	require.Len(d.t, cookies, 1)
	returned, err := url.Parse(ask("GET", sent.Header.Get("Location")).Header.Get("Location"))
	require.NoError(d.t, err)
	require.True(d.t, strings.HasPrefix(returned.String(), back))
	in := ask("GET", other.address+returned.RequestURI())
	require.Equal(d.t, "0; url=/memory", in.Header.Get("Refresh"))
	one.stop()
	other.stop()
}
