package identity_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

func TestGoodTokens(t *testing.T) {
	t.Parallel()
	keys := []jose.JSONWebKey{rsaKey(t, "rsa-1"), ecKey(t, "ec.1"), edKey(t, "ed_1")}
	p := newProvider(t, keys...)
	v := p.verifier(t)
	for _, key := range keys {
		got, err := v.Verify(t.Context(), sign(t, key, p.claims()))
		require.NoError(t, err)
		require.Equal(t, identity.Principal{
			Issuer: p.URL, Subject: "auth0|ann", Client: "assistant-1", Organisation: "acme",
			Permissions: []identity.Permission{identity.Recall}, PersonaVersion: 4,
		}, got)
		require.Equal(t, "auth0|ann", got.MemberSubject())
		require.Empty(t, got.OnBehalfOf())
	}
}

func TestClaims(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	v := p.verifier(t)
	uuid := "0193c0de-7a1b-7c2d-8e3f-0123456789ab"
	for name, c := range map[string]struct {
		pairs []any
		code  identity.Code // none: accepted
		check func(*testing.T, identity.Principal)
	}{
		"audience among others": {pairs: []any{"aud", []string{"x", audience}}},
		"other audience":        {pairs: []any{"aud", "https://iris.example/other"}, code: identity.TokenAudience},
		"audience as prefix":    {pairs: []any{"aud", audience + "/"}, code: identity.TokenAudience},
		"no audience":           {pairs: []any{"aud", absent}, code: identity.TokenAudience},
		"empty audiences":       {pairs: []any{"aud", []string{}}, code: identity.TokenAudience},
		"audience a number":     {pairs: []any{"aud", 1}, code: identity.TokenClaims},
		"AUD beside aud":        {pairs: []any{"aud", "x", "AUD", audience}, code: identity.TokenAudience},
		"other issuer":          {pairs: []any{"iss", "https://other.example"}, code: identity.TokenIssuer},
		"issuer with a slash":   {pairs: []any{"iss", p.URL + "/"}, code: identity.TokenIssuer},
		"no issuer":             {pairs: []any{"iss", absent}, code: identity.TokenIssuer},
		"Iss instead of iss":    {pairs: []any{"iss", absent, "Iss", p.URL}, code: identity.TokenIssuer},
		"expired":               {pairs: []any{"exp", p.clock.now().Unix() - 3600}, code: identity.TokenExpired},
		"exp within the leeway": {pairs: []any{"exp", p.clock.now().Unix() - 29}},
		"exp at the leeway":     {pairs: []any{"exp", p.clock.now().Unix() - 30}, code: identity.TokenExpired},
		"exp in 1969":           {pairs: []any{"exp", -1}, code: identity.TokenExpired},
		"no exp":                {pairs: []any{"exp", absent}, code: identity.TokenClaims},
		"exp null":              {pairs: []any{"exp", nil}, code: identity.TokenClaims},
		"exp as text":           {pairs: []any{"exp", "4102444800"}, code: identity.TokenClaims},
		"exp without end":       {pairs: []any{"exp", json.Number("1e300")}, code: identity.TokenClaims},
		"exp with a fraction":   {pairs: []any{"exp", float64(p.clock.now().Unix()) + 60.5}},
		"nbf ahead":             {pairs: []any{"nbf", p.clock.now().Unix() + 31}, code: identity.TokenNotYetValid},
		"nbf within the leeway": {pairs: []any{"nbf", p.clock.now().Unix() + 30}},
		"no nbf":                {pairs: []any{"nbf", absent}},
		"iat ahead":             {pairs: []any{"iat", p.clock.now().Unix() + 31}, code: identity.TokenNotYetValid},
		"no iat":                {pairs: []any{"iat", absent}, code: identity.TokenClaims},
		"no sub":                {pairs: []any{"sub", absent}, code: identity.TokenClaims},
		"empty sub":             {pairs: []any{"sub", ""}, code: identity.TokenClaims},
		"long sub":              {pairs: []any{"sub", strings.Repeat("a", 256)}, code: identity.TokenClaims},
		"sub with a bidi mark":  {pairs: []any{"sub", "a\u202eb"}, code: identity.TokenClaims},
		"sub with a line break": {pairs: []any{"sub", "a\nb"}, code: identity.TokenClaims},
		"sub with a NUL":        {pairs: []any{"sub", "a\x00"}, code: identity.TokenClaims},
		"no client":             {pairs: []any{"client_id", absent}, code: identity.TokenClaims},
		"no org":                {pairs: []any{"org", absent}, code: identity.TokenClaims},
		"org null":              {pairs: []any{"org", nil}, code: identity.TokenClaims},
		"org *":                 {pairs: []any{"org", "*"}, code: identity.TokenClaims},
		"org >":                 {pairs: []any{"org", ">"}, code: identity.TokenClaims},
		"org with a dot":        {pairs: []any{"org", "acme.b"}, code: identity.TokenClaims},
		"org in capitals":       {pairs: []any{"org", "Acme"}, code: identity.TokenClaims},
		"org in Cyrillic":       {pairs: []any{"org", "\u0430cme"}, code: identity.TokenClaims},
		"org reserved":          {pairs: []any{"org", "inbox"}, code: identity.TokenClaims},
		"org a list":            {pairs: []any{"org", []string{"acme"}}, code: identity.TokenClaims},
		"org a UUID": {pairs: []any{"org", uuid}, check: func(t *testing.T, p identity.Principal) {
			require.Equal(t, uuid, p.Organisation)
		}},
		"no tenant": {pairs: []any{"tenant", absent}, check: func(t *testing.T, p identity.Principal) { require.Nil(t, p.Tenant) }},
		"tenant": {pairs: []any{"tenant", "north"}, check: func(t *testing.T, p identity.Principal) {
			require.Equal(t, "north", *p.Tenant)
		}},
		"empty tenant":      {pairs: []any{"tenant", ""}, code: identity.TokenClaims},
		"tenant with space": {pairs: []any{"tenant", "a b"}, code: identity.TokenClaims},
		"no permissions": {pairs: []any{"permissions", absent}, check: func(t *testing.T, p identity.Principal) {
			require.Empty(t, p.Permissions)
			for _, permission := range identity.AllPermissions() {
				require.False(t, p.Has(permission))
			}
		}},
		"permissions null":      {pairs: []any{"permissions", nil}, check: func(t *testing.T, p identity.Principal) { require.Empty(t, p.Permissions) }},
		"permissions as text":   {pairs: []any{"permissions", "iris.admin"}, code: identity.TokenClaims},
		"permissions as object": {pairs: []any{"permissions", map[string]bool{"iris.admin": true}}, code: identity.TokenClaims},
		"unknown permissions": {pairs: []any{"permissions", []string{"IRIS.ADMIN", "iris.admin ", "*", "iris.*", "", "iris.audit.read", "iris.audit.read", "billing.pay"}},
			check: func(t *testing.T, p identity.Principal) {
				require.Equal(t, []identity.Permission{identity.AuditRead}, p.Permissions)
				require.False(t, p.Has(identity.Admin))
				require.False(t, p.Has("billing.pay"))
			}},
		"role memory before persona 4": {pairs: []any{"permissions", []string{"org.role_memory.read", "org.role_memory.manage"}, "PERSONA_VERSION", 3},
			check: func(t *testing.T, p identity.Principal) {
				require.False(t, p.Has(identity.RoleMemoryRead))
				require.False(t, p.Has(identity.RoleMemoryManage))
			}},
		"role memory from persona 4": {pairs: []any{"permissions", []string{"org.role_memory.read"}},
			check: func(t *testing.T, p identity.Principal) {
				require.True(t, p.Has(identity.RoleMemoryRead))
				require.False(t, p.Has(identity.RoleMemoryManage))
			}},
		"no persona version":       {pairs: []any{"PERSONA_VERSION", absent}, check: func(t *testing.T, p identity.Principal) { require.Zero(t, p.PersonaVersion) }},
		"persona version as text":  {pairs: []any{"PERSONA_VERSION", "4"}, code: identity.TokenClaims},
		"persona version halved":   {pairs: []any{"PERSONA_VERSION", 4.5}, code: identity.TokenClaims},
		"persona version negative": {pairs: []any{"PERSONA_VERSION", -1}, code: identity.TokenClaims},
		"persona version, case":    {pairs: []any{"PERSONA_VERSION", absent, "persona_version", 4}, check: func(t *testing.T, p identity.Principal) { require.Zero(t, p.PersonaVersion) }},
		"delegate": {pairs: []any{"act", map[string]any{"sub": "auth0|bob", "act": map[string]any{"sub": "earlier"}}},
			check: func(t *testing.T, p identity.Principal) {
				require.Equal(t, "auth0|bob", p.MemberSubject())
				require.Equal(t, "auth0|bob", p.ActorSubject)
				require.Equal(t, "auth0|ann", p.OnBehalfOf())
			}},
		"act null":         {pairs: []any{"act", nil}, check: func(t *testing.T, p identity.Principal) { require.Empty(t, p.OnBehalfOf()) }},
		"act without sub":  {pairs: []any{"act", map[string]any{}}, code: identity.TokenClaims},
		"act with SUB":     {pairs: []any{"act", map[string]any{"SUB": "auth0|bob"}}, code: identity.TokenClaims},
		"act as text":      {pairs: []any{"act", "auth0|bob"}, code: identity.TokenClaims},
		"act.sub a number": {pairs: []any{"act", map[string]any{"sub": 7}}, code: identity.TokenClaims},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := v.Verify(t.Context(), sign(t, key, p.claims(c.pairs...)))
			if c.code != "" {
				requireRefused(t, c.code, err)
				require.Zero(t, got)
				return
			}
			require.NoError(t, err)
			if c.check != nil {
				c.check(t, got)
			}
		})
	}
}

