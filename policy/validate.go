package policy

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"iris.example/iris/events"
)

// Bounds that keep a typing error from becoming a policy. They are no rules of the domain.
const (
	maxDays    = 3650
	maxEntries = 200
	maxCount   = 1000
)

type checker struct{ problems []Problem }

func (c *checker) add(code, pointer, format string, args ...any) {
	c.problems = append(c.problems, Problem{code, pointer, fmt.Sprintf(format, args...)})
}

// invalid notes a value that nothing could work with, unless ok.
func (c *checker) invalid(ok bool, pointer, format string, args ...any) {
	if !ok {
		c.add(CodeInvalid, pointer, format, args...)
	}
}

// given notes a given rule made weaker, unless it is kept.
func (c *checker) given(kept bool, pointer, format string, args ...any) {
	if !kept {
		c.add(CodeWeakens, pointer, format, args...)
	}
}

// validate goes through the document from top to bottom.
func validate(d *Document) []Problem {
	c := &checker{}
	c.invalid(versionForm().MatchString(d.Version), "/version", "must be 1 to 64 letters, digits, dots, dashes or underscores")
	checkScopes(c, d)
	checkContexts(c, d)
	checkBudgets(c, d)
	checkRanker(c, d)
	checkSurfaces(c, d)
	checkPurposes(c, d)
	checkBooks(c, d)
	return c.problems
}

func versionForm() *regexp.Regexp { return regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._-]{0,63}$`) }

func surfaceForm() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9-]{0,63}$`) }

func adapterScopes() []events.AdapterScope {
	return []events.AdapterScope{
		events.AdapterAssistantProfile, events.AdapterSession, events.AdapterScene, events.AdapterPose,
		events.AdapterConversation, events.AdapterDomain, events.AdapterCrossDomain, events.AdapterNotebook,
		events.AdapterOperatorCopilot, events.AdapterTenant, events.AdapterAdminReview,
	}
}

func checkScopes(c *checker, d *Document) {
	for _, name := range sortedKeys(d.Scopes) {
		c.invalid(slices.Contains(adapterScopes(), name), "/scopes/"+escape(string(name)), "not one of the eleven adapter scopes")
	}
	for _, name := range adapterScopes() {
		row, ok := d.Scopes[name]
		c.invalid(ok, "/scopes/"+string(name), "missing")
		if ok {
			checkRow(c, "/scopes/"+string(name), name, row)
		}
	}
	checkGivenRows(c, d)
	checkRetention(c, "/crisis/retention", d.Crisis.Retention)
}

func checkRow(c *checker, at string, name events.AdapterScope, row ScopeRow) {
	for i, key := range row.RequiredConsents {
		c.invalid(key.Purpose(), item(at+"/requiredConsents", i), "not a purpose")
	}
	for i, pattern := range row.OptOutCategories {
		category := events.Category(strings.TrimPrefix(pattern, "!"))
		c.invalid(pattern == "*" || category.Valid(), item(at+"/optOutCategories", i), "not a category, * or !category")
	}
	c.invalid(len(row.CanonicalTiers) > 0, at+"/canonicalTiers", "names no tier")
	for i, tier := range row.CanonicalTiers {
		c.invalid(tier == events.TierIndividual || tier == events.TierPerson, item(at+"/canonicalTiers", i),
			"a member's scope holds the tiers individual and person")
	}
	for i, consumer := range row.AllowedConsumers {
		known := consumer.Valid() || (consumer == DomainConsumer && name == events.AdapterDomain)
		c.invalid(known, item(at+"/allowedConsumers", i), "not a consumer")
	}
	noRepeats(c, at+"/requiredConsents", row.RequiredConsents)
	noRepeats(c, at+"/optOutCategories", row.OptOutCategories)
	noRepeats(c, at+"/canonicalTiers", row.CanonicalTiers)
	noRepeats(c, at+"/allowedConsumers", row.AllowedConsumers)
	checkRetention(c, at+"/retention", row.Retention)
}

