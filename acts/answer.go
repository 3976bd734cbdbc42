package acts

import (
	"context"
	"errors"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// ConsentRef names a consent key and the text that the member saw (spec 10.2).
type ConsentRef struct {
	Key          events.ConsentKey `json:"key"`
	TermsID      string            `json:"termsId"`
	TermsVersion string            `json:"termsVersion"`
}

// Acceptance is the body of an accept: all of it optional (spec 10.2).
type Acceptance struct {
	Body     *string          `json:"body,omitempty"`
	Category *events.Category `json:"category,omitempty"`
	Scope    *events.Scope    `json:"scope,omitempty"`
	Consents []ConsentRef     `json:"consents,omitempty"`
}

// Kept is what a durable write left: the memory, and whether it was kept or lost to one that stood (spec 1.6).
type Kept struct {
	Done
	MemoryID   events.ID
	RevisionID events.ID
	Outcome    events.ClaimOutcome
	Reason     string // the rule, when it lost
}

// Accept is the member's yes to a proposal.
func (a *Acts) Accept(ctx context.Context, c Caller, r Request, proposal events.ID, in Acceptance) (Kept, error) {
	command := member.Accept{ProposalID: proposal, Body: in.Body, Category: in.Category, Scope: in.Scope}
	for _, consent := range in.Consents {
		command.Consents = append(command.Consents, member.Answer(consent))
	}
	outcome, err := a.own(ctx, c, r, in, command)
	if err != nil {
		return Kept{}, unknown(err, "proposal_unknown")
	}
	return keptAnswer(outcome), nil
}

// Refusal is the body of a decline.
type Refusal struct {
	AskAgain bool `json:"askAgain"`
}

// Decline is the member's no to a proposal.
func (a *Acts) Decline(ctx context.Context, c Caller, r Request, proposal events.ID, in Refusal) (Done, error) {
	outcome, err := a.own(ctx, c, r, in, member.Decline{ProposalID: proposal, AskAgain: in.AskAgain})
	return Done{outcome.Position}, unknown(err, "proposal_unknown")
}

// Words are the member's own: the same fields as a proposal, without what only a producer says (spec 10.3).
type Words struct {
	Program      string              `json:"program,omitempty"`
	Tier         events.Tier         `json:"tier,omitempty"`
	Kind         events.MemoryKind   `json:"kind"`
	Scope        *events.Scope       `json:"scope,omitempty"`
	AdapterScope events.AdapterScope `json:"adapterScope,omitempty"`
	Category     events.Category     `json:"category"`
	Subject      string              `json:"subject,omitempty"`
	Body         string              `json:"body"`
	Origin       events.Origin       `json:"origin,omitempty"` // user-stated, or left out
	TenantID     *string             `json:"tenantId,omitempty"`
	MultiActor   *events.MultiActor  `json:"multiActor,omitempty"`
	Ref          string              `json:"ref,omitempty"`
	SourceRefs   []events.SourceRef  `json:"sourceRefs,omitempty"`
	OnBehalfOf   events.ID           `json:"onBehalfOf,omitempty"`
}

// Remember keeps the member's own words at once.
func (a *Acts) Remember(ctx context.Context, c Caller, r Request, in Words) (Kept, error) {
	p := Proposal{
		Program: in.Program, Tier: in.Tier, Kind: in.Kind, Scope: events.Scope{Kind: events.ScopeProfile}, AdapterScope: in.AdapterScope,
		Category: in.Category, Subject: in.Subject, Body: in.Body, TenantID: in.TenantID, MultiActor: in.MultiActor, Ref: in.Ref,
		SourceRefs: in.SourceRefs, OnBehalfOf: in.OnBehalfOf,
	}
	if in.Origin != "" && in.Origin != events.OriginUserStated {
		return Kept{}, aggregates.Refuse("origin_not_admitted", "spec 10.3")
	}
	if in.Scope != nil {
		p.Scope = *in.Scope
	}
	if p.Tier == "" {
		p.Tier = events.TierIndividual
	}
	if err := matches(c, p); err != nil {
		return Kept{}, err
	}
	draft := p.draft()
	draft.TenantID, draft.OnBehalfOf = c.Principal.Tenant, c.OnBehalfOf
	outcome, err := a.own(ctx, c, r, in, member.StateWords{Draft: draft})
	if err != nil {
		return keptAlready(err)
	}
	return keptAnswer(outcome), nil
}

// Forget hides a memory at once and sets when it is shredded (spec 1.2). DontAskAgain keeps it from being proposed again.
func (a *Acts) Forget(ctx context.Context, c Caller, r Request, memory events.ID, dontAskAgain bool) (Done, error) {
	outcome, err := a.own(ctx, c, r, dontAskAgain, member.Forget{MemoryID: memory, DontAskAgain: dontAskAgain})
	return Done{outcome.Position}, unknown(err, "memory_unknown")
}

// keptAlready: what the book holds already, or what lost to it, is no error to the member (spec 1.6, 1.8).
func keptAlready(err error) (Kept, error) {
	var refusal *aggregates.Refusal
	if !errors.As(err, &refusal) {
		return Kept{}, err
	}
	switch events.ClaimOutcome(refusal.Code) {
	case events.OutcomeDuplicate:
		return Kept{MemoryID: refusal.Existing, Outcome: events.OutcomeDuplicate}, nil
	case events.OutcomeKeptExisting:
		return Kept{MemoryID: refusal.Existing, Outcome: events.OutcomeKeptExisting, Reason: refusal.Rule}, nil
	}
	return Kept{}, err
}

func keptAnswer(o runner.Outcome) Kept {
	kept := Kept{Done: Done{o.Position}}
	for _, e := range o.Events {
		switch e := e.Event.(type) {
		case *events.MemoryKept:
			kept.MemoryID, kept.RevisionID, kept.Outcome = e.MemoryID, e.RevisionID, events.OutcomeKept
		case *events.MemoryPromoted:
			kept.MemoryID, kept.RevisionID, kept.Outcome = e.MemoryID, e.RevisionID, events.OutcomeKept
		case *events.MemoryStated:
			kept.MemoryID, kept.RevisionID, kept.Outcome = e.MemoryID, e.RevisionID, events.OutcomeKept
		case *events.ProposalRefused:
			kept.MemoryID, kept.Outcome, kept.Reason = e.Notes.Plain.Existing, e.Outcome, e.Reason
		}
	}
	return kept
}
