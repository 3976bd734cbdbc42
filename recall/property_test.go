package recall_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

func some[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func optional[T any](t *rapid.T, label string, value T) *T {
	if rapid.Bool().Draw(t, label) {
		return &value
	}
	return nil
}

func scopes() *rapid.Generator[events.Scope] {
	return rapid.Custom(func(t *rapid.T) events.Scope {
		kind := some[events.ScopeKind](t, "kind", "profile", "profile", "session", "scene", "pose", "notebook", "crisis", "operator-copilot", "tenant")
		return scopeOf(kind, some(t, "n", "1", "1", "2"))
	})
}

func origins() []events.Origin {
	return []events.Origin{"user-stated", "user-confirmed", "model-inferred", "operator-copilot", "summarized-from-session", "imported"}
}

func candidate(t *rapid.T, id events.ID) recall.Candidate {
	c := memory(id)
	c.Organisation = some(t, "org", "acme", "acme", "acme", "acme", "umbrella")
	c.Tier = some(t, "tier", events.TierIndividual, events.TierIndividual, events.TierPerson, events.TierRole)
	c.Program = some(t, "program", "", "default", "atlas")
	c.TenantID = optional(t, "tenant", some(t, "which tenant", "1", "2"))
	c.Scope = scopes().Draw(t, "scope")
	c.ScopeKey = c.Scope.Key(member)
	c.AdapterScope = some[events.AdapterScope](t, "adapter", "", "", "", "cross_domain", "domain:tara")
	c.Category = rapid.SampledFrom(events.Categories()).Draw(t, "category")
	c.Subject = some(t, "subject", "", "units", "city")
	c.Body = strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"green", "tea", "units", "metric", "of"}), 1, 5).Draw(t, "body"), " ")
	c.Origin = rapid.SampledFrom(origins()).Draw(t, "origin")
	c.Lifecycle = some(t, "lifecycle", events.LifecycleActive, events.LifecycleActive, events.LifecycleActive, events.LifecyclePaused, events.LifecycleDraft, events.LifecycleSuperseded, events.LifecycleTombstoned)
	c.UpdatedAt = noon().Plus(-time.Duration(rapid.IntRange(-5, 200_000).Draw(t, "age")) * time.Minute)
	c.ReferenceCount = rapid.IntRange(0, 9).Draw(t, "uses")
	c.Derived = some[events.SuppressionReason](t, "derived", "", "", "", "sensitive-category", "user-pause")
	if rapid.IntRange(0, 4).Draw(t, "suppressed") == 0 {
		c.Suppression = &events.Suppression{Reason: "user-pause", EndsAt: optional(t, "ends", noon().Plus(time.Duration(rapid.IntRange(-2, 2).Draw(t, "end"))*time.Hour))}
	}
	if rapid.IntRange(0, 9).Draw(t, "forgotten") == 0 {
		c.ForgetAt = optional(t, "forget", noon())
	}
	if rapid.IntRange(0, 3).Draw(t, "third") == 0 {
		c.MultiActor = &events.MultiActor{ActorHandle: "sibling", SensitiveInteraction: rapid.Bool().Draw(t, "sensitive")}
	}
	return c
}

func candidates(t *rapid.T) []recall.Candidate {
	list := make([]recall.Candidate, rapid.IntRange(0, 25).Draw(t, "candidates"))
	for i := range list {
		list[i] = candidate(t, events.ID("m"+strconv.Itoa(i)))
		list[i].RevisionID = events.ID("r" + strconv.Itoa(rapid.IntRange(0, 99).Draw(t, "revision")))
	}
	return list
}

