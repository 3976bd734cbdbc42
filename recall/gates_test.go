package recall_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

func contexts() []policy.Context {
	return []policy.Context{"health", "identity", "spiritual", "practice", "sexuality", "financial", "legal", "safety", "crisis"}
}

// Every category in every context, with and without each half of the consent: the table of spec 1.4 as recall keeps it.
func TestEverySensitiveCategoryInEveryContext(t *testing.T) {
	t.Parallel()
	relevant := map[events.Category]string{
		"medical": "health safety crisis", "mental_health": "health safety crisis", "physical_health": "health safety crisis",
		"substance_use": "health safety crisis", "biometric": "health identity safety", "pose_alignment": "practice health safety",
		"spiritual": "spiritual identity practice", "religion_user_redacted": "spiritual identity practice",
		"sexual": "sexuality health safety", "sexuality": "identity sexuality safety crisis", "gender_identity": "identity safety crisis",
		"financial": "financial safety", "financial_distress": "financial safety crisis", "legal": "legal safety",
		"legal_jeopardy": "legal safety crisis", "immigration_status": "legal safety crisis", "safety": "safety crisis",
		"abuse_history": "safety crisis", "relationship_violence": "safety crisis",
	}
	require.Len(t, relevant, 19)
	for _, category := range events.Categories() {
		for _, context := range append(contexts(), "") {
			for _, held := range [][]events.ConsentKey{{}, {"sensitive_data"}, {events.ConsentKey(category)}, {"sensitive_data", events.ConsentKey(category)}} {
				want := recall.ReasonReturned
				switch {
				case !category.Sensitive():
				case len(held) < 2:
					want = recall.ReasonWithoutConsent
				case !containsWord(relevant[category], string(context)):
					want = recall.ReasonOutsideContext
				}
				require.Equal(t, want, sensitiveVerdict(category, context, held), "%s in %q with %s", category, context, held)
			}
		}
	}
}

func containsWord(list, word string) bool { return slices.Contains(strings.Fields(list), word) }

func sensitiveVerdict(category events.Category, context policy.Context, held []events.ConsentKey) string {
	asked := request()
	if context != "" {
		asked.Contexts = []policy.Context{context}
	}
	for _, key := range held {
		asked.Consents[key] = events.StateGranted
	}
	candidate := memory("m")
	candidate.Category = category
	return recall.Resolve([]recall.Candidate{candidate}, asked, policy.Default(), noon()).Verdicts[0].Reason
}

// The table of spec 1.3: which kind of request reaches an entry of which kind, when all ids are the same and when none is.
func TestReachabilityTable(t *testing.T) {
	t.Parallel()
	kinds := []events.ScopeKind{"profile", "session", "scene", "pose", "notebook", "crisis", "operator-copilot", "tenant"}
	same := map[events.ScopeKind]string{
		"profile": "profile session scene pose notebook crisis", "session": "session scene pose crisis", "scene": "scene pose crisis",
		"pose": "pose crisis", "notebook": "notebook crisis", "crisis": "crisis", "operator-copilot": "operator-copilot",
		"tenant": "notebook tenant",
	}
	other := map[events.ScopeKind]string{
		"profile": "profile session scene pose notebook crisis", "session": "crisis", "scene": "crisis", "pose": "crisis",
		"notebook": "crisis", "crisis": "crisis", "operator-copilot": "", "tenant": "",
	}
	for _, kept := range kinds {
		for _, asked := range kinds {
			require.Equal(t, containsWord(same[kept], string(asked)), reached(scopeOf(asked, "1"), scopeOf(kept, "1")), "%s from %s", kept, asked)
			require.Equal(t, containsWord(other[kept], string(asked)), reached(scopeOf(asked, "1"), scopeOf(kept, "2")), "other %s from %s", kept, asked)
		}
	}
}

func scopeOf(kind events.ScopeKind, n string) events.Scope {
	s := events.Scope{Kind: kind}
	switch kind {
	case "session":
		s.SessionID = n
	case "scene":
		s.SessionID, s.SceneID = n, n
	case "pose":
		s.SessionID, s.SceneID, s.PoseID = n, n, n
	case "notebook":
		s.NotebookID = n
	case "crisis":
		s.CrisisID = n
	case "operator-copilot":
		s.OperatorID, s.CaseID = n, n
	case "tenant":
		s.TenantID = n
	}
	return s
}

// reached asks with every consent and under a policy that lets assistant ask for everything, so that stage 2 alone decides.
func reached(asked, kept events.Scope) bool {
	open := policy.Default()
	for name, row := range open.Scopes {
		row.AllowedConsumers = []events.Consumer{events.ConsumerAssistant}
		open.Scopes[name] = row
	}
	q, candidate := request(), memory("m")
	for _, key := range events.ConsentKeys() {
		q.Consents[key] = events.StateGranted
	}
	tenant := "1"
	q.Scope, q.TenantID, candidate.Scope = asked, &tenant, kept
	return recall.Resolve([]recall.Candidate{candidate}, q, open, noon()).Verdicts[0].Returned()
}

func TestTheSameSceneNameInAnotherSessionIsAnotherScene(t *testing.T) {
	t.Parallel()
	require.False(t, reached(
		events.Scope{Kind: "pose", SessionID: "s1", SceneID: "c", PoseID: "p"},
		events.Scope{Kind: "scene", SessionID: "s2", SceneID: "c"}))
}
