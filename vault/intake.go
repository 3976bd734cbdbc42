package vault

import (
	"context"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/google/uuid"
)

// maxSealed is more than any claim can hold (spec 9.2: a message has 256 KiB).
const maxSealed = 256 << 10

// IntakeKey is the public half of the organisation's intake key, as age writes it: what producers seal claims to (spec 10.1). It
// makes the key the first time; concurrent callers agree.
func (v *Vault) IntakeKey(ctx context.Context, org string) (string, error) {
	if err := v.ensureHeld(ctx, directoryOf(org), []Purpose{purposeIntake}); err != nil {
		return "", fmt.Errorf("make the intake key: %w", err)
	}
	k, _, err := v.key(ctx, directoryOf(org), purposeIntake, uuid.Nil)
	if err != nil {
		return "", fmt.Errorf("find the intake key: %w", err)
	}
	identity, err := intakeIdentity(k)
	if err != nil {
		return "", err
	}
	return identity.Recipient().String(), nil
}

// OpenIntake opens what was sealed to the organisation's intake key, in any of its generations. Not readable: it isn't age,
// armored, or it was sealed to another key, or it was changed. An error is of the store.
func (v *Vault) OpenIntake(ctx context.Context, org, sealed string) (plain []byte, readable bool, err error) {
	if _, err := v.IntakeKey(ctx, org); err != nil {
		return nil, false, err
	}
	set, err := v.set(ctx, directoryOf(org))
	if err != nil {
		return nil, false, fmt.Errorf("find the intake key: %w", err)
	}
	var identities []age.Identity
	for _, k := range set.keys {
		if k.purpose != purposeIntake {
			continue
		}
		identity, err := intakeIdentity(k)
		if err != nil {
			return nil, false, err
		}
		identities = append(identities, identity)
	}
	reader, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), identities...)
	if err != nil {
		return nil, false, nil
	}
	plain, err = io.ReadAll(io.LimitReader(reader, maxSealed+1))
	if err != nil || len(plain) > maxSealed {
		return nil, false, nil
	}
	return plain, true, nil
}

func intakeIdentity(k heldKey) (*age.X25519Identity, error) {
	identity, err := age.ParseX25519Identity(strings.ToUpper(bech32("age-secret-key-", k.secret[:])))
	if err != nil {
		return nil, fmt.Errorf("read intake key %s: %w", k.id, ErrReference) // without the cause, which may quote the key
	}
	return identity, nil
}
