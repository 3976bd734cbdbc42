package vault_test

import (
	"bytes"
	"crypto/ecdh"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/events"
	"iris.example/iris/vault"
)

// sealTo does what a producer does.
func sealTo(t *testing.T, key, text string) string {
	t.Helper()
	recipient, err := age.ParseX25519Recipient(key)
	require.NoError(t, err)
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, recipient)
	require.NoError(t, err)
	_, err = w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, armored.Close())
	return out.String()
}

func TestASealOpensInItsOrganisationOnly(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureOrganisation(t.Context(), "borealis"))
	key, err := b.IntakeKey(t.Context(), org)
	require.NoError(t, err)
	other, err := b.IntakeKey(t.Context(), "borealis")
	require.NoError(t, err)
	require.NotEqual(t, key, other)
	require.True(t, strings.HasPrefix(key, "age1"))

	// Another process, and one that starts later, have the same.
	second := b.start()
	again, err := second.IntakeKey(t.Context(), org)
	require.NoError(t, err)
	require.Equal(t, key, again)
	good := sealTo(t, key, "likes rye bread")
	plain, readable, err := second.OpenIntake(t.Context(), org, good)
	require.NoError(t, err)
	require.True(t, readable)
	require.Equal(t, "likes rye bread", string(plain))

	flipped := []byte(good)
	flipped[len(flipped)-60] ^= 1
	for name, sealed := range map[string]string{
		"another organisation's": sealTo(t, other, "likes rye bread"), "not age": "likes rye bread", "empty": "", "flipped": string(flipped),
		"cut": good[:len(good)/2], "something follows": good + "x", "only the frame": armor.Header + "\n" + armor.Footer + "\n",
		"too long": sealTo(t, key, strings.Repeat("a", 300<<10)),
	} {
		_, readable, err := b.OpenIntake(t.Context(), org, sealed)
		require.NoError(t, err, name)
		require.False(t, readable, name)
	}
	_, err = b.IntakeKey(t.Context(), "nowhere")
	require.ErrorIs(t, err, events.ErrKeyUnavailable)
}

func TestManyStartersAgreeOnTheIntakeKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	keys := make([]string, 8)
	var group errgroup.Group
	for i := range keys {
		v := b.start()
		group.Go(func() (err error) { keys[i], err = v.IntakeKey(t.Context(), org); return err })
	}
	require.NoError(t, group.Wait())
	for _, key := range keys {
		require.Equal(t, keys[0], key)
	}
}

// The Bech32 of our own is read by age, and holds the secret to the bit: the public halves are the same by another library.
func TestTheIntakeKeyIsTheStoredSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key, err := b.IntakeKey(t.Context(), org)
	require.NoError(t, err)
	found := false
	for _, secret := range b.Secrets() {
		private, err := ecdh.X25519().NewPrivateKey(secret)
		require.NoError(t, err)
		found = found || strings.HasPrefix(key, "age1") && key == ageRecipient(t, private.PublicKey().Bytes())
	}
	require.True(t, found)
}

func ageRecipient(t *testing.T, public []byte) string {
	t.Helper()
	recipient, err := age.ParseX25519Recipient(vault.Bech32("age", public))
	require.NoError(t, err)
	return recipient.String()
}

func parked(t *testing.T, id events.ID, at events.Time) events.Parked {
	t.Helper()
	return events.Parked{ID: id, Organisation: org, Producer: "notes", Code: "invalid_json", ParkedAt: at, ExpiresAt: at.Plus(14 * 24 * time.Hour)}
}

