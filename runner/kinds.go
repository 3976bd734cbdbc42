package runner

import (
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/aggregates/session"
	"iris.example/iris/events"
)

// Members runs the commands of members' books. Decisions that reach into a role take With(events.AggregateRole, …).
func Members(cfg Config) (*Runner[*member.State, member.Command], error) {
	return New(cfg, Decider[*member.State, member.Command]{
		Initial: func(org string, a events.Aggregate) *member.State { return member.Initial(org, a.ID) },
		Decide:  member.Decide,
		Evolve:  member.Evolve,
		Keys:    member.Command.KeysNeeded,
		Code:    member.Code(),
		Texts: &Texts[*member.State, member.Command]{
			Needed: member.Needed, Lacking: (*member.State).Lacking, LackingAny: (*member.State).LackingAny, Fill: (*member.State).Fill,
		},
		Joins: member.Joins,
		Ahead: member.Ahead,
	})
}

// Roles runs the commands of what workbench roles share.
func Roles(cfg Config) (*Runner[*rolememory.State, rolememory.Command], error) {
	return New(cfg, Decider[*rolememory.State, rolememory.Command]{
		Initial: func(org string, a events.Aggregate) *rolememory.State { return rolememory.Initial(org, string(a.ID)) },
		Decide:  rolememory.Decide,
		Evolve:  rolememory.Evolve,
		Keys:    rolememory.Command.KeysNeeded,
	})
}

// Sessions runs the commands of sessions. They are short, and shredded soon: no snapshot is kept of them.
func Sessions(cfg Config) (*Runner[*session.State, session.Command], error) {
	return New(cfg, Decider[*session.State, session.Command]{
		Initial: func(_ string, a events.Aggregate) *session.State { return session.Initial(a.ID) },
		Decide:  session.Decide,
		Evolve:  session.Evolve,
		Keys:    session.Command.KeysNeeded,
	})
}

// Organisations runs the commands of organisations' definitions. They begin from the policy that this program was shipped with, and
// are few: no snapshot is kept of them.
func Organisations(cfg Config) (*Runner[*organisation.State, organisation.Command], error) {
	return New(cfg, Decider[*organisation.State, organisation.Command]{
		Initial: func(org string, _ events.Aggregate) *organisation.State { return organisation.Initial(org) },
		Decide:  organisation.Decide,
		Evolve:  organisation.Evolve,
		Keys:    func(organisation.Command) int { return 0 },
	})
}
