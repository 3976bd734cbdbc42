package recall_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

const member = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")

func instant(s string) events.Time {
	t, err := events.ParseTime(s)
	if err != nil {
		panic(err)
	}
	return t
}

func noon() events.Time { return instant("2026-11-30T12:00:00.000000Z") }

// memory is a candidate with everything a scenario leaves out (testdata/scenarios/README.md).
func memory(id events.ID) recall.Candidate {
	return recall.Candidate{
		MemoryID: id, RevisionID: "r-" + id, Organisation: "acme", Tier: events.TierIndividual, Program: events.DefaultProgram,
		MemoryKind: events.KindPreference, Scope: events.Scope{Kind: events.ScopeProfile}, Category: events.CategoryFact,
		Body: "note", Origin: events.OriginUserStated, Lifecycle: events.LifecycleActive,
		UpdatedAt: instant("2026-11-29T12:00:00.000000Z"),
	}
}

func request() recall.Request {
	return recall.Request{
		Organisation: "acme", Member: member, Surface: "assistant", Consumer: events.ConsumerAssistant,
		Purpose: policy.PurposeAssist, Scope: events.Scope{Kind: events.ScopeProfile},
		Consents: map[events.ConsentKey]events.ConsentState{
			events.PurposeDataProcessing: events.StateGranted, events.PurposeDataStorage: events.StateGranted,
		},
	}
}

type scenarios struct {
	Rule  string `json:"rule"`
	Cases []struct {
		Name  string `json:"name"`
		Given struct {
			Memories []json.RawMessage                         `json:"memories"`
			Consents map[events.ConsentKey]events.ConsentState `json:"consents"`
		} `json:"given"`
		When json.RawMessage `json:"when"`
		Then struct {
			Returned            []events.ID          `json:"returned"`
			Suppressed          map[string]int       `json:"suppressed"`
			Why                 map[events.ID]string `json:"why"`
			Evaluated           *int                 `json:"evaluated"`
			RationaleVisible    *bool                `json:"rationaleVisible"`
			MultiActorRemoved   *int                 `json:"multiActorRemoved"`
			ForeignOrganisation int                  `json:"foreignOrganisation"`
		} `json:"then"`
	} `json:"cases"`
}

func strictly(t *testing.T, data []byte, into any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	require.NoError(t, decoder.Decode(into))
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/scenarios/*.json")
	require.NoError(t, err)
	require.Len(t, paths, 11, "one for the candidates, one before the stages, nine for the stages")
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var file scenarios
		strictly(t, data, &file)
		require.NotEmpty(t, file.Cases, path)
		for i := range file.Cases {
			t.Run(filepath.Base(path)+"/"+file.Cases[i].Name, func(t *testing.T) {
				t.Parallel()
				runScenario(t, file, i)
			})
		}
	}
}

func runScenario(t *testing.T, file scenarios, i int) {
	t.Helper()
	c := file.Cases[i]
	var candidates []recall.Candidate
	for _, written := range c.Given.Memories {
		var named struct{ MemoryID events.ID }
		require.NoError(t, json.Unmarshal(written, &named))
		candidate := memory(named.MemoryID)
		strictly(t, written, &candidate)
		candidate.ScopeKey = candidate.Scope.Key(member)
		candidates = append(candidates, candidate)
	}
	asked := request()
	strictly(t, c.When, &asked)
	if c.Given.Consents != nil {
		asked.Consents = c.Given.Consents
	}

	got := recall.Resolve(candidates, asked, policy.Default(), noon())

	require.Equal(t, c.Then.Returned, got.ReturnedIDs)
	require.Equal(t, c.Then.Suppressed, got.SuppressionCounts)
	require.Equal(t, len(c.Then.Suppressed) > 0, got.Severity() == "warning")
	require.Equal(t, c.Then.ForeignOrganisation, got.ForeignOrganisation)
	for id, why := range c.Then.Why {
		verdict := got.Dropped()[id]
		require.Equal(t, why, fmt.Sprintf("stage %d: %s", verdict.Stage, verdict.Reason), id)
	}
	if c.Then.Evaluated != nil {
		require.Equal(t, *c.Then.Evaluated, got.EvaluatedCount)
	}
	if c.Then.RationaleVisible != nil {
		require.Equal(t, *c.Then.RationaleVisible, got.RationaleVisible)
	}
	if c.Then.MultiActorRemoved != nil {
		require.Equal(t, *c.Then.MultiActorRemoved, got.MultiActorRemoved)
	}
}
