package identity_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
)

// fixed is a key set in memory.
type fixed []jose.JSONWebKey

func (f fixed) Keys(_ context.Context, kid string) ([]jose.JSONWebKey, error) {
	var found []jose.JSONWebKey
	for _, key := range f {
		if kid == "" || key.KeyID == kid {
			found = append(found, key)
		}
	}
	return found, nil
}

func TestConfigIsWholeOrRefused(t *testing.T) {
	t.Parallel()
	good := identity.Config{Issuer: "https://issuer.example", Audience: audience, Keys: fixed{}, Now: time.Now}
	require.NoError(t, good.WithDefaults().Validate())
	for name, spoil := range map[string]func(*identity.Config){
		"nothing":            func(c *identity.Config) { *c = identity.Config{} },
		"no issuer":          func(c *identity.Config) { c.Issuer = "" },
		"no audience":        func(c *identity.Config) { c.Audience = "" },
		"no clock":           func(c *identity.Config) { c.Now = nil },
		"two key sets":       func(c *identity.Config) { c.JWKSURL = "https://issuer.example/keys" },
		"negative leeway":    func(c *identity.Config) { c.Leeway = -1 },
		"five minutes":       func(c *identity.Config) { c.Leeway = 5 * time.Minute },
		"issuer in clear":    func(c *identity.Config) { c.Issuer = "http://issuer.example" },
		"issuer looks local": func(c *identity.Config) { c.Issuer = "http://localhost.example" },
		"issuer 0.0.0.0":     func(c *identity.Config) { c.Issuer = "http://0.0.0.0:8080" },
		"issuer no address":  func(c *identity.Config) { c.Issuer = "issuer" },
		"issuer a file":      func(c *identity.Config) { c.Issuer = "file:///etc/passwd" },
		"issuer with user":   func(c *identity.Config) { c.Issuer = "https://u:p@issuer.example" },
		"issuer with query":  func(c *identity.Config) { c.Issuer = "https://issuer.example?x=1" },
		"keys in clear":      func(c *identity.Config) { c.Keys, c.JWKSURL = nil, "http://issuer.example/keys" },
		"keys on loopback":   func(c *identity.Config) { c.Keys, c.JWKSURL = nil, "http://127.0.0.1/keys" },
		"keys in a file":     func(c *identity.Config) { c.Keys, c.JWKSURL = nil, "file:///keys" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := good
			spoil(&config)
			_, err := identity.Open(t.Context(), config)
			require.ErrorIs(t, err, identity.ErrConfig)
		})
	}
	for _, local := range []string{"http://127.0.0.1:8080", "http://localhost:8080/dev", "http://[::1]:8080", "https://issuer.example/realm/a"} {
		require.NoError(t, identity.CheckIssuerURL(local))
	}
}

func TestTwoIssuersStayApart(t *testing.T) {
	t.Parallel()
	key := ecKey(t, "same")
	first, second := newProvider(t, key), newProvider(t, ecKey(t, "same"))
	token := sign(t, key, first.claims())
	_, err := first.verifier(t).Verify(t.Context(), token)
	require.NoError(t, err)
	_, err = second.verifier(t).Verify(t.Context(), token)
	requireRefused(t, identity.TokenSignature, err)
	_, err = second.verifier(t).Verify(t.Context(), sign(t, second.keys[0], first.claims()))
	requireRefused(t, identity.TokenIssuer, err)
}

func TestDiscoveryIsNotBelievedBlindly(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*provider){
		"other issuer":     func(p *provider) { p.issuer = "https://other.example" },
		"keys in clear":    func(p *provider) { p.jwks = "http://other.example/keys" },
		"keys in a file":   func(p *provider) { p.jwks = "file:///etc/passwd" },
		"no keys' address": func(p *provider) { p.jwks = "" },
		"keys moved":       func(p *provider) { p.jwks = p.URL + "/moved" },
		"keys not there":   func(p *provider) { p.jwks = p.URL + "/nowhere" },
		"down":             func(p *provider) { p.down = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProvider(t, edKey(t, "k"))
			p.change(func() { spoil(p) })
			_, err := identity.Open(t.Context(), p.config())
			require.Error(t, err)
			require.NotContains(t, err.Error(), "page of text")
			fetches, _ := p.count()
			require.Zero(t, fetches)
		})
	}
}

func TestKeySetWithoutDiscovery(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	config := p.config()
	config.JWKSURL = p.URL + "/keys"
	p.change(func() { p.issuer = "https://not-asked.example" })
	v, err := identity.Open(t.Context(), config)
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(t, key, p.claims()))
	require.NoError(t, err)
}

func TestARotatedKeyIsFetchedOnce(t *testing.T) {
	t.Parallel()
	first, second := edKey(t, "first"), edKey(t, "second")
	p := newProvider(t, first)
	v := p.verifier(t)
	p.clock.advance(time.Minute)
	p.change(func() { p.keys = []jose.JSONWebKey{first, second} })
	for range 3 {
		_, err := v.Verify(t.Context(), sign(t, second, p.claims()))
		require.NoError(t, err)
		_, err = v.Verify(t.Context(), sign(t, first, p.claims()))
		require.NoError(t, err)
	}
	fetches, _ := p.count()
	require.Equal(t, 2, fetches) // at the start, and for the new id
}