func TestPayloadsThatAreNoClaims(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	v := p.verifier(t)
	good, err := json.Marshal(p.claims())
	require.NoError(t, err)
	twice := strings.Replace(string(good), `"org":"acme"`, `"org":"acme","org":"globex"`, 1)
	odd := strings.Replace(string(good), `"org":"acme"`, `"org":"acme","other":"\u0000"`, 1)
	for _, payload := range []string{odd, "", "null", "[]", `"a"`, "garbage", string(good) + "{}", twice, strings.Repeat("[", 10_000)} {
		_, err := v.Verify(t.Context(), sign(t, key, payload))
		var refused *identity.Error
		require.ErrorAs(t, err, &refused, payload)
		require.Contains(t, []identity.Code{identity.TokenClaims, identity.TokenIssuer}, refused.Code)
	}
}

func TestForgedTokens(t *testing.T) {
	t.Parallel()
	rsaSigner, key, stranger := rsaKey(t, "rsa"), edKey(t, "ed"), edKey(t, "ed")
	p := newProvider(t, rsaSigner, key)
	v := p.verifier(t)
	good := sign(t, key, p.claims())
	parts := strings.Split(good, ".")
	admin, err := json.Marshal(p.claims("permissions", []string{"iris.admin"}))
	require.NoError(t, err)
	for name, c := range map[string]struct {
		token string
		code  identity.Code
	}{
		"empty":                 {"", identity.TokenMissing},
		"garbage":               {"garbage", identity.TokenMalformed},
		"dots":                  {"..", identity.TokenMalformed},
		"two parts":             {parts[0] + "." + parts[1], identity.TokenMalformed},
		"four parts":            {good + ".a", identity.TokenMalformed},
		"padding":               {good + "=", identity.TokenMalformed},
		"line break":            {good + "\n", identity.TokenMalformed},
		"space in front":        {" " + good, identity.TokenMalformed},
		"JSON serialisation":    {`{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`, identity.TokenMalformed},
		"too long":              {good + strings.Repeat("A", 20_000), identity.TokenMalformed},
		"header not JSON":       {encode([]byte("{")) + "." + parts[1] + "." + parts[2], identity.TokenMalformed},
		"header a list":         {encode([]byte("[]")) + "." + parts[1] + "." + parts[2], identity.TokenMalformed},
		"header of 1 character": {"A." + parts[1] + "." + parts[2], identity.TokenMalformed},
		"alg twice":             {forge(t, key, `{"alg":"none","alg":"EdDSA","kid":"ed"}`, p.claims()), identity.TokenMalformed},
		"NUL in the header":     {forge(t, key, `{"alg":"EdDSA","kid":"ed","other":"\u0000"}`, p.claims()), identity.TokenMalformed},
		"alg none":              {encode([]byte(`{"alg":"none","kid":"ed"}`)) + "." + parts[1] + ".", identity.TokenAlgorithm},
		"alg none, signed":      {forge(t, key, `{"alg":"none","kid":"ed"}`, p.claims()), identity.TokenAlgorithm},
		"alg NONE":              {forge(t, key, `{"alg":"NONE","kid":"ed"}`, p.claims()), identity.TokenAlgorithm},
		"alg absent":            {forge(t, key, `{"kid":"ed"}`, p.claims()), identity.TokenAlgorithm},
		"alg in lower case":     {forge(t, key, `{"alg":"eddsa","kid":"ed"}`, p.claims()), identity.TokenAlgorithm},
		"HS256, key as PEM":     {hmacWith(t, rsaSigner, pemOf(t, rsaSigner), p.claims()), identity.TokenAlgorithm},
		"HS256, key as DER":     {hmacWith(t, rsaSigner, derOf(t, rsaSigner), p.claims()), identity.TokenAlgorithm},
		"HS256, key as JWK":     {hmacWith(t, rsaSigner, jwkOf(t, rsaSigner), p.claims()), identity.TokenAlgorithm},
		"RS512":                 {signWith(t, rsaSigner, jose.RS512, p.claims(), nil), identity.TokenAlgorithm},
		"RS256 for an Ed key":   {forge(t, key, `{"alg":"RS256","kid":"ed"}`, p.claims()), identity.TokenSignature},
		"wrong key, same kid":   {sign(t, stranger, p.claims()), identity.TokenSignature},
		"other payload":         {parts[0] + "." + encode(admin) + "." + parts[2], identity.TokenSignature},
		"no signature":          {parts[0] + "." + parts[1] + ".", identity.TokenSignature},
		"kid a path":            {forge(t, key, `{"alg":"EdDSA","kid":"../../x"}`, p.claims()), identity.TokenKeyUnknown},
		"kid dots":              {forge(t, key, `{"alg":"EdDSA","kid":".."}`, p.claims()), identity.TokenKeyUnknown},
		"kid an address":        {forge(t, key, `{"alg":"EdDSA","kid":"`+p.URL+`/evil"}`, p.claims()), identity.TokenKeyUnknown},
		"kid with a quote":      {forge(t, key, `{"alg":"EdDSA","kid":"' OR 1=1"}`, p.claims()), identity.TokenKeyUnknown},
		"kid long":              {forge(t, key, `{"alg":"EdDSA","kid":"`+strings.Repeat("a", 257)+`"}`, p.claims()), identity.TokenKeyUnknown},
		"kid a number":          {forge(t, key, `{"alg":"EdDSA","kid":1}`, p.claims()), identity.TokenMalformed},
		"jku":                   {forge(t, key, `{"alg":"EdDSA","kid":"ed","jku":"`+p.URL+`/evil"}`, p.claims()), identity.TokenMalformed},
		"x5u":                   {forge(t, key, `{"alg":"EdDSA","kid":"ed","x5u":"`+p.URL+`/evil"}`, p.claims()), identity.TokenMalformed},
		"own key":               {forge(t, stranger, `{"alg":"EdDSA","kid":"ed","jwk":`+string(jwkOf(t, stranger))+`}`, p.claims()), identity.TokenMalformed},
		"crit":                  {forge(t, key, `{"alg":"EdDSA","kid":"ed","crit":["exp"],"exp":1}`, p.claims()), identity.TokenMalformed},
		"b64":                   {forge(t, key, `{"alg":"EdDSA","kid":"ed","b64":false}`, p.claims()), identity.TokenMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			p.clock.advance(11 * time.Second) // the interval must not be what holds a fetch back
			got, err := v.Verify(t.Context(), c.token)
			requireRefused(t, c.code, err)
			require.Zero(t, got)
		})
	}
	fetches, other := p.count()
	require.Equal(t, 1, fetches, "none of them makes us fetch")
	require.Zero(t, other)
}

