package api

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/problems"
	"iris.example/iris/schemas"
)

// toolRoutes are the tools that a harness gives its assistant (spec 1.5, 1.9).
func toolRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Pattern: "/v1/tools", Who: Principal, Permission: identity.Propose,
			Success: http.StatusOK, Answer: list[schemas.Tool]{}, Summary: "The tools that stand in a toolset, with their specifications",
			handle: (*API).tools,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/tools/{tool}", Who: Principal, Permission: identity.Propose, Request: schemas.RequestTool,
			Command: true, Success: http.StatusAccepted, Answer: claimAnswer{}, Summary: "Call a tool; the answer is as its outputSchema says",
			handle: (*API).callTool,
		},
	}
}

func (a *API) tools(*call) (answer, error) {
	offered, err := schemas.OfferedTools()
	return answer{body: list[schemas.Tool]{Items: offered}}, err
}

type toolRequest struct {
	Arguments jsontext.Value `json:"arguments,omitempty"`
}

// callTool refuses a promotion before it looks at the arguments: there is none with which it would be carried out.
func (a *API) callTool(c *call) (answer, error) {
	var in toolRequest
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	if in.Arguments == nil {
		in.Arguments = jsontext.Value("{}")
	}
	switch c.part["tool"] {
	case schemas.ToolProposeNote:
		return a.proposeNote(c, in.Arguments)
	case schemas.ToolProposePromotion:
		return answer{}, problems.Refuse("not_implemented")
	}
	return answer{}, acts.ErrNotFound
}

// proposeNote looks at the tier first: the specification admits one only, and a model that names another is told the rule and not
// that its arguments have the wrong form.
func (a *API) proposeNote(c *call, arguments jsontext.Value) (answer, error) {
	if tier := tierIn(arguments); tier.Valid() && tier != events.TierIndividual {
		return answer{}, aggregates.Refuse("tier_not_admitted", "spec 1.5")
	}
	if err := a.cfg.Contract.CheckArguments(schemas.ToolProposeNote, arguments); err != nil {
		return answer{}, err
	}
	var note acts.Note
	if err := boundary.Decode(arguments, &note); err != nil {
		return answer{}, err
	}
	return a.proposed(c, note.Proposal())
}

// tierIn is the tier that arguments name; empty where they don't name it as they should, which their schema finds.
func tierIn(arguments jsontext.Value) events.Tier {
	var asked struct {
		Tier events.Tier `json:"tier"`
	}
	if err := json.Unmarshal(arguments, &asked); err != nil {
		return ""
	}
	return asked.Tier
}
