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

// DropExpiredClaims is the sweep of every organisation.
func (v *Vault) DropExpiredClaims(ctx context.Context, now events.Time) (dropped int, err error) {
	return v.dropParked(ctx, `expires_at <= $1`, now.Time)
}

func (v *Vault) dropParked(ctx context.Context, which string, args ...any) (n int, err error) {
	err = pgx.BeginFunc(ctx, v.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE vault.parked_claims SET box = decode(repeat('00', octet_length(box)), 'hex') WHERE `+which, args...); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, `DELETE FROM vault.parked_claims WHERE `+which, args...)
		n = int(tag.RowsAffected())
		return err
	})
	if err != nil {
		return 0, storeError("drop parked claims", err)
	}
	return n, nil
}

func parkedRef(org string) events.KeyRef {
	return events.KeyRef{Organisation: org, Class: events.KeyOrganisation}
}

func parkedAAD(org string, id events.ID) []byte { return joined("iris/parked/v1", org, string(id)) }
