package web_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
	"iris.example/iris/internal/browser"
	"iris.example/iris/internal/testkit/oidctest"
	"iris.example/iris/web"
)

// atOrganisation is the pages with a provider to sign in at.
type atOrganisation struct {
	*bundle
	provider *oidctest.Provider
	later    atomic.Int64 // how far the pages' clock is ahead
}

func setupLogin(t testing.TB) *atOrganisation {
	t.Helper()
	o := &atOrganisation{bundle: setup(t), provider: oidctest.Start(t)}
	o.acts.Issuer = o.provider.URL
	o.member("ann")
	server := httptest.NewUnstartedServer(nil)
	config := o.config()
	config.Provider, config.Verifier = openLogin(t, o.provider, "http://"+server.Listener.Addr().String()+identity.CallbackPath)
	config.LoginKey = []byte("a key of thirty-two bytes or more")
	config.Now = func() time.Time { return time.Now().Add(time.Duration(o.later.Load())) }
	site, err := web.New(config)
	require.NoError(t, err)
	server.Config.Handler = site.Handler()
	server.Start()
	t.Cleanup(server.Close)
	o.server = server
	return o
}

func openLogin(t testing.TB, p *oidctest.Provider, redirect string) (*identity.Login, *identity.Verifier) {
	t.Helper()
	p.Change(func(s *oidctest.State) { s.RedirectURL = redirect })
	verifier, err := identity.Open(t.Context(), identity.Config{Issuer: p.URL, Audience: oidctest.Audience, Now: time.Now})
	require.NoError(t, err)
	login, err := identity.OpenLogin(t.Context(), verifier, identity.LoginConfig{ClientID: oidctest.Client, RedirectURL: redirect})
	require.NoError(t, err)
	return login, verifier
}

// returning goes all the way to the provider and stops with the address that it sends the browser back to.
func (v *visitor) returning(next string) *url.URL {
	t := v.b.t
	t.Helper()
	v.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == identity.CallbackPath {
			return http.ErrUseLastResponse
		}
		return nil
	}
	defer func() { v.http.CheckRedirect = nil }()
	answer, err := v.http.PostForm(v.b.server.URL+"/sign-in/oidc", url.Values{"next": {next}})
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	back, err := answer.Location()
	require.NoError(t, err, string(body))
	return back
}

func (v *visitor) cookies() []*http.Cookie {
	u, err := url.Parse(v.b.server.URL)
	require.NoError(v.b.t, err)
	return v.http.Jar.Cookies(u)
}

func TestSignInAtTheOrganisation(t *testing.T) {
	t.Parallel()
	o := setupLogin(t)
	v := o.visitor()

	page := v.get("/consents")
	require.Equal(t, "/sign-in", page.url.Path)
	require.Contains(t, page.header.Get("Content-Security-Policy"), "form-action 'self' "+o.provider.URL+";", "the provider's origin and nothing else")
	form := page.form(t, "/sign-in/oidc")
	require.Equal(t, "/consents", form.Get("next"))
	require.Contains(t, v.get("/nowhere").header.Get("Content-Security-Policy"), "form-action 'self';", "no other page's forms lead there")

	page = v.post("/sign-in/oidc", form)
	require.Equal(t, http.StatusOK, page.status, page.body)
	require.Equal(t, identity.CallbackPath, page.url.Path)
	require.Contains(t, page.body, "You are signed in")
	require.Equal(t, "0; url=/consents", page.header.Get("Refresh"))
	require.Contains(t, page.body, `href="/consents"`)
	require.Equal(t, "no-store", page.header.Get("Cache-Control"))
	cookies := v.cookies()
	require.Len(t, cookies, 1, "the sign-in's own cookie is gone")
	require.Equal(t, "iris", cookies[0].Name)
	page = v.get("/consents")
	require.Equal(t, "/consents", page.url.Path)
	require.Contains(t, page.body, "Sign out of acme")

	// The way back is good once, with its cookie or without.
	begun := o.visitor()
	back := begun.returning("/memory").RequestURI()
	kept := begun.cookies()
	require.Equal(t, http.StatusOK, begun.get(back).status)
	require.Equal(t, http.StatusBadRequest, begun.get(back).status)
	answer := o.once("GET", back, func(r *http.Request) { r.AddCookie(kept[0]) })
	require.Equal(t, http.StatusBadRequest, answer.StatusCode)
	require.Empty(t, sessions(answer))
	require.NotContains(t, o.logged.String(), "ann")
}

func sessions(answer *http.Response) []string {
	var all []string
	for _, c := range answer.Cookies() {
		if c.Name == "iris" && c.Value != "" {
			all = append(all, c.Value)
		}
	}
	return all
}

