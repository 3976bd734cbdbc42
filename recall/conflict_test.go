package recall_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/events"
	"iris.example/iris/recall"
)

const (
	stated    = events.OriginUserStated
	confirmed = events.OriginUserConfirmed
	inferred  = events.OriginModelInferred
	copilot   = events.OriginOperatorCopilot
)

// Every pair of source tiers in every order of time. "older" and "newer" say when a was written beside b; the winner is named
// by its letter (spec 1.6).
func TestConflictOfEveryPair(t *testing.T) {
	t.Parallel()
	const (
		never = recall.RuleAdminCopilotNeverTrumps
		expl  = recall.RuleExplicitTrumpsInferred
		conf  = recall.RuleConfirmedTrumpsInferred
		most  = recall.RuleMostRecentWins
	)
	for _, c := range []struct {
		a, b         events.Origin
		older, newer string
		rule         string
	}{
		{stated, stated, "b", "a", most},
		{stated, confirmed, "b", "a", most},
		{stated, inferred, "a", "a", expl},
		{stated, copilot, "a", "a", never},
		{confirmed, stated, "b", "a", most},
		{confirmed, confirmed, "b", "a", most},
		{confirmed, inferred, "a", "a", conf},
		{confirmed, copilot, "a", "a", never},
		{inferred, stated, "b", "b", expl},
		{inferred, confirmed, "b", "b", conf},
		{inferred, inferred, "b", "a", most},
		{inferred, copilot, "b", "a", most},
		{copilot, stated, "b", "b", never},
		{copilot, confirmed, "b", "b", never},
		{copilot, inferred, "b", "a", most},
		{copilot, copilot, "b", "a", most},
	} {
		b := recall.Claim{Origin: c.b, At: noon(), RevisionID: "m"}
		for _, when := range []struct {
			at   events.Time
			want string
		}{{noon().Plus(-time.Microsecond), c.older}, {noon().Plus(time.Microsecond), c.newer}} {
			winner, rule := recall.Conflict(recall.Claim{Origin: c.a, At: when.at, RevisionID: "m"}, b)
			require.Equal(t, when.want, []string{"a", "b"}[winner], "%s, %s", c.a, c.b)
			require.Equal(t, c.rule, rule, "%s, %s", c.a, c.b)
		}
		for id, want := range map[events.ID]string{"l": c.older, "n": c.newer} { // equal times: the revision id stands for the time
			winner, rule := recall.Conflict(recall.Claim{Origin: c.a, At: noon(), RevisionID: id}, b)
			require.Equal(t, want, []string{"a", "b"}[winner], "%s, %s", c.a, c.b)
			require.Equal(t, c.rule, rule, "%s, %s", c.a, c.b)
		}
	}
}

func TestSourceOfEveryOrigin(t *testing.T) {
	t.Parallel()
	for origin, want := range map[events.Origin]recall.Source{
		events.OriginUserStated: recall.SourceExplicitUser, events.OriginImported: recall.SourceExplicitUser,
		events.OriginUserConfirmed: recall.SourceUserConfirmed, events.OriginModelInferred: recall.SourceModelInferred,
		events.OriginSummarizedFromSession: recall.SourceModelInferred,
		events.OriginOperatorCopilot:       recall.SourceAdminCopilotInferred, "": recall.SourceAdminCopilotInferred,
	} {
		require.Equal(t, want, recall.SourceOf(origin), origin)
	}
}

func claims() *rapid.Generator[recall.Claim] {
	return rapid.Custom(func(t *rapid.T) recall.Claim {
		return recall.Claim{
			Origin:     rapid.SampledFrom([]events.Origin{stated, confirmed, inferred, copilot, "imported", "summarized-from-session"}).Draw(t, "origin"),
			At:         noon().Plus(time.Duration(rapid.IntRange(0, 2).Draw(t, "at")) * time.Microsecond),
			RevisionID: events.ID(rapid.SampledFrom([]string{"r1", "r2", "r3"}).Draw(t, "revision")),
		}
	})
}

// The order is total: what two calls say fits together, so that a group has one winner whichever way it is gone through.
func TestConflictIsATotalOrder(t *testing.T) {
	t.Parallel()
	beats := func(a, b recall.Claim) bool {
		winner, _ := recall.Conflict(a, b)
		return winner == 0
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := claims().Draw(t, "a"), claims().Draw(t, "b"), claims().Draw(t, "c")
		if a.RevisionID != b.RevisionID {
			require.NotEqual(t, beats(a, b), beats(b, a))
			_, rule := recall.Conflict(a, b)
			_, mirrored := recall.Conflict(b, a)
			require.Equal(t, rule, mirrored)
		}
		if beats(a, b) && beats(b, c) && a.RevisionID != b.RevisionID && b.RevisionID != c.RevisionID && a.RevisionID != c.RevisionID {
			require.True(t, beats(a, c))
		}
	})
}

func TestConflictKey(t *testing.T) {
	t.Parallel()
	require.Equal(t, "preference::::units", recall.ConflictKey("preference", "", "units"))
	require.Equal(t, "family::sibling::birthday", recall.ConflictKey("family", "sibling", "birthday"))
	require.Empty(t, recall.ConflictKey("family", "sibling", ""))
	require.NotEqual(t, recall.ConflictKey("family", "a::b", "c"), recall.ConflictKey("family", "a", "b::c"))
	require.NotEqual(t, recall.ConflictKey("family", `a\`, "b"), recall.ConflictKey("family", "a", `\b`))
}
