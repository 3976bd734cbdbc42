package web_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/web"
)

// once asks without following redirects or keeping cookies.
func (b *bundle) once(method, path string, change func(*http.Request)) *http.Response {
	b.t.Helper()
	request := httptest.NewRequest(method, "http://pages.test"+path, strings.NewReader(""))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	change(request)
	answer := httptest.NewRecorder()
	b.server.Config.Handler.ServeHTTP(answer, request)
	return answer.Result()
}

func cookie(value string) func(*http.Request) {
	return func(r *http.Request) { r.AddCookie(&http.Cookie{Name: "iris", Value: value}) }
}

func concrete(pattern string) string {
	return strings.NewReplacer("{$}", "", "{id}", "01a22c0d-c83f-771e-b804-a36e408eb875", "{file}", "x").Replace(pattern)
}

// Every route of the table that isn't Anyone's answers nobody without a verified member, and no route is posted to from another site.
func TestEveryRouteAsksWhoYouAre(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	expired, err := b.issuer.Mint(context.Background(), devissuer.Claims{Subject: "ann", Client: "pages", Organisation: org}, time.Second)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err := b.issuer.Verifier().Verify(context.Background(), expired)
		return err != nil
	}, time.Minute, 10*time.Millisecond)
	elsewhere, err := b.issuer.Mint(context.Background(), devissuer.Claims{Subject: "ann", Client: "pages", Organisation: "globex"}, time.Hour)
	require.NoError(t, err)

	public := 0
	for _, route := range web.Routes() {
		method := route.Method
		if method == "" {
			method = "GET"
		}
		path := concrete(route.Pattern)
		for name, change := range map[string]func(*http.Request){
			"nothing": func(*http.Request) {}, "nonsense": cookie("nonsense"), "expired": cookie(expired),
			"in a header": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+b.token("ann")) },
		} {
			answer := b.once(method, path, change)
			switch {
			case route.Who == web.Anyone:
				public++
			case method == "GET":
				require.Equal(t, http.StatusSeeOther, answer.StatusCode, "%s %s with %s", method, path, name)
				require.Equal(t, "/sign-in?"+url.Values{"next": {path}}.Encode(), answer.Header.Get("Location"))
			default:
				require.Equal(t, http.StatusUnauthorized, answer.StatusCode, "%s %s with %s", method, path, name)
			}
		}
		if route.Who == web.Member {
			require.Equal(t, http.StatusNotFound, b.once(method, path, cookie(elsewhere)).StatusCode, "an organisation that isn't there")
			require.Equal(t, http.StatusForbidden, b.once(method, path, cookie(b.token("stranger"))).StatusCode, "no member")
		}
		if method == "POST" {
			for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://elsewhere.example"} {
				answer := b.once(method, path, func(r *http.Request) {
					cookie(b.token("ann"))(r)
					r.Header.Set(name, value)
				})
				require.Equal(t, http.StatusForbidden, answer.StatusCode, path)
			}
		}
	}
	require.Equal(t, 7*4, public, "a route became public or stopped being it: is that meant?")
}

func TestEveryAnswerIsGuarded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	for _, path := range []string{"/", "/memory", "/memory/new", "/consents", "/sign-in", "/nowhere", "/static/none.css"} {
		answer := b.once("GET", path, cookie(b.token("ann")))
		require.Equal(t, "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			answer.Header.Get("Content-Security-Policy"), path)
		require.Equal(t, "no-store", answer.Header.Get("Cache-Control"), path)
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), path)
	}
	page := b.signedIn("ann").get("/memory")
	for _, inline := range []string{"<script", " style=", "<style", " onclick"} {
		require.NotContains(t, page.body, inline)
	}
	for _, name := range []string{`rel="stylesheet" href="`, `type="image/svg+xml" href="`} {
		answer := b.once("GET", between(page.body, name, `"`), func(*http.Request) {})
		require.Equal(t, http.StatusOK, answer.StatusCode)
		require.Equal(t, "public, max-age=31536000, immutable", answer.Header.Get("Cache-Control"))
	}
	require.Less(t, len(page.body), 60<<10)
}

func TestSigningIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	token := b.token("ann")
	b.codes["a-code"] = token

	// A link alone signs nobody in: previews and mail scanners open it too.
	page := b.visitor().get("/sign-in?code=a-code")
	require.Contains(t, page.body, "Sign in as Ann &lt;Archer&gt;")
	require.Empty(t, page.header.Values("Set-Cookie"))
	require.NotContains(t, page.body, token)
	v := b.visitor()
	require.Equal(t, "/consents", v.post("/sign-in", url.Values{"code": {"a-code"}, "next": {"/consents"}}).url.Path)
	require.Equal(t, "/consents", v.get("/consents").url.Path)
	require.Equal(t, "/sign-in", v.post("/sign-out", nil).url.Path)
	require.Equal(t, "/sign-in", v.get("/consents").url.Path)

	for name, form := range map[string]url.Values{
		"unknown code": {"code": {"another"}}, "no token": {}, "nonsense": {"token": {"nonsense"}}, "cut": {"token": {token[:len(token)-5]}},
		"too long for a cookie": {"token": {token + strings.Repeat("x", 4096)}},
	} {
		page := b.visitor().post("/sign-in", form)
		require.Equal(t, http.StatusUnauthorized, page.status, name)
		require.Contains(t, page.body, "You are not signed in.", name)
		require.Empty(t, page.header.Values("Set-Cookie"), name)
		require.NotContains(t, page.body, token[:40], name)
	}
	page = b.visitor().get("/sign-in?code=another")
	require.Equal(t, http.StatusUnauthorized, page.status)

	// An assistant's token names the member and may not answer for them.
	v = b.visitor()
	page = v.post("/sign-in", url.Values{"token": {b.mint("ann", "assistant-1")}})
	require.Equal(t, http.StatusForbidden, page.status)
}

