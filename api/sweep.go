package api

import (
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/identity"
)

// sweepRoutes forget many at once (spec 9.6, 10.9). All of them are soft.
func sweepRoutes() []Route {
	return []Route{
		{
			Method: http.MethodDelete, Pattern: "/v1/me/memory", Who: Member, Query: []Parameter{sourceParameter(), notebookParameter()}, Command: true,
			Success: http.StatusOK, Answer: sweptAnswer{}, Summary: "Forget everything from one source, or end a notebook", handle: (*API).forgetMany,
		},
		{
			Method: http.MethodDelete, Pattern: "/v1/programs/{program}/agent-memory", Who: Member, Permission: identity.AgentMemoryManage, Command: true,
			Success: http.StatusOK, Answer: sweptAnswer{}, Summary: "Forget all of the member's own in a program", handle: (*API).forgetProgram,
		},
	}
}

// sweptAnswer counts what is hidden now, and the proposals that are over. forgetAt is null where there was nothing.
type sweptAnswer struct {
	Outcome   string       `json:"outcome"`
	Memories  int          `json:"memories"`
	Proposals int          `json:"proposals"`
	ForgetAt  *events.Time `json:"forgetAt"`
}

// maxRef is the longest that sourceRefs hold (vocabulary.schema.json), with its kind and a colon, in code points.
const maxRef = 64 + 1 + 512

func sourceParameter() Parameter {
	return Parameter{
		Name: "source_ref", Summary: "The ref of the source, as sourceRefs name it; kind:ref, where refs of two kinds are the same.",
		check: func(value string) error { return refParameter("source_ref", value) },
	}
}

const notebookPrefix = string(events.ScopeNotebook) + ":"

func notebookParameter() Parameter {
	return Parameter{
		Name: "scope", Summary: "notebook:<id>: the notebook that ends.",
		check: func(value string) error {
			id, is := strings.CutPrefix(value, notebookPrefix)
			if !is {
				return badParameter("scope", "is not notebook:<id>")
			}
			return refParameter("scope", id)
		},
	}
}

func refParameter(name, value string) error {
	if value == "" || utf8.RuneCountInString(value) > maxRef {
		return badParameter(name, fmt.Sprintf("is not 1 to %d characters long", maxRef))
	}
	_, err := boundary.Text(name, value)
	return err
}

// forgetMany takes exactly one of the two: everything at once is the data-rights request's, and both would be ambiguous.
func (a *API) forgetMany(c *call) (answer, error) {
	if c.query.Has("source_ref") == c.query.Has("scope") {
		return answer{}, badParameter("source_ref or scope", "is missing, or both stand there")
	}
	if c.query.Has("source_ref") {
		return sweptOf(a.cfg.Acts.ForgetSource(c.ctx, c.caller, c.request, c.query.Get("source_ref")))
	}
	return sweptOf(a.cfg.Acts.EndNotebook(c.ctx, c.caller, c.request, strings.TrimPrefix(c.query.Get("scope"), notebookPrefix)))
}

func (a *API) forgetProgram(c *call) (answer, error) {
	return sweptOf(a.cfg.Acts.ForgetProgram(c.ctx, c.caller, c.request, c.part["program"]))
}

func sweptOf(done acts.Swept, err error) (answer, error) {
	return answer{position: done.Position, body: sweptAnswer{"forgotten", done.Memories, done.Drafts, done.ForgetAt}}, err
}
