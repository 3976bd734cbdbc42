// Package serving runs parts of Iris against servers that others run: an external NATS cluster and an external PostgreSQL, any number
// of processes of each part (spec 9.7). It is what `iris serve`, `iris worker` and `iris migrate` start, and what `iris rebuild` and `iris parked commits` work with there.
//
// It guarantees: nothing listens off loopback without TLS, nothing is answered without an OpenID Connect issuer, no store is reached
// over the network in the clear, and half a setting is refused before any I/O (spec 9.5); no running process makes, changes or deletes
// a stream, a database or a role, or needs the right to: Migrate does, with credentials of its own (spec 9.2). A process that is told
// to stop takes nothing more in, finishes what it has in hand, and ends well.
package serving

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/identity"
	"iris.example/iris/limits"
	"iris.example/iris/receipts"
	"iris.example/iris/tracing/traceotlp"
)

// Part is what a process runs.
type Part string

const (
	API         Part = "api" // API and pages: `iris serve`
	Intake      Part = "intake"
	Projector   Part = "projector"
	StreamGuard Part = "streamguard"
)

// Workers are the parts that `iris worker` runs.
func Workers() []Part { return []Part{Intake, Projector, StreamGuard} }

// ErrConfig is in the chain of every refused configuration.
var ErrConfig = errors.New("serving_config")

func refuse(what, why, do string) error {
	return fmt.Errorf("%w: %s: %s; %s", ErrConfig, what, why, do)
}

// NATS says how the cluster is reached.
type NATS struct {
	URLs        []string
	CA          string // PEM; empty: the machine's own authorities
	Seed        string // file of an NKey's seed; or
	Credentials string // file of a JWT and its seed
	Cert, Key   string // of this process, where the cluster asks for one
	Replicas    int    // of every stream
}

// Postgres is the address of the server, without user and database: each part logs in as a role of its own. Passwords stand in a
// file of libpq's form (PGPASSFILE).
type Postgres string

// TLS is the pair of files that this process shows to whom it listens for.
type TLS struct{ Cert, Key string }

// OIDC says whose tokens are believed.
type OIDC struct {
	Issuer, Audience string
	Login            Login
}

// Login says who the pages are at the issuer, so that members can sign in there. With nothing in it a token has to be pasted.
type Login struct {
	ClientID    string
	SecretFile  string // file of the client's secret; empty: a public client
	RedirectURL string // where browsers reach the pages, with /sign-in/callback
	Scopes      []string
}

// set reports that there is one, whole.
func (l Login) set() bool { return l.ClientID != "" }

func (l Login) validate() error {
	if !l.set() && (l.SecretFile != "" || l.RedirectURL != "" || strings.Join(l.Scopes, "") != "") {
		return refuse("sign-in", "a secret, a redirect address or scopes without a client id", "set IRIS_OIDC_CLIENT_ID, or leave all of IRIS_OIDC_CLIENT_SECRET_FILE, IRIS_OIDC_REDIRECT_URL and IRIS_OIDC_SCOPES out")
	}
	if !l.set() {
		return nil
	}
	if err := (identity.LoginConfig{ClientID: l.ClientID, RedirectURL: l.RedirectURL}).Validate(); err != nil {
		return fmt.Errorf("%w: sign-in: %w; set IRIS_OIDC_REDIRECT_URL to where browsers reach the pages, as https://iris.example%s", ErrConfig, err, identity.CallbackPath)
	}
	return nil
}

// secure reports that browsers reach the pages over TLS, here or at a proxy.
func (c Config) secure() bool {
	return c.TLS.Cert != "" || strings.HasPrefix(c.OIDC.Login.RedirectURL, "https://")
}