func TestTheCookie(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	for _, secure := range []bool{false, true} {
		config := b.config()
		config.Secure = secure
		site, err := web.New(config)
		require.NoError(t, err)
		post := httptest.NewRequest("POST", "/sign-in", strings.NewReader(url.Values{"token": {"  " + b.token("ann") + "\n"}}.Encode()))
		post.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		answer := httptest.NewRecorder()
		site.Handler().ServeHTTP(answer, post)
		require.Equal(t, http.StatusSeeOther, answer.Code)
		cookies := answer.Result().Cookies()
		require.Len(t, cookies, 1)
		name := map[bool]string{false: "iris", true: "__Host-iris"}[secure]
		require.Equal(t, name, cookies[0].Name)
		require.Equal(t, "/", cookies[0].Path)
		require.Empty(t, cookies[0].Domain)
		require.True(t, cookies[0].HttpOnly)
		require.Equal(t, secure, cookies[0].Secure)
		require.Equal(t, http.SameSiteStrictMode, cookies[0].SameSite)
		require.Zero(t, cookies[0].MaxAge)
	}
}

func TestSigningInStaysHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	for next, want := range map[string]string{
		"/settings": "/settings", "/roles": "/roles",
		"/consents": "/consents", "/memory?category=work": "/memory?category=work", "": "/memory", "/sign-out": "/memory",
		"//evil.example": "/memory", "https://evil.example/memory": "/memory", "/\\evil.example": "/memory", "/memory/../..//evil": "/memory",
		"javascript:alert(1)": "/memory", "/memory\r\nSet-Cookie: a=b": "/memory", "http:/memory": "/memory", "/consents#x": "/consents",
	} {
		answer := b.once("POST", "/sign-in", func(r *http.Request) {
			r.Body = http.NoBody
			r.URL.RawQuery = ""
			*r = *httptest.NewRequest("POST", "/sign-in", strings.NewReader(url.Values{"token": {b.token("ann")}, "next": {next}}.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		})
		require.Equal(t, want, answer.Header.Get("Location"), next)
	}
}

type failing struct{ error }

func (f failing) Verify(context.Context, string) (identity.Principal, error) {
	return identity.Principal{}, f.error
}

// Keys that can't be read are our trouble: nobody is sent to sign in again for it, and nobody gets in.
func TestKeysThatCantBeReadLetNobodyIn(t *testing.T) {
	t.Parallel()
	site, err := web.New(web.Config{
		Acts: &acts.Acts{}, Now: time.Now,
		Verifier: failing{errors.Join(&identity.Error{Code: identity.TokenKeyUnknown}, identity.ErrKeysUnavailable)},
	})
	require.NoError(t, err)
	get := httptest.NewRequest("GET", "/memory", nil)
	cookie("x")(get)
	answer := httptest.NewRecorder()
	site.Handler().ServeHTTP(answer, get)
	require.Equal(t, http.StatusServiceUnavailable, answer.Code)
	require.Contains(t, answer.Body.String(), "Try again in a moment.")
}

func TestConfig(t *testing.T) {
	t.Parallel()
	whole := web.Config{Acts: &acts.Acts{}, Verifier: failing{}, Now: time.Now}
	_, err := web.New(whole)
	require.NoError(t, err)
	for _, broken := range []web.Config{
		{}, {Acts: whole.Acts, Verifier: whole.Verifier}, {Acts: whole.Acts, Now: time.Now}, {Verifier: whole.Verifier, Now: time.Now},
	} {
		_, err := web.New(broken)
		require.ErrorIs(t, err, web.ErrConfig)
	}
}

func TestFormsThatArentOurs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	v := b.signedIn("ann")
	for name, form := range map[string]url.Values{
		"no key": {}, "no uuid": {"key": {"x"}}, "too long": {"key": {string(newID(t))}, "body": {strings.Repeat("x", 300<<10)}},
	} {
		for _, path := range []string{"/memory", "/consents", "/proposals/" + string(newID(t))} {
			page := v.post(path, form)
			require.Equal(t, http.StatusBadRequest, page.status, name)
			require.Contains(t, page.body, "Nothing was done.")
		}
	}
}