func hmacWith(t *testing.T, key jose.JSONWebKey, secret []byte, payload any) string {
	t.Helper()
	return signWith(t, jose.JSONWebKey{Key: secret, KeyID: key.KeyID}, jose.HS256, payload, nil)
}

func derOf(t *testing.T, key jose.JSONWebKey) []byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(key.Public().Key)
	require.NoError(t, err)
	return der
}

func pemOf(t *testing.T, key jose.JSONWebKey) []byte {
	t.Helper()
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: derOf(t, key)})
}

func jwkOf(t *testing.T, key jose.JSONWebKey) []byte {
	t.Helper()
	public := key.Public()
	raw, err := json.Marshal(&public)
	require.NoError(t, err)
	return raw
}

func TestEveryBitOfASignatureCounts(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	v := p.verifier(t)
	good := sign(t, key, p.claims())
	for i := strings.LastIndex(good, ".") + 1; i < len(good)-1; i++ { // the last character holds spare bits
		bad := []byte(good)
		bad[i] = map[bool]byte{true: 'B', false: 'A'}[bad[i] == 'A']
		_, err := v.Verify(t.Context(), string(bad))
		requireRefused(t, identity.TokenSignature, err)
	}
}

func TestKeysThatDoNotFit(t *testing.T) {
	t.Parallel()
	weak, err := rsa.GenerateKey(rand.Reader, 1024) // weak on purpose
	require.NoError(t, err)
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	encryption, declared := edKey(t, "enc"), ecKey(t, "declared")
	encryption.Use, declared.Algorithm = "enc", "ES384"
	weakKey, secret := jose.JSONWebKey{Key: weak, KeyID: "weak"}, jose.JSONWebKey{Key: bytes.Repeat([]byte("k"), 32), KeyID: "secret"}
	p := newProvider(t, encryption, declared, weakKey, jose.JSONWebKey{Key: p384, KeyID: "p384"})
	p.change(func() {
		p.extra = []string{`{"kty":"oct","kid":"secret","k":"` + encode(secret.Key.([]byte)) + `"}`, `{"kty":"OKP","crv":"X448","kid":"x","x":"AA"}`, `7`, `{}`}
	})
	v := p.verifier(t)
	for _, key := range []jose.JSONWebKey{encryption, declared, weakKey} {
		_, err := v.Verify(t.Context(), sign(t, key, p.claims()))
		requireRefused(t, identity.TokenSignature, err)
	}
	_, err = v.Verify(t.Context(), signWith(t, jose.JSONWebKey{Key: p384, KeyID: "p384"}, jose.ES384, p.claims(), nil))
	requireRefused(t, identity.TokenAlgorithm, err)
	_, err = v.Verify(t.Context(), signWith(t, secret, jose.HS256, p.claims(), nil))
	requireRefused(t, identity.TokenAlgorithm, err)
}

