package vault

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

const firstGeneration = 1

// EnsureOrganisation makes the organisation's own key and its directory's, once. Concurrent callers agree.
func (v *Vault) EnsureOrganisation(ctx context.Context, org string) error {
	if org == "" {
		return fmt.Errorf("make an organisation's keys: %w: no organisation", ErrReference)
	}
	if err := v.ensureRoot(ctx, org); err != nil {
		return fmt.Errorf("make an organisation's keys: %w", err)
	}
	if err := v.ensureHeld(ctx, directoryOf(org), []Purpose{purposeDirectory}); err != nil {
		return fmt.Errorf("make an organisation's keys: %w", err)
	}
	return nil
}

// EnsureMember makes whatever the member lacks of MemberPurposes, in one statement: all of them at first, later what was
// shredded. It asks nothing of the database when this process knows them all. It doesn't ask the directory.
func (v *Vault) EnsureMember(ctx context.Context, org string, member events.ID) error {
	o, err := memberOf(org, member)
	if err != nil {
		return fmt.Errorf("make a member's keys: %w", err)
	}
	if err := v.ensureHeld(ctx, o, MemberPurposes()); err != nil {
		return fmt.Errorf("make a member's keys: %w", err)
	}
	return nil
}

func (v *Vault) ensureRoot(ctx context.Context, org string) error {
	o, purposes := rootOf(org), []Purpose{purposeRoot}
	set, err := v.set(ctx, o)
	if err != nil || len(set.lacks(purposes)) == 0 {
		return err
	}
	id, err := newUUID()
	if err != nil {
		return err
	}
	wrapped, err := v.cfg.Master.Wrap(ctx, rootBundle(org, id, newKey()))
	if err != nil {
		return fmt.Errorf("wrap key %s: %w: %w", id, ErrMaster, err)
	}
	_, err = v.pool.Exec(ctx, `INSERT INTO vault.organisation_keys (id, organisation, generation, wrapped) VALUES ($1, $2, $3, $4)
		ON CONFLICT (organisation, generation) DO NOTHING`, id, org, firstGeneration, wrapped)
	if err != nil {
		return storeError("keep the key", err)
	}
	return v.confirm(ctx, o, purposes)
}

func (v *Vault) ensureHeld(ctx context.Context, o owner, purposes []Purpose) error {
	set, err := v.set(ctx, o)
	if err != nil {
		return err
	}
	missing := set.lacks(purposes)
	if len(missing) == 0 {
		return nil
	}
	root, _, err := v.key(ctx, rootOf(o.organisation), purposeRoot, uuid.Nil)
	if err != nil {
		return err
	}
	ids, wrapped := make([]uuid.UUID, len(missing)), make([][]byte, len(missing))
	for i, purpose := range missing {
		if ids[i], err = newUUID(); err != nil {
			return err
		}
		secret := newKey()
		wrapped[i] = sealBox(root.id, root.wrap, heldAAD(o, purpose, ids[i], firstGeneration), secret[:])
	}
	_, err = v.pool.Exec(ctx, `INSERT INTO vault.holder_keys (id, organisation, holder, purpose, generation, wrapped)
		SELECT id, $1, $2, purpose, $3, wrapped FROM unnest($4::uuid[], $5::text[], $6::bytea[]) AS made (id, purpose, wrapped)
		ON CONFLICT (organisation, holder, purpose, generation) DO NOTHING`,
		o.organisation, o.id, firstGeneration, ids, names(missing), wrapped)
	if err != nil {
		return storeError("keep the keys", err)
	}
	return v.confirm(ctx, o, purposes)
}

// confirm reads back what stands, whoever made it.
func (v *Vault) confirm(ctx context.Context, o owner, purposes []Purpose) error {
	set, err := v.loadSet(ctx, o)
	if err != nil {
		return err
	}
	if len(set.lacks(purposes)) > 0 {
		return fmt.Errorf("read back the keys: %w: they were destroyed meanwhile", events.ErrKeyUnavailable)
	}
	return nil
}

func names(purposes []Purpose) []string {
	all := make([]string, len(purposes))
	for i, p := range purposes {
		all[i] = string(p)
	}
	return all
}

func newUUID() (uuid.UUID, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return uuid.Nil, fmt.Errorf("make an id: %w", err)
	}
	return id, nil
}
