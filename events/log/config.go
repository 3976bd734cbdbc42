package log

import (
	"fmt"
	"time"
)

// Config is what a deployment may choose about its streams. What protects the record can't be chosen.
type Config struct {
	Replicas     int           // of every stream: 1 on a single server, 3 or 5 in a cluster
	WriteTimeout time.Duration // of an append; then the outcome is unknown
	ReadTimeout  time.Duration // of one request that reads, creates or compares

	// AccessMaxAge is how long recall and brief envelopes stay; 0: as long as the organisation. Replays and proofs of non-use
	// reach no further back (spec 9.2).
	AccessMaxAge time.Duration

	InboxMaxBytes       int64 // of all claims that wait
	InboxMaxPerProducer int64 // claims of one producer that wait
}

const leastAccessMaxAge = 184 * 24 * time.Hour

// WithDefaults fills what was left out, for a single server.
func (c Config) WithDefaults() Config {
	if c.Replicas == 0 {
		c.Replicas = 1
	}
	if c.WriteTimeout == 0 {
		c.WriteTimeout = 5 * time.Second
	}
	if c.ReadTimeout == 0 {
		c.ReadTimeout = 5 * time.Second
	}
	if c.InboxMaxBytes == 0 {
		c.InboxMaxBytes = 256 << 20
	}
	if c.InboxMaxPerProducer == 0 {
		c.InboxMaxPerProducer = 10_000
	}
	return c
}

// Validate refuses what would weaken a rule of spec 9.2 or make no sense.
func (c Config) Validate() error {
	switch {
	case c.Replicas != 1 && c.Replicas != 3 && c.Replicas != 5:
		return fmt.Errorf("log: config: %d replicas, want 1, 3 or 5", c.Replicas)
	case c.WriteTimeout <= 0 || c.ReadTimeout <= 0:
		return fmt.Errorf("log: config: timeouts must be positive")
	case c.AccessMaxAge != 0 && c.AccessMaxAge < leastAccessMaxAge:
		return fmt.Errorf("log: config: access envelopes kept %s, want 0 (always) or at least %s", c.AccessMaxAge, leastAccessMaxAge)
	case c.InboxMaxBytes < maxMessage:
		return fmt.Errorf("log: config: an inbox of %d bytes holds no message", c.InboxMaxBytes)
	case c.InboxMaxPerProducer < 1:
		return fmt.Errorf("log: config: %d claims per producer", c.InboxMaxPerProducer)
	}
	return nil
}
