package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/identity"
	"iris.example/iris/limits"
	"iris.example/iris/tracing"
)

// Verifier turns a bearer token into a principal.
type Verifier interface {
	Verify(ctx context.Context, token string) (identity.Principal, error)
}

// Contract judges the body of a request by the name of its schema, and what a tool is called with by the tool's.
type Contract interface {
	CheckRequest(name string, body []byte) error
	CheckArguments(tool string, arguments []byte) error
}

// Config is what New needs. Ready and ClockOffset may be left out.
type Config struct {
	Acts     *acts.Acts
	Verifier Verifier
	Contract Contract
	Logger   *slog.Logger
	Now      func() time.Time // the product's clock

	CursorKey []byte // signs cursors; the same in all processes that serve the same callers
	Version   string // of the program
	// ClockOffset is how far the product's clock was moved forward; it is told to everyone (spec 9.7).
	ClockOffset time.Duration
	// Ready says what doesn't answer, by name. Names are shown, errors are logged.
	Ready func(ctx context.Context) map[string]error
	// Wait bounds how long a read waits for the position that Iris-Wait names.
	Wait time.Duration
	// Limits bounds how often a caller may ask; nil: as often as it likes.
	Limits *limits.Limiter
	// Metrics is the page of /metrics. Left out, the page is empty.
	Metrics func() (contentType string, page []byte, err error)
	Observe func(Observation) // hears of every request that was answered; nil: nobody
	Tracer  tracing.Tracer
}

// WithDefaults fills what may be left out.
func (c Config) WithDefaults() Config {
	if c.Version == "" {
		c.Version = "devel"
	}
	if c.Ready == nil {
		c.Ready = func(context.Context) map[string]error { return nil }
	}
	if c.Wait == 0 {
		c.Wait = acts.WaitLimit
	}
	if c.Metrics == nil {
		c.Metrics = func() (string, []byte, error) { return "text/plain; version=0.0.4; charset=utf-8", nil, nil }
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	return c
}

// Validate refuses what would answer without a check.
func (c Config) Validate() error {
	switch {
	case c.Acts == nil:
		return errors.New("api: config: no acts")
	case c.Verifier == nil:
		return errors.New("api: config: no verifier: nobody answers without one")
	case c.Contract == nil:
		return errors.New("api: config: no contract")
	case c.Logger == nil || c.Now == nil:
		return errors.New("api: config: logger and clock are required")
	case c.ClockOffset < 0:
		return errors.New("api: config: the product's clock is never moved back")
	case c.Wait < 0 || c.Wait > acts.WaitLimit:
		return fmt.Errorf("api: config: a wait of %s is not within 0 and %s", c.Wait, acts.WaitLimit)
	}
	return nil
}

// API answers requests. It is safe for concurrent use and keeps nothing between them.
type API struct {
	cfg     Config
	cursors boundary.Cursors
	routes  []Route
	openAPI []byte
}

// New builds an API. It does no I/O.
func New(cfg Config) (*API, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	cursors, err := boundary.NewCursors(cfg.CursorKey)
	if err != nil {
		return nil, fmt.Errorf("api: config: %w", err)
	}
	document, err := OpenAPI()
	if err != nil {
		return nil, err
	}
	return &API{cfg: cfg, cursors: cursors, routes: Routes(), openAPI: document}, nil
}

// Handler answers every address: what the table doesn't have is not found.
func (a *API) Handler() http.Handler { return a.mux() }
