package problems

import (
	"context"
	"errors"
	"net/http"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/limits"
	"iris.example/iris/policy"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/reader"
	"iris.example/iris/recall"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/vault"
)

// sentinels are compared in this order, before any refusal: what is unknown is never answered by the refusal in its chain, and
// a commit that breaks its schema is our fault although the schema's refusal is in its chain.
var sentinels = []struct {
	err  error
	code string
}{
	{recalls.ErrStateUnknown, "consent_state_unavailable"},
	{runner.ErrOutcomeUnknown, "outcome_unknown"},
	{eventlog.ErrAmbiguous, "outcome_unknown"},
	{events.ErrContract, codeInternal},
	{events.ErrMalformed, codeInternal},
	{events.ErrTampered, "record_damaged"},
	{runner.ErrBroken, "record_damaged"},
	{reader.ErrForeign, codeInternal},
	{eventlog.ErrDrift, codeInternal},
	{runner.ErrKeyReused, "idempotency_key_reused"},
	{acts.ErrNotFound, codeNotFound},
	{acts.ErrClaimMismatch, "claim_mismatch"},
	{acts.ErrNotAMember, "member_required"},
	{acts.ErrPermission, "permission_missing"},
	{acts.ErrConsumer, "consumer_not_allowed"},
	{acts.ErrSealed, "sealed_unreadable"},
	{acts.ErrCredentials, "credentials_unmanaged"},
	{eventlog.ErrInboxFull, "inbox_full"},
	{reader.ErrNotFound, codeNotFound},
	{recalls.ErrEngine, "recall_engine_unknown"},
	{engine.ErrBehind, "projection_behind"},
	{eventlog.ErrTooLarge, "body_too_large"},
	{eventlog.ErrNotFound, "record_gone"},
	{runner.ErrUnavailable, "store_unavailable"},
	{eventlog.ErrUnavailable, "store_unavailable"},
	{eventlog.ErrMissingStream, "store_unavailable"},
	{reader.ErrRead, "store_unavailable"},
	{vault.ErrStore, "store_unavailable"},
	{events.ErrKeyUnavailable, "store_unavailable"},
	{context.DeadlineExceeded, "store_unavailable"},
	{context.Canceled, "store_unavailable"},
}

// Of is what a caller sees of an error.
func Of(err error) Problem {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return coded(s.code, lacking(err)...)
		}
	}
	var own *Error
	var token *identity.Error
	var input *boundary.Error
	var violation *schemas.Refusal
	var asked *recall.Refusal
	var refusal *aggregates.Refusal
	var busy *limits.Error
	var document *policy.Error
	switch {
	case errors.As(err, &busy):
		p := coded("rate_limited")
		p.RetryAfter = busy.RetryAfter
		return p
	case errors.As(err, &document):
		return badPolicy(document)
	case errors.As(err, &own):
		return coded(own.Code, own.Items...)
	case errors.As(err, &token):
		return unauthenticated(token)
	case errors.As(err, &input):
		return badInput(input)
	case errors.As(err, &violation):
		return coded("schema_violation", violations(violation)...)
	case errors.As(err, &asked):
		return coded(asked.Code, Item{"/" + asked.Field, asked.Code, "is not admitted here"})
	case errors.As(err, &refusal):
		return coded(refusal.Code, missing(refusal)...)
	}
	return coded(codeInternal)
}

// lacking names the permission that somebody hasn't.
func lacking(err error) []Item {
	var lacks *acts.NotPermitted
	if !errors.As(err, &lacks) {
		return nil
	}
	return []Item{{"", "permission_missing", string(lacks.Permission)}}
}

// Known says whether a code is one that callers can be told, for metrics.
func Known(code string) bool {
	_, known := rows[code]
	return known
}

func coded(code string, items ...Item) Problem {
	r, known := rows[code]
	if !known {
		code, items = codeInternal, nil
		r = rows[codeInternal]
	}
	if r.as != "" { // what may not be told apart answers as one
		return coded(r.as)
	}
	return Problem{
		Type: TypeBase + code, Title: r.title, Status: r.status, Detail: r.detail, Code: code, Errors: items,
		RetryAfter: time.Duration(r.retry) * time.Second,
	}
}

// unauthenticated is one code for every token; which rule it broke is said in the item.
func unauthenticated(e *identity.Error) Problem {
	p := coded(codeUnauthenticated, Item{"", string(e.Code), e.Detail})
	if errors.Is(e, identity.ErrKeysUnavailable) {
		p.RetryAfter = 5 * time.Second
	}
	return p
}

// badInput: at the edge every refusal is of the form, 400, even where the domain uses the same code of what the text says
// (invalid_text).
func badInput(e *boundary.Error) Problem {
	p := coded(string(e.Code), Item{e.Pointer, string(e.Code), e.Detail})
	if p.Status == http.StatusUnprocessableEntity {
		p.Status = http.StatusBadRequest
	}
	return p
}

// badPolicy names every problem by pointer. That a given rule would be weakened is the answer if it is so anywhere (spec 8).
func badPolicy(e *policy.Error) Problem {
	code, items := e.Problems[0].Code, make([]Item, len(e.Problems))
	for i, p := range e.Problems {
		items[i] = Item{p.Pointer, p.Code, p.Reason}
		if p.Code == policy.CodeMalformed { // its reason may quote what was sent
			items[i].Detail = "is not as the schema of policies has it"
		}
		if p.Code == policy.CodeWeakens {
			code = p.Code
		}
	}
	return coded(code, items...)
}

func violations(r *schemas.Refusal) []Item {
	items := make([]Item, len(r.Violations))
	for i, v := range r.Violations {
		items[i] = Item{v.Pointer, v.Code, v.Detail}
	}
	return items
}

func missing(r *aggregates.Refusal) []Item {
	items := make([]Item, len(r.Missing))
	for i, key := range r.Missing {
		items[i] = Item{"/consents", "consent_missing", string(key)}
	}
	return items
}
