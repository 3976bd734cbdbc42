// Package oidctest is an OpenID Connect provider for tests: a real server with real signatures that signs everybody in as one person.
// It holds its clients to what a provider would: the registered address, PKCE by S256, a code that is good once. Tests spoil it by Change.
package oidctest

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
)

// Client and Audience are who asks and whom access tokens are for.
const (
	Client   = "iris-pages"
	Audience = "https://iris.example/api"
)

// State is what tests change.
type State struct {
	Subject     string
	RedirectURL string // as registered
	Secret      string // of the client; empty: a public one
	Methods     []string
	Challenge   []string
	ShowsForm   bool   // asks the person, rather than sending the browser back at once
	Says        string // an error in place of a code
	Opaque      bool   // access tokens that are no JWT
	NoIDToken   bool   //
	Down        bool   // every answer is a 502 with a page of text
	TokenAnswer func(http.ResponseWriter)
	Access, ID  map[string]any // claims beside the usual ones; nil takes one away
	TokenURL    string         // in the discovery document; empty: ours
}

// Provider listens on localhost, which is another site than 127.0.0.1.
type Provider struct {
	URL string // the issuer

	key ed25519.PrivateKey
	t   testing.TB

	mu     sync.Mutex // guards all below
	state  State
	grants map[string]url.Values // code → what was asked with
	tokens int                   // requests to the token endpoint
}

// Start serves until the test ends.
func Start(t testing.TB) *Provider {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	p := &Provider{t: t, key: key, grants: map[string]url.Values{}, state: State{Subject: "ann", Methods: []string{"none", "client_secret_basic"}, Challenge: []string{"S256"}}}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	return p
}

// Change changes how it behaves from now on.
func (p *Provider) Change(change func(*State)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change(&p.state)
}

// TokenRequests is how often a code was brought.
func (p *Provider) TokenRequests() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens
}

func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.state.Down:
		http.Error(w, "<a page of text about ann>", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		token := p.state.TokenURL
		if token == "" {
			token = p.URL + "/token"
		}
		p.answer(w, http.StatusOK, map[string]any{
			"issuer": p.URL, "jwks_uri": p.URL + "/keys", "authorization_endpoint": p.URL + "/authorize", "token_endpoint": token,
			"token_endpoint_auth_methods_supported": p.state.Methods, "code_challenge_methods_supported": p.state.Challenge,
		})
	case r.URL.Path == "/keys":
		p.answer(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: p.key.Public(), KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
	case r.URL.Path == "/authorize":
		p.authorize(w, r)
	case r.URL.Path == "/token" && r.Method == http.MethodPost:
		p.tokens++
		p.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func (p *Provider) answer(w http.ResponseWriter, status int, document any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document) // a caller that hung up
}

var form = template.Must(template.New("").Parse(`<!doctype html><html lang="en"><title>Provider</title><form method="post" action="/authorize">` +
	`{{range $name, $values := .}}<input type="hidden" name="{{$name}}" value="{{index $values 0}}">{{end}}<button>I am Ann</button></form></html>`))

func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	asked := r.Form
	if asked.Get("client_id") != Client || asked.Get("redirect_uri") != p.state.RedirectURL {
		http.Error(w, "not registered", http.StatusBadRequest) // never back to an address that isn't registered
		return
	}
	if p.state.ShowsForm && r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "text/html")
		_ = form.Execute(w, asked)
		return
	}
	back := url.Values{"state": {asked.Get("state")}}
	switch {
	case p.state.Says != "":
		back.Set("error", p.state.Says)
		back.Set("error_description", "ann is not in the group")
	case asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" || len(asked.Get("code_challenge")) != 43,
		asked.Get("nonce") == "" || asked.Get("audience") != Audience || !strings.Contains(asked.Get("scope"), "openid"):
		back.Set("error", "invalid_request")
	default:
		code := rand.Text()
		p.grants[code] = asked
		back.Set("code", code)
	}
	http.Redirect(w, r, p.state.RedirectURL+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if p.state.TokenAnswer != nil {
		p.state.TokenAnswer(w)
		return
	}
	_ = r.ParseForm()
	if !p.authenticated(r) {
		p.answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client", "error_description": "the secret of ann"})
		return
	}
	code := r.PostForm.Get("code")
	asked, ok := p.grants[code]
	delete(p.grants, code)
	sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !ok || r.PostForm.Get("grant_type") != "authorization_code" || r.PostForm.Get("redirect_uri") != p.state.RedirectURL ||
		base64.RawURLEncoding.EncodeToString(sum[:]) != asked.Get("code_challenge") {
		p.answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "the code of ann"})
		return
	}
	now := time.Now().Unix()
	usual := map[string]any{"iss": p.URL, "sub": p.state.Subject, "iat": now, "exp": now + 3600}
	id := maps.Clone(usual)
	id["aud"], id["nonce"], id["email"] = Client, asked.Get("nonce"), "ann@example.org"
	usual["aud"], usual["client_id"], usual["org"], usual["permissions"] = Audience, Client, "acme", []string{"program.agent_memory.manage"}
	told := map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": p.sign(usual, p.state.Access)}
	if p.state.Opaque {
		told["access_token"] = rand.Text()
	}
	if !p.state.NoIDToken {
		told["id_token"] = p.sign(id, p.state.ID)
	}
	p.answer(w, http.StatusOK, told)
}

func (p *Provider) authenticated(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	id, _ = url.QueryUnescape(id) // RFC 6749, 2.3.1: encoded as in a form
	secret, _ = url.QueryUnescape(secret)
	if !basic {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	if p.state.Secret != "" && basic == (len(p.state.Methods) == 1 && p.state.Methods[0] == "client_secret_post") {
		return false // shown another way than the document says
	}
	return id == Client && subtle.ConstantTimeCompare([]byte(secret), []byte(p.state.Secret)) == 1
}

func (p *Provider) sign(claims, spoiled map[string]any) string {
	for name, value := range spoiled {
		if value == nil {
			delete(claims, name)
		} else {
			claims[name] = value
		}
	}
	body, err := json.Marshal(claims)
	require.NoError(p.t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: p.key}, (&jose.SignerOptions{}).WithHeader("kid", "k"))
	require.NoError(p.t, err)
	signed, err := signer.Sign(body)
	require.NoError(p.t, err)
	token, err := signed.CompactSerialize()
	require.NoError(p.t, err)
	return token
}
