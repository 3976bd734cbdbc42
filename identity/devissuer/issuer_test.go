package devissuer_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
)

const audience = "https://iris.example/api"

type clock struct {
	mu sync.Mutex
	at time.Time
}

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

func setup(t *testing.T) (devissuer.Config, *clock) {
	t.Helper()
	c := &clock{at: time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)}
	return devissuer.Config{
		Dir: filepath.Join(t.TempDir(), "issuer"), URL: "http://127.0.0.1:8080", Audience: audience, Now: c.now,
	}, c
}

func open(t *testing.T, config devissuer.Config) *devissuer.Issuer {
	t.Helper()
	i, err := devissuer.Open(t.Context(), config)
	require.NoError(t, err)
	return i
}

func member() devissuer.Claims {
	return devissuer.Claims{
		Subject: "member-1", Client: "pages", Organisation: "acme", PersonaVersion: 4,
		Permissions: []identity.Permission{identity.AgentMemoryManage, identity.Propose},
	}
}

func mint(t *testing.T, i *devissuer.Issuer, c devissuer.Claims) string {
	t.Helper()
	token, err := i.Mint(t.Context(), c, time.Hour)
	require.NoError(t, err)
	return token
}

func TestMintedTokensSayWhatWasAsked(t *testing.T) {
	t.Parallel()
	config, c := setup(t)
	i := open(t, config)
	tenant := "north"
	claims := member()
	claims.Actor, claims.Tenant = "delegate-1", &tenant
	token := mint(t, i, claims)
	got, err := i.Verifier().Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, identity.Principal{
		Issuer: config.URL, Subject: "member-1", ActorSubject: "delegate-1", Client: "pages", Organisation: "acme", Tenant: &tenant,
		Permissions: []identity.Permission{identity.Propose, identity.AgentMemoryManage}, PersonaVersion: 4,
	}, got)
	c.advance(time.Hour)
	_, err = i.Verifier().Verify(t.Context(), token)
	require.ErrorIs(t, err, identity.ErrUnauthenticated)
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	config, _ := setup(t)
	i := open(t, config)
	for name, spoil := range map[string]func(*devissuer.Claims){
		"no subject":      func(c *devissuer.Claims) { c.Subject = "" },
		"no client":       func(c *devissuer.Claims) { c.Client = "" },
		"no organisation": func(c *devissuer.Claims) { c.Organisation = "" },
		"organisation *":  func(c *devissuer.Claims) { c.Organisation = "*" },
		"empty tenant":    func(c *devissuer.Claims) { c.Tenant = new(string) },
		"bad actor":       func(c *devissuer.Claims) { c.Actor = "a b" },
		"persona":         func(c *devissuer.Claims) { c.PersonaVersion = -1 },
	} {
		claims := member()
		spoil(&claims)
		_, err := i.Mint(t.Context(), claims, time.Hour)
		require.ErrorIs(t, err, devissuer.ErrIssuer, name)
	}
	for _, ttl := range []time.Duration{0, -time.Hour, time.Millisecond, devissuer.MaxTTL + 1} {
		_, err := i.Mint(t.Context(), member(), ttl)
		require.ErrorIs(t, err, devissuer.ErrIssuer)
	}
}

func TestConfigIsWholeAndLocal(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*devissuer.Config){
		"no directory": func(c *devissuer.Config) { c.Dir = "" },
		"no address":   func(c *devissuer.Config) { c.URL = "" },
		"no audience":  func(c *devissuer.Config) { c.Audience = "" },
		"no clock":     func(c *devissuer.Config) { c.Now = nil },
		"remote":       func(c *devissuer.Config) { c.URL = "https://iris.example" },
		"in clear":     func(c *devissuer.Config) { c.URL = "http://iris.example" },
	} {
		config, _ := setup(t)
		dir := config.Dir
		spoil(&config)
		_, err := devissuer.Open(t.Context(), config)
		require.ErrorIs(t, err, devissuer.ErrIssuer, name)
		require.NoDirExists(t, dir, name)
	}
}

