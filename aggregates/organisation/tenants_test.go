package organisation_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/aggregates/session"
	"iris.example/iris/events"
	"iris.example/iris/policy"
)

func TestRolesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{}, organisation.DefineRole{Role: "reviewer"})
	require.True(t, s.HasRole("reviewer"))
	for _, taken := range []string{"support", "admin", "trust-and-safety", "legal"} {
		refused(t, s, organisation.DefineRole{Role: taken}, "role_reserved")
		require.False(t, s.HasRole(taken))
	}
	decided, err := organisation.Decide(s, organisation.DefineRole{Role: "reviewer"}, aggregates.Env{})
	require.NoError(t, err)
	require.Empty(t, decided)
}

// Whatever was said in whatever order, a tenant is as was said last, and one that is shut stays shut until its cause is gone.
func TestATenantIsWhatWasSaidLast(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := fold(t, organisation.Initial("acme"), organisation.Found{}, organisation.DefineTenant{Tenant: "north"})
		quarantined, removed := false, false
		for range rapid.IntRange(0, 20).Draw(rt, "commands") {
			var c organisation.Command
			switch rapid.IntRange(0, 3).Draw(rt, "command") {
			case 0:
				c, removed = organisation.DefineTenant{Tenant: "north"}, false
			case 1:
				c, removed = organisation.RemoveTenant{Tenant: "north"}, true
			case 2:
				c, quarantined = organisation.Quarantine{Tenant: "north"}, true
			case 3:
				c, quarantined = organisation.Release{Tenant: "north"}, false
			}
			s = fold(t, s, c)
			decided, err := organisation.Decide(s, c, aggregates.Env{})
			require.NoError(rt, err)
			require.Empty(rt, decided, "what is so already yields nothing")
		}
		require.Equal(rt, organisation.Tenant{Quarantined: quarantined, Removed: removed}, s.Tenants["north"])
		require.Equal(rt, quarantined || removed, s.Shut("north"))
	})
	s := fold(t, organisation.Initial("acme"), organisation.Found{})
	for _, c := range []organisation.Command{organisation.RemoveTenant{Tenant: "south"}, organisation.Quarantine{Tenant: "south"}, organisation.Release{Tenant: "south"}} {
		refused(t, s, c, "tenant_unknown")
	}
	require.Empty(t, s.Suppression(nil), "what belongs to no tenant is nobody's to quarantine")
}

func TestARemovedClientStaysKnown(t *testing.T) {
	t.Parallel()
	s := fold(t, organisation.Initial("acme"), organisation.Found{},
		organisation.RegisterClient{Client: "app", Consumers: []events.Consumer{events.ConsumerAssistant}})
	require.True(t, s.ActsAs("app", events.ConsumerAssistant))
	s = fold(t, s, organisation.RemoveClient{Client: "app"}, organisation.RemoveClient{Client: "app"})
	require.False(t, s.ActsAs("app", events.ConsumerAssistant))
	_, known := s.Clients["app"]
	require.True(t, known, "an assistant's hand never becomes a member's own")
	refused(t, s, organisation.RemoveClient{Client: "nobody"}, "client_unknown")
}

func TestAPolicyNamesOneDocument(t *testing.T) {
	t.Parallel()
	shipped := string(policy.Default().Canonical())
	version := func(v, days string) []byte {
		return []byte(strings.NewReplacer(`"version":"1"`, `"version":"`+v+`"`, `"lapseDays":14`, `"lapseDays":`+days).Replace(shipped))
	}
	s := fold(t, organisation.Initial("acme"), organisation.Found{})
	refused(t, s, organisation.ApplyPolicy{Document: version("1", "7")}, "policy_version_taken")
	s = fold(t, s, organisation.ApplyPolicy{Document: version("2", "7")})
	require.Equal(t, "2", s.Policy.Version)
	require.Equal(t, 7, s.Policy.Proposal.LapseDays)
	refused(t, s, organisation.ApplyPolicy{Document: version("2", "8")}, "policy_version_taken")
	s = fold(t, s, organisation.ApplyPolicy{Document: []byte(shipped)}) // back to what was shipped
	require.Equal(t, "1", s.Policy.Version)

	_, err := organisation.Decide(s, organisation.ApplyPolicy{Document: []byte(strings.Replace(shipped, `"IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD":3`, `"IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD":2`, 1))}, aggregates.Env{})
	var refusal *policy.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, policy.CodeWeakens, refusal.Problems[0].Code)
	require.Equal(t, "/IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD", refusal.Problems[0].Pointer)
}

// A stored policy that can't be read leaves none in force: nothing is decided by the one before it, and applying one mends it.
func TestAPolicyThatCannotBeReadLeavesNoneInForce(t *testing.T) {
	t.Parallel()
	founded := fold(t, organisation.Initial("acme"), organisation.Found{}, register("U1", true), organisation.DefineTenant{Tenant: "north"},
		organisation.RegisterClient{Client: "app", Consumers: []events.Consumer{events.ConsumerAssistant}})
	require.NoError(t, founded.Readable())
	s := organisation.Evolve(founded, events.Recorded{Event: &events.PolicyApplied{Version: "2", SHA256: "00", Document: []byte(`{"version":"2","later":true}`)}})
	refusal, ok := aggregates.AsRefusal(s.Readable())
	require.True(t, ok)
	require.Equal(t, "policy_unreadable", refusal.Code)
	for _, c := range []organisation.Command{organisation.DefineRole{Role: "reviewer"}, organisation.DefineTenant{Tenant: "south"}, organisation.RegisterClient{Client: "app"}} {
		refused(t, s, c, "policy_unreadable")
	}
	require.Equal(t, policy.ClosedVersion, s.Policy.Version)
	require.Empty(t, s.PolicySHA256)
	require.Empty(t, fold(t, s, organisation.RevokeProducer{Name: "notes"}, organisation.RemoveClient{Client: "app"}).Claimants(), "cut off at any time")
	require.True(t, fold(t, s, organisation.Quarantine{Tenant: "north"}).Shut("north"))
	require.True(t, fold(t, s, organisation.RemoveTenant{Tenant: "north"}).Shut("north"))
	refused(t, s, organisation.Release{Tenant: "north"}, "policy_unreadable")
	refused(t, s, organisation.ApplyPolicy{Document: []byte(strings.Replace(string(policy.Default().Canonical()), `"version":"1"`, `"version":"closed"`, 1))}, "policy_version_taken")
	env := aggregates.Env{Defined: s}
	_, err := member.Decide(member.Initial("acme", "m-1"), member.Register{}, env)
	require.Equal(t, s.Readable(), err)
	_, err = session.Decide(session.Initial("s-1"), session.Open{}, env)
	require.Equal(t, s.Readable(), err)
	_, err = rolememory.Decide(rolememory.Initial("acme", "reviewer"), rolememory.Accept{}, env)
	require.Equal(t, s.Readable(), err)

	shipped := policy.Default().Canonical() // the one before, which is what the state holds
	mended := fold(t, s, organisation.ApplyPolicy{Document: shipped})
	require.NoError(t, mended.Readable())
	fold(t, mended, organisation.DefineRole{Role: "reviewer"})
}
