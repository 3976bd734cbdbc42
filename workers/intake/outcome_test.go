package intake

import (
	"encoding/json"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/schemas"
)

func outcomes() map[string]outcome {
	const proposal events.ID = "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e90"
	all := map[string]outcome{
		"unreadable": {Outcome: events.OutcomeRejected, Reason: "schema_violation", Warnings: []acts.Warning{}},
		"everything": {
			Claim: "c-19/4", ProposalID: proposal, Outcome: events.OutcomeSuppressed, Reason: "consent_required", Position: "41",
			Warnings: []acts.Warning{{Code: "consent_missing", Keys: []events.ConsentKey{events.PurposeDataStorage, "medical"}}, {Code: "text_cleaned"}},
		},
	}
	for _, o := range []events.ClaimOutcome{
		events.OutcomePending, events.OutcomeKept, events.OutcomeSuppressed, events.OutcomeRejected, events.OutcomeKeptExisting, events.OutcomeDuplicate,
	} {
		all[string(o)] = outcome{Claim: "c-19/4", ProposalID: proposal, Outcome: o, Reason: "explicit-user-trumps-inferred", Warnings: []acts.Warning{}, Position: "0"}
	}
	return all
}

// TestWhatProducersHearFulfilsItsSchema: every outcome, as it arrives at a subscriber.
func TestWhatProducersHearFulfilsItsSchema(t *testing.T) {
	t.Parallel()
	contract, err := schemas.Compile()
	require.NoError(t, err)
	conn, err := testkit.NATS(t).Connect()
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	heard, err := conn.SubscribeSync(events.OutcomeSubject("acme", "notes"))
	require.NoError(t, err)
	w := &Worker{Config{Outcomes: conn, Logger: slog.New(slog.DiscardHandler), Now: time.Now}}
	for name, o := range outcomes() {
		w.tell(eventlog.Claim{Organisation: "acme", Producer: "notes"}, o)
		message, err := heard.NextMsgWithContext(t.Context())
		require.NoError(t, err, name)
		require.NoError(t, contract.CheckOutcome(message.Data), name)
	}
}

// TestOutcomeAndSchemaHaveTheSameProperties: one that is added here is added there.
func TestOutcomeAndSchemaHaveTheSameProperties(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(schemas.Files(), "outcomes/iris.claim.settled.v1.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]struct {
			Properties map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	written, err := json.Marshal(told{Data: outcomes()["everything"]})
	require.NoError(t, err)
	var message, data map[string]any
	require.NoError(t, json.Unmarshal(written, &message))
	data = message["data"].(map[string]any)
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties)), slices.Collect(maps.Keys(message)))
	require.ElementsMatch(t, slices.Collect(maps.Keys(schema.Properties["data"].Properties)), slices.Collect(maps.Keys(data)))
}