func TestTheKeyStaysAndIsPrivate(t *testing.T) {
	t.Parallel()
	config, _ := setup(t)
	first := open(t, config)
	token := mint(t, first, member())
	files, err := os.ReadDir(config.Dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := files[0].Info()
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	_, err = open(t, config).Verifier().Verify(t.Context(), token)
	require.NoError(t, err, "after a restart")
}

func TestOneKeyOfManyStarts(t *testing.T) {
	t.Parallel()
	config, _ := setup(t)
	issuers := make([]*devissuer.Issuer, 8)
	var group sync.WaitGroup
	for n := range issuers {
		group.Go(func() {
			i, err := devissuer.Open(t.Context(), config)
			if err != nil {
				t.Error(err)
			}
			issuers[n] = i
		})
	}
	group.Wait()
	token := mint(t, issuers[0], member())
	for _, i := range issuers {
		_, err := i.Verifier().Verify(t.Context(), token)
		require.NoError(t, err)
	}
}

func TestABadKeyFileIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(path string, body []byte) error{
		"readable by others": func(path string, _ []byte) error { return os.Chmod(path, 0o644) },
		"empty":              func(path string, _ []byte) error { return os.WriteFile(path, nil, 0o600) },
		"cut short":          func(path string, body []byte) error { return os.WriteFile(path, body[:len(body)/2], 0o600) },
		"public half only": func(path string, body []byte) error {
			return os.WriteFile(path, []byte(strings.Replace(string(body), `"d":`, `"e":`, 1)), 0o600)
		},
		"a link": func(path string, _ []byte) error {
			return os.Rename(path, path+".real")
		},
	} {
		config, _ := setup(t)
		open(t, config)
		path := filepath.Join(config.Dir, "dev-issuer.json")
		body, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, spoil(path, body))
		if name == "a link" {
			require.NoError(t, os.Symlink(path+".real", path))
		}
		before, err := os.ReadFile(path)
		require.NoError(t, err)
		_, err = devissuer.Open(t.Context(), config)
		require.ErrorIs(t, err, devissuer.ErrIssuer, name)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	config, c := setup(t)
	i, other := open(t, config), open(t, config) // two processes
	long, err := i.Mint(t.Context(), member(), devissuer.MaxTTL)
	require.NoError(t, err)
	c.advance(time.Minute)
	require.NoError(t, i.Rotate())
	require.NoError(t, i.Rotate())
	fresh := mint(t, i, member())
	require.NotEqual(t, headerOf(long), headerOf(fresh))
	for _, verifier := range []*identity.Verifier{i.Verifier(), other.Verifier(), open(t, config).Verifier()} {
		for _, token := range []string{long, fresh} {
			_, err := verifier.Verify(t.Context(), token)
			require.NoError(t, err)
		}
	}
	require.Equal(t, headerOf(fresh), headerOf(mint(t, other, member())), "the other process signs with the new key")
	body, err := os.ReadFile(filepath.Join(config.Dir, "dev-issuer.json"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(body), `"d":`), "no private half but the current one")

	keys, err := i.Keys(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, keys, 3)
	c.advance(devissuer.MaxTTL)
	keys, err = i.Keys(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, keys, 1, "no token of the old keys can be alive")
}

func headerOf(token string) string {
	header, _, _ := strings.Cut(token, ".")
	return header
}

func TestDiscoveryOverHTTP(t *testing.T) {
	t.Parallel()
	config, _ := setup(t)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	config.URL = server.URL + "/dev"
	i := open(t, config)
	mux.Handle("/dev/", http.StripPrefix("/dev", i.Handler()))
	remote, err := identity.Open(t.Context(), identity.Config{Issuer: config.URL, Audience: audience, Now: config.Now})
	require.NoError(t, err)
	got, err := remote.Verify(t.Context(), mint(t, i, member()))
	require.NoError(t, err)
	require.Equal(t, "member-1", got.MemberSubject())

	require.NoError(t, i.Rotate())
	response, err := http.Get(config.URL + "/jwks.json")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, 2, strings.Count(string(body), `"kid"`))
	require.NotContains(t, string(body), `"d":`)
}