func TestWhatTheBrowserKeepsMeanwhile(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	login, verifier := openLogin(t, p, "https://iris.example"+identity.CallbackPath)
	for _, secure := range []bool{false, true} {
		site, err := web.New(web.Config{Acts: &acts.Acts{}, Verifier: verifier, Now: time.Now, Provider: login, LoginKey: make([]byte, 32), Secure: secure})
		require.NoError(t, err)
		answer := httptest.NewRecorder()
		site.Handler().ServeHTTP(answer, httptest.NewRequest("POST", "/sign-in/oidc", nil))
		require.Equal(t, http.StatusSeeOther, answer.Code)
		to, err := answer.Result().Location()
		require.NoError(t, err)
		require.Equal(t, p.URL, to.Scheme+"://"+to.Host)
		require.Equal(t, "S256", to.Query().Get("code_challenge_method"))
		cookies := answer.Result().Cookies()
		require.Len(t, cookies, 1)
		c := cookies[0]
		require.Equal(t, map[bool]string{false: "iris-sign-in", true: "__Host-iris-sign-in"}[secure], c.Name)
		require.True(t, c.HttpOnly)
		require.Equal(t, secure, c.Secure)
		require.Equal(t, http.SameSiteLaxMode, c.SameSite)
		require.Equal(t, 600, c.MaxAge)
		for _, secret := range []string{"state", "nonce"} {
			require.NotEmpty(t, to.Query().Get(secret))
			require.NotContains(t, c.Value, to.Query().Get(secret))
		}
	}
}

// A way back that isn't of this browser's sign-in signs nobody in, and brings no code to the provider.
func TestAWayBackThatIsNotOurs(t *testing.T) {
	t.Parallel()
	o := setupLogin(t)
	for name, c := range map[string]func(v *visitor, back *url.URL){
		"tampered state": func(_ *visitor, back *url.URL) {
			change(back, "state", func(s string) string { return s[:len(s)-1] + "0" })
		},
		"no state": func(_ *visitor, back *url.URL) { change(back, "state", func(string) string { return "" }) },
		"another browser's": func(v *visitor, back *url.URL) {
			*back = *v.b.visitor().returning("/memory")
		},
		"no cookie": func(v *visitor, _ *url.URL) { v.http.Jar = v.b.visitor().http.Jar },
		"tampered cookie": func(v *visitor, _ *url.URL) {
			c := v.cookies()[0]
			c.Value, c.Path = "AAAAAAAA"+c.Value[8:], "/"
			u, _ := url.Parse(v.b.server.URL)
			v.http.Jar.SetCookies(u, []*http.Cookie{c})
		},
		"made-up cookie": func(v *visitor, _ *url.URL) {
			u, _ := url.Parse(v.b.server.URL)
			v.http.Jar.SetCookies(u, []*http.Cookie{{Name: "iris-sign-in", Value: "eyJTdGF0ZSI6IngifQ", Path: "/"}})
		},
	} {
		v := o.visitor()
		back := v.returning("/memory")
		c(v, back)
		page := v.get(back.RequestURI())
		require.Equal(t, http.StatusBadRequest, page.status, name)
		require.Contains(t, page.body, "This sign-in was not begun in this browser", name)
		require.Equal(t, "/sign-in", v.get("/memory").url.Path, name)
	}
	v := o.visitor()
	back := v.returning("/memory")
	o.later.Store(int64(10 * time.Minute))
	require.Equal(t, http.StatusBadRequest, v.get(back.RequestURI()).status, "a cookie that a browser kept for too long")
	require.Zero(t, o.provider.TokenRequests())
	o.later.Store(0)

	// A foreign link doesn't end the sign-in that it interrupts.
	v.get(identity.CallbackPath + "?state=foreign&code=x")
	require.Equal(t, http.StatusOK, v.get(back.RequestURI()).status)
}

func change(u *url.URL, name string, to func(string) string) {
	query := u.Query()
	query.Set(name, to(query.Get(name)))
	u.RawQuery = query.Encode()
}

