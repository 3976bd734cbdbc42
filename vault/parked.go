package vault

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

// Park keeps a claim as it came, sealed under the organisation's key. Parking it again, after a crash, changes nothing.
func (v *Vault) Park(ctx context.Context, p events.Parked, body []byte) error {
	id, err := parseID("parked claim", p.ID)
	if err != nil {
		return fmt.Errorf("park a claim: %w", err)
	}
	box, err := v.Seal(ctx, parkedRef(p.Organisation), parkedAAD(p.Organisation, p.ID), body)
	if err != nil {
		return fmt.Errorf("park a claim: %w", err)
	}
	_, err = v.pool.Exec(ctx, `INSERT INTO vault.parked_claims (organisation, id, producer, code, parked_at, expires_at, box)
		VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (organisation, id) DO NOTHING`,
		p.Organisation, id, p.Producer, p.Code, p.ParkedAt.Time, p.ExpiresAt.Time, box)
	if err != nil {
		return storeError("park a claim", err)
	}
	return nil
}

// ParkedClaims lists up to limit claims, newest first, below a place (an instant and an id), without their content. What has
// expired by now is not there, whether or not it was dropped.
func (v *Vault) ParkedClaims(ctx context.Context, org string, now, below events.Time, belowID events.ID, limit int) ([]events.Parked, error) {
	id, err := parseID("parked claim", belowID)
	if err != nil {
		return nil, fmt.Errorf("list parked claims: %w", err)
	}
	rows, err := v.pool.Query(ctx, `SELECT id, producer, code, parked_at, expires_at FROM vault.parked_claims
		WHERE organisation = $1 AND expires_at > $2 AND (parked_at, id) < ($3, $4) ORDER BY parked_at DESC, id DESC LIMIT $5`,
		org, now.Time, below.Time, id, limit)
	if err != nil {
		return nil, storeError("list parked claims", err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (events.Parked, error) {
		return scanParked(org, row)
	})
	if err != nil {
		return nil, storeError("list parked claims", err)
	}
	return found, nil
}

func scanParked(org string, row pgx.CollectableRow, more ...any) (events.Parked, error) {
	p := events.Parked{Organisation: org}
	var id uuid.UUID
	var at, expires time.Time
	err := row.Scan(append([]any{&id, &p.Producer, &p.Code, &at, &expires}, more...)...)
	p.ID, p.ParkedAt, p.ExpiresAt = writeID(id), events.At(at), events.At(expires)
	return p, err
}

// ParkedClaim opens one parked claim.
func (v *Vault) ParkedClaim(ctx context.Context, org string, id events.ID, now events.Time) (p events.Parked, body []byte, found bool, err error) {
	parsed, err := parseID("parked claim", id)
	if err != nil {
		return p, nil, false, fmt.Errorf("read a parked claim: %w", err)
	}
	rows, err := v.pool.Query(ctx, `SELECT id, producer, code, parked_at, expires_at, box FROM vault.parked_claims
		WHERE organisation = $1 AND id = $2 AND expires_at > $3`, org, parsed, now.Time)
	if err != nil {
		return p, nil, false, storeError("read a parked claim", err)
	}
	var box []byte
	p, err = pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (events.Parked, error) { return scanParked(org, row, &box) })
	if errors.Is(err, pgx.ErrNoRows) {
		return p, nil, false, nil
	}
	if err != nil {
		return p, nil, false, storeError("read a parked claim", err)
	}
	if body, err = v.Open(ctx, parkedRef(org), parkedAAD(org, id), box); err != nil {
		return p, nil, false, fmt.Errorf("read parked claim %s: %w", id, err)
	}
	return p, body, true, nil
}

// DropParked zeroes and deletes a parked claim, and says whether it was there. It is what an erasure calls too: old versions of
// the row stay in PostgreSQL's files until the scrub.
func (v *Vault) DropParked(ctx context.Context, org string, id events.ID) (dropped bool, err error) {
	parsed, err := parseID("parked claim", id)
	if err != nil {
		return false, fmt.Errorf("drop a parked claim: %w", err)
	}
	n, err := v.dropParked(ctx, `organisation = $1 AND id = $2`, org, parsed)
	return n > 0, err
}

// Unpark is DropParked for a command, which is known from then on: at once with the drop, so that neither is there without the other.
// It says which position the command answers with, which is the first that was given.
func (v *Vault) Unpark(ctx context.Context, org string, id, command events.ID, position uint64, now events.Time) (answers uint64, err error) {
	parsed, err := parseIDs("unpark a claim", []events.ID{id, command})
	if err != nil {
		return 0, fmt.Errorf("unpark a claim: %w", err)
	}
	err = pgx.BeginFunc(ctx, v.pool, func(tx pgx.Tx) error {
		if _, err := dropIn(ctx, tx, `organisation = $1 AND id = $2`, org, parsed[0]); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO vault.unparked_claims (organisation, command, position, done_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (organisation, command) DO NOTHING`, org, parsed[1], int64(position), now.Time)
		return err
	})
	if err != nil {
		return 0, storeError("unpark a claim", err)
	}
	if first, known, err := v.Unparked(ctx, org, command); err != nil || known {
		return first, err
	}
	return position, nil
}

// Unparked is what a command that was carried out answers with.
func (v *Vault) Unparked(ctx context.Context, org string, command events.ID) (position uint64, known bool, err error) {
	id, err := parseID("command", command)
	if err != nil {
		return 0, false, fmt.Errorf("look an unparked claim up: %w", err)
	}
	var stored int64
	err = v.pool.QueryRow(ctx, `SELECT position FROM vault.unparked_claims WHERE organisation = $1 AND command = $2`, org, id).Scan(&stored)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, storeError("look an unparked claim up", err)
	}
	return uint64(stored), true, nil
}

// unparkedFor is how long a command is known again (spec 9.2).
const unparkedFor = 30 * 24 * time.Hour

// DropExpiredClaims is the sweep of every organisation. It forgets old commands too.
func (v *Vault) DropExpiredClaims(ctx context.Context, now events.Time) (dropped int, err error) {
	if _, err := v.pool.Exec(ctx, `DELETE FROM vault.unparked_claims WHERE done_at <= $1`, now.Add(-unparkedFor)); err != nil {
		return 0, storeError("forget commands about parked claims", err)
	}
	return v.dropParked(ctx, `expires_at <= $1`, now.Time)
}

func (v *Vault) dropParked(ctx context.Context, which string, args ...any) (n int, err error) {
	err = pgx.BeginFunc(ctx, v.pool, func(tx pgx.Tx) (err error) {
		n, err = dropIn(ctx, tx, which, args...)
		return err
	})
	if err != nil {
		return 0, storeError("drop parked claims", err)
	}
	return n, nil
}

func dropIn(ctx context.Context, tx pgx.Tx, which string, args ...any) (n int, err error) {
	if _, err := tx.Exec(ctx, `UPDATE vault.parked_claims SET box = decode(repeat('00', octet_length(box)), 'hex') WHERE `+which, args...); err != nil {
		return 0, err
	}
	tag, err := tx.Exec(ctx, `DELETE FROM vault.parked_claims WHERE `+which, args...)
	return int(tag.RowsAffected()), err
}

func parkedRef(org string) events.KeyRef {
	return events.KeyRef{Organisation: org, Class: events.KeyOrganisation}
}

func parkedAAD(org string, id events.ID) []byte { return joined("iris/parked/v1", org, string(id)) }
