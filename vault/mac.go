package vault

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// MAC is HMAC-SHA-256 under a member's register key or the organisation's, apart from what that key seals. After a shred the
// same data has another MAC.
func (v *Vault) MAC(ctx context.Context, ref events.KeyRef, data []byte) ([]byte, error) {
	if ref.Class != events.KeyRegister && ref.Class != events.KeyOrganisation {
		return nil, fmt.Errorf("mac under %s: %w: only register and organisation", ref, ErrReference)
	}
	o, purpose, err := keyOf(ref)
	if err != nil {
		return nil, fmt.Errorf("mac under %s: %w", ref, err)
	}
	key, err := v.macKey(ctx, o, purpose, "iris/mac/"+string(ref.Class)+"/v1")
	if err != nil {
		return nil, fmt.Errorf("mac under %s: %w", ref, err)
	}
	mac := newMAC(key)
	mac.Write(data)
	return mac.Sum(nil), nil
}

// Fingerprinter returns the register's fingerprint for pure code: base64url HMAC-SHA-256 over the parts, each with its length.
// It holds a key: use it for one command and let it go.
func (v *Vault) Fingerprinter(ctx context.Context, org string, member events.ID) (func(parts ...string) string, error) {
	return v.printer(ctx, org, member, PurposeRegister)
}

// SearchTokens returns the same under the search key: the keyed form of a word in a search index (spec 9.4).
func (v *Vault) SearchTokens(ctx context.Context, org string, member events.ID) (func(parts ...string) string, error) {
	return v.printer(ctx, org, member, PurposeSearch)
}

func (v *Vault) printer(ctx context.Context, org string, member events.ID, purpose Purpose) (func(parts ...string) string, error) {
	o, err := memberOf(org, member)
	if err != nil {
		return nil, err
	}
	key, err := v.macKey(ctx, o, purpose, "iris/print/"+string(purpose)+"/v1")
	if err != nil {
		return nil, fmt.Errorf("fingerprint under the %s key: %w", purpose, err)
	}
	return func(parts ...string) string {
		return base64.RawURLEncoding.EncodeToString(newMAC(key, parts...).Sum(nil))
	}, nil
}

func (v *Vault) macKey(ctx context.Context, o owner, purpose Purpose, info string) ([]byte, error) {
	k, _, err := v.key(ctx, o, purpose, uuid.Nil)
	if err != nil {
		return nil, err
	}
	return k.macKey(info)
}