func TestUnknownKeyIDsCostOneFetchAnInterval(t *testing.T) {
	t.Parallel()
	p := newProvider(t, edKey(t, "k"))
	v := p.verifier(t)
	tokens := []string{sign(t, edKey(t, "a"), p.claims()), sign(t, edKey(t, "b"), p.claims())}
	for _, want := range []int{1, 2, 3} { // the start counts as the first
		var group sync.WaitGroup
		for i := range 40 {
			group.Go(func() {
				_, err := v.Verify(t.Context(), tokens[i%2])
				if !errors.Is(err, identity.ErrUnauthenticated) {
					t.Error("an unknown key was believed", err)
				}
			})
		}
		group.Wait()
		fetches, _ := p.count()
		require.Equal(t, want, fetches)
		p.clock.advance(10 * time.Second)
	}
}

func TestACallerThatHungUpDoesNotSpoilTheFetch(t *testing.T) {
	t.Parallel()
	first, second := edKey(t, "first"), edKey(t, "second")
	p := newProvider(t, first)
	v := p.verifier(t)
	p.clock.advance(time.Minute)
	p.change(func() { p.keys = []jose.JSONWebKey{second} })
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := v.Verify(gone, sign(t, edKey(t, "other"), p.claims()))
	require.ErrorIs(t, err, identity.ErrUnauthenticated)
	_, err = v.Verify(t.Context(), sign(t, second, p.claims()))
	require.NoError(t, err)
}

func TestAWithdrawnKeyDies(t *testing.T) {
	t.Parallel()
	old, next := edKey(t, "old"), edKey(t, "next")
	p := newProvider(t, old)
	v := p.verifier(t)
	p.change(func() { p.keys = []jose.JSONWebKey{next} })
	_, err := v.Verify(t.Context(), sign(t, old, p.claims()))
	require.NoError(t, err, "until the set is read again")
	p.clock.advance(15 * time.Minute)
	_, err = v.Verify(t.Context(), sign(t, old, p.claims()))
	requireRefused(t, identity.TokenKeyUnknown, err)
}

func TestAProviderThatIsDown(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	v := p.verifier(t)
	p.change(func() { p.down = true })

	p.clock.advance(time.Hour)
	_, err := v.Verify(t.Context(), sign(t, key, p.claims()))
	require.NoError(t, err, "known keys carry us over")
	p.clock.advance(time.Minute)
	_, err = v.Verify(t.Context(), sign(t, edKey(t, "other"), p.claims()))
	requireRefused(t, identity.TokenKeyUnknown, err)
	require.ErrorIs(t, err, identity.ErrKeysUnavailable)

	p.clock.advance(24 * time.Hour)
	for range 2 { // the second doesn't fetch
		_, err = v.Verify(t.Context(), sign(t, key, p.claims()))
		requireRefused(t, identity.TokenKeyUnknown, err)
		require.ErrorIs(t, err, identity.ErrKeysUnavailable)
	}
	p.change(func() { p.down = false })
	p.clock.advance(10 * time.Second)
	_, err = v.Verify(t.Context(), sign(t, key, p.claims()))
	require.NoError(t, err)
}

func TestTokensWithoutAKeyID(t *testing.T) {
	t.Parallel()
	first, second := edKey(t, "a"), ecKey(t, "b")
	p := newProvider(t, first, second)
	v := p.verifier(t)
	_, err := v.Verify(t.Context(), forge(t, first, `{"alg":"EdDSA"}`, p.claims()))
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), forge(t, edKey(t, "c"), `{"alg":"EdDSA"}`, p.claims()))
	requireRefused(t, identity.TokenSignature, err)
	fetches, _ := p.count()
	require.Equal(t, 1, fetches)
}

func TestAnEndlessKeySetIsCutOff(t *testing.T) {
	t.Parallel()
	p := newProvider(t, edKey(t, "k"))
	p.change(func() {
		for range 20_000 {
			p.extra = append(p.extra, `{"kty":"oct","kid":"filler","k":"AAAA"}`)
		}
	})
	_, err := identity.Open(t.Context(), p.config())
	require.ErrorIs(t, err, identity.ErrKeysUnavailable)
}

func TestLocalKeysGrantNoLeeway(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t)
	config := p.config()
	config.Keys = fixed{key.Public()}
	config.Transport = refusing{}
	v, err := identity.Open(t.Context(), config)
	require.NoError(t, err)
	now := p.clock.now().Unix()
	_, err = v.Verify(t.Context(), sign(t, key, p.claims("exp", now+1)))
	require.NoError(t, err)
	_, err = v.Verify(t.Context(), sign(t, key, p.claims("exp", now)))
	requireRefused(t, identity.TokenExpired, err)
	_, err = v.Verify(t.Context(), sign(t, key, p.claims("nbf", now+1)))
	requireRefused(t, identity.TokenNotYetValid, err)
}

// refusing is the transport of a verifier that must not use one.
type refusing struct{}

func (refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no round trip was expected")
}
