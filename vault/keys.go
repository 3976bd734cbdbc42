package vault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"iris.example/iris/events"
)

// Purpose is what a member's key is for (spec 5.3).
type Purpose string

const (
	PurposeIndividual Purpose = "individual" // the member's half of memories of tier individual
	PurposePerson     Purpose = "person"     // the same of tier person
	PurposeCase       Purpose = "case"
	PurposeRegister   Purpose = "register"
	PurposeRecall     Purpose = "recall"
	PurposeSearch     Purpose = "search"

	purposeRoot      Purpose = "organisation" // the organisation's own key
	purposeDirectory Purpose = "directory"    // its directory's
	purposeIntake    Purpose = "intake"       // what claims are sealed to: an X25519 secret
)

// MemberPurposes are the keys that EnsureMember makes.
func MemberPurposes() []Purpose {
	return []Purpose{PurposeIndividual, PurposePerson, PurposeCase, PurposeRegister, PurposeRecall, PurposeSearch}
}

func rootOf(org string) owner      { return owner{organisation: org, root: true} }
func directoryOf(org string) owner { return owner{organisation: org} }

func memberOf(org string, member events.ID) (owner, error) {
	id, err := parseID("member", member)
	if err == nil && id == uuid.Nil {
		err = fmt.Errorf("member %s: %w", member, ErrReference)
	}
	return owner{organisation: org, id: id}, err
}

// parseID takes the canonical form only: ids are compared as text too.
func parseID(what string, id events.ID) (uuid.UUID, error) {
	parsed, err := uuid.Parse(string(id))
	if err != nil || parsed.String() != string(id) {
		return uuid.Nil, fmt.Errorf("%s id of %d bytes: %w: not a UUID in canonical form", what, len(id), ErrReference)
	}
	return parsed, nil
}

func parseIDs(what string, ids []events.ID) ([]uuid.UUID, error) {
	parsed := make([]uuid.UUID, 0, len(ids))
	for _, id := range ids {
		p, err := parseID(what, id)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, p)
	}
	return parsed, nil
}

