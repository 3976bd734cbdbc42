package policy

import (
	"math"

	"iris.example/iris/events"
)

// ClosedVersion is what a decision names that was made while nobody could read the policy in force. No policy may take it.
const ClosedVersion = "closed"

// Closed is what binds decisions while the policy in force can't be read (spec 8): before was the one ahead of it. It admits nothing,
// so that only what takes something back can be decided under it; where that needs a rule, it is the one under which the least
// stays: every purpose may have been required, no number of contributors suffices, and what was forgotten is kept no longer than before
// or the shipped policy says, whichever is less. The memory itself is hidden at once.
func Closed(before *Document) *Document {
	shipped := Default()
	closed := &Document{
		Version: ClosedVersion, Scopes: map[events.AdapterScope]ScopeRow{},
		Proposal:   ProposalRules{LapseDays: min(before.Proposal.LapseDays, shipped.Proposal.LapseDays)},
		Forget:     ForgetRules{GraceDays: min(before.Forget.GraceDays, shipped.Forget.GraceDays)},
		Membership: &LeavingRules{ForgetDays: min(int(before.MembershipForget()/day), int(shipped.MembershipForget()/day))},
		Role:       RoleRules{MinContributors: math.MaxInt}, PromotionThreshold: math.MaxInt,
	}
	for name := range shipped.Scopes {
		closed.Scopes[name] = closedRow()
	}
	return closed
}

// closedRow lets nobody in, requires all that a row can, and lets a member switch off whatever they want.
func closedRow() ScopeRow {
	row := ScopeRow{OptOutCategories: []string{"*"}, RequiresGovernanceReview: true, Retention: Retention{Rule: RetainDays}}
	for _, key := range events.ConsentKeys() {
		if key.Purpose() {
			row.RequiredConsents = append(row.RequiredConsents, key)
		}
	}
	return row
}
