package engine

import (
	"context"
	"fmt"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// Source is a stream being followed, from after the cursor on. What it leaves out isn't in the stream.
type Source interface {
	// Next waits for at least one message and returns what is pending, up to limit.
	Next(ctx context.Context, limit int) ([]log.Message, error)
	Close()
}

// Follow opens a source behind a position.
type Follow func(ctx context.Context, stream string, after uint64) (Source, error)

// Followed makes a Follow of a log.
func Followed(l interface {
	Follow(ctx context.Context, stream string, after uint64) (*log.Follower, error)
}) Follow {
	return func(ctx context.Context, stream string, after uint64) (Source, error) {
		return l.Follow(ctx, stream, after)
	}
}

// Decoder opens commits; events.Codec is the one.
type Decoder interface {
	Decode(ctx context.Context, position uint64, body []byte) (events.Commit, error)
}

// Announcer hears how far a line has come, after the transaction that brought it there. It must not block.
type Announcer interface {
	Announce(org, stream string, position uint64)
}

// Config says what a line carries where. DatabaseURL connects as iris_projector, which row-level security doesn't hold.
type Config struct {
	Organisation string
	Stream       string
	DatabaseURL  string
	Schema       string // default iris
	Projections  []Projection
	Follow       Follow
	Decoder      Decoder
	Announce     Announcer
	MaxBatch     int           // commits a transaction; default 500 (spec 9.4)
	Backoff      time.Duration // the first wait after a failure, doubled up to MaxBackoff; default 50 ms
	MaxBackoff   time.Duration // default 5 s
	Report       func(Status)  // hears every change of state; default: nobody
}

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Schema == "" {
		c.Schema = "iris"
	}
	if c.MaxBatch == 0 {
		c.MaxBatch = 500
	}
	if c.Backoff == 0 {
		c.Backoff = 50 * time.Millisecond
	}
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 5 * time.Second
	}
	if c.Report == nil {
		c.Report = func(Status) {}
	}
	return c
}

// Validate refuses what can't work.
func (c Config) Validate() error {
	switch {
	case c.Organisation == "" || c.Stream == "" || c.DatabaseURL == "":
		return fmt.Errorf("%w: organisation, stream and database must be named", ErrConfig)
	case len(c.Projections) == 0 || c.Follow == nil || c.Decoder == nil || c.Announce == nil:
		return fmt.Errorf("%w: projections, source, decoder and announcer must be given", ErrConfig)
	case c.MaxBatch < 1 || c.Backoff < 1 || c.MaxBackoff < c.Backoff:
		return fmt.Errorf("%w: batch and backoff must be positive, the backoff below its maximum", ErrConfig)
	}
	return nil
}