func TestErrorsAndLogsSayNothingOfTheToken(t *testing.T) {
	t.Parallel()
	key := edKey(t, "k")
	p := newProvider(t, key)
	v := p.verifier(t)
	for _, pairs := range [][]any{{"org", "Ann Lee"}, {"sub", "Ann Lee\n"}, {"iss", "Ann Lee"}, {"aud", "Ann Lee"}, {"exp", "Ann Lee"}, {"act", "Ann Lee"}, {"tenant", "Ann Lee"}} {
		_, err := v.Verify(t.Context(), sign(t, key, p.claims(pairs...)))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "Lee")
	}
	got, err := v.Verify(t.Context(), sign(t, key, p.claims("act", map[string]any{"sub": "auth0|bob"})))
	require.NoError(t, err)
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("called", "principal", got)
	for _, text := range []string{log.String(), got.String(), fmt.Sprintf("%v %+v %#v %s", got, got, got, got)} {
		require.Contains(t, text, "acme")
		require.NotContains(t, text, "ann")
		require.NotContains(t, text, "bob")
	}
}

func TestBearerToken(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"Bearer abc", "bearer abc", "BEARER abc"} {
		token, err := identity.BearerToken([]string{good})
		require.NoError(t, err)
		require.Equal(t, "abc", token)
	}
	for _, bad := range [][]string{nil, {""}, {"Bearer"}, {"Bearer "}, {"Basic abc"}, {"abc"}, {"Bearer a", "Bearer b"}, {"Bearer\tabc"}} {
		_, err := identity.BearerToken(bad)
		requireRefused(t, identity.TokenMissing, err)
	}
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	all := identity.AllPermissions()
	require.Len(t, all, 13)
	for _, permission := range all {
		got, known := identity.ParsePermission(string(permission))
		require.True(t, known)
		require.Equal(t, permission, got)
		require.True(t, identity.Principal{Permissions: all, PersonaVersion: 4}.Has(permission))
	}
	_, known := identity.ParsePermission("iris.everything")
	require.False(t, known)
}

