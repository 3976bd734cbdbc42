package member_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

func TestFNV1a64Vectors(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]uint64{
		"": 0xcbf29ce484222325, "a": 0xaf63dc4c8601ec8c, "foobar": 0x85944171f73967e8, `{"é":"😀"}`: 0xe01cb791a7d0b27a,
	} {
		require.Equal(t, want, member.FNV1a64([]byte(input)), "%q", input)
	}
}

// The vector of spec 2.1.
func TestFingerprintVector(t *testing.T) {
	t.Parallel()
	record := events.ConsentRecord{
		Key: "medical", At: events.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)), TermsID: "memory", TermsVersion: "2026-11",
		Source: events.SourceInlinePrompt, Locale: "en", Shown: "May I remember what you told me about your health?",
	}
	fnv, sha, err := member.Fingerprint(memberID, "grant", "", record, "We keep what you ask us to keep, for as long as you want.")
	require.NoError(t, err)
	require.Equal(t, "fnv1a64:34c5773fd0f1eaeb", fnv)
	require.Equal(t, "f55eca694d6dbcbb39f34f0523f0c804c78a3882684929f49b155ce1d61da2f1", sha)

	drifted, _, err := member.Fingerprint(memberID, "grant", "", record, "We keep what you ask us to keep, for as long as we want.")
	require.NoError(t, err)
	require.NotEqual(t, fnv, drifted, "a changed text shows")
}

// A withdrawal names its grant, repeats its terms and leaves the grant as it was (spec 2.1).
func TestWithdrawalNamesItsGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	granted, err := w.perform(act{Do: "grant", Key: "medical"})
	require.NoError(t, err)
	grantID, key := w.state.Consents["medical"].EventID, w.state.Consents["medical"].KeyID

	withdrawn, err := w.perform(act{Do: "withdraw", Key: "medical"})
	require.NoError(t, err)
	before, after := granted[0].(*events.ConsentGranted), withdrawn[0].(*events.ConsentWithdrawn)
	require.Equal(t, grantID, after.Supersedes)
	require.Equal(t, key, after.KeyID, "one key seals a category's whole ledger, so that a purge finds all of it")
	require.Equal(t, before.Record.Plain.TermsVersion, after.Record.Plain.TermsVersion)
	require.NotEqual(t, before.Record.Plain.Fingerprint, after.Record.Plain.Fingerprint)
	require.Equal(t, events.StateWithdrawn, w.state.Consent("medical", w.now))
}

// What follows from the ledger for an entry is derived, and lifts by itself (spec 2.2).
func TestDerivedSuppression(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, key := range []events.ConsentKey{"data_processing", "data_storage", "sensitive_data", "medical"} {
		_, err := w.perform(act{Do: "grant", Key: key})
		require.NoError(t, err)
	}
	medical := events.CategoryMedical
	_, err := w.perform(act{Do: "state", Name: "m", Category: &medical})
	require.NoError(t, err)
	derived := func() events.SuppressionReason { return w.state.DerivedSuppression(w.state.Entries[w.id("m")], w.now) }
	require.Empty(t, derived())
	for key, reason := range map[events.ConsentKey]events.SuppressionReason{
		"medical": events.SuppressedSensitiveCategory, "sensitive_data": events.SuppressedSensitiveCategory, "data_storage": events.SuppressedUserPause,
	} {
		_, err = w.perform(act{Do: "withdraw", Key: key})
		require.NoError(t, err)
		require.Equal(t, reason, derived(), key)
		revision := w.state.Entries[w.id("m")].Revision
		_, err = w.perform(act{Do: "grant", Key: key})
		require.NoError(t, err)
		require.Empty(t, derived(), key)
		require.Equal(t, revision, w.state.Entries[w.id("m")].Revision, "no revision was minted")
	}
}