// checkGivenRows holds the bold cells of the table of spec 1.3.
func checkGivenRows(c *checker, d *Document) {
	pose := d.Scopes[events.AdapterPose]
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage, events.PurposeSensitiveData} {
		c.given(slices.Contains(pose.RequiredConsents, key), "/scopes/pose/requiredConsents", "pose memory requires %s (spec 1.3)", key)
	}
	reviewed := []events.AdapterScope{events.AdapterPose, events.AdapterOperatorCopilot, events.AdapterTenant}
	for _, name := range reviewed {
		c.given(d.Scopes[name].RequiresGovernanceReview, "/scopes/"+string(name)+"/requiresGovernanceReview",
			"%s memory requires a governance review (spec 1.3)", name)
	}
	onlyConsumers(c, "/scopes/pose/allowedConsumers", pose.AllowedConsumers,
		events.ConsumerAssistant, events.ConsumerTara, events.ConsumerStudio, events.ConsumerAdmin)
	onlyConsumers(c, "/scopes/operator_copilot/allowedConsumers", d.Scopes[events.AdapterOperatorCopilot].AllowedConsumers,
		events.ConsumerAdmin, events.ConsumerSupport)
	c.given(!d.Scopes[events.AdapterTenant].HoldsTier(events.TierPerson), "/scopes/tenant/canonicalTiers",
		"tenant memory is never blended into profile memory, so never of tier person (spec 1.3)")
}

func onlyConsumers(c *checker, at string, named []events.Consumer, admitted ...events.Consumer) {
	for i, consumer := range named {
		c.given(slices.Contains(admitted, consumer), item(at, i), "%s is not among the given consumers %s (spec 1.3)", consumer, admitted)
	}
}

func checkRetention(c *checker, at string, r Retention) {
	c.invalid(r.Rule.Valid(), at+"/rule", "not a retention rule")
	if r.Rule.Timed() {
		between(c, at+"/days", r.Days, 1, maxDays)
		return
	}
	c.invalid(r.Days == 0, at+"/days", "must be 0 under a rule that counts no days")
}

func checkContexts(c *checker, d *Document) {
	for _, category := range sortedKeys(d.SensitiveContexts) {
		c.invalid(category.Sensitive(), "/sensitiveContexts/"+escape(string(category)), "not a sensitive category")
	}
	for _, category := range events.Categories() {
		at := "/sensitiveContexts/" + string(category)
		if category.Sensitive() {
			c.given(len(d.SensitiveContexts[category]) > 0, at, "a sensitive category is recalled in a relevant context only and so has at least one (spec 1.4)")
			validContexts(c, at, d.SensitiveContexts[category])
		}
	}
	c.invalid(len(d.MultiActorContexts) > 0, "/multiActorContexts", "a sensitive interaction has at least one relevant context")
	validContexts(c, "/multiActorContexts", d.MultiActorContexts)

	onlyContexts(c, d, events.CategoryMedical, ContextHealth, ContextSafety, ContextCrisis)
	onlyContexts(c, d, events.CategoryMentalHealth, ContextHealth, ContextSafety, ContextCrisis)
	onlyContexts(c, d, events.CategoryGenderIdentity, ContextIdentity, ContextSafety, ContextCrisis)
}

func validContexts(c *checker, at string, contexts []Context) {
	for i, context := range contexts {
		c.invalid(context.Valid(), item(at, i), "not a context")
	}
	noRepeats(c, at, contexts)
}

func onlyContexts(c *checker, d *Document, category events.Category, admitted ...Context) {
	at := "/sensitiveContexts/" + string(category)
	for i, context := range d.SensitiveContexts[category] {
		c.given(slices.Contains(admitted, context), item(at, i), "%s is not among the given contexts %s (spec 1.4)", context, admitted)
	}
}

func checkBudgets(c *checker, d *Document) {
	for _, surface := range []string{SurfaceAssistant, SurfaceShell, SurfaceNotebook, SurfaceAdmin, SurfaceBrief} {
		_, ok := d.Budgets[surface]
		c.invalid(ok, "/DEFAULT_BUDGETS/"+surface, "missing")
	}
	for _, surface := range sortedKeys(d.Budgets) {
		at, budget := "/DEFAULT_BUDGETS/"+escape(surface), d.Budgets[surface]
		c.invalid(surfaceForm().MatchString(surface), at, "a surface is named by up to 64 lower-case letters, digits and dashes")
		between(c, at+"/maxEntries", budget.MaxEntries, 0, maxEntries)
		shown := surface == SurfaceNotebook || surface == SurfaceAdmin
		c.given(budget.RationaleVisible == shown, at+"/rationaleVisible", "the rationale is shown on notebook and admin, and nowhere else (spec 3.1)")
	}
	c.given(d.Budgets[SurfaceShell].MaxEntries <= 3, "/DEFAULT_BUDGETS/shell/maxEntries", "shell gets at most 3 entries (spec 3.1)")
}