func TestWhatTheProviderSays(t *testing.T) {
	t.Parallel()
	o := setupLogin(t)
	var whole oidctest.State
	o.provider.Change(func(s *oidctest.State) { whole = *s })
	for name, c := range map[string]struct {
		spoil  func(*oidctest.State)
		status int
		says   string
	}{
		"no":               {func(s *oidctest.State) { s.Says = "access_denied" }, 403, "said no"},
		"not now":          {func(s *oidctest.State) { s.Says = "temporarily_unavailable" }, 503, "doesn’t answer now"},
		"not registered":   {func(s *oidctest.State) { s.Says = "unauthorized_client" }, 502, "register Iris"},
		"its own words":    {func(s *oidctest.State) { s.Says = "<b>ann</b>" }, 502, "register Iris"},
		"another nonce":    {func(s *oidctest.State) { s.ID = map[string]any{"nonce": "another"} }, 400, "doesn’t belong to this one"},
		"no nonce":         {func(s *oidctest.State) { s.ID = map[string]any{"nonce": nil} }, 400, "doesn’t belong to this one"},
		"no ID token":      {func(s *oidctest.State) { s.NoIDToken = true }, 502, "openid"},
		"opaque":           {func(s *oidctest.State) { s.Opaque = true }, 502, "signed JWTs (RFC 9068)"},
		"another audience": {func(s *oidctest.State) { s.Access = map[string]any{"aud": "elsewhere"} }, 502, "another audience"},
		"no organisation":  {func(s *oidctest.State) { s.Access = map[string]any{"org": nil} }, 502, "org is not an organisation"},
		"too long":         {func(s *oidctest.State) { s.Access = map[string]any{"x": strings.Repeat("x", 4096)} }, 502, "too long"},
		"another secret":   {func(s *oidctest.State) { s.Secret = "s3cret" }, 502, "compare client id"},
	} {
		o.provider.Change(func(s *oidctest.State) { *s = whole; c.spoil(s) })
		v := o.visitor()
		page := v.get(v.returning("/memory").RequestURI())
		require.Equal(t, c.status, page.status, name)
		require.Contains(t, page.body, c.says, name)
		require.NotContains(t, page.body, "ann", name)
		require.Empty(t, v.cookies(), name)
	}
	o.provider.Change(func(s *oidctest.State) { *s = whole })
	v := o.visitor()
	back := v.returning("/memory")
	o.provider.Change(func(s *oidctest.State) { s.Down = true })
	require.Equal(t, http.StatusServiceUnavailable, v.get(back.RequestURI()).status)

	logged := o.logged.String()
	require.Contains(t, logged, "sign_in_misconfigured")
	require.Contains(t, logged, "sign_in_unavailable")
	for _, not := range []string{"ann", "eyJ", "state=", "<nil>", "<b>", "127.0.0.1"} {
		require.NotContains(t, logged, not)
	}
}

func TestSignInComesBackHere(t *testing.T) {
	t.Parallel()
	o := setupLogin(t)
	for next, want := range map[string]string{
		"//evil.example": "/memory", "https://evil.example/memory": "/memory", "/\\evil.example": "/memory", "/sign-out": "/memory",
		"/memory?category=work": "/memory?category=work", "/memory?q=" + strings.Repeat("x", 8192): "/memory",
	} {
		v := o.visitor()
		page := v.get(v.returning(next).RequestURI())
		require.Equal(t, "0; url="+want, page.header.Get("Refresh"), next)
		require.Contains(t, page.body, `<a href="`+want+`">`, next)
	}
}

func TestWithoutAProviderThereIsNoWayThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	v := b.visitor()
	require.NotContains(t, v.get("/sign-in").body, "/sign-in/oidc")
	require.Equal(t, http.StatusNotFound, v.post("/sign-in/oidc", nil).status)
	require.Equal(t, http.StatusNotFound, v.get(identity.CallbackPath+"?state=x&code=y").status)
	config := b.config()
	config.Provider, _ = openLogin(t, oidctest.Start(t), b.server.URL+identity.CallbackPath)
	_, err := web.New(config)
	require.ErrorIs(t, err, web.ErrConfig, "a provider without a key")
}

// A real browser holds forms to form-action through redirects, and brings no Strict cookie along from another site: localhost is
// another site than 127.0.0.1, and the provider's page has a form of its own.
func TestSignInInABrowser(t *testing.T) {
	t.Parallel()
	for name, showsForm := range map[string]bool{"with the provider's form": true, "already signed in there": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setupLogin(t)
			o.provider.Change(func(s *oidctest.State) { s.ShowsForm = showsForm })
			tab := browser.Open(t)
			if showsForm {
				tab.WithoutScript()
			}
			tab.Visit(o.server.URL + "/consents")
			if !showsForm {
				tab.Accessible("sign in with a provider")
			}
			tab.Press("form[action='/sign-in/oidc'] button")
			if showsForm {
				require.True(t, strings.HasPrefix(tab.Address(), o.provider.URL+"/authorize?"), tab.Address())
				tab.Press("button")
			}
			require.Eventually(t, func() bool { return tab.Address() == o.server.URL+"/consents" }, time.Minute, 20*time.Millisecond)
			require.Equal(t, "Sign out of acme", tab.Text("header form button"))
		})
	}
}
