package member

import (
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// narrows reports whether a command can only take away from what is remembered or may be said, as the book stands. Such a command is
// decided also while nobody can read the policy in force, under the closed one: a member withdraws and forgets at any time (GDPR
// art. 7(3), docs/decisions/closed-policy.md). A command that isn't named here waits until the policy is readable.
func narrows(s *State, c Command, env aggregates.Env) bool {
	switch c := c.(type) {
	case Decline, Forget, ForgetMany, Deny, Withdraw, EndSession:
		return true
	case Leave, TakeRole, TakeInspectionRole, Remove:
		return true
	case Change:
		return (c.Action == ActionNone || c.Action == ActionEnd) && len(c.Give) == 0
	case Pause:
		return s.restsLonger(c, env.Now)
	case OptOut:
		return !slices.ContainsFunc(s.OptOuts, func(standing events.OptOut) bool { return !slices.Contains(c.OptOuts, standing) })
	case ChangeSettings:
		return s.asksMore(c)
	}
	return false
}

// restsLonger: a pause with an end may also shorten the one that stands, or give an end to one that has none.
func (s *State) restsLonger(c Pause, now events.Time) bool {
	e := s.Entries[c.MemoryID]
	if e == nil || c.Until == nil {
		return true
	}
	standing := e.Suppressed(now)
	return e.Lifecycle != events.LifecyclePaused && (standing == nil || standing.EndsAt != nil && !c.Until.Before(standing.EndsAt.Time))
}

// asksMore: nothing is kept or proposed without asking that wasn't before.
func (s *State) asksMore(c ChangeSettings) bool {
	if c.ImplicitPromotion != nil && *c.ImplicitPromotion && !s.Settings.ImplicitPromotion {
		return false
	}
	if c.AutoKeep == nil {
		return true
	}
	for program, on := range *c.AutoKeep {
		if on && !s.Settings.AutoKeep[program] {
			return false
		}
	}
	return true
}
