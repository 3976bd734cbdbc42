package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Whatever the policy before allowed, the closed one admits nobody and nothing, and keeps nothing longer than the two that are known.
func TestClosedAdmitsNothing(t *testing.T) {
	t.Parallel()
	shipped := policy.Default()
	closed := policy.Closed(shipped)
	require.Equal(t, "closed", closed.Version)
	require.Equal(t, shipped.ForgetGrace(), closed.ForgetGrace())
	require.Equal(t, shipped.MembershipForget(), closed.MembershipForget())
	for _, consumer := range []events.Consumer{events.ConsumerAssistant, events.ConsumerAdmin, events.ConsumerShell} {
		for _, surface := range []string{policy.SurfaceAssistant, policy.SurfaceShell, policy.SurfaceAdmin, "elsewhere"} {
			require.False(t, closed.AllowsSurface(consumer, surface))
			require.Zero(t, closed.Budget(surface).MaxEntries)
		}
		for scope := range shipped.Scopes {
			row, ok := closed.Scopes[scope]
			require.True(t, ok)
			require.False(t, row.Allows(consumer))
			require.False(t, row.HoldsTier(events.TierIndividual))
			require.True(t, row.MayOptOut(events.CategorySafety))
			require.Subset(t, row.RequiredConsents, shipped.Scopes[scope].RequiredConsents)
		}
	}
	for _, purpose := range []policy.Purpose{policy.PurposeAssist, policy.PurposeBrief, policy.PurposeInspection, policy.PurposeDSAR} {
		require.False(t, closed.AllowsPurpose(purpose))
	}
	_, err := policy.Parse(closed.Canonical())
	require.ErrorIs(t, err, policy.ErrInvalid, "nobody can apply it")
}

func TestClosedKeepsTheShorterTimes(t *testing.T) {
	t.Parallel()
	const day = 24
	for days, want := range map[string]float64{"7": 7, "365": 30} {
		before, err := policy.Parse([]byte(strings.Replace(string(policy.Default().Canonical()), `"graceDays":30`, `"graceDays":`+days, 1)))
		require.NoError(t, err)
		closed := policy.Closed(before)
		require.Equal(t, want*day, closed.ForgetGrace().Hours())
		require.Equal(t, closed, policy.Closed(closed), "one after the other")
	}
}
