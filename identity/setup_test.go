package identity_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
)

const audience = "https://iris.example/api"

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// provider is an OpenID Connect provider with keys that tests change.
type provider struct {
	*httptest.Server
	clock *clock

	mu      sync.Mutex // guards all below
	keys    []jose.JSONWebKey
	extra   []string // entries of the key set that aren't keys we know
	fetches int
	other   int // requests to any other path
	down    bool
	issuer  string // what discovery says, if not the server's address
	jwks    string
}

func newProvider(t *testing.T, keys ...jose.JSONWebKey) *provider {
	t.Helper()
	p := &provider{clock: newClock(), keys: keys}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	p.issuer, p.jwks = p.URL, p.URL+"/keys"
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.down:
		http.Error(w, "<a page of text>", http.StatusBadGateway)
	case r.URL.Path == "/.well-known/openid-configuration":
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": p.issuer, "jwks_uri": p.jwks})
	case r.URL.Path == "/keys":
		p.fetches++
		set := map[string][]json.RawMessage{"keys": {}}
		for _, key := range p.keys {
			raw, _ := json.Marshal(key.Public())
			set["keys"] = append(set["keys"], raw)
		}
		for _, raw := range p.extra {
			set["keys"] = append(set["keys"], json.RawMessage(raw))
		}
		_ = json.NewEncoder(w).Encode(set)
	case r.URL.Path == "/moved":
		http.Redirect(w, r, "/keys", http.StatusFound)
	default:
		p.other++
		http.NotFound(w, r)
	}
}

func (p *provider) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

func (p *provider) count() (fetches, other int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fetches, p.other
}

func (p *provider) config() identity.Config {
	return identity.Config{Issuer: p.URL, Audience: audience, Now: p.clock.now}
}

func (p *provider) verifier(t *testing.T) *identity.Verifier {
	t.Helper()
	v, err := identity.Open(t.Context(), p.config())
	require.NoError(t, err)
	return v
}

// claims are those of a good token, changed by the pairs.
func (p *provider) claims(pairs ...any) map[string]any {
	now := p.clock.now().Unix()
	c := map[string]any{
		"iss": p.URL, "aud": audience, "exp": now + 3600, "iat": now, "nbf": now, "sub": "auth0|ann", "client_id": "assistant-1",
		"org": "acme", "tenant": nil, "permissions": []string{"iris.recall"}, "PERSONA_VERSION": 4, "email": "ann@example.org",
	}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == absent {
			delete(c, pairs[i].(string))
		} else {
			c[pairs[i].(string)] = pairs[i+1]
		}
	}
	return c
}

type marker string

const absent marker = "absent"

func rsaKey(t *testing.T, kid string) jose.JSONWebKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: kid, Algorithm: "RS256", Use: "sig"}
}

func ecKey(t *testing.T, kid string) jose.JSONWebKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: kid}
}

func edKey(t *testing.T, kid string) jose.JSONWebKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return jose.JSONWebKey{Key: private, KeyID: kid}
}

func algorithmOf(key jose.JSONWebKey) jose.SignatureAlgorithm {
	switch key.Key.(type) {
	case *rsa.PrivateKey:
		return jose.RS256
	case *ecdsa.PrivateKey:
		return jose.ES256
	}
	return jose.EdDSA
}

// sign makes a token with the header a normal client sends; sharp ones come
// from forge.
func sign(t *testing.T, key jose.JSONWebKey, payload any) string {
	t.Helper()
	return signWith(t, key, algorithmOf(key), payload, nil)
}

func signWith(t *testing.T, key jose.JSONWebKey, alg jose.SignatureAlgorithm, payload any, headers map[jose.HeaderKey]any) string {
	t.Helper()
	body, isText := payload.(string)
	if !isText {
		raw, err := json.Marshal(payload)
		require.NoError(t, err)
		body = string(raw)
	}
	options := &jose.SignerOptions{}
	for name, value := range headers {
		options = options.WithHeader(name, value)
	}
	options = options.WithHeader("kid", key.KeyID)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key.Key}, options)
	require.NoError(t, err)
	signed, err := signer.Sign([]byte(body))
	require.NoError(t, err)
	token, err := signed.CompactSerialize()
	require.NoError(t, err)
	return token
}

// forge signs any header at all with Ed25519, as go-jose would not.
func forge(t *testing.T, key jose.JSONWebKey, header string, payload any) string {
	t.Helper()
	body, err := json.Marshal(payload)
	require.NoError(t, err)
	input := encode([]byte(header)) + "." + encode(body)
	signature, err := key.Key.(ed25519.PrivateKey).Sign(rand.Reader, []byte(input), crypto.Hash(0))
	require.NoError(t, err)
	return input + "." + encode(signature)
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func requireRefused(t *testing.T, code identity.Code, err error) {
	t.Helper()
	var refused *identity.Error
	require.ErrorAs(t, err, &refused)
	require.ErrorIs(t, err, identity.ErrUnauthenticated)
	require.Equal(t, code, refused.Code, err)
}
