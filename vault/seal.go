package vault

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// Seal seals under the current key of ref. The member's and the organisation's keys must exist: see EnsureMember.
func (v *Vault) Seal(ctx context.Context, ref events.KeyRef, aad, plain []byte) ([]byte, error) {
	s, err := v.sealer(ctx, sealerKey{ref: ref})
	if err != nil {
		return nil, fmt.Errorf("seal under %s: %w", ref, err)
	}
	return sealBox(s.id, s.aead, aad, plain), nil
}

// Open opens with exactly the key that the box names.
func (v *Vault) Open(ctx context.Context, ref events.KeyRef, aad, box []byte) ([]byte, error) {
	id, err := boxKey(box)
	if err != nil {
		return nil, fmt.Errorf("open under %s: %w", ref, err)
	}
	if id == uuid.Nil {
		return nil, fmt.Errorf("open under %s: %w: the box names no key", ref, events.ErrTampered)
	}
	s, err := v.sealer(ctx, sealerKey{ref, id})
	if err != nil {
		return nil, fmt.Errorf("open under %s: %w", ref, err)
	}
	plain, err := openBox(s.aead, aad, box)
	if err != nil {
		return nil, fmt.Errorf("open under %s: %w", ref, err)
	}
	return plain, nil
}

func (v *Vault) sealer(ctx context.Context, key sealerKey) (sealer, error) {
	if s, ok := v.ring.sealer(key, v.cfg.Now()); ok {
		return s, nil
	}
	epoch := v.ring.now()
	s, err := v.deriveSealer(ctx, key)
	if err == nil {
		v.ring.keepSealer(epoch, key, s)
	}
	return s, err
}

func (v *Vault) deriveSealer(ctx context.Context, key sealerKey) (sealer, error) {
	o, purpose, err := keyOf(key.ref)
	if err != nil {
		return sealer{}, err
	}
	k, until, err := v.key(ctx, o, purpose, key.id)
	if err != nil {
		return sealer{}, err
	}
	secret, info := k.secret[:], "iris/seal/"+string(key.ref.Class)+"/v1"
	if hasRow(key.ref.Class) {
		r, err := v.row(ctx, key.ref.Organisation, key.ref.Row)
		if err != nil {
			return sealer{}, err
		}
		secret = append(secret[:keySize:keySize], r.secret[:]...)
		info = "iris/" + string(key.ref.Class) + "/v1/" + key.ref.Entry
		until = earlier(until, r.until)
	}
	aead, err := derive(secret, info)
	return sealer{k.id, aead, until}, err
}

func hasRow(class events.KeyClass) bool {
	return class == events.KeyMemory || class == events.KeyConsent || class == events.KeySession
}

// keyOf says whose key a reference begins with. A role memory belongs to the organisation (spec 1.5).
func keyOf(ref events.KeyRef) (owner, Purpose, error) {
	if ref.Organisation == "" {
		return owner{}, "", fmt.Errorf("%w: no organisation", ErrReference)
	}
	if hasRow(ref.Class) != (ref.Row != "" && ref.Entry != "") {
		return owner{}, "", fmt.Errorf("%w: row and entry belong to memory, consent and session, and nowhere else", ErrReference)
	}
	if ref.Class == events.KeyOrganisation || ref.Class == events.KeyMemory && ref.Tier == events.TierRole && ref.Member == "" {
		return rootOf(ref.Organisation), purposeRoot, nil
	}
	purpose, ok := memberPurpose(ref)
	if !ok {
		return owner{}, "", fmt.Errorf("%w: class %q and tier %q", ErrReference, ref.Class, ref.Tier)
	}
	o, err := memberOf(ref.Organisation, ref.Member)
	return o, purpose, err
}

func memberPurpose(ref events.KeyRef) (Purpose, bool) {
	switch ref.Class {
	case events.KeyMemory:
		switch ref.Tier {
		case events.TierIndividual:
			return PurposeIndividual, true
		case events.TierPerson:
			return PurposePerson, true
		}
	case events.KeySession: // what is said in one is of tier individual (spec 1.5), and ends with it
		return PurposeIndividual, true
	case events.KeyConsent, events.KeyCase:
		return PurposeCase, true
	case events.KeyRegister:
		return PurposeRegister, true
	case events.KeyRecall:
		return PurposeRecall, true
	}
	return "", false
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
