package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/tracing"
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

// Decoder opens commits that were read (events.ReadEach), in one trip to the vault. Several may go on from one reading, one after
// another: each leaves it as the next one needs it. events.Codec is one.
type Decoder interface {
	OpenEach(ctx context.Context, read []events.Opened) []events.Opened
}

// Announcer hears how far a line has come. It must not block.
type Announcer interface {
	// Announce comes after the transaction that brought the line there.
	Announce(org, line string, position uint64)
	// Resumed comes when a line begins: the position is what its cursor says, which may lie before what was announced, of a
	// database that was dropped.
	Resumed(org, line string, position uint64)
}

// Config says what a line carries where. DatabaseURL connects as iris_projector, which row-level security doesn't hold.
type Config struct {
	Organisation string
	Stream       string
	Name         string // of the line and its cursor; default the stream's: a second line over it has another
	DatabaseURL  string
	Pool         *pgxpool.Pool // shared with other lines of the same database and schema; nil: a connection of its own
	Schema       string        // default iris
	Projections  []Projection
	Follow       Follow
	Decoder      Decoder
	Announce     Announcer
	MaxBatch     int           // commits a transaction; default 500 (spec 9.4)
	Backoff      time.Duration // the first wait after a failure, doubled up to MaxBackoff; default 50 ms
	MaxBackoff   time.Duration // default 5 s
	Idle         time.Duration // how often a line compares its cursor with what it knows; default 2 s
	Report       func(Status)  // hears every change of state; default: nobody

	// Park sets a commit that can't be applied aside after Attempts tries, and what its aggregate has after it, and goes on. Lines
	// that say what may be used never do: they stop (spec 9.4).
	Park     bool
	Attempts int // default 3

	// Read gets one message again, for what was parked. Needed by Retry and Discard only.
	Read func(ctx context.Context, stream string, position uint64) (log.Message, error)
	// Mend makes a database or tables that aren't there. Default: nothing, and the line says what is missing.
	Mend func(ctx context.Context) error

	Tracer tracing.Tracer
}

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Name == "" {
		c.Name = c.Stream
	}
	if c.Schema == "" {
		c.Schema = "iris"
	}
	if c.Attempts == 0 {
		c.Attempts = 3
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
	if c.Idle == 0 {
		c.Idle = 2 * time.Second
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
	case c.Attempts < 1:
		return fmt.Errorf("%w: at least one attempt", ErrConfig)
	case c.MaxBatch < 1 || c.Idle < 1 || c.Backoff < 1 || c.MaxBackoff < c.Backoff:
		return fmt.Errorf("%w: batch and backoff must be positive, the backoff below its maximum", ErrConfig)
	}
	return nil
}