// Config is what a process needs. One environment serves all of them.
type Config struct {
	NATS     NATS
	Postgres Postgres
	Keys     string // folder of master.key and cursor.key, the same for all processes
	Evidence string // folder of this process alone: how far it knows each stream to go

	HTTP       string // where it listens; a worker with none tells nobody how it is
	TLS        TLS
	OIDC       OIDC
	Controller receipts.Controller

	ClockOffset time.Duration
	Limits      *limits.Config
	Version     string
	OTLP        string // a collector's address, to send traces to; empty: nobody traces
	Logger      *slog.Logger
	LookEvery   time.Duration // how often new organisations are looked for
	StopWithin  time.Duration // what is in hand at a stop is finished within
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	c.NATS.Replicas = cmp.Or(c.NATS.Replicas, 3)
	if c.Limits == nil {
		c.Limits = &limits.Config{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.LookEvery = cmp.Or(c.LookEvery, 5*time.Second)
	c.StopWithin = cmp.Or(c.StopWithin, 20*time.Second)
	return c
}

// Validate refuses half a setting and what would be unsafe, for the parts that are to run. It does no I/O.
func (c Config) Validate(parts []Part) error {
	if len(parts) == 0 {
		return refuse("no part", "there is nothing to run", "name "+fmt.Sprint(Workers()))
	}
	for _, p := range parts {
		if p != API && !slices.Contains(Workers(), p) {
			return refuse("worker "+string(p), "there is none", "name one of "+fmt.Sprint(Workers()))
		}
	}
	if c.Keys == "" {
		return refuse("keys", "no folder is named", "name the folder that `iris migrate --keys` made (IRIS_KEYS)")
	}
	if c.Evidence == "" {
		return refuse("evidence", "no folder is named", "give this process a folder of its own that outlives it (IRIS_EVIDENCE)")
	}
	if c.ClockOffset < 0 {
		return refuse("clock offset", "it is negative", "the clock is moved forward only")
	}
	return errors.Join(c.NATS.Validate(), c.Postgres.Validate(), c.OIDC.validate(), c.validateListener(parts), c.validateController(), c.validateTraces())
}

func (c Config) validateTraces() error {
	if c.OTLP == "" {
		return nil
	}
	if err := c.traces().Validate(); err != nil {
		return fmt.Errorf("%w: traces: %w; correct OTEL_EXPORTER_OTLP_ENDPOINT", ErrConfig, err)
	}
	return nil
}

func (c Config) traces() traceotlp.Config {
	return traceotlp.Config{Endpoint: c.OTLP, Version: c.Version, Loopback: identity.Loopback}
}

func (c Config) validateController() error {
	if err := c.Controller.Validate(); err != nil {
		return fmt.Errorf("%w: controller: %w", ErrConfig, err)
	}
	return nil
}

func (c Config) validateListener(parts []Part) error {
	if (c.TLS.Cert == "") != (c.TLS.Key == "") {
		return refuse("TLS", "a certificate without its key, or a key without its certificate", "set both (IRIS_TLS_CERT, IRIS_TLS_KEY), or neither on loopback")
	}
	if c.HTTP == "" {
		if slices.Contains(parts, API) {
			return refuse("address", "API and pages have none", "name one (IRIS_HTTP), such as 0.0.0.0:8443")
		}
		return nil
	}
	if c.TLS.Cert != "" && strings.HasPrefix(c.OIDC.Login.RedirectURL, "http:") {
		return refuse("sign-in", "the redirect address is http and the pages have TLS", "write IRIS_OIDC_REDIRECT_URL with https")
	}
	host, _, err := net.SplitHostPort(c.HTTP)
	if err != nil {
		return refuse("address", "it is not host:port", "write it as 0.0.0.0:8443")
	}
	if !identity.Loopback(host) && c.TLS.Cert == "" {
		return refuse("address "+c.HTTP, "it lies off loopback and there is no TLS", "set IRIS_TLS_CERT and IRIS_TLS_KEY, or listen on 127.0.0.1 behind a proxy on this machine")
	}
	return nil
}

func (o OIDC) validate() error {
	err := identity.Config{Issuer: o.Issuer, Audience: o.Audience, Now: time.Now}.Validate()
	if err != nil {
		return fmt.Errorf("%w: OpenID Connect: %w; set IRIS_OIDC_ISSUER and IRIS_OIDC_AUDIENCE: nobody is answered without an issuer", ErrConfig, err)
	}
	return o.Login.validate()
}

// Validate refuses a cluster that would be reached in the clear, or as nobody.
func (n NATS) Validate() error {
	if len(n.URLs) == 0 {
		return refuse("NATS", "no server is named", "name all nodes (IRIS_NATS), as tls://iris-a:4222,tls://iris-b:4222,tls://iris-c:4222")
	}
	for _, address := range n.URLs {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Hostname() == "":
			return refuse("NATS", "an address is not of the form tls://host:port", "correct IRIS_NATS")
		case u.User != nil:
			return refuse("NATS", "an address holds a user", "put the seed into a file (IRIS_NATS_SEED)")
		case u.Scheme == "tls" || u.Scheme == "nats" && identity.Loopback(u.Hostname()):
		default:
			return refuse("NATS "+u.Host, "it would be reached in the clear", "use tls://; only loopback may go without")
		}
	}
	switch {
	case n.Seed == "" && n.Credentials == "":
		return refuse("NATS", "no credential", "name the file of the NKey's seed (IRIS_NATS_SEED) or of the credentials (IRIS_NATS_CREDS)")
	case n.Seed != "" && n.Credentials != "":
		return refuse("NATS", "two credentials", "leave IRIS_NATS_SEED or IRIS_NATS_CREDS out")
	case (n.Cert == "") != (n.Key == ""):
		return refuse("NATS", "a certificate without its key, or a key without its certificate", "set both (IRIS_NATS_CLIENT_CERT, IRIS_NATS_CLIENT_KEY), or neither")
	case n.Replicas != 1 && n.Replicas != 3 && n.Replicas != 5:
		return refuse("NATS", "streams have 1, 3 or 5 replicas", "set IRIS_NATS_REPLICAS to what the streams were made with")
	}
	return nil
}

// URL addresses a database as a role.
func (p Postgres) URL(database, role string) string {
	u, err := url.Parse(string(p))
	if err != nil {
		return "" // Validate has refused it
	}
	u.Path, u.User = "/"+database, url.User(role)
	return u.String()
}

// Validate refuses a server that would be reached in the clear over a network. Its errors don't quote the address.
func (p Postgres) Validate() error {
	u, err := url.Parse(string(p))
	switch {
	case p == "" || err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql":
		return refuse("PostgreSQL", "no address of the form postgres://host:5432/?sslmode=verify-full", "set IRIS_POSTGRES")
	case u.User != nil:
		return refuse("PostgreSQL", "the address names a user", "leave the user out: each part logs in as a role of its own, with its password from PGPASSFILE")
	case strings.Trim(u.Path, "/") != "":
		return refuse("PostgreSQL", "the address names a database", "leave it out: there are two, iris and iris_keys")
	}
	return verified(string(p), "IRIS_POSTGRES")
}

// verified holds a connection string to TLS with a verified name, unless it stays on this machine.
func verified(address, setting string) error {
	config, err := pgx.ParseConfig(address)
	if err != nil {
		return refuse("PostgreSQL", "the address can't be read", "correct "+setting)
	}
	local := func(host string) bool { return filepath.IsAbs(host) || identity.Loopback(host) }
	safe := local(config.Host) || config.TLSConfig != nil && !config.TLSConfig.InsecureSkipVerify
	for _, f := range config.Fallbacks {
		safe = safe && (local(f.Host) || f.TLSConfig != nil && !f.TLSConfig.InsecureSkipVerify)
	}
	if !safe {
		return refuse("PostgreSQL", "it lies off loopback and its certificate wouldn't be verified", "add sslmode=verify-full and sslrootcert=FILE to "+setting)
	}
	return nil
}
