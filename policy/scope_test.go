package policy_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
)

var memberSurfaces = []events.Consumer{"assistant", "tara", "veritas", "nyx", "arete", "nisaba", "metis", "studio", "living-scene", "shell"}

func allConsumers() []events.Consumer {
	return append(append([]events.Consumer{}, memberSurfaces...), "admin", "support")
}

// The table of spec 1.3, written out once more by hand.
func TestScopeTable(t *testing.T) {
	t.Parallel()
	plus := func(list []events.Consumer, more ...events.Consumer) []events.Consumer {
		return append(append([]events.Consumer{}, list...), more...)
	}
	const days = 24 * time.Hour
	for _, row := range []struct {
		scope     events.AdapterScope
		consents  []events.ConsentKey
		optOutOf  int // how many of the twenty-nine
		tiers     []events.Tier
		admin     bool
		review    bool
		consumers []events.Consumer
		rule      policy.RetentionRule
		period    time.Duration
	}{
		{"assistant_profile", []events.ConsentKey{"data_processing", "data_storage"}, 28, []events.Tier{"individual", "person"}, true, false, plus(memberSurfaces, "admin"), "until-forgotten", 0},
		{"session", []events.ConsentKey{"data_processing"}, 28, []events.Tier{"individual"}, true, false, memberSurfaces, "after-close", 1 * days},
		{"scene", []events.ConsentKey{"data_processing", "data_storage"}, 28, []events.Tier{"individual"}, true, false, []events.Consumer{"living-scene", "assistant", "tara"}, "days", 30 * days},
		{"pose", []events.ConsentKey{"data_processing", "data_storage", "sensitive_data"}, 29, []events.Tier{"individual"}, true, true, []events.Consumer{"assistant", "tara", "studio", "admin"}, "days", 30 * days},
		{"conversation", []events.ConsentKey{"data_processing", "data_storage"}, 28, []events.Tier{"individual"}, true, false, memberSurfaces, "days", 90 * days},
		{"domain:veritas", []events.ConsentKey{"data_processing", "data_storage"}, 28, []events.Tier{"individual"}, true, false, []events.Consumer{"veritas", "assistant"}, "until-forgotten", 0},
		{"cross_domain", []events.ConsentKey{"data_processing", "data_storage", "cross_domain"}, 28, []events.Tier{"individual", "person"}, true, true, []events.Consumer{"assistant", "shell"}, "until-forgotten", 0},
		{"notebook", []events.ConsentKey{"data_processing", "data_storage"}, 28, []events.Tier{"individual"}, true, false, []events.Consumer{"nisaba", "metis", "assistant"}, "life-of-notebook", 0},
		{"operator_copilot", []events.ConsentKey{}, 0, []events.Tier{"individual"}, true, true, []events.Consumer{"admin", "support"}, "days", 90 * days},
		{"tenant", []events.ConsentKey{"data_processing"}, 0, []events.Tier{"individual"}, true, true, []events.Consumer{"metis", "nisaba", "admin"}, "life-of-tenant", 0},
		{"admin_review", []events.ConsentKey{}, 0, []events.Tier{"individual"}, false, true, []events.Consumer{"admin"}, "days", 30 * days},
	} {
		got, ok := policy.Default().Scope(row.scope)
		require.True(t, ok, row.scope)
		require.Equal(t, row.consents, got.RequiredConsents, row.scope)
		optOut := 0
		for _, category := range events.Categories() {
			if got.MayOptOut(category) {
				optOut++
			}
		}
		require.Equal(t, row.optOutOf, optOut, row.scope)
		require.Equal(t, row.optOutOf == 29, got.MayOptOut(events.CategorySafety), row.scope)
		require.Equal(t, row.tiers, got.CanonicalTiers, row.scope)
		require.Equal(t, row.admin, got.AdminReviewable, row.scope)
		require.Equal(t, row.review, got.RequiresGovernanceReview, row.scope)
		for _, consumer := range allConsumers() {
			require.Equal(t, contains(row.consumers, consumer), got.Allows(consumer), "%s %s", row.scope, consumer)
		}
		require.Equal(t, row.rule, got.Retention.Rule, row.scope)
		require.Equal(t, row.period, got.Retention.Period(), row.scope)
	}
}

func contains[T comparable](list []T, v T) bool {
	for _, have := range list {
		if have == v {
			return true
		}
	}
	return false
}

func TestScopeWithoutARow(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	for _, scope := range []events.AdapterScope{"", "profile", "domain", "domain:", "domain:admin", "domain:nobody", "pose:assistant"} {
		row, ok := p.Scope(scope)
		require.False(t, ok, scope)
		require.False(t, row.Allows(events.ConsumerAssistant), scope)
		require.Equal(t, events.ConsentKeys(), p.RequiredConsents(scope, events.CategoryFact, false), scope)
	}
	row, _ := p.Scope("domain:tara")
	require.False(t, row.Allows(policy.DomainConsumer))
}

func TestCrisisTakesTheRowOfSession(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	session, _ := p.ScopeOf(events.ScopeSession, events.AdapterSession)
	crisis, ok := p.ScopeOf(events.ScopeCrisis, events.AdapterSession)
	require.True(t, ok)
	require.False(t, session.RequiresGovernanceReview)
	require.True(t, crisis.RequiresGovernanceReview)
	require.Equal(t, 30*24*time.Hour, crisis.Retention.Period())
	require.Equal(t, session.AllowedConsumers, crisis.AllowedConsumers)
	_, ok = p.ScopeOf(events.ScopeProfile, events.AdapterSession)
	require.False(t, ok, "an adapter scope that is no view of the kind")
}

