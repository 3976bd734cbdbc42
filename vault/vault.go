package vault

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"iris.example/iris/events"
)

// Vault is safe for concurrent use.
type Vault struct {
	cfg     Config
	pool    *pgxpool.Pool
	ring    *keyring
	flights singleflight.Group

	stocks sync.Map // organisation -> *stock

	identities, members lookups // of the directory

	stop    context.CancelCauseFunc
	running context.Context // ends with Close
	workers sync.WaitGroup  // the sweeper and refills
	closing sync.Mutex      // between the end of running and the start of a worker
}

var _ events.Keys = (*Vault)(nil)

// Open connects and makes sure that the master key is the one that this database was made with. It doesn't migrate.
func Open(ctx context.Context, cfg Config) (*Vault, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	poolConfig, err := cfg.pool()
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, poolConfig)
	if err != nil {
		return nil, storeError("open the vault", err)
	}
	v := &Vault{cfg: cfg, pool: pool, ring: newKeyring(cfg.CacheLimit), identities: lookups{query: byIdentity}, members: lookups{query: byMember}}
	if err := v.proveMaster(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	v.running, v.stop = context.WithCancelCause(context.Background())
	v.work(v.sweep)
	return v, nil
}

// work starts a worker that Close waits for, unless Close has begun.
func (v *Vault) work(worker func()) bool {
	v.closing.Lock()
	defer v.closing.Unlock()
	if v.running.Err() != nil {
		return false
	}
	v.workers.Go(worker)
	return true
}

// Close waits for what is under way and drops every key.
func (v *Vault) Close() {
	v.closing.Lock()
	v.stop(ErrClosed)
	v.closing.Unlock()
	v.workers.Wait()
	v.pool.Close()
	v.ring.drop()
}

// proveMaster stops a vault whose master key file was lost and made anew before a second set of keys grows beside the first.
func (v *Vault) proveMaster(ctx context.Context) error {
	const text = "iris/vault/master/v1"
	proof, err := v.cfg.Master.Wrap(ctx, []byte(text))
	if err != nil {
		return fmt.Errorf("prove the master key: %w: %w", ErrMaster, err)
	}
	_, err = v.pool.Exec(ctx, `INSERT INTO vault.master_proofs (only_one, box) VALUES (true, $1) ON CONFLICT (only_one) DO NOTHING`, proof)
	if err != nil {
		return storeError("prove the master key", err)
	}
	if err := v.pool.QueryRow(ctx, `SELECT box FROM vault.master_proofs`).Scan(&proof); err != nil {
		return storeError("prove the master key", err)
	}
	plain, err := v.cfg.Master.Unwrap(ctx, proof)
	if err != nil || string(plain) != text {
		return fmt.Errorf("prove the master key: %w: these keys were wrapped by another one; restore it from its backup", ErrMaster)
	}
	return nil
}

func (v *Vault) sweep() {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			v.ring.sweep(v.cfg.Now())
		case <-v.running.Done():
			return
		}
	}
}

// shared runs load once for all who ask under the same name meanwhile. It outlives the caller who began it, so that one
// cancelled request doesn't fail the others.
func shared[T any](ctx context.Context, v *Vault, name string, load func(context.Context) (T, error)) (T, error) {
	result := v.flights.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), v.cfg.LoadTimeout)
		defer cancel()
		return load(ctx)
	})
	select {
	case r := <-result:
		value, _ := r.Val.(T)
		return value, r.Err
	case <-ctx.Done():
		var none T
		return none, fmt.Errorf("load a key: %w", context.Cause(ctx))
	}
}
