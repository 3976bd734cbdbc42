package acts

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/text/unicode/norm"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/policy"
	"iris.example/iris/runner"
)

// DefineProgram adds a program to the organisation.
func (a *Acts) DefineProgram(ctx context.Context, c Caller, r Request, program string) (Done, error) {
	return a.organise(ctx, c, r, organisation.DefineProgram{Program: program})
}

// DefineRole adds a workbench role.
func (a *Acts) DefineRole(ctx context.Context, c Caller, r Request, role string) (Done, error) {
	return a.organise(ctx, c, r, organisation.DefineRole{Role: role})
}

// RegisterClient says as which consumers a client may act.
func (a *Acts) RegisterClient(ctx context.Context, c Caller, r Request, client string, consumers []events.Consumer) (Done, error) {
	return a.organise(ctx, c, r, organisation.RegisterClient{Client: client, Consumers: consumers})
}

// RemoveClient takes every consumer from a client.
func (a *Acts) RemoveClient(ctx context.Context, c Caller, r Request, client string) (Done, error) {
	return a.organise(ctx, c, r, organisation.RemoveClient{Client: client})
}

// DefineTenant, RemoveTenant, Quarantine and Release are a tenant's life: what is shut, the next recall leaves out.
func (a *Acts) DefineTenant(ctx context.Context, c Caller, r Request, tenant string) (Done, error) {
	return a.organise(ctx, c, r, organisation.DefineTenant{Tenant: tenant})
}

func (a *Acts) RemoveTenant(ctx context.Context, c Caller, r Request, tenant string) (Done, error) {
	return a.organise(ctx, c, r, organisation.RemoveTenant{Tenant: tenant})
}

func (a *Acts) Quarantine(ctx context.Context, c Caller, r Request, tenant string) (Done, error) {
	return a.organise(ctx, c, r, organisation.Quarantine{Tenant: tenant})
}

func (a *Acts) Release(ctx context.Context, c Caller, r Request, tenant string) (Done, error) {
	return a.organise(ctx, c, r, organisation.Release{Tenant: tenant})
}

// ApplyPolicy puts a document in force for every decision that starts after the answer. One that would weaken a given rule is
// refused with the rule and where it stands (*policy.Error).
func (a *Acts) ApplyPolicy(ctx context.Context, c Caller, r Request, document []byte) (PolicyInForce, error) {
	done, err := a.organise(ctx, c, r, organisation.ApplyPolicy{Document: document})
	if err != nil {
		return PolicyInForce{}, err
	}
	parsed, err := policy.Parse(document)
	if err != nil {
		return PolicyInForce{}, err
	}
	return PolicyInForce{Done: done, Version: parsed.Version, SHA256: parsed.SHA256(), Document: document}, nil
}

// PolicyInForce is what every decision is made under now.
type PolicyInForce struct {
	Done
	Version  string
	SHA256   string
	Document json.RawMessage
}

// Policy is the one in force.
func (a *Acts) Policy(c Caller) (PolicyInForce, error) {
	if _, err := c.administers(); err != nil {
		return PolicyInForce{}, err
	}
	if err := c.Defined.Readable(); err != nil {
		return PolicyInForce{}, err
	}
	inForce := c.Defined.Policy
	return PolicyInForce{Version: inForce.Version, SHA256: c.Defined.PolicySHA256, Document: inForce.Canonical()}, nil
}

// administers requires the organisation's administrator and says as whom it acts: the person by their opaque id where they are a member,
// so that an auditor sees who it was, else the client; a token's subject never stands in an event (spec 9.3).
func (c Caller) administers() (events.Actor, error) {
	if !c.Principal.Has(identity.Admin) {
		return events.Actor{}, &NotPermitted{identity.Admin}
	}
	return events.Actor{ID: cmp.Or(string(c.Member), c.Principal.Client), Kind: events.ActorAdmin}, nil
}

// organise runs an administrator's command on the organisation's definitions.
func (a *Acts) organise(ctx context.Context, c Caller, r Request, command organisation.Command) (Done, error) {
	actor, err := c.administers()
	if err != nil {
		return Done{}, err
	}
	outcome, err := a.administer(ctx, c, r, actor, command, command)
	return Done{outcome.Position}, unknown(err, "client_unknown", "tenant_unknown")
}

// Join starts a membership or resumes it; back says that there must be one to resume.
func (a *Acts) Join(ctx context.Context, c Caller, r Request, id events.ID, program string, back bool) (Belonging, error) {
	return a.belong(ctx, c, r, id, member.Join{Program: program, Back: back})
}

// Leave ends a membership. What the member kept in the program is forgotten after the policy's days.
func (a *Acts) Leave(ctx context.Context, c Caller, r Request, id events.ID, program string) (Belonging, error) {
	if !c.Defined.HasProgram(program) {
		return Belonging{}, fmt.Errorf("program: %w", ErrNotFound)
	}
	return a.belong(ctx, c, r, id, member.Leave{Program: program})
}

