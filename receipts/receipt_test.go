package receipts_test

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/receipts"
	"iris.example/iris/schemas"
)

var update = flag.Bool("update", false, "write the published examples anew")

func event(key events.ConsentKey, state events.ConsentState) receipts.Event {
	return receipts.Event{
		ID: "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f", Organisation: "acme", Member: "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e90", State: state,
		Supersedes: "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e91", Position: 1042, TermsSHA256: strings.Repeat("a", 64), TermsLocale: "en",
		Record: events.ConsentRecord{
			Key: key, At: events.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)), TermsID: "memory", TermsVersion: "2026-11",
			Source: events.SourceInlinePrompt, Locale: "en", Shown: "May I remember what you told me about your health?",
			Fingerprint: "fnv1a64:34c5773fd0f1eaeb", SHA256: strings.Repeat("b", 64),
		},
	}
}

// Every key in every state gives a receipt that its published schema accepts, the same bytes each time.
func TestEveryReceiptFulfilsItsSchema(t *testing.T) {
	t.Parallel()
	contract, err := schemas.Compile()
	require.NoError(t, err)
	ids := map[string]bool{}
	for _, key := range events.ConsentKeys() {
		for _, state := range []events.ConsentState{events.StateGranted, events.StateWithdrawn, events.StateDenied} {
			e := event(key, state)
			text, err := json.Marshal(receipts.Write(e, receipts.Controller{}))
			require.NoError(t, err)
			require.NoError(t, contract.CheckReceipt(text), "%s %s", key, state)
			again, err := json.Marshal(receipts.Write(e, receipts.Controller{}))
			require.NoError(t, err)
			require.Equal(t, text, again)
			ids[receipts.Write(e, receipts.Controller{}).Record] = true
		}
	}
	require.Len(t, ids, len(events.ConsentKeys()), "a record for each key")
}

func TestWhatAReceiptSays(t *testing.T) {
	t.Parallel()
	grant := receipts.Write(event("medical", events.StateGranted), receipts.Controller{})
	require.Equal(t, "dpv:ConsentGiven", grant.Status.Type)
	require.Equal(t, "dpv:SensitivePersonalData", grant.Process.PersonalData.Type)
	require.Equal(t, []string{"eu-gdpr:A6-1-a", "eu-gdpr:A9-2-a"}, grant.Process.LegalBasis)
	require.Equal(t, "POST /v1/me/consents/0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f/withdraw", grant.Withdrawal.API)
	require.Equal(t, "acme", grant.Controller.Name)
	require.Nil(t, grant.Status.Until)

	withdrawn := receipts.Write(event("medical", events.StateWithdrawn), receipts.Controller{})
	require.Equal(t, "dpv:ConsentWithdrawn", withdrawn.Status.Type)
	require.Contains(t, withdrawn.Withdrawal.API, "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e91", "the grant that it names")
	denied := event("preference", events.StateDenied)
	denied.Supersedes = ""
	refused := receipts.Write(denied, receipts.Controller{Name: "Acme", Address: "1 Road", Contact: "privacy@acme.example", Recipients: []string{"Nobody"}})
	require.Equal(t, "dpv:ConsentRefused", refused.Status.Type)
	require.Nil(t, refused.Status.Supersedes)
	require.Equal(t, "dpv:PersonalData", refused.Process.PersonalData.Type)
	require.Equal(t, "1 Road", refused.Controller.Address)
	require.Equal(t, "Nobody", refused.Process.Recipients[0].Label)
	require.Empty(t, refused.Withdrawal.API)
	religion := receipts.Write(event("religion_user_redacted", events.StateGranted), receipts.Controller{})
	require.Equal(t, "religion", religion.Process.PersonalData.Label)
}

func TestAControllerIsWholeOrLeftOut(t *testing.T) {
	t.Parallel()
	require.NoError(t, receipts.Controller{}.Validate())
	require.NoError(t, receipts.Controller{Name: "Acme", Address: "1 Road", Contact: "privacy@acme.example"}.Validate())
	require.Error(t, receipts.Controller{Name: "Acme"}.Validate())
	require.Error(t, receipts.Controller{Address: "1 Road"}.Validate())
	require.Error(t, receipts.Controller{Name: "Acme", Contact: "privacy@acme.example"}.Validate())
}

// The published examples are what Write writes.
func TestThePublishedExamplesAreOurs(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]receipts.Event{
		"grant-of-a-sensitive-category": event("medical", events.StateGranted), "withdrawal": event("medical", events.StateWithdrawn),
		"denial-of-a-purpose": event("cross_domain", events.StateDenied),
	} {
		text, err := json.MarshalIndent(receipts.Write(e, receipts.Controller{}), "", "  ")
		require.NoError(t, err)
		file := filepath.Join("..", "schemas", "examples", "receipt", "valid", name+".json")
		if *update {
			require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
			require.NoError(t, os.WriteFile(file, append(text, '\n'), 0o644))
		}
		published, err := os.ReadFile(file)
		require.NoError(t, err)
		require.JSONEq(t, string(published), string(text))
	}
}
