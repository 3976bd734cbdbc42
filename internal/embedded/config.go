// Package embedded runs all of Iris in one process: NATS inside it, a private PostgreSQL beside it, workers, API and pages on
// loopback (spec 9.7). It is what `iris up` starts and what the tests of the whole start; it wires rooms together and decides
// nothing.
//
// Everything it knows stands in its data directory. A directory is owned by one process at a time, and nothing in it is ever
// deleted by a start.
package embedded

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"iris.example/iris/identity"
	"iris.example/iris/limits"
	"iris.example/iris/receipts"
	"iris.example/iris/tracing/traceotlp"
)

// Config says where the state lives and what listens where.
type Config struct {
	DataDir     string
	HTTP        string              // address of API and pages; port 0 picks a free one
	NATS        string              // address that producers connect to; port 0 picks a free one
	NoDemo      bool                // organisations, people and tokens, without memories
	ClockOffset time.Duration       // moves the product's clock forward
	PostgresURL string              // a server of one's own, as a superuser; empty: a private one
	Version     string              // of the program, for /v1/about
	Controller  receipts.Controller // who answers for the deployment, on receipts
	Logger      *slog.Logger
	TraceFile   string         // spans are appended here, for development; empty: nobody traces
	OTLP        string         // a collector's address, to send spans to; empty: none
	Limits      *limits.Config // how often a caller may ask; nil: generous
	Progress    io.Writer      // hears what the start is doing; nil: nobody
	// KeepOutdated leaves read models from before an update as they are: whoever starts this makes them anew.
	KeepOutdated bool
	// Organisations are more than the demonstration's two: founded, with programs and terms, and projected, with nobody in them.
	Organisations []string
	// UnsafeNoSync answers before the disk has what was written. For tests that are not about durability.
	UnsafeNoSync bool
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.DataDir == "" {
		c.DataDir = ".iris"
	}
	if c.HTTP == "" {
		c.HTTP = "127.0.0.1:8420"
	}
	if c.NATS == "" {
		c.NATS = "127.0.0.1:4222"
	}
	if c.Limits == nil {
		generous := limits.Demonstration()
		c.Limits = &generous
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	return c
}

// Validate refuses what would serve this development issuer's tokens to a network, or move the clock back.
func (c Config) Validate() error {
	for name, address := range map[string]string{"--http": c.HTTP, "--nats": c.NATS} {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return fmt.Errorf("%s %q: not host:port: %w", name, address, err)
		}
		if !identity.Loopback(host) {
			return fmt.Errorf("%s %q: the embedded default has a development issuer and no TLS, so it listens on loopback only", name, address)
		}
	}
	if err := c.Controller.Validate(); err != nil {
		return fmt.Errorf("--controller-name: %w", err)
	}
	if c.OTLP != "" {
		if err := c.collector().Validate(); err != nil {
			return fmt.Errorf("--otlp: %w", err)
		}
		if c.TraceFile != "" {
			return errors.New("--otlp and --trace exclude each other: spans go to a collector or to a file")
		}
	}
	if c.ClockOffset < 0 {
		return errors.New("--clock-offset moves the clock forward only")
	}
	return nil
}

func (c Config) organisations() []string { return append(organisations(), c.Organisations...) }

func (c Config) path(parts ...string) string {
	return filepath.Join(append([]string{c.DataDir}, parts...)...)
}

func splitPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(text)
	return host, port, err
}

func (c Config) collector() traceotlp.Config {
	return traceotlp.Config{Endpoint: c.OTLP, Version: c.Version, Loopback: identity.Loopback}
}