func anyRequest(t *rapid.T) recall.Request {
	q := request()
	q.Surface = some(t, "surface", "assistant", "shell", "notebook", "admin", "doorbell", "brief")
	q.Consumer = some[events.Consumer](t, "consumer", "assistant", "assistant", "tara", "metis", "admin", "support")
	q.Purpose = some[policy.Purpose](t, "purpose", "assist", "brief", "resume", "inspection", "dsar")
	q.Scope = scopes().Draw(t, "asked")
	q.Program = some(t, "in program", "", "atlas")
	q.TenantID = optional(t, "for tenant", "1")
	q.Query = some(t, "query", "", "metric units", "green tea")
	q.CrisisFrame = rapid.IntRange(0, 4).Draw(t, "frame") == 0
	q.SafetyCriticalContext = rapid.Bool().Draw(t, "critical")
	q.Contexts = rapid.SliceOfN(rapid.SampledFrom(contexts()), 0, 4).Draw(t, "contexts")
	if rapid.Bool().Draw(t, "narrowed") {
		q.ConsentedCategories = rapid.SliceOf(rapid.SampledFrom(events.Categories())).Draw(t, "consented")
	}
	for _, key := range events.ConsentKeys() {
		q.Consents[key] = some[events.ConsentState](t, "state", "granted", "granted", "granted", "granted", "withdrawn", "expired", "denied", "never")
	}
	return q
}

func encoded(t require.TestingT, result recall.Result) string {
	written, err := json.Marshal(result)
	require.NoError(t, err)
	return string(written)
}

func TestAnyOrderOfCandidatesGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, q := candidates(t), anyRequest(t)
		before := encoded(t, recall.Resolve(list, q, policy.Default(), noon()))
		shuffled := rapid.Permutation(list).Draw(t, "shuffled")
		require.Equal(t, before, encoded(t, recall.Resolve(shuffled, q, policy.Default(), noon())))
		require.Equal(t, before, encoded(t, recall.Resolve(list, q, policy.Default(), noon())), "the first recall changed its candidates")
	})
}

// What may never be said, checked on the answer alone and not by the code that gates it.
func TestNothingIsReturnedThatMayNotBe(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	rapid.Check(t, func(t *rapid.T) {
		list, q := candidates(t), anyRequest(t)
		got := recall.Resolve(list, q, p, noon())
		given := map[events.ID]recall.Candidate{}
		for _, c := range list {
			given[c.MemoryID] = c
		}
		for _, e := range got.Entries {
			c := given[e.MemoryID]
			require.Equal(t, "acme", c.Organisation)
			require.Equal(t, events.LifecycleActive, c.Lifecycle)
			require.Nil(t, c.ForgetAt)
			require.Empty(t, c.Derived)
			require.True(t, c.Suppression == nil || c.Suppression.EndsAt.Passed(noon()))
			require.True(t, c.TenantID == nil || q.TenantID != nil && *c.TenantID == *q.TenantID)
			require.NotContains(t, []events.ConsentState{"withdrawn", "expired", "denied"}, q.Consents["data_processing"])
			if q.CrisisFrame {
				require.True(t, c.Category == "safety" && q.SafetyCriticalContext)
			}
			if c.Tier == events.TierRole {
				require.Equal(t, policy.PurposeBrief, q.Purpose)
				continue
			}
			sensitive := c.MultiActor != nil && c.MultiActor.SensitiveInteraction
			if c.Category.Sensitive() || sensitive {
				for _, key := range p.RequiredConsents(adapterOf(c), c.Category, sensitive) {
					require.Equal(t, events.StateGranted, q.Consents[key], key)
				}
				require.True(t, q.ConsentedCategories == nil || slices.Contains(q.ConsentedCategories, c.Category))
				require.True(t, inContext(q, p.Contexts(c.Category, sensitive)))
			}
		}
	})
}

func adapterOf(c recall.Candidate) events.AdapterScope {
	if c.AdapterScope == "" {
		return events.DefaultAdapterScope(c.Scope.Kind)
	}
	return c.AdapterScope
}

func inContext(q recall.Request, relevant []policy.Context) bool {
	for _, c := range relevant {
		if slices.Contains(q.Contexts, c) || c == "safety" && q.SafetyCriticalContext || c == "crisis" && q.CrisisFrame {
			return true
		}
	}
	return false
}

