package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/problems"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
)

// programRoutes are a member's own tier 1 of one program (spec 9.6).
func programRoutes() []Route {
	const own = "/v1/programs/{program}/agent-memory"
	return []Route{
		{
			Method: http.MethodGet, Pattern: own, Who: Member, Query: paged(), Waits: true, Success: http.StatusOK, Answer: list[acts.Memory]{},
			Summary: "The member's own memory in a program", handle: (*API).agentMemory,
		},
		{
			Method: http.MethodDelete, Pattern: own + "/{id}", Who: Member, Permission: identity.AgentMemoryManage, Command: true,
			Query:   []Parameter{oneOf("dontAskAgain", "Whether the same may not be proposed again.", "false", "true")},
			Success: http.StatusOK, Answer: forgottenAnswer{}, Summary: "Forget one of the member's own in a program", handle: (*API).forgetAgentMemory,
		},
		{
			Method: http.MethodPost, Pattern: own + "/{id}/promote", Who: Member, Permission: identity.AgentMemoryManage,
			Request: schemas.RequestNothing, Command: true, Success: http.StatusOK, Answer: promotedAnswer{},
			Summary: "Take a memory of a program to oneself, so that every program has it", handle: (*API).promote,
		},
	}
}

// promotedAnswer is a memory of tier person. With kept-existing it is the one that stands, and there is no revision.
type promotedAnswer struct {
	MemoryID   events.ID           `json:"memoryId"`
	RevisionID *events.ID          `json:"revisionId"`
	Tier       events.Tier         `json:"tier"`
	Outcome    events.ClaimOutcome `json:"outcome"`
	Reason     string              `json:"reason,omitempty"`
}

// scrubProblem names every item that stopped a text, so that the member can edit and try again. Field is the text that they are in.
type scrubProblem struct {
	problems.Problem
	Field    string           `json:"field"`
	Findings []screening.Leak `json:"findings"`
}

func scrubProblemOf(p problems.Problem, findings []screening.Leak, field string) scrubProblem {
	if field == "" {
		field = "body"
	}
	return scrubProblem{p, field, findings}
}

func (a *API) agentMemory(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.AgentMemory(c.ctx, c.caller, c.part["program"], page)
	return answer{body: list[acts.Memory]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) forgetAgentMemory(c *call) (answer, error) {
	done, err := a.cfg.Acts.ForgetAgentMemory(c.ctx, c.caller, c.request, c.part["program"], c.id, c.query.Get("dontAskAgain") == "true")
	return answer{position: done.Position, body: forgottenAnswer{c.id, "forgotten"}}, err
}

func (a *API) promote(c *call) (answer, error) {
	promoted, err := a.cfg.Acts.Promote(c.ctx, c.caller, c.request, c.part["program"], c.id)
	kept := keptOf(promoted.Kept)
	return answer{position: promoted.Position, body: promotedAnswer{kept.MemoryID, kept.RevisionID, promoted.Tier, kept.Outcome, kept.Reason}}, err
}
