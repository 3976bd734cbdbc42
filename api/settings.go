package api

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/schemas"
)

// settingsRoutes are what a member says once for everything that comes after (spec 1.5, 1.8, 10.9).
func settingsRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Pattern: "/v1/me/settings", Who: Member, Success: http.StatusOK, Answer: acts.Settings{},
			Summary: "The member's settings", handle: (*API).settings,
		},
		{
			Method: http.MethodPut, Pattern: "/v1/me/settings", Who: Member, Request: schemas.RequestSettings, Command: true,
			Success: http.StatusOK, Answer: acts.Settings{}, Summary: "Change settings; what is left out stays", handle: (*API).changeSettings,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/me/opt-outs", Who: Member, Success: http.StatusOK, Answer: list[events.OptOut]{},
			Summary: "What the member has switched off", handle: (*API).optOuts,
		},
		{
			Method: http.MethodPut, Pattern: "/v1/me/opt-outs", Who: Member, Request: schemas.RequestOptOuts, Command: true,
			Success: http.StatusOK, Answer: list[events.OptOut]{}, Summary: "Switch categories, producers and programs off: the whole list",
			handle: (*API).setOptOuts,
		},
		{
			Method: http.MethodGet, Pattern: "/v1/me/declined", Who: Member, Query: paged(), Success: http.StatusOK, Answer: list[acts.Declined]{},
			Summary: "What isn't proposed again", handle: (*API).declined,
		},
		{
			Method: http.MethodDelete, Pattern: "/v1/me/declined/{id}", Who: Member, Command: true, Success: http.StatusOK, Answer: liftedAnswer{},
			Summary: "Let a declined fact be proposed again", handle: (*API).liftDeclined,
		},
	}
}

type liftedAnswer struct {
	ID      events.ID `json:"id"`
	Outcome string    `json:"outcome"`
}

func (a *API) settings(c *call) (answer, error) {
	settings, err := a.cfg.Acts.Settings(c.ctx, c.caller)
	return answer{body: settings}, err
}

func (a *API) changeSettings(c *call) (answer, error) {
	var in acts.SettingsChange
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	settings, done, err := a.cfg.Acts.ChangeSettings(c.ctx, c.caller, c.request, in)
	return answer{position: done.Position, body: settings}, err
}

func (a *API) optOuts(c *call) (answer, error) {
	all, err := a.cfg.Acts.OptOuts(c.ctx, c.caller)
	return answer{body: list[events.OptOut]{Items: all}}, err
}

func (a *API) setOptOuts(c *call) (answer, error) {
	var in []events.OptOut
	if err := boundary.DecodeArray(c.body, &in); err != nil {
		return answer{}, err
	}
	all, done, err := a.cfg.Acts.SetOptOuts(c.ctx, c.caller, c.request, in)
	return answer{position: done.Position, body: list[events.OptOut]{Items: all}}, err
}

func (a *API) declined(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.Declined(c.ctx, c.caller, page)
	return answer{body: list[acts.Declined]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) liftDeclined(c *call) (answer, error) {
	done, err := a.cfg.Acts.LiftDeclined(c.ctx, c.caller, c.request, c.id)
	return answer{position: done.Position, body: liftedAnswer{c.id, "lifted"}}, err
}