// GiveRole lets a member hold a workbench role.
func (a *Acts) GiveRole(ctx context.Context, c Caller, r Request, id events.ID, role string) (Belonging, error) {
	return a.belong(ctx, c, r, id, member.GiveRole{Role: role})
}

// TakeRole takes a workbench role from a member.
func (a *Acts) TakeRole(ctx context.Context, c Caller, r Request, id events.ID, role string) (Belonging, error) {
	if !c.Defined.HasRole(role) {
		return Belonging{}, fmt.Errorf("role: %w", ErrNotFound)
	}
	return a.belong(ctx, c, r, id, member.TakeRole{Role: role})
}

// GiveInspectionRole lets an operator hold an inspection role.
func (a *Acts) GiveInspectionRole(ctx context.Context, c Caller, r Request, id events.ID, role events.InspectionRole) (Belonging, error) {
	return a.belong(ctx, c, r, id, member.GiveInspectionRole{Role: role})
}

// TakeInspectionRole takes an inspection role from an operator.
func (a *Acts) TakeInspectionRole(ctx context.Context, c Caller, r Request, id events.ID, role events.InspectionRole) (Belonging, error) {
	if !role.Valid() {
		return Belonging{}, fmt.Errorf("inspection role: %w", ErrNotFound)
	}
	return a.belong(ctx, c, r, id, member.TakeInspectionRole{Role: role})
}

// belong runs an administrator's command on a member's book. A foreign member and an unknown one are the same.
func (a *Acts) belong(ctx context.Context, c Caller, r Request, id events.ID, command member.Command) (Belonging, error) {
	actor, err := c.administers()
	if err != nil {
		return Belonging{}, err
	}
	if id, err = a.named(ctx, c.Organisation, c.Principal.Issuer, MemberRef{ID: id}); err != nil {
		return Belonging{}, err
	}
	outcome, err := a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace, Setting: setting(c.Defined), Body: command,
	}, command)
	if err != nil {
		return Belonging{}, unknown(err, "member_unknown", "program_unknown", "role_unknown")
	}
	return belongingOf(outcome, id), nil
}

// Belonging is what a change of where a member belongs came to. ForgetAt is set by the end of a membership.
type Belonging struct {
	Done
	MemberID events.ID
	Changed  bool
	ForgetAt *events.Time
}

func belongingOf(o runner.Outcome, id events.ID) Belonging {
	b := Belonging{Done: Done{o.Position}, MemberID: id, Changed: len(o.Events) > 0}
	for _, e := range o.Events {
		if ended, is := e.Event.(*events.MembershipEnded); is {
			b.ForgetAt = &ended.ForgetAt
		}
	}
	return b
}

// Membership is one line of a feed (spec 1.1): a person by the identity provider's subject, and what changes of where they belong.
// Starting somewhere registers who isn't known yet; everything else is of a member that there is.
type Membership struct {
	Subject     string        `json:"subject"`
	DisplayName string        `json:"displayName,omitempty"`
	Program     string        `json:"program,omitempty"`
	Action      member.Action `json:"action,omitempty"`
	Give        []string      `json:"rolesGiven,omitempty"`
	Take        []string      `json:"rolesTaken,omitempty"`
}

// Change carries one line of a feed out, as one commit of the member's book.
func (a *Acts) Change(ctx context.Context, c Caller, r Request, in Membership) (Belonging, error) {
	actor, err := c.administers()
	if err != nil {
		return Belonging{}, err
	}
	if err := feasible(c.Defined, in); err != nil { // before anybody is registered
		return Belonging{}, err
	}
	id, err := a.resolve(ctx, c.Organisation, c.Principal.Issuer, in.Subject)
	switch {
	case err != nil:
		return Belonging{}, err
	case id == "" && in.Action != member.ActionStart:
		return Belonging{}, fmt.Errorf("member: %w", ErrNotFound)
	case id == "":
		if id, err = a.register(ctx, c, r, actor, in.Subject, norm.NFC.String(in.DisplayName)); err != nil {
			return Belonging{}, err
		}
	}
	command := member.Change{Action: in.Action, Program: in.Program, Give: in.Give, Take: in.Take}
	outcome, err := a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace, Setting: setting(c.Defined), Body: command,
	}, in)
	return belongingOf(outcome, id), unknown(err, "member_unknown")
}

func feasible(defined *organisation.State, in Membership) error {
	if in.Action != member.ActionNone && !defined.HasProgram(in.Program) {
		return aggregates.Refuse("program_unknown", "spec 1.1")
	}
	for _, role := range append(append([]string{}, in.Give...), in.Take...) {
		if !defined.HasRole(role) {
			return aggregates.Refuse("role_unknown", "spec 1.1")
		}
	}
	return nil
}
