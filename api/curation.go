package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/schemas"
)

const (
	role      = "/v1/role-memory/{role}"
	toConfirm = role + "/to-confirm"
)

// curationRoutes are role memory: what members share, and what two people make of it (spec 9.6).
func curationRoutes() []Route {
	curating := func(act string, permission identity.Permission, summary string, handle func(*API, *call) (answer, error)) Route {
		return Route{
			Method: http.MethodPost, Pattern: role + "/candidates/{id}/" + act, Who: Member, Permission: permission, Request: schemas.RequestNothing,
			Command: true, Success: http.StatusOK, Answer: acts.Candidate{}, Summary: summary, handle: handle,
		}
	}
	return []Route{
		{
			Method: http.MethodPost, Pattern: "/v1/programs/{program}/agent-memory/{id}/propose-share", Who: Member,
			Permission: identity.AgentMemoryManage, Request: schemas.RequestShare, Command: true, Success: http.StatusOK, Answer: offeredAnswer{},
			Summary: "Offer one of the member's own in a program to those who hold a role", handle: (*API).proposeShare,
		},
		{
			Method: http.MethodGet, Pattern: role, Who: Member, Permission: identity.RoleMemoryRead, Success: http.StatusOK, Answer: roleMemoryAnswer{},
			Query:   paged(oneOf("state", "Only versions that stand like this.", "published", "superseded", "withdrawn")),
			Summary: "What a role shares, for those who hold it", handle: (*API).roleMemory,
		},
		{
			Method: http.MethodGet, Pattern: toConfirm, Who: Member, Permission: identity.RoleMemoryRead, Query: paged(), Success: http.StatusOK,
			Answer: list[acts.Candidate]{}, Summary: "What waits for one who holds the role to confirm it", handle: (*API).toConfirm,
		},
		{
			Method: http.MethodGet, Pattern: role + "/candidates", Who: Member, Permission: identity.RoleMemoryManage, Success: http.StatusOK,
			Query:  paged(oneOf("state", "Only candidates that stand like this.", stages()...)),
			Answer: list[acts.Candidate]{}, Summary: "What was offered to a role, and what became of it", handle: (*API).candidates,
		},
		curating("accept", identity.RoleMemoryManage, "Accept a candidate as a curator: the first yes", (*API).acceptCandidate),
		curating("confirm", identity.RoleMemoryRead, "Confirm a candidate as another person who holds the role: its version is published", (*API).confirmCandidate),
		curating("reject", identity.RoleMemoryManage, "Reject a candidate", (*API).rejectCandidate),
	}
}

type offeredAnswer struct {
	CandidateID events.ID             `json:"candidateId"`
	Findings    []events.ScrubFinding `json:"findings"`
}

func (a *API) proposeShare(c *call) (answer, error) {
	var in acts.Offer
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	offered, err := a.cfg.Acts.ProposeShare(c.ctx, c.caller, c.request, c.part["program"], c.id, in)
	return answer{position: offered.Position, body: offeredAnswer{offered.CandidateID, offered.Findings}}, err
}

// roleMemoryAnswer is a page of versions. With every page come the newest of what waits to be confirmed; the list of those has more
// where toConfirmNext, which is a cursor of that list, says so.
type roleMemoryAnswer struct {
	Items         []acts.RoleVersion `json:"items"`
	Next          *string            `json:"next"`
	ToConfirm     []acts.Candidate   `json:"toConfirm"`
	ToConfirmNext *string            `json:"toConfirmNext"`
}

func (a *API) roleMemory(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	memory, err := a.cfg.Acts.RoleMemory(c.ctx, c.caller, c.part["role"], c.query.Get("state"), page)
	return answer{body: roleMemoryAnswer{
		Items: memory.Items, Next: a.next(c, memory.Next),
		ToConfirm: memory.ToConfirm.Items, ToConfirmNext: a.nextOf(c.scopeOf(toConfirm, nil), memory.ToConfirm.Next),
	}}, err
}

func (a *API) toConfirm(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.ToConfirm(c.ctx, c.caller, c.part["role"], page)
	return answer{body: list[acts.Candidate]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) candidates(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	var at []rolememory.Stage
	if c.query.Has("state") {
		at = append(at, rolememory.Stage(c.query.Get("state")))
	}
	found, err := a.cfg.Acts.Candidates(c.ctx, c.caller, c.part["role"], page, at...)
	return answer{body: list[acts.Candidate]{found.Items, a.next(c, found.Next)}}, err
}

func stages() []string {
	var all []string
	for _, stage := range rolememory.Stages() {
		all = append(all, string(stage))
	}
	return all
}

func (a *API) acceptCandidate(c *call) (answer, error) {
	done, err := a.cfg.Acts.AcceptCandidate(c.ctx, c.caller, c.request, c.part["role"], c.id)
	return answer{position: done.Position, body: done.Candidate}, err
}

func (a *API) confirmCandidate(c *call) (answer, error) {
	done, err := a.cfg.Acts.ConfirmCandidate(c.ctx, c.caller, c.request, c.part["role"], c.id)
	return answer{position: done.Position, body: done.Candidate}, err
}

func (a *API) rejectCandidate(c *call) (answer, error) {
	done, err := a.cfg.Acts.RejectCandidate(c.ctx, c.caller, c.request, c.part["role"], c.id)
	return answer{position: done.Position, body: done.Candidate}, err
}