func TestRequiredConsents(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		scope    events.AdapterScope
		category events.Category
		third    bool
		want     []events.ConsentKey
	}{
		{"assistant_profile", "fact", false, []events.ConsentKey{"data_processing", "data_storage"}},
		{"assistant_profile", "medical", false, []events.ConsentKey{"data_processing", "data_storage", "sensitive_data", "medical"}},
		{"session", "relationship", true, []events.ConsentKey{"data_processing", "sensitive_data", "relationship"}},
		{"pose", "pose_alignment", true, []events.ConsentKey{"data_processing", "data_storage", "sensitive_data", "pose_alignment"}},
		{"operator_copilot", "fact", false, []events.ConsentKey{}},
		{"operator_copilot", "legal", false, []events.ConsentKey{"sensitive_data", "legal"}},
	} {
		require.Equal(t, c.want, policy.Default().RequiredConsents(c.scope, c.category, c.third), "%s %s", c.scope, c.category)
	}
}

// The table of spec 1.4, written out once more by hand.
func TestContexts(t *testing.T) {
	t.Parallel()
	want := map[events.Category][]policy.Context{
		"medical": {"health", "safety", "crisis"}, "mental_health": {"health", "safety", "crisis"},
		"physical_health": {"health", "safety", "crisis"}, "substance_use": {"health", "safety", "crisis"},
		"biometric": {"health", "identity", "safety"}, "pose_alignment": {"practice", "health", "safety"},
		"spiritual": {"spiritual", "identity", "practice"}, "religion_user_redacted": {"spiritual", "identity", "practice"},
		"sexual": {"sexuality", "health", "safety"}, "sexuality": {"identity", "sexuality", "safety", "crisis"},
		"gender_identity": {"identity", "safety", "crisis"}, "financial": {"financial", "safety"},
		"financial_distress": {"financial", "safety", "crisis"}, "legal": {"legal", "safety"},
		"legal_jeopardy": {"legal", "safety", "crisis"}, "immigration_status": {"legal", "safety", "crisis"},
		"safety": {"safety", "crisis"}, "abuse_history": {"safety", "crisis"}, "relationship_violence": {"safety", "crisis"},
	}
	p := policy.Default()
	for _, category := range events.Categories() {
		require.ElementsMatch(t, want[category], p.Contexts(category, false), category)
	}
	require.Equal(t, []policy.Context{"safety", "crisis"}, p.Contexts("family", true))
	require.Equal(t, []policy.Context{"financial", "safety", "crisis"}, p.Contexts("financial", true))
}

func TestBudgets(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	for surface, want := range map[string]policy.Budget{
		"assistant": {MaxEntries: 8}, "shell": {MaxEntries: 3}, "notebook": {MaxEntries: 12, RationaleVisible: true},
		"admin": {MaxEntries: 50, RationaleVisible: true}, "brief": {MaxEntries: 24},
		"": {MaxEntries: 3}, "somewhere-else": {MaxEntries: 3},
	} {
		require.Equal(t, want, p.Budget(surface), surface)
	}
}

func TestWhoMayNameASurface(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	named := map[string][]events.Consumer{
		"assistant": memberSurfaces, "shell": memberSurfaces, "brief": memberSurfaces, "somewhere-else": memberSurfaces,
		"notebook": {"nisaba", "metis", "assistant"}, "admin": {"admin"},
	}
	for surface, consumers := range named {
		for _, consumer := range append(allConsumers(), "nobody", "") {
			require.Equal(t, contains(consumers, consumer), p.AllowsSurface(consumer, surface), "%s %s", consumer, surface)
		}
	}
}

func TestDurations(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	require.Equal(t, 14*24*time.Hour, p.ProposalLapse())
	require.Equal(t, 30*24*time.Hour, p.ForgetGrace())
	require.Equal(t, 30*24*time.Hour, p.RecencyHalfLife())
	require.Equal(t, 3, p.PromotionThreshold)
	require.Equal(t, 1, p.Role.MinContributors)
	require.False(t, p.AutoKeep)
}

func TestPurposes(t *testing.T) {
	t.Parallel()
	p := policy.Default()
	for _, purpose := range []policy.Purpose{"assist", "brief", "resume", "inspection", "dsar"} {
		require.True(t, p.AllowsPurpose(purpose), purpose)
	}
	for _, purpose := range []policy.Purpose{"", "training", "tuning", "evaluation", "scoring"} {
		require.False(t, p.AllowsPurpose(purpose), purpose)
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	for text, units := range map[policy.Decimal]int64{"0": 0, "1": policy.One, "0.15": 150_000_000, "0.000000001": 1, "1.0": policy.One, "0.999999999": policy.One - 1} {
		got, ok := text.Units()
		require.True(t, ok, text)
		require.Equal(t, units, got, text)
	}
	for _, text := range []policy.Decimal{"", ".5", "0.", "01", "-0", "+1", "1.1", "2", "0.0000000001", "1e0", "0.+1", "0.1 ", "0,1"} {
		_, ok := text.Units()
		require.False(t, ok, text)
	}
	require.Equal(t, policy.Decimal("0.150000000"), policy.FromUnits(150_000_000))
	require.Equal(t, policy.Decimal("1.000000000"), policy.FromUnits(policy.One))
}
