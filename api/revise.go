package api

import (
	"net/http"
	"strings"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
)

// movedAnswer is a memory after a pause, a resume or a restore (spec 10.3).
type movedAnswer struct {
	MemoryID   events.ID `json:"memoryId"`
	RevisionID events.ID `json:"revisionId"`
	Outcome    string    `json:"outcome"`
}

// conflictProblem carries both revisions (spec 9.6, 10.3): the one that stands and the one that the caller named. Either is null
// where the caller's memory has none.
type conflictProblem struct {
	problems.Problem
	Current *acts.Revision `json:"current"`
	Named   *acts.Revision `json:"named"`
}

// ifMatch reads the one revision that the caller saw: "<revisionId>". A list, * or a weak tag would leave open which one it was.
func ifMatch(header http.Header) (events.ID, error) {
	values := header.Values("If-Match")
	if len(values) == 0 {
		return "", problems.Refuse("precondition_required")
	}
	id, quoted := strings.CutPrefix(values[0], `"`)
	id, ended := strings.CutSuffix(id, `"`)
	if len(values) > 1 || !quoted || !ended || boundary.UUID("If-Match", id) != nil {
		return "", problems.Refuse("invalid_if_match")
	}
	return events.ID(id), nil
}

func (a *API) revise(c *call) (answer, error) {
	var in acts.Edits
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	kept, err := a.cfg.Acts.Revise(c.ctx, c.caller, c.request, c.id, c.ifMatch, in)
	return answer{position: kept.Position, revision: kept.RevisionID, body: keptOf(kept)}, err
}

func (a *API) pause(c *call) (answer, error) {
	var in acts.Break
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	moved, err := a.cfg.Acts.Pause(c.ctx, c.caller, c.request, c.id, in)
	return movedTo(moved, "paused"), err
}

func (a *API) resume(c *call) (answer, error) {
	moved, err := a.cfg.Acts.Resume(c.ctx, c.caller, c.request, c.id)
	return movedTo(moved, "resumed"), err
}

func (a *API) restore(c *call) (answer, error) {
	moved, err := a.cfg.Acts.Restore(c.ctx, c.caller, c.request, c.id)
	return movedTo(moved, "restored"), err
}

func movedTo(m acts.Moved, outcome string) answer {
	return answer{position: m.Position, revision: m.RevisionID, body: movedAnswer{m.MemoryID, m.RevisionID, outcome}}
}

func (a *API) history(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.History(c.ctx, c.caller, c.id, page)
	return answer{body: list[acts.Revision]{found.Items, a.next(c, found.Next)}}, err
}

// publishTerms answers Unchanged where the same text stood already.
func (a *API) publishTerms(c *call) (answer, error) {
	var in acts.Publication
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	published, err := a.cfg.Acts.PublishTerms(c.ctx, c.caller, c.request, in)
	done := answer{position: published.Position, body: published.Terms}
	if !published.Changed {
		done.status = c.route.Unchanged
	}
	return done, err
}
