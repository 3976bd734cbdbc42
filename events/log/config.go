package log

import (
	"fmt"
	"strings"
	"time"

	"iris.example/iris/events"
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

	Observe func(Published) // hears of every message that was sent, after its answer; nil: nobody
}

// Published is one request to write: what was sent where, and what became of it. It has no subject and no body.
type Published struct {
	To       Destination
	Messages int // of a batch, which is stored whole or not at all
	Took     time.Duration
	Err      error // nil: stored, and synced where the server syncs
}

// Destination is a kind of subject.
type Destination string

const (
	ToLedger Destination = "ledger"
	ToAccess Destination = "access"
	ToFence  Destination = "fence"
	ToInbox  Destination = "inbox"
)

// Destinations are all four.
func Destinations() []Destination { return []Destination{ToLedger, ToAccess, ToFence, ToInbox} }

func destinationOf(stream, subject string) Destination {
	switch {
	case stream == events.InboxStream:
		return ToInbox
	case strings.HasPrefix(subject, "iris.access."):
		return ToAccess
	case strings.HasSuffix(subject, ".fence"):
		return ToFence
	}
	return ToLedger
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
	if c.Observe == nil {
		c.Observe = func(Published) {}
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
