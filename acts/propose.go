package acts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/text/unicode/norm"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// MemberRef names the person that a claim concerns: by opaque id or by the identity provider's subject (spec 10.1).
type MemberRef struct {
	ID      events.ID `json:"id,omitempty"`
	Subject string    `json:"subject,omitempty"`
}

// Proposal is a claim's data (spec 10.1). Absent fields have the defaults of the example there.
type Proposal struct {
	Member             *MemberRef          `json:"member,omitempty"`
	Program            string              `json:"program,omitempty"`
	Tier               events.Tier         `json:"tier"`
	Kind               events.MemoryKind   `json:"kind"`
	Scope              events.Scope        `json:"scope"`
	AdapterScope       events.AdapterScope `json:"adapterScope,omitempty"`
	Category           events.Category     `json:"category"`
	Subject            string              `json:"subject,omitempty"`
	Body               string              `json:"body,omitempty"`
	Sealed             string              `json:"sealed,omitempty"` // in place of body, subject and multiActor
	Origin             events.Origin       `json:"origin"`
	TenantID           *string             `json:"tenantId,omitempty"`
	MultiActor         *events.MultiActor  `json:"multiActor,omitempty"`
	Ref                string              `json:"ref,omitempty"`
	SourceRefs         []events.SourceRef  `json:"sourceRefs,omitempty"`
	PromotionCandidate bool                `json:"promotionCandidate,omitempty"`
	OnBehalfOf         events.ID           `json:"onBehalfOf,omitempty"`
}

// Warning says in a claim's outcome what was held back and for want of what.
type Warning struct {
	Code string              `json:"code"`
	Keys []events.ConsentKey `json:"keys,omitempty"`
}

// ClaimAnswer is what became of a claim. Reason is the refusal's code.
type ClaimAnswer struct {
	Done
	ProposalID events.ID
	Outcome    events.ClaimOutcome
	Reason     string
	Warnings   []Warning
	Repeated   bool // the claim was carried out before, and this is its outcome of then
}

// Propose is POST /v1/proposals: a client claims, for the token's member or, as a service, for one that it names.
func (a *Acts) Propose(ctx context.Context, c Caller, r Request, p Proposal) (ClaimAnswer, error) {
	consumers := c.Defined.Clients[c.Principal.Client]
	if len(consumers) == 0 {
		return ClaimAnswer{}, fmt.Errorf("the client is registered for no consumer: %w", ErrConsumer)
	}
	id, err := a.concerned(ctx, c, p.Member)
	if err != nil {
		return ClaimAnswer{}, err
	}
	if err := matches(c, p); err != nil {
		return ClaimAnswer{}, err
	}
	if p, err = a.opened(ctx, c.Organisation, p); err != nil {
		return ClaimAnswer{}, err
	}
	command := member.Propose{
		Draft:      p.draft(),
		ProposedBy: events.ProposedBy{Client: c.Principal.Client, Consumer: consumers[0]}, PromotionCandidate: p.PromotionCandidate,
	}
	command.TenantID, command.OnBehalfOf = c.Principal.Tenant, c.OnBehalfOf
	outcome, err := a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: c.asClient(), Trace: r.Trace, Setting: setting(c.Defined), Body: command,
	}, p)
	if err != nil {
		return ClaimAnswer{}, err
	}
	return claimAnswer(outcome), nil
}

// Claim is a claim that a producer published: its credential is the subject that the broker let it publish to.
type Claim struct {
	Organisation string
	Producer     string
	ID           string // the CloudEvents id
	Received     events.Time
	Trace        events.Trace
	Proposal     Proposal
}

// Claimed carries out a producer's claim. Every refusal that concerns a known member is recorded, because nobody waits for it.
func (a *Acts) Claimed(ctx context.Context, claim Claim) (ClaimAnswer, error) {
	defined, err := a.definitions(ctx, claim.Organisation)
	if err != nil {
		return ClaimAnswer{}, err
	}
	producer, ok := defined.Producers[claim.Producer]
	if !ok {
		return ClaimAnswer{}, fmt.Errorf("producer: %w", ErrNotFound)
	}
	if producer.Revoked {
		return ClaimAnswer{}, aggregates.Refuse("producer_revoked", "spec 9.2")
	}
	p, err := a.opened(ctx, claim.Organisation, claim.Proposal)
	if err != nil {
		return ClaimAnswer{}, err
	}
	if p.TenantID != nil || p.OnBehalfOf != "" {
		return ClaimAnswer{}, fmt.Errorf("a producer speaks for no tenant and no delegate: %w", ErrClaimMismatch)
	}
	if p.Member == nil {
		return ClaimAnswer{}, fmt.Errorf("the claim names no member: %w", ErrNotFound)
	}
	id, err := a.named(ctx, claim.Organisation, a.Issuer, *p.Member)
	if err != nil {
		return ClaimAnswer{}, err
	}
	outcome, err := a.run(ctx, claim.Organisation, id, runner.Command[member.Command]{
		ID: ClaimCommand(claim.Organisation, claim.Producer, claim.ID), Received: claim.Received, Trace: claim.Trace,
		Actor: events.Actor{ID: claim.Producer, Kind: events.ActorProducer}, Setting: setting(defined),
		Body: member.Propose{
			Draft: p.draft(), ProposedBy: events.ProposedBy{Producer: producer.Name, Consumer: producer.Consumer},
			PromotionCandidate: p.PromotionCandidate, ByMessage: true,
		},
	}, p)
	if err != nil {
		return ClaimAnswer{}, err
	}
	return claimAnswer(outcome), nil
}

