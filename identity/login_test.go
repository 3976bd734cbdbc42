package identity_test

import (
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
	"iris.example/iris/internal/testkit/oidctest"
)

const redirect = "https://iris.example/sign-in/callback"

func TestLoginConfigIsWholeOrRefused(t *testing.T) {
	t.Parallel()
	good := identity.LoginConfig{ClientID: "iris", RedirectURL: redirect}
	require.NoError(t, good.Validate())
	require.NoError(t, identity.LoginConfig{ClientID: "iris", RedirectURL: "http://127.0.0.1:8420/sign-in/callback"}.Validate())
	require.ErrorIs(t, identity.LoginConfig{RedirectURL: redirect}.Validate(), identity.ErrConfig)
	for _, address := range []string{
		"", "iris.example/sign-in/callback", "http://iris.example/sign-in/callback", "https://iris.example", "https://iris.example/sign-in/callback?x=1",
		"https://iris.example/sign-in/callback#x", "https://a:b@iris.example/sign-in/callback", "https://iris.example/other", "https:///sign-in/callback",
	} {
		require.ErrorIs(t, identity.LoginConfig{ClientID: "iris", RedirectURL: address}.Validate(), identity.ErrConfig, address)
	}
}

// signIn is the whole way without pages.
func signIn(t *testing.T, p *oidctest.Provider, login *identity.Login, tamper func(code, nonce, verifier *string)) (string, error) {
	t.Helper()
	nonce, verifier := "a-nonce", "a-verifier-of-forty-three-letters-or-more-0123"
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Get(login.Address("a-state", nonce, verifier))
	require.NoError(t, err)
	said, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	back, err := answer.Location()
	require.NoError(t, err, string(said))
	require.Equal(t, "a-state", back.Query().Get("state"))
	code := back.Query().Get("code")
	require.NotEmpty(t, code, back.Query())
	if tamper != nil {
		tamper(&code, &nonce, &verifier)
	}
	return login.Exchange(t.Context(), code, nonce, verifier)
}

func openedLogin(t *testing.T, p *oidctest.Provider, secret string) (*identity.Login, error) {
	t.Helper()
	p.Change(func(s *oidctest.State) { s.RedirectURL = redirect })
	verifier, err := identity.Open(t.Context(), identity.Config{Issuer: p.URL, Audience: oidctest.Audience, Now: time.Now})
	require.NoError(t, err)
	return identity.OpenLogin(t.Context(), verifier, identity.LoginConfig{ClientID: oidctest.Client, Secret: secret, RedirectURL: redirect, Scopes: []string{"openid", "iris"}})
}

func TestLogin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		methods []string
		secret  string
	}{
		"public": {[]string{"none"}, ""}, "secret in the header": {nil, "s3:cr et"}, "secret in the body": {[]string{"client_secret_post"}, "s3cret"},
	} {
		p := oidctest.Start(t)
		p.Change(func(s *oidctest.State) { s.Methods, s.Secret = c.methods, c.secret })
		login, err := openedLogin(t, p, c.secret)
		require.NoError(t, err, name)
		require.Equal(t, p.URL, login.Origin())
		asked, err := url.Parse(login.Address("s", "n", "v"))
		require.NoError(t, err)
		require.Equal(t, "openid iris", asked.Query().Get("scope"))
		token, err := signIn(t, p, login, nil)
		require.NoError(t, err, name)
		require.NotEmpty(t, token)
		require.Equal(t, 1, p.TokenRequests(), "a code is sent once")
	}
}

