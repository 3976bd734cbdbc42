package vault

import (
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// maxKeyAge is the promise; sweepEvery is how much later than its end of life a key may still lie in memory, unused.
	maxKeyAge  = time.Minute
	sweepEvery = 5 * time.Second

	// unusedRowsAreSwept is when a row that no event names may be destroyed (spec 5.3). A block is thrown away long before.
	unusedRowsAreSwept = 24 * time.Hour
)

// Config is what Open needs. URL and Master have no default.
type Config struct {
	// URL is the database iris_keys, as the role that Migrate grants to. The simple protocol is refused.
	URL    string
	Master Master
	Now    func() time.Time

	// KeyTTL is how long an unwrapped key is used, from the moment before it was read.
	KeyTTL time.Duration
	// CacheLimit bounds each kind of cached key. Beyond it an arbitrary one goes.
	CacheLimit int
	// Block is how many data-key rows are committed ahead at once; BlockAge is when the rest of a block is given up.
	Block    int
	BlockAge time.Duration
	// LoadTimeout bounds one trip to the database that several callers wait for.
	LoadTimeout time.Duration
}

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.KeyTTL == 0 {
		c.KeyTTL = maxKeyAge - sweepEvery
	}
	if c.CacheLimit == 0 {
		c.CacheLimit = 1 << 15
	}
	if c.Block == 0 {
		c.Block = 64
	}
	if c.BlockAge == 0 {
		c.BlockAge = time.Hour
	}
	if c.LoadTimeout == 0 {
		c.LoadTimeout = 10 * time.Second
	}
	return c
}

// Validate is called after WithDefaults and does no I/O.
func (c Config) Validate() error {
	switch {
	case c.URL == "":
		return invalid("URL", errors.New("the database of the keys is needed"))
	case c.Master == nil:
		return invalid("Master", errors.New("a master key is needed"))
	case c.KeyTTL < 0 || c.KeyTTL > maxKeyAge-sweepEvery:
		return invalid("KeyTTL", fmt.Errorf("%s is not in (0, %s]", c.KeyTTL, maxKeyAge-sweepEvery))
	case c.CacheLimit < 1:
		return invalid("CacheLimit", fmt.Errorf("%d is less than 1", c.CacheLimit))
	case c.Block < 2 || c.Block > 1<<16:
		return invalid("Block", fmt.Errorf("%d is not in [2, 65536]", c.Block))
	case c.BlockAge < 0 || c.BlockAge > unusedRowsAreSwept/2:
		return invalid("BlockAge", fmt.Errorf("%s is not in (0, %s]", c.BlockAge, unusedRowsAreSwept/2))
	case c.LoadTimeout < 0:
		return invalid("LoadTimeout", fmt.Errorf("%s is not positive", c.LoadTimeout))
	}
	_, err := c.pool()
	return err
}

// pool turns URL into the pool's settings. The error doesn't quote the URL: it may hold a password.
func (c Config) pool() (*pgxpool.Config, error) {
	pool, err := pgxpool.ParseConfig(c.URL)
	if err != nil {
		return nil, invalid("URL", errors.New("not a PostgreSQL connection string"))
	}
	if pool.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeSimpleProtocol {
		return nil, invalid("URL", errors.New("the simple protocol is not allowed"))
	}
	set := pool.ConnConfig.RuntimeParams
	set["application_name"] = "iris-vault"
	set["synchronous_commit"] = "on"              // a row is durable before its id is handed out
	set["plan_cache_mode"] = "force_generic_plan" // all of it is found by its key: a plan for each value takes longer than the query
	set["statement_timeout"] = "8000"
	set["idle_in_transaction_session_timeout"] = "30000"
	pool.MaxConnLifetimeJitter = 5 * time.Minute
	pool.MinIdleConns = 1
	return pool, nil
}

func invalid(field string, why error) error {
	return fmt.Errorf("check %s: %w: %w", field, ErrConfig, why)
}
