package api

import (
	"net/http"
	"slices"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/receipts"
	"iris.example/iris/schemas"
)

// Who may call a route at all; a permission narrows it further.
type Who int

const (
	Public    Who = iota // without a credential
	Principal            // with a valid one
	Member               // whose person is a member of the organisation: the route is about that member's own
)

// Route is one row of the table.
type Route struct {
	Method     string
	Pattern    string // of net/http; what may stand in braces is in pathParts
	Who        Who
	Permission identity.Permission // the token must hold it; empty: none
	Request    string              // the body's schema in schemas/api; empty: the call takes no body
	Query      []Parameter         // every parameter that the call knows
	Command    bool                // takes Idempotency-Key, answers with Iris-Position
	// Conditional: takes the revision that the caller saw as If-Match, and refuses without one.
	Conditional bool
	Waits       bool // reads the read models, and takes Iris-Wait
	Success     int
	Unchanged   int // in place of Success where there was nothing to do; 0: there is no such answer
	Answer      any // the zero value of a successful answer, for the contract
	Summary     string

	handle func(*API, *call) (answer, error)
}

// Routes is the one table (spec 9.5, 9.6).
func Routes() []Route {
	all := []Route{
		{
			Method: http.MethodPost, Pattern: "/v1/proposals", Who: Principal, Permission: identity.Propose,
			Request: schemas.RequestPropose, Command: true, Success: http.StatusAccepted, Answer: claimAnswer{},
			Summary: "Propose that something be remembered", handle: (*API).propose,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/proposals", Who: Principal, Permission: identity.Propose,
			Query: []Parameter{claimParameter()}, Waits: true, Success: http.StatusOK, Answer: claimAnswer{},
			Summary: "What became of a claim, by its CloudEvents id", handle: (*API).claimOutcomeByID,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/proposals/{id}", Who: Principal, Permission: identity.Propose,
			Waits: true, Success: http.StatusOK, Answer: claimAnswer{},
			Summary: "What became of a claim", handle: (*API).claimOutcome,
		},

		{
			Method: http.MethodGet, Pattern: "/v1/me/proposals", Who: Member,
			Query: paged(proposalFilters()...), Waits: true,
			Success: http.StatusOK, Answer: list[acts.Pending]{},
			Summary: "Remember this? What waits for the member's answer", handle: (*API).pending,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/proposals/{id}/accept", Who: Member, Request: schemas.RequestAccept, Command: true,
			Success: http.StatusOK, Answer: keptAnswer{}, Summary: "Yes, remember this, as it is or edited", handle: (*API).accept,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/proposals/{id}/decline", Who: Member, Request: schemas.RequestDecline, Command: true,
			Success: http.StatusOK, Answer: declinedAnswer{}, Summary: "No, don't remember this", handle: (*API).decline,
		},

		{
			Method: http.MethodGet, Pattern: "/v1/me/memory", Who: Member, Query: paged(memoryFilters()...), Waits: true,
			Success: http.StatusOK, Answer: list[acts.Memory]{}, Summary: "The member's memory", handle: (*API).memories,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/memory", Who: Member, Request: schemas.RequestState, Command: true,
			Success: http.StatusCreated, Unchanged: http.StatusOK, Answer: keptAnswer{}, Summary: "Remember the member's own words",
			handle: (*API).remember,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/me/memory/{id}", Who: Member, Waits: true,
			Success: http.StatusOK, Answer: acts.Memory{}, Summary: "One memory", handle: (*API).memory,
		},
		{
			Method: http.MethodDelete, Pattern: "/v1/me/memory/{id}", Who: Member, Command: true,
			Query: []Parameter{
				oneOf("mode", "soft hides at once and can be taken back for a while; hard is not available yet.", "soft", "hard"),
				oneOf("dontAskAgain", "Whether the same may not be proposed again.", "false", "true"),
			},
			Success: http.StatusOK, Answer: forgottenAnswer{}, Summary: "Forget a memory", handle: (*API).forget,
		},
		{
			Method: http.MethodPatch, Pattern: "/v1/me/memory/{id}", Who: Member, Request: schemas.RequestRevise, Command: true, Conditional: true,
			Success: http.StatusOK, Answer: keptAnswer{}, Summary: "Edit a memory", handle: (*API).revise,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/me/memory/{id}/history", Who: Member, Query: paged(), Waits: true,
			Success: http.StatusOK, Answer: list[acts.Revision]{}, Summary: "A memory's revisions, newest first, and what each changed",
			handle: (*API).history,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/memory/{id}/pause", Who: Member, Request: schemas.RequestPause, Command: true,
			Success: http.StatusOK, Answer: movedAnswer{}, Summary: "Stop using a memory, for a while or until it is resumed", handle: (*API).pause,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/memory/{id}/resume", Who: Member, Request: schemas.RequestNothing, Command: true,
			Success: http.StatusOK, Answer: movedAnswer{}, Summary: "Use a paused memory again", handle: (*API).resume,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/memory/{id}/restore", Who: Member, Request: schemas.RequestNothing, Command: true,
			Success: http.StatusOK, Answer: movedAnswer{}, Summary: "Take a forget back, while that is possible", handle: (*API).restore,
		},

		{
			Method: http.MethodGet, Pattern: "/v1/me/consents", Who: Member, Waits: true,
			Success: http.StatusOK, Answer: list[acts.Consent]{}, Summary: "Where every consent stands", handle: (*API).consents,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/consents", Who: Member, Request: schemas.RequestConsent, Command: true,
			Success: http.StatusCreated, Answer: consentAnswer{}, Summary: "Grant or deny a consent", handle: (*API).decide,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/me/consents/{id}/withdraw", Who: Member, Request: schemas.RequestWithdraw, Command: true,
			Success: http.StatusOK, Answer: consentAnswer{}, Summary: "Take a grant back, by the id of its event", handle: (*API).withdraw,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/me/consents/{id}/receipt", Who: Member, Waits: true,
			Success: http.StatusOK, Answer: receipts.Receipt{}, Summary: "The receipt of an answer, by the id of its event: JSON-LD", handle: (*API).receipt,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/terms", Who: Principal, Query: paged(),
			Success: http.StatusOK, Answer: list[acts.Terms]{}, Summary: "The newest version of every published text", handle: (*API).terms,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/admin/terms", Who: Principal, Permission: identity.Admin, Request: schemas.RequestTerms,
			Command: true, Success: http.StatusCreated, Unchanged: http.StatusOK, Answer: acts.Terms{},
			Summary: "Publish a version of a text; it is never edited", handle: (*API).publishTerms,
		},

		{
			Method: http.MethodPost, Pattern: "/v1/recall", Who: Principal, Permission: identity.Recall, Request: schemas.RequestRecall,
			Success: http.StatusOK, Answer: recallAnswer{}, Summary: "Recall what may be said back now", handle: (*API).recall,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/recall/{id}/used", Who: Principal, Permission: identity.Recall, Request: schemas.RequestUsed, Command: true,
			Success: http.StatusOK, Answer: usedAnswer{}, Summary: "Report which memories of a recall were used", handle: (*API).used,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/audit/recalls/{id}/replay", Who: Principal, Permission: identity.AuditRead,
			Success: http.StatusOK, Answer: replayAnswer{}, Summary: "Compute a recall again from the streams and compare", handle: (*API).replay,
		},

		{
			Method: http.MethodGet, Pattern: "/v1/intake-key", Who: Principal, Success: http.StatusOK, Answer: intakeKeyAnswer{},
			Summary: "The public key that claims are sealed to", handle: (*API).intakeKey,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/admin/producers", Who: Principal, Permission: identity.Admin, Request: schemas.RequestProducer,
			Command: true, Success: http.StatusCreated, Answer: producerAnswer{}, Summary: "Add a producer; its credentials are in this answer and nowhere else",
			handle: (*API).addProducer,
		},
		{
			Method: http.MethodDelete, Pattern: "/v1/admin/producers/{producer}", Who: Principal, Permission: identity.Admin, Command: true,
			Success: http.StatusOK, Answer: revokedAnswer{}, Summary: "Revoke a producer: its claims are refused from then on, and its credentials cut off where they were made here", handle: (*API).revokeProducer,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/admin/parked", Who: Principal, Permission: identity.Admin, Query: paged(),
			Success: http.StatusOK, Answer: list[events.Parked]{}, Summary: "Claims that couldn't be read, without their content", handle: (*API).parkedClaims,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/admin/parked/{id}", Who: Principal, Permission: identity.Admin,
			Query: []Parameter{
				oneOf("reveal", "Whether the content is shown, as it came; that takes a reference and is written down.", "false", "true"),
				referenceParameter(),
			},
			Success: http.StatusOK, Answer: parkedAnswer{}, Summary: "One claim that couldn't be read", handle: (*API).parkedClaim,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/admin/parked/{id}/retry", Who: Principal, Permission: identity.Admin, Command: true,
			Success: http.StatusAccepted, Answer: unparkedAnswer{}, Summary: "Take a parked claim in again, as if its producer had sent it now",
			handle: (*API).retryParked,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/admin/parked/{id}/discard", Who: Principal, Permission: identity.Admin, Command: true,
			Success: http.StatusOK, Answer: unparkedAnswer{}, Summary: "Destroy a parked claim", handle: (*API).discardParked,
		},

		{
			Method: http.MethodGet, Pattern: "/v1/about", Success: http.StatusOK, Answer: aboutAnswer{},
			Summary: "What this is", handle: (*API).about,
		},
		{
			Method: http.MethodGet, Pattern: "/healthz", Success: http.StatusOK, Answer: healthAnswer{},
			Summary: "The process answers", handle: (*API).healthy,
		},
		{
			Method: http.MethodGet, Pattern: "/readyz", Success: http.StatusOK, Answer: healthAnswer{},
			Summary: "Everything that the process needs answers", handle: (*API).ready,
		},
		{
			Method: http.MethodGet, Pattern: "/metrics", Success: http.StatusOK, Answer: text{},
			Summary: "Counters and gauges, for Prometheus", handle: (*API).metrics,
		},
		{
			Method: http.MethodGet, Pattern: "/openapi.json", Success: http.StatusOK, Answer: document(nil),
			Summary: "This contract", handle: (*API).contract,
		},
	}
	return slices.Concat(all, settingsRoutes(), programRoutes(), curationRoutes(), sweepRoutes(), administration(), sessionRoutes(), toolRoutes())
}

