package recall

import (
	"errors"

	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// ErrRefused is the family of Admit's refusals: every one matches it.
var ErrRefused = errors.New("recall refused")

// Codes of a Refusal.
const (
	CodeInvalidScope        = "invalid_scope"
	CodeInvalidContext      = "invalid_context"
	CodePurposeNotPermitted = "purpose_not_permitted"
	CodeSurfaceNotAllowed   = "surface_not_allowed"
	CodeConsumerNotAllowed  = "consumer_not_allowed"
)

// Refusal says which field of the request was refused and by which rule. It repeats no value: a scope names a session, and
// a purpose can be anything a caller wrote.
type Refusal struct {
	Code  string
	Field string
}

func (r *Refusal) Error() string { return "admit a recall: " + r.Code + ": " + r.Field }

// Is makes every Refusal match ErrRefused.
func (r *Refusal) Is(target error) bool { return target == ErrRefused }

// Admit refuses a request before anything is read (spec 1.3, 3.1). Left to the caller, who alone can know: that an
// inspection is granted, that the request of a dsar is open, that the consumer is the one its client is bound to.
func Admit(request Request, p *policy.Document) error {
	row, ok := p.ScopeOf(request.Scope.Kind, adapterOf(request.Scope, request.AdapterScope))
	switch {
	case !request.Scope.Valid() || foreignTenant(request):
		return &Refusal{CodeInvalidScope, "scope"}
	case !ok:
		return &Refusal{CodeInvalidScope, "adapterScope"}
	case !validContexts(request.Contexts):
		return &Refusal{CodeInvalidContext, "contexts"}
	case !p.AllowsPurpose(request.Purpose):
		return &Refusal{CodePurposeNotPermitted, "purpose"}
	case !p.AllowsSurface(request.Consumer, request.Surface) || !surfaceServes(request.Surface, request.Purpose):
		return &Refusal{CodeSurfaceNotAllowed, "surface"}
	case !row.Allows(request.Consumer):
		return &Refusal{CodeConsumerNotAllowed, "consumer"}
	}
	return nil
}

func foreignTenant(request Request) bool {
	return request.Scope.Kind == events.ScopeTenant && request.TenantID != nil && *request.TenantID != request.Scope.TenantID
}

func validContexts(contexts []policy.Context) bool {
	for _, c := range contexts {
		if !c.Valid() {
			return false
		}
	}
	return true
}

// surfaceServes keeps two surfaces to their purposes: admin is for inspections and DSARs, brief's budget is for briefs.
func surfaceServes(surface string, purpose policy.Purpose) bool {
	switch surface {
	case policy.SurfaceAdmin:
		return purpose == policy.PurposeInspection || purpose == policy.PurposeDSAR
	case policy.SurfaceBrief:
		return purpose == policy.PurposeBrief
	}
	return true
}