// sqlID and sqlIDs are ids as the driver writes them without a detour through text, which takes longer than the trip where there are many
// (measured: 80 µs for fifteen).
func sqlID(id uuid.UUID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func sqlIDs(ids []uuid.UUID) pgtype.FlatArray[pgtype.UUID] {
	array := make(pgtype.FlatArray[pgtype.UUID], len(ids))
	for i, id := range ids {
		array[i] = sqlID(id)
	}
	return array
}

func writeID(id uuid.UUID) events.ID { return events.ID(id.String()) }

// key returns one key of an owner: the one with that id, or the current one if id is nil. A key that isn't known yet may have
// been made by another process since: the database is asked, and not through a flight that may have left before.
func (v *Vault) key(ctx context.Context, o owner, purpose Purpose, id uuid.UUID) (heldKey, time.Time, error) {
	set, err := v.set(ctx, o)
	if err != nil {
		return heldKey{}, time.Time{}, err
	}
	if k, ok := set.find(purpose, id); ok {
		return k, set.until, nil
	}
	if set, err = v.loadSet(ctx, o); err != nil {
		return heldKey{}, time.Time{}, err
	}
	if k, ok := set.find(purpose, id); ok {
		return k, set.until, nil
	}
	return heldKey{}, time.Time{}, v.explainMissing(ctx, purpose, id)
}

// explainMissing tells a key that is gone from one that is there but somebody else's.
func (v *Vault) explainMissing(ctx context.Context, purpose Purpose, id uuid.UUID) error {
	if id == uuid.Nil {
		return fmt.Errorf("find the %s key: %w", purpose, events.ErrKeyUnavailable)
	}
	var exists bool
	err := v.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM vault.holder_keys WHERE id = $1) OR EXISTS (SELECT FROM vault.organisation_keys WHERE id = $1)`, id).Scan(&exists)
	if err != nil {
		return storeError("find a key", err)
	}
	if exists {
		return fmt.Errorf("find %s key %s: %w: it is another's", purpose, id, events.ErrTampered)
	}
	return fmt.Errorf("find %s key %s: %w", purpose, id, events.ErrKeyUnavailable)
}

func (v *Vault) set(ctx context.Context, o owner) (keySet, error) {
	if s, ok := v.ring.set(o, v.cfg.Now()); ok {
		return s, nil
	}
	name := "set/" + strconv.FormatUint(v.ring.now(), 10) + "/" + strconv.FormatBool(o.root) + "/" + o.id.String() + "/" + o.organisation
	return shared(ctx, v, name, func(ctx context.Context) (keySet, error) { return v.loadSet(ctx, o) })
}

// loadSet reads an owner's keys. Their time runs from before the query.
func (v *Vault) loadSet(ctx context.Context, o owner) (set keySet, err error) {
	epoch := v.ring.now()
	until := v.cfg.Now().Add(v.cfg.KeyTTL)
	if o.root {
		set.keys, err = v.loadRoot(ctx, o.organisation)
	} else {
		set.keys, err = v.loadHeld(ctx, o)
	}
	if err != nil {
		return keySet{}, err
	}
	set.until = until
	if len(set.keys) > 0 {
		v.ring.keepSet(epoch, o, set)
	}
	return set, nil
}

// wrappedKey is a row of organisation_keys or holder_keys.
type wrappedKey struct {
	ID         uuid.UUID
	Purpose    Purpose
	Generation int
	Wrapped    []byte
}

func wrappedKeys(rows pgx.Rows) (found []wrappedKey, err error) {
	var id pgtype.UUID
	var purpose string
	var generation int
	var wrapped []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &purpose, &generation, &wrapped}, func() error {
		found = append(found, wrappedKey{id.Bytes, Purpose(purpose), generation, wrapped})
		return nil
	})
	return found, err
}

func (v *Vault) loadRoot(ctx context.Context, org string) ([]heldKey, error) {
	rows, err := v.pool.Query(ctx, `SELECT id, $2::text AS purpose, generation, wrapped FROM vault.organisation_keys WHERE organisation = $1`, org, purposeRoot)
	if err != nil {
		return nil, storeError("load an organisation's key", err)
	}
	wrapped, err := wrappedKeys(rows)
	if err != nil {
		return nil, storeError("load an organisation's key", err)
	}
	keys := make([]heldKey, 0, len(wrapped))
	for _, w := range wrapped {
		k, err := v.unwrapRoot(ctx, org, w)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

// rootBundle is what the master key wraps: version, key id, key, organisation.
func rootBundle(org string, id uuid.UUID, secret [keySize]byte) []byte {
	bundle := append([]byte{boxVersion}, id[:]...)
	bundle = append(bundle, secret[:]...)
	return append(bundle, org...)
}

func (v *Vault) unwrapRoot(ctx context.Context, org string, w wrappedKey) (heldKey, error) {
	bundle, err := v.cfg.Master.Unwrap(ctx, w.Wrapped)
	if err != nil {
		return heldKey{}, fmt.Errorf("unwrap the organisation's key %s: %w: %w", w.ID, ErrMaster, err)
	}
	var secret [keySize]byte
	if len(bundle) >= boxHeader+keySize {
		copy(secret[:], bundle[boxHeader:])
	}
	if !slices.Equal(bundle, rootBundle(org, w.ID, secret)) {
		return heldKey{}, fmt.Errorf("unwrap the organisation's key %s: %w: it was wrapped for another place", w.ID, events.ErrTampered)
	}
	wrap, err := derive(secret[:], "iris/wrap/v1")
	return heldKey{w.ID, w.Purpose, w.Generation, secret, wrap, newDerived()}, err
}

func (v *Vault) loadHeld(ctx context.Context, o owner) ([]heldKey, error) {
	rows, err := v.pool.Query(ctx, `SELECT id, purpose, generation, wrapped FROM vault.holder_keys WHERE organisation = $1 AND holder = $2`, o.organisation, sqlID(o.id))
	if err != nil {
		return nil, storeError("load keys", err)
	}
	wrapped, err := wrappedKeys(rows)
	if err != nil {
		return nil, storeError("load keys", err)
	}
	keys := make([]heldKey, 0, len(wrapped))
	for _, w := range wrapped {
		k, err := v.unwrapHeld(ctx, o, w)
		if err != nil {
			return nil, err
		}
		keys = append(keys, k)
	}
	return keys, nil
}

func (v *Vault) unwrapHeld(ctx context.Context, o owner, w wrappedKey) (heldKey, error) {
	secret, err := v.unwrap(ctx, o.organisation, heldAAD(o, w.Purpose, w.ID, w.Generation), w.Wrapped)
	if err != nil {
		return heldKey{}, fmt.Errorf("unwrap %s key %s: %w", w.Purpose, w.ID, err)
	}
	return heldKey{id: w.ID, purpose: w.Purpose, generation: w.Generation, secret: secret, derived: newDerived()}, nil
}

// heldAAD and rowAAD bind a wrapped key to its place, so that no row opens in another's.
func heldAAD(o owner, purpose Purpose, id uuid.UUID, generation int) []byte {
	return joined("iris/wrap/held/v1", o.organisation, string(o.id[:]), string(purpose), string(id[:]), strconv.Itoa(generation))
}

func rowAAD(org string, id uuid.UUID) []byte {
	return joined("iris/wrap/row/v1", org, string(id[:]))
}

// unwrap opens what an organisation's key wrapped.
func (v *Vault) unwrap(ctx context.Context, org string, aad, box []byte) (secret [keySize]byte, err error) {
	id, err := boxKey(box)
	if err != nil {
		return secret, err
	}
	root, _, err := v.key(ctx, rootOf(org), purposeRoot, id)
	if err != nil {
		return secret, err
	}
	plain, err := openBox(root.wrap, aad, box)
	if err != nil {
		return secret, err
	}
	if len(plain) != keySize {
		return secret, fmt.Errorf("%w: a key of %d bytes", events.ErrTampered, len(plain))
	}
	return [keySize]byte(plain), nil
}

// row returns a data-key row: known, just handed out, or from the database.
func (v *Vault) row(ctx context.Context, org string, id events.ID) (row, error) {
	now := v.cfg.Now()
	if r, ok := v.ring.row(id, now); ok {
		return sameOrganisation(r, org)
	}
	parsed, err := parseID("row", id)
	if err != nil {
		return row{}, err
	}
	epoch := v.ring.now()
	if h, ok := v.ring.handedRow(id, now); ok && h.organisation == org {
		secret, err := v.unwrap(ctx, org, rowAAD(org, parsed), h.box)
		r := row{org, secret, h.until}
		if err == nil {
			v.ring.keepRows(epoch, map[events.ID]row{id: r})
		}
		return r, err
	}
	load := func(ctx context.Context) (row, error) { return v.loadRow(ctx, org, parsed) }
	r, err := shared(ctx, v, "row/"+strconv.FormatUint(epoch, 10)+"/"+string(id)+"/"+org, load)
	if errors.Is(err, events.ErrKeyUnavailable) {
		return load(ctx) // the flight may have left before the row was there
	}
	return r, err
}

func sameOrganisation(r row, org string) (row, error) {
	if r.organisation != org {
		return row{}, fmt.Errorf("find a data-key row: %w: it is another organisation's", events.ErrKeyUnavailable)
	}
	return r, nil
}

func (v *Vault) loadRow(ctx context.Context, org string, id uuid.UUID) (row, error) {
	found, err := v.loadRows(ctx, org, []uuid.UUID{id})
	if err != nil {
		return row{}, err
	}
	r, ok := found[writeID(id)]
	if !ok {
		return row{}, fmt.Errorf("find data-key row %s: %w", id, events.ErrKeyUnavailable)
	}
	return r, nil
}

// loadRows leaves out what isn't there.
func (v *Vault) loadRows(ctx context.Context, org string, ids []uuid.UUID) (map[events.ID]row, error) {
	epoch := v.ring.now()
	until := v.cfg.Now().Add(v.cfg.KeyTTL)
	rows, err := v.pool.Query(ctx, `SELECT id, wrapped FROM vault.data_keys WHERE organisation = $1 AND id = ANY ($2)`, org, sqlIDs(ids))
	if err != nil {
		return nil, storeError("load data-key rows", err)
	}
	found := make(map[events.ID]row, len(ids))
	all := make([]allocated, 0, len(ids))
	var id pgtype.UUID
	var wrapped []byte
	_, err = pgx.ForEachRow(rows, []any{&id, &wrapped}, func() error {
		all = append(all, allocated{id.Bytes, wrapped})
		return nil
	})
	if err != nil {
		return nil, storeError("load data-key rows", err)
	}
	for _, w := range all {
		secret, err := v.unwrap(ctx, org, rowAAD(org, w.ID), w.Wrapped)
		if err != nil {
			return nil, fmt.Errorf("unwrap data-key row %s: %w", w.ID, err)
		}
		found[writeID(w.ID)] = row{org, secret, until}
	}
	v.ring.keepRows(epoch, found)
	return found, nil
}

// Warm loads a member's keys and many data-key rows in one query each, before many Opens. Rows that aren't there are left out;
// Open says so. One row that doesn't unwrap fails them all.
func (v *Vault) Warm(ctx context.Context, org string, member events.ID, rows []events.ID) error {
	o, err := memberOf(org, member)
	if err != nil {
		return err
	}
	if _, err := v.set(ctx, o); err != nil {
		return err
	}
	missing, err := v.ring.missing(rows, v.cfg.Now())
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = v.loadRows(ctx, org, missing)
	return err
}

// WarmAll is Warm for many members at once: two queries, whatever is missing. What isn't there is left out.
func (v *Vault) WarmAll(ctx context.Context, org string, members, rows []events.ID) error {
	if err := v.warmSets(ctx, org, members); err != nil {
		return err
	}
	missing, err := v.ring.missing(rows, v.cfg.Now())
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = v.loadRows(ctx, org, missing)
	return err
}

func (v *Vault) warmSets(ctx context.Context, org string, members []events.ID) error {
	now := v.cfg.Now()
	sets := map[uuid.UUID]keySet{}
	var missing []uuid.UUID
	for _, member := range members {
		o, err := memberOf(org, member)
		if err != nil {
			return err
		}
		if _, known := v.ring.set(o, now); known {
			continue
		}
		if _, asked := sets[o.id]; !asked {
			sets[o.id] = keySet{until: now.Add(v.cfg.KeyTTL)}
			missing = append(missing, o.id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	epoch := v.ring.now()
	rows, err := v.pool.Query(ctx, `SELECT holder, id, purpose, generation, wrapped FROM vault.holder_keys WHERE organisation = $1 AND holder = ANY ($2)`, org, sqlIDs(missing))
	if err != nil {
		return storeError("load keys of many", err)
	}
	wrapped, err := pgx.CollectRows(rows, pgx.RowToStructByName[holderKey])
	if err != nil {
		return storeError("load keys of many", err)
	}
	for _, w := range wrapped {
		o := owner{organisation: org, id: w.Holder}
		k, err := v.unwrapHeld(ctx, o, w.wrappedKey)
		if err != nil {
			return err
		}
		set := sets[w.Holder]
		set.keys = append(set.keys, k)
		sets[w.Holder] = set
	}
	for id, set := range sets {
		if len(set.keys) > 0 {
			v.ring.keepSet(epoch, owner{organisation: org, id: id}, set)
		}
	}
	return nil
}

// holderKey is a row of holder_keys with whose it is.
type holderKey struct {
	Holder uuid.UUID
	wrappedKey
}

// Forget drops cached keys in this process: ids are of rows, members or keys. What is being read meanwhile isn't kept.
func (v *Vault) Forget(ids ...events.ID) { v.ring.forget(ids) }
