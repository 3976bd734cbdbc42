package recalls_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

// TestAMemberOfManyMemoriesIsAnswered: an envelope is one message, and a verdict of each of so many candidates doesn't fit in it.
func TestAMemberOfManyMemoriesIsAnswered(t *testing.T) {
	t.Parallel()
	const many = 1800 // with 1,750 it was over
	b := setup(t, eventlog.NewMemory(org))
	b.ctx = t.Context() // which has longer
	for i := range many {
		b.run(member.StateWords{Draft: member.Draft{
			Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Scope: events.Scope{Kind: events.ScopeProfile},
			Category: events.CategoryPreference, Subject: fmt.Sprintf("table %d", i), Body: fmt.Sprintf("Prefers item%d metric%d in report%d of year%d.", i, i*7, i*13, i*17),
		}})
	}
	service := b.service(nil)
	answer, err := b.recall(service)
	require.NoError(t, err)
	require.Equal(t, many+1, answer.Envelope.EvaluatedCount)
	verdicts := answer.Envelope.Findings.Plain.Verdicts
	require.Len(t, verdicts, 1200-10*len(answer.Envelope.ReturnedIDs))
	returned := 0
	for i, v := range verdicts {
		if v.Returned {
			returned++
		}
		require.True(t, i == 0 || verdicts[i-1].MemoryID < v.MemoryID)
	}
	require.Equal(t, len(answer.Envelope.ReturnedIDs), returned)
	proof, err := service.Prove(b.ctx, org, answer.Envelope)
	require.NoError(t, err)
	require.Equal(t, "verified", proof.Result)
}
