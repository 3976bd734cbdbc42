package member

import (
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// Leaving is a membership that ended. Until ForgetAt the member can come back to all of it.
type Leaving struct{ At, ForgetAt events.Time }

type (
	// Join lets the member into a program, or back into it. Back says that there must be something to come back to.
	Join struct {
		Program string
		Back    bool
	}
	// Leave ends a membership: the program's own memory is forgotten after the policy's days (spec 1.5).
	Leave struct{ Program string }
	// GiveRole and TakeRole change which workbench roles the member holds.
	GiveRole struct{ Role string }
	TakeRole struct{ Role string }
	// GiveInspectionRole and TakeInspectionRole change which inspection roles the operator holds.
	GiveInspectionRole struct{ Role events.InspectionRole }
	TakeInspectionRole struct{ Role events.InspectionRole }
	// Remove ends the book: the user is gone. Nothing is decided in it afterwards.
	Remove struct{}
)

func (Join) KeysNeeded() int               { return 0 }
func (Leave) KeysNeeded() int              { return 0 }
func (GiveRole) KeysNeeded() int           { return 0 }
func (TakeRole) KeysNeeded() int           { return 0 }
func (GiveInspectionRole) KeysNeeded() int { return 0 }
func (TakeInspectionRole) KeysNeeded() int { return 0 }
func (Remove) KeysNeeded() int             { return 0 }

// belong decides about what has nothing to do with any one memory. False: the command is another's.
func belong(s *State, c Command, env aggregates.Env) ([]events.Event, bool, error) {
	var decided []events.Event
	var err error
	switch c := c.(type) {
	case Join:
		decided, err = join(s, c, env)
	case Leave:
		decided = leave(s, c, env)
	case GiveRole:
		decided, err = giveRole(s, c, env)
	case TakeRole:
		if _, held := s.Roles[c.Role]; held {
			decided = []events.Event{&events.RoleTaken{Role: c.Role}}
		}
	case GiveInspectionRole:
		decided, err = giveInspectionRole(s, c)
	case TakeInspectionRole:
		if _, held := s.InspectionRoles[string(c.Role)]; held {
			decided = []events.Event{&events.InspectionRoleTaken{Role: c.Role}}
		}
	case Change:
		decided, err = change(s, c, env)
	case Remove:
		decided = []events.Event{&events.MemberRemoved{MemberID: s.ID}}
	default:
		return nil, false, nil
	}
	return decided, true, err
}

func join(s *State, c Join, env aggregates.Env) ([]events.Event, error) {
	if !env.Defined.HasProgram(c.Program) {
		return nil, aggregates.Refuse("program_unknown", "spec 1.1")
	}
	_, in := s.Programs[c.Program]
	left, was := s.Left[c.Program]
	switch {
	case c.Back && !in && !was:
		return nil, aggregates.Refuse("membership_unknown", "spec 1.1")
	case in:
		return nil, nil
	case was && !left.ForgetAt.Passed(env.Now):
		return []events.Event{&events.MembershipResumed{Program: c.Program}}, nil
	}
	return []events.Event{&events.MembershipStarted{Program: c.Program}}, nil
}

func leave(s *State, c Leave, env aggregates.Env) []events.Event {
	if _, in := s.Programs[c.Program]; !in {
		return nil
	}
	return []events.Event{&events.MembershipEnded{Program: c.Program, ForgetAt: plus(env.Now, env.Policy.MembershipForget())}}
}

func giveRole(s *State, c GiveRole, env aggregates.Env) ([]events.Event, error) {
	if !env.Defined.HasRole(c.Role) {
		return nil, aggregates.Refuse("role_unknown", "spec 1.1")
	}
	if _, held := s.Roles[c.Role]; held {
		return nil, nil
	}
	return []events.Event{&events.RoleGiven{Role: c.Role}}, nil
}

func giveInspectionRole(s *State, c GiveInspectionRole) ([]events.Event, error) {
	if !c.Role.Valid() {
		return nil, aggregates.Refuse("role_unknown", "spec 6")
	}
	if _, held := s.InspectionRoles[string(c.Role)]; held {
		return nil, nil
	}
	return []events.Event{&events.InspectionRoleGiven{Role: c.Role}}, nil
}

// belongs applies an event about where the member belongs. Other events change nothing here.
func (s *State) belongs(r events.Recorded) {
	switch e := r.Event.(type) {
	case *events.MembershipStarted:
		s.Programs[e.Program] = r.RecordedAt
		delete(s.Left, e.Program) // what was forgotten by then stays forgotten: the entries say so themselves
	case *events.MembershipEnded:
		delete(s.Programs, e.Program)
		s.Left[e.Program] = Leaving{At: r.RecordedAt, ForgetAt: e.ForgetAt}
		s.goAway(e.Program, &e.ForgetAt)
	case *events.MembershipResumed:
		s.Programs[e.Program] = r.RecordedAt
		delete(s.Left, e.Program)
		s.comeBack(e.Program, r.RecordedAt)
	case *events.RoleGiven:
		s.Roles[e.Role] = r.RecordedAt
	case *events.RoleTaken:
		delete(s.Roles, e.Role)
	case *events.InspectionRoleGiven:
		s.InspectionRoles[string(e.Role)] = r.RecordedAt
	case *events.InspectionRoleTaken:
		delete(s.InspectionRoles, string(e.Role))
	case *events.MemberRemoved:
		s.Removed = true
	}
}

// goAway sets the instant at which what the member keeps in the program is forgotten. What an earlier leaving has set stands.
func (s *State) goAway(program string, at *events.Time) {
	for _, e := range s.Entries {
		if e.Tier == events.TierIndividual && e.Program == program && e.LeavesAt == nil {
			e.LeavesAt = at
		}
	}
}

// comeBack takes back what a leaving has set and time has not done yet.
func (s *State) comeBack(program string, now events.Time) {
	for _, e := range s.Entries {
		if e.Tier == events.TierIndividual && e.Program == program && !e.LeavesAt.Passed(now) {
			e.LeavesAt = nil
		}
	}
}

// In reports whether the member belongs to the program.
func (s *State) In(program string) bool {
	_, in := s.Programs[program]
	return in
}

// left reports whether the entry's program was left so long ago that the entry counts as forgotten (spec 1.5).
func (e *Entry) left(now events.Time) bool { return e.LeavesAt.Passed(now) }

// LeftBehind lists the entries that count as forgotten because their program was left, in no order.
func (s *State) LeftBehind(now events.Time) []events.ID {
	var ids []events.ID
	for id, e := range s.Entries {
		if e.left(now) {
			ids = append(ids, id)
		}
	}
	return ids
}

// forgottenFrom is what recall is told: an instant where the entry is softly forgotten, by whatever; nil where it isn't.
func (e *Entry) forgottenFrom(now events.Time) *events.Time {
	if e.ForgetAt == nil && e.left(now) {
		return e.LeavesAt
	}
	return e.ForgetAt
}

// Change is one line of a feed: where a member belongs and what they hold, in one commit.
type Change struct {
	Action     Action
	Program    string // of the action
	Give, Take []string
}

// Action is what a change does about a program.
type Action string

const (
	ActionNone   Action = ""
	ActionStart  Action = "start"
	ActionEnd    Action = "end"
	ActionResume Action = "resume"
)

func (Change) KeysNeeded() int { return 0 }

func change(s *State, c Change, env aggregates.Env) ([]events.Event, error) {
	var commands []Command
	switch c.Action {
	case ActionStart, ActionResume:
		commands = append(commands, Join{Program: c.Program, Back: c.Action == ActionResume})
	case ActionEnd:
		if !env.Defined.HasProgram(c.Program) {
			return nil, aggregates.Refuse("program_unknown", "spec 1.1")
		}
		commands = append(commands, Leave{Program: c.Program})
	}
	named := map[string]bool{}
	for n, role := range slices.Concat(c.Give, c.Take) {
		if named[role] {
			return nil, aggregates.Refuse("role_named_twice", "spec 1.1")
		}
		named[role] = true
		switch {
		case n < len(c.Give):
			commands = append(commands, GiveRole{Role: role})
		case !env.Defined.HasRole(role):
			return nil, aggregates.Refuse("role_unknown", "spec 1.1")
		default:
			commands = append(commands, TakeRole{Role: role})
		}
	}
	var all []events.Event
	for _, command := range commands { // each is about a thing of its own, so that none needs the state after another
		decided, _, err := belong(s, command, env)
		if err != nil {
			return nil, err
		}
		all = append(all, decided...)
	}
	return all, nil
}
