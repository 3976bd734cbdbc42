package vault

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

// Shred zeroes and deletes data-key rows and members' keys by id, in one transaction, and drops whatever this process derived
// from them. It returns the ids that it destroyed: one that was gone already is not among them, so a list may be shredded again
// after a crash, and the erasure ledger be replayed on a restored database (spec 5.3). Old versions of the rows stay in
// PostgreSQL's files until the scrub. After an error the keys may be gone all the same; ask again.
func (v *Vault) Shred(ctx context.Context, ids []events.ID) (destroyed []events.ID, err error) {
	parsed, err := parseIDs("key", ids)
	if err != nil {
		return nil, fmt.Errorf("shred keys: %w", err)
	}
	defer v.Forget(ids...)
	v.Forget(ids...)
	err = pgx.BeginFunc(ctx, v.pool, func(tx pgx.Tx) error {
		destroyed = nil
		for _, s := range shredding {
			gone, err := s.run(ctx, tx, parsed)
			if err != nil {
				return err
			}
			destroyed = append(destroyed, gone...)
		}
		return nil
	})
	if err != nil {
		return nil, storeError("shred keys", err)
	}
	slices.Sort(destroyed)
	return destroyed, nil
}

// shredStatements destroy the rows of one table. Locking in the order of ids keeps two shreddings from blocking each other.
type shredStatements struct{ lock, zero, remove string }

var shredding = [...]shredStatements{
	{
		`SELECT id FROM vault.data_keys WHERE id = ANY ($1) ORDER BY id FOR UPDATE`,
		`UPDATE vault.data_keys SET wrapped = decode(repeat('00', octet_length(wrapped)), 'hex') WHERE id = ANY ($1)`,
		`DELETE FROM vault.data_keys WHERE id = ANY ($1)`,
	},
	{
		`SELECT id FROM vault.holder_keys WHERE id = ANY ($1) AND purpose <> 'directory' ORDER BY id FOR UPDATE`,
		`UPDATE vault.holder_keys SET wrapped = decode(repeat('00', octet_length(wrapped)), 'hex') WHERE id = ANY ($1)`,
		`DELETE FROM vault.holder_keys WHERE id = ANY ($1)`,
	},
}

func (s shredStatements) run(ctx context.Context, tx pgx.Tx, ids []uuid.UUID) ([]events.ID, error) {
	rows, err := tx.Query(ctx, s.lock, ids)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil || len(found) == 0 {
		return nil, err
	}
	if _, err := tx.Exec(ctx, s.zero, found); err != nil {
		return nil, err
	}
	if _, err := tx.Exec(ctx, s.remove, found); err != nil {
		return nil, err
	}
	gone := make([]events.ID, len(found))
	for i, id := range found {
		gone[i] = writeID(id)
	}
	return gone, nil
}

// MemberKeys lists the ids of a member's keys for these purposes, all generations: what Shred takes to end a tier, the
// register or everything. The caller writes them down before it destroys them.
func (v *Vault) MemberKeys(ctx context.Context, org string, member events.ID, purposes ...Purpose) ([]events.ID, error) {
	o, err := memberOf(org, member)
	if err != nil {
		return nil, fmt.Errorf("list a member's keys: %w", err)
	}
	return v.list(ctx, "list a member's keys", `SELECT id FROM vault.holder_keys WHERE organisation = $1 AND holder = $2 AND purpose = ANY ($3) ORDER BY id`,
		o.organisation, o.id, names(purposes))
}

// Unclaimed lists rows that were made at least 24 h ago and that no Claim named: candidates for the sweep. Whoever sweeps must
// have claimed every event up to now first.
func (v *Vault) Unclaimed(ctx context.Context, limit int) ([]events.ID, error) {
	return v.list(ctx, "list unused rows", `SELECT id FROM vault.data_keys WHERE NOT claimed AND created_at < $1 ORDER BY created_at LIMIT $2`,
		v.cfg.Now().Add(-unusedRowsAreSwept).Truncate(time.Microsecond), limit)
}

func (v *Vault) list(ctx context.Context, act, sql string, args ...any) ([]events.ID, error) {
	rows, err := v.pool.Query(ctx, sql, args...)
	if err != nil {
		return nil, storeError(act, err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, storeError(act, err)
	}
	ids := make([]events.ID, len(found))
	for i, id := range found {
		ids[i] = writeID(id)
	}
	return ids, nil
}