func checkRanker(c *checker, d *Document) {
	sum, ok := int64(0), true
	for _, w := range []Decimal{d.Weights.Recency, d.Weights.Semantic, d.Weights.References, d.Weights.Origin} {
		units, valid := w.Units()
		sum, ok = sum+units, ok && valid
	}
	c.invalid(ok, "/DEFAULT_WEIGHTS", "each must be a decimal string from 0 to 1 with at most nine fractional digits")
	c.invalid(!ok || sum == One, "/DEFAULT_WEIGHTS", "sum to %s, must sum to exactly 1", FromUnits(sum))
	c.invalid(d.Ranker.Scorer == ScorerJaccard, "/ranker/scorer", "must be %s", ScorerJaccard)
	c.given(d.Ranker.RecencyHalfLifeDays == 30, "/ranker/recencyHalfLifeDays", "the half-life is 30 days (spec 3.2)")
	between(c, "/ranker/referencesHalf", d.Ranker.ReferencesHalf, 1, maxCount)
	checkOrigins(c, d.Ranker.OriginFactors)
}

func origins() []events.Origin {
	return []events.Origin{
		events.OriginUserStated, events.OriginUserConfirmed, events.OriginImported, events.OriginSummarizedFromSession,
		events.OriginModelInferred, events.OriginOperatorCopilot,
	}
}

func checkOrigins(c *checker, factors map[events.Origin]Decimal) {
	for _, origin := range sortedKeys(factors) {
		at := "/ranker/originFactors/" + escape(string(origin))
		c.invalid(slices.Contains(origins(), origin), at, "not an origin")
		_, ok := factors[origin].Units()
		c.invalid(ok, at, "must be a decimal string from 0 to 1 with at most nine fractional digits")
	}
	for _, origin := range origins() {
		_, ok := factors[origin]
		c.invalid(ok, "/ranker/originFactors/"+string(origin), "missing")
	}
}

func checkSurfaces(c *checker, d *Document) {
	for _, surface := range sortedKeys(d.Surfaces) {
		at := "/surfaces/" + escape(surface)
		_, budgeted := d.Budgets[surface]
		c.invalid(budgeted, at, "has no budget in DEFAULT_BUDGETS")
		for i, consumer := range d.Surfaces[surface] {
			c.invalid(consumer.Valid(), item(at, i), "not a consumer")
			c.given(surface != SurfaceAdmin || !consumer.MemberSurface(), item(at, i),
				"the surface admin is for inspections, %s is a member surface (spec 3.1)", consumer)
		}
		noRepeats(c, at, d.Surfaces[surface])
	}
	for _, surface := range sortedKeys(d.Budgets) {
		_, ok := d.Surfaces[surface]
		c.invalid(ok, "/surfaces/"+escape(surface), "missing: nothing says who may name the surface")
	}
}

func checkPurposes(c *checker, d *Document) {
	c.invalid(len(d.Purposes) > 0, "/purposes", "names no purpose")
	admitted := []Purpose{PurposeAssist, PurposeBrief, PurposeResume, PurposeInspection, PurposeDSAR}
	for i, purpose := range d.Purposes {
		c.given(slices.Contains(admitted, purpose), item("/purposes", i), "%q is not among the given purposes %s (spec 3.1)", purpose, admitted)
	}
	noRepeats(c, "/purposes", d.Purposes)
}

func checkBooks(c *checker, d *Document) {
	between(c, "/proposal/lapseDays", d.Proposal.LapseDays, 1, maxDays)
	between(c, "/forget/graceDays", d.Forget.GraceDays, 1, maxDays)
	if d.Membership != nil {
		c.invalid(d.Membership.ForgetDays >= 1, "/membership/forgetDays", "must be at least 1")
		c.given(d.Membership.ForgetDays <= givenForgetDays, "/membership/forgetDays", "what a member kept in a program is forgotten at the latest 90 days after leaving it (spec 1.5)")
	}
	between(c, "/role/minContributors", d.Role.MinContributors, 1, maxCount)
	c.given(d.PromotionThreshold >= 3, "/IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD", "an implicit fact recurs at least 3 times before it is offered (spec 1.5)")
	c.invalid(d.PromotionThreshold <= maxCount, "/IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD", "must be at most %d", maxCount)
	c.given(!d.AutoKeep, "/USER_SETTING_MEMORY_AUTOKEEP", "auto-keep is a member's opt-in and off by default (spec 1.5)")
}

func between(c *checker, at string, n, low, high int) {
	c.invalid(n >= low && n <= high, at, "must be %d to %d", low, high)
}

func noRepeats[T comparable](c *checker, at string, list []T) {
	for i, v := range list {
		c.invalid(!slices.Contains(list[:i], v), item(at, i), "named twice")
	}
}

func item(at string, i int) string { return at + "/" + strconv.Itoa(i) }