// FuzzVerify tries tokens nobody signed: never a panic, never a principal.
func FuzzVerify(f *testing.F) {
	f.Add("eyJhbGciOiJub25lIn0.e30.", uint8(0))
	f.Add("eyJhbGciOiJFZERTQSIsImtpZCI6ImsifQ.e30.AA", uint8(1))
	f.Add(`{"alg":"EdDSA","kid":"k"}`, uint8(2))
	f.Add(`{"alg":"ES256","kid":"e","b64":false,"crit":["b64"]}`, uint8(2))
	f.Add("", uint8(0))
	f.Fuzz(func(t *testing.T, text string, shape uint8) {
		ed, ec := edKey(t, "k"), ecKey(t, "e")
		v, err := identity.Open(t.Context(), identity.Config{
			Issuer: "https://issuer.example", Audience: audience, Keys: fixed{ed.Public(), ec.Public()}, Now: time.Now,
		})
		require.NoError(t, err)
		token := text
		if shape%3 == 2 { // text is the header
			token = encode([]byte(text)) + "." + encode([]byte("{}")) + "." + encode(make([]byte, 64))
		}
		got, err := v.Verify(t.Context(), token)
		require.ErrorIs(t, err, identity.ErrUnauthenticated)
		require.Zero(t, got)
	})
}