// ClaimCommand is the command id of a producer's claim (spec 9.2).
func ClaimCommand(org, producer, claim string) events.ID {
	return events.CommandID(org, producer, claim)
}

// concerned is the member that an assistant's call concerns: the token's. Only a service without a member may name one. Whoever
// comes with a member is told nothing of anybody else, not even whether there is one.
func (a *Acts) concerned(ctx context.Context, c Caller, named *MemberRef) (events.ID, error) {
	if named == nil {
		if c.Member == "" {
			return "", fmt.Errorf("the call names no member and the credential has none: %w", ErrNotAMember)
		}
		return c.Member, nil
	}
	id, err := a.named(ctx, c.Organisation, c.Principal.Issuer, *named)
	if c.Member != "" && (errors.Is(err, ErrNotFound) || err == nil && id != c.Member) {
		return "", fmt.Errorf("the body names another member than the credential: %w", ErrClaimMismatch)
	}
	return id, err
}

func (a *Acts) named(ctx context.Context, org, issuer string, ref MemberRef) (events.ID, error) {
	if ref.ID == "" {
		id, err := a.resolve(ctx, org, issuer, ref.Subject)
		if err == nil && id == "" {
			err = fmt.Errorf("member: %w", ErrNotFound)
		}
		return id, err
	}
	exists, err := a.Directory.MemberExists(ctx, org, ref.ID)
	if err != nil {
		return "", fmt.Errorf("look a member up: %w: %w", runner.ErrUnavailable, err)
	}
	if !exists {
		return "", fmt.Errorf("member: %w", ErrNotFound)
	}
	return ref.ID, nil
}

// matches holds what the body names against the credential (spec 9.5). A principal is named by id or as the credential does.
func matches(c Caller, p Proposal) error {
	if p.TenantID != nil && (c.Principal.Tenant == nil || *p.TenantID != *c.Principal.Tenant) {
		return fmt.Errorf("the body names another tenant than the credential: %w", ErrClaimMismatch)
	}
	if p.OnBehalfOf != "" && p.OnBehalfOf != c.OnBehalfOf && string(p.OnBehalfOf) != c.Principal.OnBehalfOf() {
		return fmt.Errorf("the body acts for another principal than the credential: %w", ErrClaimMismatch)
	}
	return nil
}

// draft has its references in NFC, as all text of events (spec 9.3): ForgetSource compares them. The words are cleaned by the screening.
func (p Proposal) draft() member.Draft {
	d := member.Draft{
		Tier: p.Tier, Kind: p.Kind, Program: p.Program, Scope: p.Scope, AdapterScope: p.AdapterScope, Category: p.Category,
		Subject: p.Subject, Body: p.Body, Origin: p.Origin, MultiActor: p.MultiActor, Ref: norm.NFC.String(p.Ref),
		SourceRefs: slices.Clone(p.SourceRefs),
	}
	if d.Program == "" {
		d.Program = events.DefaultProgram
	}
	for i, ref := range d.SourceRefs {
		d.SourceRefs[i].Ref = norm.NFC.String(ref.Ref)
		if ref.Turns == nil {
			d.SourceRefs[i].Turns = []int{}
		}
	}
	return d
}

// claimAnswer is a function of what was recorded, so that the first answer and every later one are the same.
func claimAnswer(o runner.Outcome) ClaimAnswer {
	answer := ClaimAnswer{Done: Done{o.Position}, Warnings: []Warning{}, Repeated: o.Repeated}
	for _, e := range o.Events {
		switch e := e.Event.(type) {
		case *events.ProposalRecorded:
			answer.ProposalID, answer.Outcome = e.MemoryID, events.OutcomePending
		case *events.MemoryAutoKept:
			answer.Outcome = events.OutcomeKept
		case *events.ProposalRefused:
			answer.ProposalID, answer.Outcome, answer.Reason = e.ProposalID, e.Outcome, e.Reason
			if keys := e.Notes.Plain.Missing; len(keys) > 0 {
				answer.Warnings = append(answer.Warnings, Warning{Code: e.Reason, Keys: keys})
			}
		}
	}
	return answer
}
