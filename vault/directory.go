package vault

import (
	"context"
	"crypto/cipher"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"iris.example/iris/events"
)

// Resolve finds the member behind an identity.
func (v *Vault) Resolve(ctx context.Context, org, issuer, subject string) (member events.ID, found bool, err error) {
	identity, err := v.identity(ctx, org, issuer, subject)
	if err != nil {
		return "", false, fmt.Errorf("resolve an identity: %w", err)
	}
	return v.resolve(ctx, org, identity)
}

func (v *Vault) resolve(ctx context.Context, org string, identity []byte) (events.ID, bool, error) {
	id, found, err := v.find(ctx, &v.identities, lookup{organisation: org, identity: identity})
	if err != nil {
		return "", false, fmt.Errorf("resolve an identity: %w", err)
	}
	if !found {
		return "", false, nil
	}
	return writeID(id), true, nil
}

// Register gives an identity a random member id, or returns the one it has: the first insert wins, its display name too.
func (v *Vault) Register(ctx context.Context, org, issuer, subject, displayName string) (member events.ID, created bool, err error) {
	identity, err := v.identity(ctx, org, issuer, subject)
	if err != nil {
		return "", false, fmt.Errorf("register an identity: %w", err)
	}
	id, err := newUUID()
	if err != nil {
		return "", false, fmt.Errorf("register an identity: %w", err)
	}
	directory, err := v.directory(ctx, org, uuid.Nil)
	if err != nil {
		return "", false, fmt.Errorf("register an identity: %w", err)
	}
	name := sealBox(directory.id, directory.names, nameAAD(org, id), []byte(displayName))
	tag, err := v.pool.Exec(ctx, `INSERT INTO vault.members (organisation, id, identity, name) VALUES ($1, $2, $3, $4)
		ON CONFLICT (organisation, identity) DO NOTHING`, org, id, identity, name)
	if err != nil {
		return "", false, storeError("register an identity", err)
	}
	if tag.RowsAffected() == 1 {
		return writeID(id), true, nil
	}
	member, found, err := v.resolve(ctx, org, identity)
	if err == nil && !found {
		err = fmt.Errorf("register an identity: %w: another registration of it was undone meanwhile", ErrStore)
	}
	return member, false, err
}

// MemberExists says whether the directory knows the id.
func (v *Vault) MemberExists(ctx context.Context, org string, member events.ID) (bool, error) {
	id, err := parseID("member", member)
	if err != nil {
		return false, fmt.Errorf("look a member up: %w", err)
	}
	_, exists, err := v.find(ctx, &v.members, lookup{organisation: org, member: id})
	if err != nil {
		return false, fmt.Errorf("look a member up: %w", err)
	}
	return exists, nil
}

// DisplayName opens a member's name.
func (v *Vault) DisplayName(ctx context.Context, org string, member events.ID) (name string, found bool, err error) {
	id, err := parseID("member", member)
	if err != nil {
		return "", false, fmt.Errorf("read a name: %w", err)
	}
	var box []byte
	err = v.pool.QueryRow(ctx, `SELECT name FROM vault.members WHERE organisation = $1 AND id = $2`, org, id).Scan(&box)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, storeError("read a name", err)
	}
	key, err := boxKey(box)
	if err != nil {
		return "", false, fmt.Errorf("read the name of %s: %w", member, err)
	}
	directory, err := v.directory(ctx, org, key)
	if err != nil {
		return "", false, fmt.Errorf("read the name of %s: %w", member, err)
	}
	plain, err := openBox(directory.names, nameAAD(org, id), box)
	if err != nil {
		return "", false, fmt.Errorf("read the name of %s: %w", member, err)
	}
	return string(plain), true, nil
}

// Rename gives a member another display name. An unknown id changes nothing.
func (v *Vault) Rename(ctx context.Context, org string, member events.ID, displayName string) error {
	id, err := parseID("member", member)
	if err != nil {
		return fmt.Errorf("rename a member: %w", err)
	}
	directory, err := v.directory(ctx, org, uuid.Nil)
	if err != nil {
		return fmt.Errorf("rename a member: %w", err)
	}
	name := sealBox(directory.id, directory.names, nameAAD(org, id), []byte(displayName))
	if _, err := v.pool.Exec(ctx, `UPDATE vault.members SET name = $3 WHERE organisation = $1 AND id = $2`, org, id, name); err != nil {
		return storeError("rename a member", err)
	}
	return nil
}

// Unregister takes the directory row. The member's keys are Shred's: see MemberKeys.
func (v *Vault) Unregister(ctx context.Context, org string, member events.ID) error {
	id, err := parseID("member", member)
	if err != nil {
		return fmt.Errorf("unregister a member: %w", err)
	}
	if _, err := v.pool.Exec(ctx, `DELETE FROM vault.members WHERE organisation = $1 AND id = $2`, org, id); err != nil {
		return storeError("unregister a member", err)
	}
	return nil
}

// directory is what the directory's key gives.
type directory struct {
	id         uuid.UUID
	identities []byte
	names      cipher.AEAD
}

// directory never rotates its key: the identities' hashes would all be others.
func (v *Vault) directory(ctx context.Context, org string, id uuid.UUID) (directory, error) {
	k, _, err := v.key(ctx, directoryOf(org), purposeDirectory, id)
	if err != nil {
		return directory{}, err
	}
	identities, err := deriveKey(k.secret[:], "iris/directory/identity/v1")
	if err != nil {
		return directory{}, err
	}
	names, err := derive(k.secret[:], "iris/directory/name/v1")
	return directory{k.id, identities, names}, err
}

func (v *Vault) identity(ctx context.Context, org, issuer, subject string) ([]byte, error) {
	if org == "" || issuer == "" || subject == "" {
		return nil, fmt.Errorf("%w: organisation, issuer and subject are needed", ErrReference)
	}
	d, err := v.directory(ctx, org, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return newMAC(d.identities, issuer, subject).Sum(nil), nil
}

func nameAAD(org string, id uuid.UUID) []byte {
	return joined("iris/directory/name/v1", org, string(id[:]))
}
