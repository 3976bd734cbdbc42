package api

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/problems"
	"iris.example/iris/recall"
)

// document is JSON that is written as it is.
type document = jsontext.Value

func (a *API) about(*call) (answer, error) {
	body := aboutAnswer{
		Name: "Iris", Version: a.cfg.Version, NoTraining: events.NoTraining, FixedPhrase: events.FixedPhrase, Engine: recall.Engine,
		PolicyID: policy.ID,
	}
	if a.cfg.ClockOffset > 0 {
		body.ClockOffset = a.cfg.ClockOffset.String()
	}
	return answer{body: body}, nil
}

func (a *API) healthy(*call) (answer, error) { return answer{body: healthAnswer{"ok"}}, nil }

// ready names what doesn't answer; the causes are for the log.
func (a *API) ready(c *call) (answer, error) {
	checks := a.cfg.Ready(c.ctx)
	var failed []problems.Item
	for _, name := range slices.Sorted(maps.Keys(checks)) {
		if err := checks[name]; err != nil {
			a.cfg.Logger.Error("not ready", "check", name, "error", err)
			failed = append(failed, problems.Item{Pointer: "/" + name, Code: "not_ready", Detail: name + " doesn't answer, or isn't as it must be"})
		}
	}
	if len(failed) > 0 {
		return answer{}, problems.Refuse("not_ready", failed...)
	}
	return answer{body: healthAnswer{"ready"}}, nil
}

func (a *API) contract(*call) (answer, error) { return answer{body: document(a.openAPI)}, nil }
