package events

// Where a member belongs and what they hold, in the member's own book (spec 1.1, 9.2): a role is held and lost by these events,
// never by a token's claim.

const (
	TypeMembershipEnded     Type = "iris.membership.ended.v1"
	TypeMembershipResumed   Type = "iris.membership.resumed.v1"
	TypeRoleGiven           Type = "iris.role.given.v1"
	TypeRoleTaken           Type = "iris.role.taken.v1"
	TypeInspectionRoleGiven Type = "iris.inspection-role.given.v1"
	TypeInspectionRoleTaken Type = "iris.inspection-role.taken.v1"
	TypeMemberRemoved       Type = "iris.member.removed.v1"
)

// InspectionRole is what an operator holds to look at another's memory (spec 6). A workbench role can't take one of these names.
type InspectionRole string

const (
	InspectionSupport        InspectionRole = "support"
	InspectionAdmin          InspectionRole = "admin"
	InspectionTrustAndSafety InspectionRole = "trust-and-safety"
	InspectionLegal          InspectionRole = "legal"
)

// Valid reports whether r is one of the four.
func (r InspectionRole) Valid() bool {
	switch r {
	case InspectionSupport, InspectionAdmin, InspectionTrustAndSafety, InspectionLegal:
		return true
	}
	return false
}

// MembershipEnded says that the member left a program. At ForgetAt what the member kept in it is softly forgotten (spec 1.5);
// coming back before then cancels that.
type MembershipEnded struct {
	Program  string `json:"program"`
	ForgetAt Time   `json:"forgetAt"`
}

// MembershipResumed says that the member came back before anything was forgotten: all of it stands as it did. Who comes back
// later starts anew, with MembershipStarted.
type MembershipResumed struct {
	Program string `json:"program"`
}

// RoleGiven and RoleTaken say which workbench roles a member holds.
type (
	RoleGiven struct {
		Role string `json:"role"`
	}
	RoleTaken struct {
		Role string `json:"role"`
	}
)

// InspectionRoleGiven and InspectionRoleTaken say which inspection roles an operator holds.
type (
	InspectionRoleGiven struct {
		Role InspectionRole `json:"role"`
	}
	InspectionRoleTaken struct {
		Role InspectionRole `json:"role"`
	}
)

// MemberRemoved ends a book: the user is gone. Whoever destroys keys begins here (spec 4).
type MemberRemoved struct {
	MemberID ID `json:"memberId"`
}

func (*MembershipEnded) EventType() Type     { return TypeMembershipEnded }
func (*MembershipResumed) EventType() Type   { return TypeMembershipResumed }
func (*RoleGiven) EventType() Type           { return TypeRoleGiven }
func (*RoleTaken) EventType() Type           { return TypeRoleTaken }
func (*InspectionRoleGiven) EventType() Type { return TypeInspectionRoleGiven }
func (*InspectionRoleTaken) EventType() Type { return TypeInspectionRoleTaken }
func (*MemberRemoved) EventType() Type       { return TypeMemberRemoved }

func (*MembershipEnded) slots(KeyRef) []slot     { return nil }
func (*MembershipResumed) slots(KeyRef) []slot   { return nil }
func (*RoleGiven) slots(KeyRef) []slot           { return nil }
func (*RoleTaken) slots(KeyRef) []slot           { return nil }
func (*InspectionRoleGiven) slots(KeyRef) []slot { return nil }
func (*InspectionRoleTaken) slots(KeyRef) []slot { return nil }
func (*MemberRemoved) slots(KeyRef) []slot       { return nil }

func newBelonging(t Type) Event {
	switch t {
	case TypeMembershipEnded:
		return &MembershipEnded{}
	case TypeMembershipResumed:
		return &MembershipResumed{}
	case TypeRoleGiven:
		return &RoleGiven{}
	case TypeRoleTaken:
		return &RoleTaken{}
	case TypeInspectionRoleGiven:
		return &InspectionRoleGiven{}
	case TypeInspectionRoleTaken:
		return &InspectionRoleTaken{}
	case TypeMemberRemoved:
		return &MemberRemoved{}
	}
	return nil
}
