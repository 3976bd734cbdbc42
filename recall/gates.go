package recall

import (
	"slices"

	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Reasons that the gates count beside the reasons of a suppression (spec 1.3, 3.1).
const (
	ReasonConsumerNotAllowed   = "consumer-not-allowed"
	ReasonScopeConsentMissing  = "scope-consent-missing"
	ReasonInjectionSuspected   = "injection-suspected"   // beside the nine stages (spec 1.7)
	ReasonOrganisationMismatch = "organisation-mismatch" // can't occur; the caller raises a critical alarm
	ReasonTenantMismatch       = "tenant-mismatch"
	ReasonScopeMismatch        = "scope-mismatch"
	ReasonCrisisFrame          = "crisis-frame"
	ReasonLifecyclePrefix      = "lifecycle-"
	ReasonWithoutConsent       = "sensitive-category-without-consent"
	ReasonOutsideContext       = "sensitive-category-outside-relevant-context"
)

// admits holds the request's row and the entry's own row of the governance table (spec 1.3). Role entries have no member scope,
// and so no row of their own (spec 3.4).
func (r *run) admits(c *Candidate) string {
	asked, ok := r.policy.ScopeOf(r.request.Scope.Kind, adapterOf(r.request.Scope, r.request.AdapterScope))
	if why := r.rowAdmits(asked, ok); why != "" {
		return why
	}
	if r.processingEnded(asked) {
		return ReasonScopeConsentMissing
	}
	if c.Tier == events.TierRole {
		return ""
	}
	return r.rowAdmits(r.policy.ScopeOf(c.Scope.Kind, adapterOf(c.Scope, c.AdapterScope)))
}

// unsuspected leaves out what the screening found when it was about to leave.
func (r *run) unsuspected(c *Candidate) string {
	if slices.Contains(r.request.Suspected, c.MemoryID) {
		return ReasonInjectionSuspected
	}
	return ""
}

func (r *run) rowAdmits(row policy.ScopeRow, ok bool) string {
	if !ok || !row.Allows(r.request.Consumer) {
		return ReasonConsumerNotAllowed
	}
	for _, key := range row.RequiredConsents {
		if !r.request.granted(key) {
			return ReasonScopeConsentMissing
		}
	}
	return ""
}

// processingEnded reports whether no recall answers at all: data_processing isn't granted (spec 2.2). Only a row that
// requires no consent (operator_copilot, given) answers for a member who never was asked; one who withdrew, denied or let it
// expire has answered.
func (r *run) processingEnded(asked policy.ScopeRow) bool {
	switch r.request.Consents[events.PurposeDataProcessing] {
	case events.StateGranted:
		return false
	case events.StateNever, "":
		return len(asked.RequiredConsents) > 0
	}
	return true
}

// withinTenant is stage 1: consumer memory passes for every request, a tenant's for that tenant's only.
func (r *run) withinTenant(c *Candidate) string {
	switch {
	case c.Organisation != r.request.Organisation:
		return ReasonOrganisationMismatch
	case c.TenantID == nil:
		return ""
	case r.request.TenantID == nil || *r.request.TenantID != *c.TenantID:
		return ReasonTenantMismatch
	}
	return ""
}

// reachable is stage 2.
func (r *run) reachable(c *Candidate) string {
	if c.Tier == events.TierRole || reaches(r.request.Scope, r.request.TenantID, c.Scope) {
		return ""
	}
	return ReasonScopeMismatch
}

// reaches is the table of spec 1.3, row by row: may a request of scope asked see an entry of scope kept?
func reaches(asked events.Scope, tenant *string, kept events.Scope) bool {
	crisis := asked.Kind == events.ScopeCrisis
	sameSession := asked.SessionID == kept.SessionID
	sameScene := sameSession && asked.SceneID == kept.SceneID
	switch kept.Kind {
	case events.ScopeProfile:
		inside := asked.Kind == events.ScopeSession || asked.Kind == events.ScopeScene || asked.Kind == events.ScopePose
		return crisis || inside || asked.Kind == events.ScopeProfile || asked.Kind == events.ScopeNotebook
	case events.ScopeSession:
		inside := asked.Kind == events.ScopeSession || asked.Kind == events.ScopeScene || asked.Kind == events.ScopePose
		return crisis || (inside && sameSession)
	case events.ScopeScene:
		inside := asked.Kind == events.ScopeScene || asked.Kind == events.ScopePose
		return crisis || (inside && sameScene)
	case events.ScopePose:
		return crisis || (asked.Kind == events.ScopePose && sameScene && asked.PoseID == kept.PoseID)
	case events.ScopeNotebook:
		return crisis || (asked.Kind == events.ScopeNotebook && asked.NotebookID == kept.NotebookID)
	case events.ScopeCrisis:
		return crisis
	case events.ScopeOperatorCopilot:
		return asked == kept
	case events.ScopeTenant:
		return asked == kept || (asked.Kind == events.ScopeNotebook && tenant != nil && *tenant == kept.TenantID)
	}
	return false
}

// crisisGate is stage 3: in a crisis frame nothing is said but what keeps the member safe, and that only when it is asked for.
func (r *run) crisisGate(c *Candidate) string {
	if !r.request.CrisisFrame || (c.Category == events.CategorySafety && r.request.SafetyCriticalContext) {
		return ""
	}
	return ReasonCrisisFrame
}

// unsuppressed is stage 4: the entry's own suppression first, then the derived one, then its lifecycle.
func (r *run) unsuppressed(c *Candidate) string {
	switch {
	case c.Suppression != nil && !c.Suppression.EndsAt.Passed(r.now):
		return string(c.Suppression.Reason)
	case c.Derived != "":
		return string(c.Derived)
	case c.Lifecycle != events.LifecycleActive:
		return ReasonLifecyclePrefix + string(c.Lifecycle)
	}
	return ""
}

// sensitiveGate is stage 5. Role entries never hold personal data, and there is nobody whose consent could be asked (spec 3.4).
func (r *run) sensitiveGate(c *Candidate) string {
	interaction := c.sensitiveInteraction()
	switch {
	case c.Tier == events.TierRole, !c.Category.Sensitive() && !interaction:
		return ""
	case !r.consented(c.Category):
		return ReasonWithoutConsent
	}
	for _, relevant := range r.policy.Contexts(c.Category, interaction) {
		if slices.Contains(r.contexts, relevant) {
			return ""
		}
	}
	return ReasonOutsideContext
}

func (r *run) consented(category events.Category) bool {
	narrowed := r.request.ConsentedCategories
	return r.request.granted(events.PurposeSensitiveData) && r.request.granted(events.ConsentKey(category)) &&
		(narrowed == nil || slices.Contains(narrowed, category))
}
