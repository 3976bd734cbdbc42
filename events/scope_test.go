package events_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// All eight scopes with their keys, from a table (spec 1.3): complete it is valid and has its key; without any one of its ids, or with
// a foreign one, it is not.
func TestScopesAndTheirKeys(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/scopes.json")
	require.NoError(t, err)
	var rows []struct {
		Scope   map[string]string
		Key     string
		Adapter events.AdapterScope
	}
	require.NoError(t, json.Unmarshal(content, &rows))
	require.Len(t, rows, 8)
	every := []string{"sessionId", "sceneId", "poseId", "notebookId", "crisisId", "operatorId", "caseId", "tenantId"}
	for _, row := range rows {
		scope := scopeOf(t, row.Scope)
		require.True(t, scope.Valid(), row.Key)
		require.Equal(t, row.Key, scope.Key("u-1"))
		require.Equal(t, row.Adapter, events.DefaultAdapterScope(scope.Kind))
		require.True(t, row.Adapter.Fits(scope.Kind), row.Key)
		for _, id := range every {
			changed := map[string]string{}
			for k, v := range row.Scope {
				changed[k] = v
			}
			if _, own := row.Scope[id]; own {
				delete(changed, id)
			} else {
				changed[id] = "x-1"
			}
			require.False(t, scopeOf(t, changed).Valid(), "%s and %s", row.Key, id)
		}
	}
	require.False(t, events.Scope{Kind: "galaxy"}.Valid())
	require.False(t, events.Scope{}.Valid())
}

func scopeOf(t *testing.T, fields map[string]string) events.Scope {
	t.Helper()
	text, err := json.Marshal(fields)
	require.NoError(t, err)
	var scope events.Scope
	require.NoError(t, json.Unmarshal(text, &scope))
	return scope
}

// Tiers and the kinds that they admit (spec 1.5).
func TestTiersAdmitKinds(t *testing.T) {
	t.Parallel()
	all := []events.MemoryKind{
		events.KindEpisodic, events.KindPreference, events.KindVocabulary, events.KindRubricAdjustment, events.KindLesson, events.KindRubricVersion,
	}
	for tier, kinds := range map[events.Tier][]events.MemoryKind{
		events.TierIndividual: all[:5],
		events.TierPerson:     {events.KindPreference, events.KindVocabulary, events.KindRubricAdjustment},
		events.TierRole:       {events.KindRubricVersion, events.KindVocabulary, events.KindLesson},
		"galaxy":              {},
	} {
		for _, kind := range all {
			require.Equal(t, contains(kinds, kind), tier.Admits(kind), "%s and %s", tier, kind)
		}
	}
}

func contains[T comparable](all []T, one T) bool {
	for _, x := range all {
		if x == one {
			return true
		}
	}
	return false
}
