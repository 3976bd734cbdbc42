package identity

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"iris.example/iris/boundary"
)

const (
	maxToken   = 16 << 10
	minRSABits = 2048
)

// Verifier believes one issuer. It is safe for use by many.
type Verifier struct {
	config Config
	keys   KeySource
}

// Open makes a verifier. With keys over HTTP it reads them once (and before them
// the discovery document, if it has to), and fails if it can't.
func Open(ctx context.Context, config Config) (*Verifier, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if config.Keys != nil {
		return &Verifier{config: config, keys: config.Keys}, nil
	}
	client := httpClient(config.Transport)
	address := config.JWKSURL
	if address == "" {
		var err error
		if address, err = discoverKeys(ctx, config.Issuer, client); err != nil {
			return nil, err
		}
	}
	keys := newRemoteKeys(address, client, config.Now)
	if _, err := keys.Keys(ctx, ""); err != nil {
		return nil, fmt.Errorf("identity: open verifier: %w", unavailable(err))
	}
	return &Verifier{config: config, keys: keys}, nil
}

// BearerToken takes the token out of the values of the Authorization header.
func BearerToken(values []string) (string, error) {
	if len(values) == 0 {
		return "", refuse(TokenMissing, "no Authorization header")
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return "", refuse(TokenMissing, "not one Authorization header with a bearer token")
	}
	return token, nil
}

// Verify is the whole way of a token: form, key, signature, issuer, audience,
// times, claims. The claims are looked at only after the signature.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, error) {
	payload, err := v.signed(ctx, token)
	if err != nil {
		return Principal{}, err
	}
	var c claims
	if boundary.Check(payload) != nil || json.Unmarshal(payload, &c) != nil {
		return Principal{}, refuse(TokenClaims, "the claims are not the JSON we expect")
	}
	if c.Issuer != v.config.Issuer {
		return Principal{}, refuse(TokenIssuer, "another issuer")
	}
	if !slices.Contains(c.Audience, v.config.Audience) {
		return Principal{}, refuse(TokenAudience, "another audience")
	}
	if err := v.checkTimes(c.Expiry, c.NotBefore, c.IssuedAt); err != nil {
		return Principal{}, err
	}
	return c.principal()
}

// signed answers what the issuer signed.
func (v *Verifier) signed(ctx context.Context, token string) ([]byte, error) {
	if token == "" {
		return nil, refuse(TokenMissing, "no token")
	}
	header, err := readHeader(token)
	if err != nil {
		return nil, err
	}
	return v.verifySignature(ctx, token, header)
}

// header is the part of a token's header that counts.
type header struct {
	Algorithm jose.SignatureAlgorithm `json:"alg"`
	KeyID     string                  `json:"kid"`

	// A token that brings a key, points at one or wants an extension understood.
	JWK  jsontext.Value `json:"jwk"`
	JKU  jsontext.Value `json:"jku"`
	X5C  jsontext.Value `json:"x5c"`
	X5U  jsontext.Value `json:"x5u"`
	Crit jsontext.Value `json:"crit"`
	B64  jsontext.Value `json:"b64"`
}

// readHeader refuses what no key has to be looked up for.
func readHeader(token string) (header, error) {
	if !compact(token) {
		return header{}, refuse(TokenMalformed, "not three parts of base64url")
	}
	encoded, _, _ := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(encoded)
	var h header
	if err != nil || boundary.Check(raw) != nil || json.Unmarshal(raw, &h) != nil {
		return header{}, refuse(TokenMalformed, "the header is not the JSON we expect")
	}
	if !slices.Contains(algorithms(), h.Algorithm) {
		return header{}, refuse(TokenAlgorithm, "not RS256, ES256 or EdDSA")
	}
	for _, own := range []jsontext.Value{h.JWK, h.JKU, h.X5C, h.X5U, h.Crit, h.B64} {
		if own != nil {
			return header{}, refuse(TokenMalformed, "the header carries a key, an address or an extension")
		}
	}
	if !keyID(h.KeyID) {
		return header{}, refuse(TokenKeyUnknown, "the key id is a path, an address or too long")
	}
	return h, nil
}

func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.EdDSA}
}

// compact reports three parts joined by dots and nothing but base64url in them.
func compact(token string) bool {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return false
	}
	return strings.IndexFunc(token, func(r rune) bool { return r != '.' && r != '-' && r != '_' && !alphanumeric(r) }) < 0
}

// keyID accepts no kid, or one without the letters of paths and addresses.
func keyID(kid string) bool {
	if len(kid) > 256 || strings.Contains(kid, "..") {
		return false
	}
	return strings.IndexFunc(kid, func(r rune) bool { return !alphanumeric(r) && !strings.ContainsRune("._~:=+-", r) }) < 0
}

func alphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

func (v *Verifier) verifySignature(ctx context.Context, token string, h header) ([]byte, error) {
	signed, err := jose.ParseSignedCompact(token, algorithms())
	if err != nil {
		return nil, refuse(TokenMalformed, "not a signed token")
	}
	keys, err := v.keys.Keys(ctx, h.KeyID)
	if err != nil {
		return nil, &Error{Code: TokenKeyUnknown, Detail: "the keys can't be read", cause: unavailable(err)}
	}
	if len(keys) == 0 {
		return nil, refuse(TokenKeyUnknown, "no key of that id")
	}
	for _, key := range keys {
		if !fits(key, h.Algorithm) {
			continue
		}
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, refuse(TokenSignature, "no key of that id made the signature")
}

func unavailable(cause error) error { return fmt.Errorf("%w: %w", ErrKeysUnavailable, cause) }

// fits keeps a key to its kind and its declared use, so that no token chooses
// how a key is used.
func fits(key jose.JSONWebKey, algorithm jose.SignatureAlgorithm) bool {
	if key.Use != "" && key.Use != "sig" || key.Algorithm != "" && key.Algorithm != string(algorithm) {
		return false
	}
	switch public := key.Key.(type) {
	case *rsa.PublicKey:
		return algorithm == jose.RS256 && public.N.BitLen() >= minRSABits
	case *ecdsa.PublicKey:
		return algorithm == jose.ES256 && public.Curve == elliptic.P256()
	case ed25519.PublicKey:
		return algorithm == jose.EdDSA && len(public) == ed25519.PublicKeySize
	}
	return false
}

// claims are the payload of a token (spec 9.5). Names match to the letter;
// others are none of our business.
type claims struct {
	Issuer         string           `json:"iss"`
	Audience       jwt.Audience     `json:"aud"`
	Expiry         *jwt.NumericDate `json:"exp"`
	NotBefore      *jwt.NumericDate `json:"nbf"`
	IssuedAt       *jwt.NumericDate `json:"iat"`
	Subject        string           `json:"sub"`
	Client         string           `json:"client_id"`
	Organisation   string           `json:"org"`
	Tenant         *string          `json:"tenant"`
	Permissions    []string         `json:"permissions"`
	PersonaVersion int32            `json:"PERSONA_VERSION"`
	Actor          *actor           `json:"act"`
}

type actor struct {
	Subject string `json:"sub"`
}

// checkTimes requires exp and iat. A token is dead at the instant of its exp.
func (v *Verifier) checkTimes(expiry, notBefore, issuedAt *jwt.NumericDate) error {
	if expiry == nil || issuedAt == nil {
		return refuse(TokenClaims, "exp or iat is missing")
	}
	now, leeway := v.config.Now(), v.config.Leeway
	if !now.Before(expiry.Time().Add(leeway)) {
		return refuse(TokenExpired, "the token has expired")
	}
	for _, start := range []*jwt.NumericDate{notBefore, issuedAt} {
		if start != nil && now.Before(start.Time().Add(-leeway)) {
			return refuse(TokenNotYetValid, "the token begins later")
		}
	}
	return nil
}

func (c claims) principal() (Principal, error) {
	switch {
	case !identifier(c.Subject):
		return Principal{}, refuse(TokenClaims, "sub is not 1 to 255 visible ASCII characters")
	case c.Actor != nil && !identifier(c.Actor.Subject):
		return Principal{}, refuse(TokenClaims, "act has no sub of 1 to 255 visible ASCII characters")
	case !identifier(c.Client):
		return Principal{}, refuse(TokenClaims, "client_id is not 1 to 255 visible ASCII characters")
	case boundary.SubjectToken("org", c.Organisation) != nil:
		return Principal{}, refuse(TokenClaims, "org is not an organisation's id")
	case c.Tenant != nil && boundary.Handle("tenant", *c.Tenant) != nil:
		return Principal{}, refuse(TokenClaims, "tenant is neither null nor a tenant's id")
	case c.PersonaVersion < 0:
		return Principal{}, refuse(TokenClaims, "PERSONA_VERSION is negative")
	}
	p := Principal{
		Issuer: c.Issuer, Subject: c.Subject, Client: c.Client, Organisation: c.Organisation, Tenant: c.Tenant,
		Permissions: permissionSet(c.Permissions), PersonaVersion: int(c.PersonaVersion),
	}
	if c.Actor != nil {
		p.ActorSubject = c.Actor.Subject
	}
	return p, nil
}

// identifier is the form OpenID Connect gives a subject (Core, 2), without spaces.
func identifier(s string) bool {
	if len(s) == 0 || len(s) > 255 {
		return false
	}
	return strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7F }) < 0
}
