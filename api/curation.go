package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/schemas"
)

// curationRoutes are role memory: what members share, and what two people make of it (spec 9.6).
func curationRoutes() []Route {
	const role = "/v1/role-memory/{role}"
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
			Method: http.MethodGet, Pattern: role, Who: Member, Permission: identity.RoleMemoryRead, Success: http.StatusOK, Answer: acts.RoleMemory{},
			Summary: "What a role shares, for those who hold it", handle: (*API).roleMemory,
		},
		{
			Method: http.MethodGet, Pattern: role + "/candidates", Who: Member, Permission: identity.RoleMemoryManage, Success: http.StatusOK,
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

func (a *API) roleMemory(c *call) (answer, error) {
	memory, err := a.cfg.Acts.RoleMemory(c.ctx, c.caller, c.part["role"])
	return answer{body: memory}, err
}

func (a *API) candidates(c *call) (answer, error) {
	all, err := a.cfg.Acts.Candidates(c.ctx, c.caller, c.part["role"])
	return answer{body: list[acts.Candidate]{Items: all}}, err
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
