package policy

import (
	"slices"
	"strings"
	"time"

	"iris.example/iris/events"
)

// DomainConsumer stands in the domain row for the surface that the scope domain:<consumer> names.
const DomainConsumer events.Consumer = "$domain"

// ScopeRow is one row of the governance table (spec 1.3).
type ScopeRow struct {
	RequiredConsents         []events.ConsentKey `json:"requiredConsents"`
	OptOutCategories         []string            `json:"optOutCategories"` // names; "*" is every one, "!name" takes one out again
	CanonicalTiers           []events.Tier       `json:"canonicalTiers"`
	AdminReviewable          bool                `json:"adminReviewable"`
	RequiresGovernanceReview bool                `json:"requiresGovernanceReview"`
	AllowedConsumers         []events.Consumer   `json:"allowedConsumers"`
	Retention                Retention           `json:"retention"`
}

// CrisisOverlay is what a crisis scope changes in the row of session, which it takes otherwise (spec 1.3, chosen).
type CrisisOverlay struct {
	RequiresGovernanceReview bool      `json:"requiresGovernanceReview"`
	Retention                Retention `json:"retention"`
}

// Retention says what ends an entry of the scope when nobody forgets it (spec 1.3, 5.1). Days is 0 but under days and
// after-close.
type Retention struct {
	Rule RetentionRule `json:"rule"`
	Days int           `json:"days"`
}

// RetentionRule names the event, or the age, at which retention ends.
type RetentionRule string

const (
	RetainUntilForgotten RetentionRule = "until-forgotten"
	RetainDays           RetentionRule = "days"        // after the entry was made
	RetainAfterClose     RetentionRule = "after-close" // of the entry's session
	RetainNotebook       RetentionRule = "life-of-notebook"
	RetainTenant         RetentionRule = "life-of-tenant"
)

// Timed reports whether the rule counts days.
func (r RetentionRule) Timed() bool { return r == RetainDays || r == RetainAfterClose }

// Valid reports whether r is one of the five rules.
func (r RetentionRule) Valid() bool {
	return r.Timed() || r == RetainUntilForgotten || r == RetainNotebook || r == RetainTenant
}

// Period is how long the rule waits after the instant it counts from; zero when it counts nothing.
func (r Retention) Period() time.Duration { return time.Duration(r.Days) * day }

// Scope returns the row that governs the adapter scope. domain:<consumer> gets the domain row with that consumer written in;
// a bare domain, or one that names no member surface, has no row.
func (d *Document) Scope(scope events.AdapterScope) (ScopeRow, bool) {
	if scope.Kind() == "" {
		return ScopeRow{}, false
	}
	name, consumer := scope.Split()
	row, ok := d.Scopes[name]
	if !ok || name != events.AdapterDomain {
		return row, ok
	}
	row.AllowedConsumers = slices.Clone(row.AllowedConsumers)
	for i, c := range row.AllowedConsumers {
		if c == DomainConsumer {
			row.AllowedConsumers[i] = consumer
		}
	}
	return row, true
}

// ScopeOf is Scope for an entry or request of the canonical kind: crisis lays its own review and retention over the row.
func (d *Document) ScopeOf(kind events.ScopeKind, scope events.AdapterScope) (ScopeRow, bool) {
	if !scope.Fits(kind) {
		return ScopeRow{}, false
	}
	row, ok := d.Scope(scope)
	if ok && kind == events.ScopeCrisis {
		row.RequiresGovernanceReview = d.Crisis.RequiresGovernanceReview
		row.Retention = d.Crisis.Retention
	}
	return row, ok
}

// Allows reports whether the consumer may ask for memory of this row.
func (r ScopeRow) Allows(c events.Consumer) bool {
	return c.Valid() && slices.Contains(r.AllowedConsumers, c)
}

// HoldsTier reports whether entries of tier t may carry this row's scope.
func (r ScopeRow) HoldsTier(t events.Tier) bool { return slices.Contains(r.CanonicalTiers, t) }

// MayOptOut reports whether a member can switch the category off in this row's scope (spec 1.8).
func (r ScopeRow) MayOptOut(c events.Category) bool {
	out := false
	for _, pattern := range r.OptOutCategories {
		excluded, negative := strings.CutPrefix(pattern, "!")
		switch {
		case negative && excluded == string(c):
			return false
		case pattern == "*" || pattern == string(c):
			out = true
		}
	}
	return out
}

// RequiredConsents lists what has to be granted before a memory of this scope and category is kept or said back (spec 2.2):
// the row's purposes, and for a sensitive category or interaction also sensitive_data and the category. In order, each once.
// A scope without a row requires every key there is, which nobody holds.
func (d *Document) RequiredConsents(scope events.AdapterScope, category events.Category, sensitiveInteraction bool) []events.ConsentKey {
	row, ok := d.Scope(scope)
	if !ok {
		return events.ConsentKeys()
	}
	keys := slices.Clone(row.RequiredConsents)
	if !category.Sensitive() && !sensitiveInteraction {
		return keys
	}
	for _, key := range []events.ConsentKey{events.PurposeSensitiveData, events.ConsentKey(category)} {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Contexts lists what makes a memory of this category relevant (spec 1.4); an ordinary category without a sensitive
// interaction needs none, and gets none.
func (d *Document) Contexts(category events.Category, sensitiveInteraction bool) []Context {
	contexts := slices.Clone(d.SensitiveContexts[category])
	if !sensitiveInteraction {
		return contexts
	}
	for _, c := range d.MultiActorContexts {
		if !slices.Contains(contexts, c) {
			contexts = append(contexts, c)
		}
	}
	return contexts
}

// Budget is what the surface gets; one that the policy doesn't know gets shell's (spec 3.1, given).
func (d *Document) Budget(surface string) Budget {
	if b, ok := d.Budgets[surface]; ok {
		return b
	}
	return d.Budgets[SurfaceShell]
}

// AllowsSurface reports whether the consumer may name the surface (spec 3.1). A surface that the policy doesn't know is
// served as shell, and so may be named by who may name shell.
func (d *Document) AllowsSurface(consumer events.Consumer, surface string) bool {
	named, ok := d.Surfaces[surface]
	if !ok {
		named = d.Surfaces[SurfaceShell]
	}
	return consumer.Valid() && slices.Contains(named, consumer)
}

// AllowsPurpose reports whether a recall may be made for the purpose.
func (d *Document) AllowsPurpose(purpose Purpose) bool { return slices.Contains(d.Purposes, purpose) }

// SurfaceName is a surface as it may stand in clear: one that the policy doesn't know can be any word that a caller wrote.
func SurfaceName(surface string) string {
	switch surface {
	case SurfaceAssistant, SurfaceShell, SurfaceNotebook, SurfaceAdmin, SurfaceBrief:
		return surface
	}
	return "unlisted"
}