// FuzzClaims tries payloads that the issuer did sign.
func FuzzClaims(f *testing.F) {
	f.Add(`{"iss":"https://issuer.example","aud":"https://iris.example/api","exp":4102444800,"iat":0,"sub":"a","client_id":"b","org":"acme"}`)
	f.Add(`{"iss":"https://issuer.example","aud":["https://iris.example/api"],"exp":4102444800.5,"iat":0,"sub":"a","client_id":"b","org":"acme","act":{"sub":"c"},"tenant":"t","permissions":["iris.admin",null],"PERSONA_VERSION":4}`)
	f.Add(`{"exp":1e15}`)
	f.Fuzz(func(t *testing.T, payload string) {
		key := edKey(t, "k")
		v, err := identity.Open(t.Context(), identity.Config{
			Issuer: "https://issuer.example", Audience: audience, Keys: fixed{key.Public()}, Now: time.Now,
		})
		require.NoError(t, err)
		got, err := v.Verify(t.Context(), sign(t, key, payload))
		if err != nil {
			require.ErrorIs(t, err, identity.ErrUnauthenticated)
			require.Zero(t, got)
			return
		}
		require.Equal(t, "https://issuer.example", got.Issuer)
		require.Regexp(t, `\A[a-z0-9][a-z0-9-]{0,62}\z`, got.Organisation)
		require.Regexp(t, `\A[!-~]{1,255}\z`, got.MemberSubject())
	})
}
