package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/schemas"
)

// sessionRoutes are an assistant's sessions with its member (spec 3.7, 10.9).
func sessionRoutes() []Route {
	return []Route{
		{
			Method: http.MethodPost, Pattern: "/v1/sessions", Who: Principal, Permission: identity.Propose, Request: schemas.RequestSession,
			Command: true, Success: http.StatusCreated, Answer: sessionAnswer{}, Summary: "Open a session of the member's assistant in a program",
			handle: (*API).openSession,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/sessions/{id}/turns", Who: Principal, Permission: identity.Propose, Request: schemas.RequestTurn,
			Command: true, Success: http.StatusCreated, Answer: turnAnswer{}, Summary: "Add what was said to the session's history",
			handle: (*API).addTurn,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/sessions/{id}/items", Who: Principal, Permission: identity.Propose, Request: schemas.RequestItem,
			Command: true, Success: http.StatusCreated, Answer: itemAnswer{}, Summary: "Remember something for as long as the session lasts",
			handle: (*API).addItem,
		},
		{
			Method: http.MethodPost, Pattern: "/v1/sessions/{id}/close", Who: Principal, Permission: identity.Propose, Request: schemas.RequestNothing,
			Command: true, Success: http.StatusOK, Answer: outcomesAnswer{}, Summary: "End the session; every candidate gets its outcome",
			handle: (*API).closeSession,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/sessions/{id}/context", Who: Principal, Permission: identity.Propose, Success: http.StatusOK,
			Answer: acts.SessionContext{}, Summary: "What the assistant goes on with: history and items, screened again",
			handle: (*API).sessionContext,
		},
	}
}

type sessionAnswer struct {
	SessionID events.ID `json:"sessionId"`
}

type turnAnswer struct {
	Turn int `json:"turn"`
}

type itemAnswer struct {
	ItemID events.ID `json:"itemId"`
}

type outcomesAnswer struct {
	Outcomes []acts.ItemOutcome `json:"outcomes"`
}

func (a *API) openSession(c *call) (answer, error) {
	var in acts.Opening
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	opened, err := a.cfg.Acts.OpenSession(c.ctx, c.caller, c.request, in)
	return answer{position: opened.Position, body: sessionAnswer{opened.SessionID}}, err
}

func (a *API) addTurn(c *call) (answer, error) {
	var in acts.Turn
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	added, err := a.cfg.Acts.AddTurn(c.ctx, c.caller, c.request, c.id, in)
	return answer{position: added.Position, body: turnAnswer{added.Turn}}, err
}

func (a *API) addItem(c *call) (answer, error) {
	var in acts.Item
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	added, err := a.cfg.Acts.AddItem(c.ctx, c.caller, c.request, c.id, in)
	return answer{position: added.Position, body: itemAnswer{added.ItemID}}, err
}

func (a *API) closeSession(c *call) (answer, error) {
	closed, err := a.cfg.Acts.CloseSession(c.ctx, c.caller, c.request, c.id)
	return answer{position: closed.Position, body: outcomesAnswer{closed.Outcomes}}, err
}

func (a *API) sessionContext(c *call) (answer, error) {
	found, err := a.cfg.Acts.SessionContext(c.ctx, c.caller, c.id)
	return answer{body: found}, err
}