func TestTheAnswerAddsUp(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	rapid.Check(t, func(t *rapid.T) {
		list, q := candidates(t), anyRequest(t)
		got := recall.Resolve(list, q, p, noon())
		surface := q.Surface
		if q.Purpose == policy.PurposeResume {
			surface = "shell"
		}
		require.LessOrEqual(t, len(got.Entries), p.Budget(surface).MaxEntries)
		require.Len(t, got.Verdicts, got.EvaluatedCount)
		require.Len(t, got.ReturnedIDs, len(got.Entries))
		require.Len(t, got.Dropped(), got.EvaluatedCount-len(got.Entries))
		suppressed, places := 0, map[string]bool{}
		for _, v := range got.Verdicts {
			if v.Stage <= 5 {
				suppressed++
			}
			require.Equal(t, slices.Contains(got.ReturnedIDs, v.MemoryID), v.Returned())
		}
		for _, n := range got.SuppressionCounts {
			suppressed -= n
		}
		require.Zero(t, suppressed, "every drop of a gate is counted once")
		for i, e := range got.Entries {
			require.True(t, i == 0 || got.Entries[i-1].Score >= e.Score, "nine digits each, so text compares as numbers do")
			require.NotEmpty(t, e.SurfaceRationale)
			require.NotNil(t, e.ProvenanceChain)
			require.False(t, e.MultiActor != nil && q.Surface == "admin" && q.Purpose != "dsar")
			if e.Subject != "" && e.MultiActor == nil && got.MultiActorRemoved == 0 {
				place := strings.Join([]string{string(e.Tier), e.Program, e.ScopeKey, string(e.Category), e.Subject}, "|")
				require.False(t, places[place], "two entries in conflict")
				places[place] = true
			}
		}
	})
}

// Less consent never opens a gate. (It can move up an entry that found no room or lost to one that is now withheld: such an
// entry had passed the gates before.)
func TestNarrowingConsentsOpensNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, wide := candidates(t), anyRequest(t)
		narrow := wide
		narrow.Consents = maps.Clone(wide.Consents)
		for _, key := range rapid.SliceOf(rapid.SampledFrom(events.ConsentKeys())).Draw(t, "taken") {
			if narrow.Consents[key] == events.StateGranted {
				narrow.Consents[key] = some[events.ConsentState](t, "to", "withdrawn", "expired", "denied", "never")
			}
		}
		if wide.ConsentedCategories == nil && rapid.Bool().Draw(t, "narrow") {
			narrow.ConsentedCategories = rapid.SliceOf(rapid.SampledFrom(events.Categories())).Draw(t, "left")
		}
		before, after := recall.Resolve(list, wide, policy.Default(), noon()), recall.Resolve(list, narrow, policy.Default(), noon())
		for i, v := range after.Verdicts {
			require.False(t, v.Stage > 5 && before.Verdicts[i].Stage <= 5, "%s: %s before, %s after", v.MemoryID, before.Verdicts[i].Reason, v.Reason)
		}
	})
}

// The rationale is shown beside a memory on two surfaces and recorded on all: it says nothing of what the memory says.
func TestRationaleNamesNoContent(t *testing.T) {
	t.Parallel()
	forbidden := map[string]bool{}
	for _, category := range events.Categories() {
		for _, word := range strings.Split(string(category), "_") {
			if word != "user" { // of religion_user_redacted
				forbidden[word] = true
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		c := candidate(t, "m")
		c.Lifecycle, c.ForgetAt, c.Suppression, c.Derived, c.Category, c.MultiActor = "active", nil, nil, "", "fact", nil
		c.Tier, c.Scope, c.AdapterScope, c.TenantID, c.Organisation, c.Program = "person", events.Scope{Kind: "profile"}, "", nil, "acme", ""
		q := request()
		q.Query = some(t, "query", "", "metric units", "green tea")
		got := recall.Resolve([]recall.Candidate{c}, q, policy.Default(), noon())
		require.Len(t, got.Entries, 1)
		for _, word := range recall.Tokens(got.Entries[0].SurfaceRationale) {
			require.False(t, forbidden[word], "a category word: %s", word)
			require.NotContains(t, []string{"green", "tea", "units", "metric", "city", "sibling"}, word)
		}
	})
}
