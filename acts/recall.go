package acts

import (
	"context"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
	"iris.example/iris/recalls"
)

// Question is the body of POST /v1/recall (spec 10.5).
type Question struct {
	Member                *events.ID          `json:"member,omitempty"`
	Surface               string              `json:"surface"`
	Consumer              events.Consumer     `json:"consumer,omitempty"` // empty: the client's
	Scope                 events.Scope        `json:"scope"`
	AdapterScope          events.AdapterScope `json:"adapterScope,omitempty"`
	Program               string              `json:"program,omitempty"`
	TenantID              *string             `json:"tenantId,omitempty"`
	Query                 string              `json:"query,omitempty"`
	CrisisFrame           bool                `json:"crisisFrame,omitempty"`
	SafetyCriticalContext bool                `json:"safetyCriticalContext,omitempty"`
	Contexts              []string            `json:"contexts,omitempty"`
	ConsentedCategories   []events.Category   `json:"consentedCategories"`
	Purpose               string              `json:"purpose"`
	InspectionID          *events.ID          `json:"inspectionId,omitempty"`
	DataRightsRequestID   *events.ID          `json:"dataRightsRequestId,omitempty"`
}

// Recall answers an assistant's question to the memory of the token's member.
func (a *Acts) Recall(ctx context.Context, c Caller, r Request, q Question) (recalls.Answer, error) {
	if registered := c.Defined.Clients[c.Principal.Client]; q.Consumer == "" && len(registered) > 0 {
		q.Consumer = registered[0]
	}
	if !c.Defined.ActsAs(c.Principal.Client, q.Consumer) {
		return recalls.Answer{}, fmt.Errorf("the client isn't registered for the consumer: %w", ErrClaimMismatch)
	}
	if q.TenantID != nil && (c.Principal.Tenant == nil || *q.TenantID != *c.Principal.Tenant) {
		return recalls.Answer{}, fmt.Errorf("the body names another tenant than the credential: %w", ErrClaimMismatch)
	}
	if err := servable(q); err != nil {
		return recalls.Answer{}, err
	}
	id, err := a.recalled(ctx, c, q.Member)
	if err != nil {
		return recalls.Answer{}, err
	}
	ask := events.RecallAsk{
		Surface: q.Surface, Consumer: q.Consumer, Scope: q.Scope, AdapterScope: q.AdapterScope, Program: q.Program,
		TenantID: c.Principal.Tenant, Query: q.Query, CrisisFrame: q.CrisisFrame, SafetyCriticalContext: q.SafetyCriticalContext,
		Contexts: q.Contexts, ConsentedCategories: q.ConsentedCategories, Purpose: q.Purpose,
	}
	if ask.AdapterScope == "" {
		ask.AdapterScope = events.DefaultAdapterScope(ask.Scope.Kind)
	}
	if ask.Program == "" {
		ask.Program = events.DefaultProgram
	}
	if ask.Contexts == nil {
		ask.Contexts = []string{}
	}
	return a.Recalls.Recall(ctx, recalls.Asker{Organisation: c.Organisation, Member: id, Actor: c.asClient(), Trace: r.Trace}, ask)
}

// servable: surface admin takes a granted inspection and dsar an open request of the member (spec 3.1). Neither can exist before
// those rooms are built, so naming one is naming what isn't there.
func servable(q Question) error {
	switch {
	case q.Surface == policy.SurfaceAdmin || q.Purpose == string(policy.PurposeInspection):
		return &recall.Refusal{Code: recall.CodeSurfaceNotAllowed, Field: "inspectionId"}
	case q.Purpose == string(policy.PurposeDSAR):
		return &recall.Refusal{Code: recall.CodePurposeNotPermitted, Field: "dataRightsRequestId"}
	}
	return nil
}

// recalled is the member whose memory is asked: the token's; a service may name one, with iris.recall.service (spec 10).
func (a *Acts) recalled(ctx context.Context, c Caller, named *events.ID) (events.ID, error) {
	if named == nil {
		return a.concerned(ctx, c, nil)
	}
	if c.Member == "" && !c.Principal.Has(identity.RecallService) {
		return "", fmt.Errorf("name a member: %w", &NotPermitted{identity.RecallService})
	}
	return a.concerned(ctx, c, &MemberRef{ID: *named})
}