func proposalFilters() []Parameter {
	return []Parameter{
		oneOf("state", "Which proposals: those that wait for an answer.", "pending"),
		slugParameter("program", "Only of this program."),
		oneOf("category", "Only of this category.", categories()...),
		{Name: "proposedBy", Summary: "Only of this producer or client.", check: func(value string) error { return boundary.Handle("proposedBy", value) }},
	}
}

func categories() []string {
	all := make([]string, 0, len(events.Categories()))
	for _, c := range events.Categories() {
		all = append(all, string(c))
	}
	return all
}

func memoryFilters() []Parameter {
	return []Parameter{
		oneOf("tier", "Only of this tier.", string(events.TierIndividual), string(events.TierPerson), string(events.TierRole)),
		slugParameter("program", "Only of this program."),
		oneOf("category", "Only of this category.", categories()...),
		oneOf("lifecycle", "Only in this state; left out: all that can be used again.", string(events.LifecycleDraft),
			string(events.LifecycleActive), string(events.LifecyclePaused), string(events.LifecycleSuperseded)),
		wordsParameter(),
		oneOf("autoKept", "true: only what was kept without asking, because the member asked for that; forget it to undo it.", "false", "true"),
		oneOf("forgotten", "true: those that are softly forgotten, which are in no other list.", "false", "true"),
	}
}
