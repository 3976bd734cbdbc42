// Package devissuer is the OpenID Connect issuer of a development machine: it
// mints the tokens of `iris token` and of the demonstration (spec 9.5, 9.7).
//
// It guarantees that its private key stands in one file that only its owner can
// read, that a token it mints is one that identity accepts, and that tokens
// signed before a rotation stay valid until they expire: a replaced key loses
// its private half at once and its public half MaxTTL later. Several processes
// may share a directory. It fails closed: a key file that others can read, or
// that doesn't parse, is refused and never replaced.
//
// It has no login. It exists on loopback only, and must never be an issuer that
// a deployment believes.
package devissuer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"

	"iris.example/iris/identity"
)

// MaxTTL is the longest life of a token.
const MaxTTL = 7 * 24 * time.Hour

// ErrIssuer is in the chain of every error of this package.
var ErrIssuer = errors.New("devissuer")

// Config says where the key lies and what the tokens name.
type Config struct {
	Dir      string
	URL      string // the issuer; on loopback
	Audience string
	Now      func() time.Time // the product's clock
}

func (c Config) Validate() error {
	switch {
	case c.Dir == "" || c.URL == "" || c.Audience == "" || c.Now == nil:
		return fmt.Errorf("%w: validate configuration: directory, address, audience and clock are all required", ErrIssuer)
	}
	if err := identity.CheckIssuerURL(c.URL); err != nil {
		return fmt.Errorf("%w: validate configuration: %w", ErrIssuer, err)
	}
	if u, err := url.Parse(c.URL); err != nil || !identity.Loopback(u.Hostname()) {
		return fmt.Errorf("%w: validate configuration: a development issuer is for loopback only", ErrIssuer)
	}
	return nil
}

// Issuer signs with the current key of its directory. It is an
// identity.KeySource, so the embedded default verifies without HTTP.
type Issuer struct {
	config   Config
	verifier *identity.Verifier

	mu   sync.Mutex // guards all below
	set  keyFile
	read os.FileInfo // of the file that set was read from
}

// Open reads the key of the directory, and makes directory and key the first
// time.
func Open(ctx context.Context, config Config) (*Issuer, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	i := &Issuer{config: config}
	if err := i.createOnce(); err != nil {
		return nil, fmt.Errorf("%w: create key: %w", ErrIssuer, err)
	}
	if err := i.reload(); err != nil {
		return nil, err
	}
	var err error
	i.verifier, err = identity.Open(ctx, identity.Config{
		Issuer: config.URL, Audience: config.Audience, Keys: i, Now: config.Now,
	})
	return i, err
}

// Verifier believes this issuer, without HTTP.
func (i *Issuer) Verifier() *identity.Verifier { return i.verifier }

// Claims are what a token says beside issuer, audience and times.
type Claims struct {
	Subject        string
	Actor          string // act.sub; none if empty
	Client         string
	Organisation   string
	Tenant         *string
	Permissions    []identity.Permission
	PersonaVersion int
}

type payload struct {
	Issuer         string                `json:"iss"`
	Audience       string                `json:"aud"`
	Expiry         int64                 `json:"exp"`
	IssuedAt       int64                 `json:"iat"`
	NotBefore      int64                 `json:"nbf"`
	Subject        string                `json:"sub"`
	Client         string                `json:"client_id"`
	Organisation   string                `json:"org"`
	Tenant         *string               `json:"tenant"`
	Permissions    []identity.Permission `json:"permissions"`
	PersonaVersion int                   `json:"PERSONA_VERSION"`
	Actor          *actor                `json:"act,omitempty"`
}

type actor struct {
	Subject string `json:"sub"`
}

// Mint signs a token. One that identity would refuse is not given out.
func (i *Issuer) Mint(ctx context.Context, c Claims, ttl time.Duration) (string, error) {
	if ttl < time.Second || ttl > MaxTTL {
		return "", fmt.Errorf("%w: mint: a token lives from a second to %s", ErrIssuer, MaxTTL)
	}
	if err := i.reload(); err != nil {
		return "", err
	}
	token, err := i.sign(i.payload(c, ttl))
	if err != nil {
		return "", fmt.Errorf("%w: sign token: %w", ErrIssuer, err)
	}
	if _, err := i.verifier.Verify(ctx, token); err != nil {
		return "", fmt.Errorf("%w: mint: %w", ErrIssuer, err)
	}
	return token, nil
}

func (i *Issuer) payload(c Claims, ttl time.Duration) payload {
	now := i.config.Now()
	p := payload{
		Issuer: i.config.URL, Audience: i.config.Audience,
		IssuedAt: now.Unix(), NotBefore: now.Unix(), Expiry: now.Add(ttl).Unix(),
		Subject: c.Subject, Client: c.Client, Organisation: c.Organisation, Tenant: c.Tenant,
		Permissions: c.Permissions, PersonaVersion: c.PersonaVersion,
	}
	if c.Actor != "" {
		p.Actor = &actor{c.Actor}
	}
	return p
}

func (i *Issuer) sign(p payload) (string, error) {
	i.mu.Lock()
	current := i.set.Current
	i.mu.Unlock()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: current}, (&jose.SignerOptions{}).WithType("at+jwt"))
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(p).Serialize()
}

// Keys answers from memory, and looks at the file again for an id it doesn't
// know: another process may have rotated.
func (i *Issuer) Keys(_ context.Context, kid string) ([]jose.JSONWebKey, error) {
	if found := i.find(kid); len(found) > 0 {
		return found, nil
	}
	if err := i.reload(); err != nil {
		return nil, err
	}
	return i.find(kid), nil
}

func (i *Issuer) find(kid string) []jose.JSONWebKey {
	i.mu.Lock()
	defer i.mu.Unlock()
	var found []jose.JSONWebKey
	for _, key := range i.set.public(i.config.Now()) {
		if kid == "" || kid == key.KeyID {
			found = append(found, key)
		}
	}
	return found
}

// Handler serves discovery and key set, for verifiers in other processes. Mount
// it at the path of the issuer's address.
func (i *Issuer) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": i.config.URL, "jwks_uri": i.config.URL + "/jwks.json",
			"id_token_signing_alg_values_supported": []string{string(jose.EdDSA)},
			"subject_types_supported":               []string{"public"},
			"response_types_supported":              []string{"none"},
		})
	})
	mux.HandleFunc("GET /jwks.json", func(w http.ResponseWriter, _ *http.Request) {
		if err := i.reload(); err != nil {
			http.Error(w, "the key file can't be read", http.StatusInternalServerError)
			return
		}
		answer(w, jose.JSONWebKeySet{Keys: i.find("")})
	})
	return mux
}

func answer(w http.ResponseWriter, document any) {
	body, err := json.Marshal(document, json.Deterministic(true))
	if err != nil {
		http.Error(w, "the document can't be written", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, _ = w.Write(body) // a caller that hung up
}