func TestLoginRefuses(t *testing.T) {
	t.Parallel()
	type tamper func(code, nonce, verifier *string)
	claims := func(name string, value any) map[string]any { return map[string]any{name: value} }
	for name, c := range map[string]struct {
		spoil  func(*oidctest.State)
		tamper tamper
		code   identity.LoginCode
	}{
		"another code":                {nil, func(code, _, _ *string) { *code += "x" }, identity.LoginStale},
		"another verifier":            {nil, func(_, _, verifier *string) { *verifier += "x" }, identity.LoginStale},
		"another nonce":               {nil, func(_, nonce, _ *string) { *nonce += "x" }, identity.LoginForged},
		"no nonce on our side":        {func(s *oidctest.State) { s.ID = claims("nonce", "") }, func(_, nonce, _ *string) { *nonce = "" }, identity.LoginForged},
		"no ID token":                 {func(s *oidctest.State) { s.NoIDToken = true }, nil, identity.LoginMisconfigured},
		"ID token of another issuer":  {func(s *oidctest.State) { s.ID = claims("iss", "https://other.example") }, nil, identity.LoginForged},
		"ID token for another client": {func(s *oidctest.State) { s.ID = claims("aud", "other") }, nil, identity.LoginForged},
		"ID token for two clients":    {func(s *oidctest.State) { s.ID = claims("aud", []string{oidctest.Client, "other"}) }, nil, identity.LoginForged},
		"ID token another asked for":  {func(s *oidctest.State) { s.ID = claims("azp", "other") }, nil, identity.LoginForged},
		"ID token of yesterday":       {func(s *oidctest.State) { s.ID = claims("exp", time.Now().Add(-time.Hour).Unix()) }, nil, identity.LoginForged},
		"ID token without times":      {func(s *oidctest.State) { s.ID = claims("iat", nil) }, nil, identity.LoginForged},
		"two subjects":                {func(s *oidctest.State) { s.ID = claims("sub", "ben") }, nil, identity.LoginForged},
		"acting for another":          {func(s *oidctest.State) { s.Access = claims("act", claims("sub", "ben")) }, nil, identity.LoginForged},
		"opaque access token":         {func(s *oidctest.State) { s.Opaque = true }, nil, identity.LoginToken},
		"for another audience":        {func(s *oidctest.State) { s.Access = claims("aud", oidctest.Client) }, nil, identity.LoginToken},
		"for another client":          {func(s *oidctest.State) { s.Access = claims("client_id", "other") }, nil, identity.LoginClient},
		"another secret":              {func(s *oidctest.State) { s.Secret = "s3cret" }, nil, identity.LoginMisconfigured},
		"down":                        {answers(http.StatusInternalServerError, "text about ann"), nil, identity.LoginUnavailable},
		"no JSON":                     {answers(http.StatusOK, "text about ann"), nil, identity.LoginMisconfigured},
		"no access token":             {answers(http.StatusOK, `{"id_token":"ann"}`), nil, identity.LoginMisconfigured},
		"a redirect":                  {answers(http.StatusTemporaryRedirect, ""), nil, identity.LoginMisconfigured},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oidctest.Start(t)
			login, err := openedLogin(t, p, "")
			require.NoError(t, err)
			if c.spoil != nil {
				p.Change(c.spoil)
			}
			token, err := signIn(t, p, login, c.tamper)
			require.Empty(t, token)
			var failed *identity.LoginError
			require.ErrorAs(t, err, &failed)
			require.Equal(t, c.code, failed.Code, err)
			require.NotContains(t, err.Error(), "ann", "an error quotes nothing of the answer")
			require.Equal(t, 1, p.TokenRequests())
		})
	}
}

func answers(status int, body string) func(*oidctest.State) {
	return func(s *oidctest.State) {
		s.TokenAnswer = func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Location", "/token")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
}

// A delegate signs in as themselves and acts for another.
func TestADelegateSignsIn(t *testing.T) {
	t.Parallel()
	p := oidctest.Start(t)
	login, err := openedLogin(t, p, "")
	require.NoError(t, err)
	p.Change(func(s *oidctest.State) {
		s.ID, s.Access = map[string]any{"sub": "ben"}, map[string]any{"act": map[string]any{"sub": "ben"}}
	})
	_, err = signIn(t, p, login, nil)
	require.NoError(t, err)
}

func TestAProviderThatCantSignInIsRefusedAtTheStart(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*oidctest.State){
		"no S256":                   func(s *oidctest.State) { s.Challenge = []string{"plain"} },
		"tokens in the clear":       func(s *oidctest.State) { s.TokenURL = "http://issuer.example/token" },
		"tokens from a file":        func(s *oidctest.State) { s.TokenURL = "file:///token" },
		"no way to show the secret": func(s *oidctest.State) { s.Methods = []string{"private_key_jwt"} },
	} {
		p := oidctest.Start(t)
		p.Change(spoil)
		_, err := openedLogin(t, p, "s3cret")
		require.ErrorIs(t, err, identity.ErrConfig, name)
		require.NotContains(t, err.Error(), "s3cret")
	}
}