func TestParkedClaims(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := events.At(b.clock.now())
	var ids []events.ID
	for i := range 3 {
		ids = append(ids, newID(t))
		p := parked(t, ids[i], now.Plus(time.Duration(i)*time.Hour))
		for range 2 { // a crash in between parks it again
			require.NoError(t, b.Park(t.Context(), p, text))
		}
	}
	last := events.ID("ffffffff-ffff-ffff-ffff-ffffffffffff")
	list := func(at, below events.Time, id events.ID) (found []events.ID) {
		all, err := b.ParkedClaims(t.Context(), org, at, below, id, 2)
		require.NoError(t, err)
		for _, p := range all {
			require.Equal(t, "notes", p.Producer)
			found = append(found, p.ID)
		}
		return found
	}
	end := now.Plus(1000 * time.Hour)
	require.Equal(t, []events.ID{ids[2], ids[1]}, list(now, end, last))
	require.Equal(t, []events.ID{ids[0]}, list(now, now.Plus(time.Hour), ids[1]))

	got, body, found, err := b.ParkedClaim(t.Context(), org, ids[1], now)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, text, body)
	require.Equal(t, parked(t, ids[1], now.Plus(time.Hour)), got)
	for name, ask := range map[string]func() (bool, error){
		"another organisation's": func() (bool, error) {
			_, _, found, err := b.ParkedClaim(t.Context(), "borealis", ids[1], now)
			return found, err
		},
		"unknown": func() (bool, error) {
			_, _, found, err := b.ParkedClaim(t.Context(), org, newID(t), now)
			return found, err
		},
		"expired, not swept": func() (bool, error) {
			_, _, found, err := b.ParkedClaim(t.Context(), org, ids[0], now.Plus(14*24*time.Hour))
			return found, err
		},
		"another's to drop": func() (bool, error) { return b.DropParked(t.Context(), "borealis", ids[1]) },
	} {
		found, err := ask()
		require.NoError(t, err, name)
		require.False(t, found, name)
	}
	require.Equal(t, []events.ID{ids[2], ids[1]}, list(now.Plus(14*24*time.Hour), end, last), "what expired is gone on read, swept or not")
	require.False(t, bytes.Contains(b.dump(), text))

	dropped, err := b.DropExpiredClaims(t.Context(), now.Plus(14*24*time.Hour))
	require.NoError(t, err)
	require.Equal(t, 1, dropped)
	for _, want := range []bool{true, false} {
		gone, err := b.DropParked(t.Context(), org, ids[1])
		require.NoError(t, err)
		require.Equal(t, want, gone)
	}
	require.Equal(t, []events.ID{ids[2]}, list(now, end, last))
}

// What was carried out answers with the position it answered with first, for thirty days and in its own organisation.
func TestACommandAboutAParkedClaimIsKnownAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now, id, command := events.At(b.clock.now()), newID(t), newID(t)
	require.NoError(t, b.Park(t.Context(), parked(t, id, now), text))
	known := func(org string) bool {
		_, known, err := b.Unparked(t.Context(), org, command)
		require.NoError(t, err)
		return known
	}
	require.False(t, known(org))
	for _, position := range []uint64{7, 9} { // the second came at the same time
		answers, err := b.Unpark(t.Context(), org, id, command, position, now)
		require.NoError(t, err)
		require.EqualValues(t, 7, answers)
	}
	_, _, found, err := b.ParkedClaim(t.Context(), org, id, now)
	require.NoError(t, err)
	require.False(t, found)
	require.False(t, known("borealis"))
	_, err = b.DropExpiredClaims(t.Context(), now.Plus(29*24*time.Hour))
	require.NoError(t, err)
	require.True(t, known(org))
	_, err = b.DropExpiredClaims(t.Context(), now.Plus(30*24*time.Hour))
	require.NoError(t, err)
	require.False(t, known(org))
}

// A row doesn't open in another's place.
func TestAParkedClaimStaysInItsPlace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	now := events.At(b.clock.now())
	one, two := newID(t), newID(t)
	require.NoError(t, b.Park(t.Context(), parked(t, one, now), text))
	require.NoError(t, b.Park(t.Context(), parked(t, two, now), []byte("another")))
	b.owner(`UPDATE vault.parked_claims SET box = (SELECT box FROM vault.parked_claims WHERE id = $1) WHERE id = $2`, string(one), string(two))
	_, _, _, err := b.ParkedClaim(t.Context(), org, two, now)
	require.ErrorIs(t, err, events.ErrTampered)
}
