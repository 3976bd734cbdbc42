package api

import (
	"net/url"
	"slices"
	"strings"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
	"iris.example/iris/projections/reader"
)

// Parameter is one query parameter of a route.
type Parameter struct {
	Name     string
	Summary  string
	Required bool
	Words    []string // the values that it can have; nil: check says

	check func(value string) error
}

func oneOf(name, summary string, words ...string) Parameter {
	return Parameter{Name: name, Summary: summary, Words: words, check: func(value string) error {
		if !slices.Contains(words, value) {
			return badParameter(name, "is none of "+strings.Join(words, ", "))
		}
		return nil
	}}
}

func slugParameter(name, summary string) Parameter {
	return Parameter{Name: name, Summary: summary, check: func(value string) error { return boundary.Slug(name, value) }}
}

// claimParameter takes the CloudEvents id that a claim had; it is compared, never sent to a broker.
func claimParameter() Parameter {
	return Parameter{
		Name: "claim", Summary: "The id of the CloudEvents message that made the claim.", Required: true,
		check: func(value string) error {
			if value == "" || len(value) > maxClaimID {
				return badParameter("claim", "is not 1 to 256 bytes long")
			}
			_, err := boundary.Text("claim", value)
			return err
		},
	}
}

const maxClaimID = 256

const maxWords = 400

// wordsParameter takes a query of words. It is as personal as what it finds: it is keyed before it is looked up, and never logged.
func wordsParameter() Parameter {
	return Parameter{
		Name: "q", Summary: "Words that must all occur in the text or the subject, in any of their English forms.",
		check: func(value string) error {
			if value == "" || len(value) > maxWords {
				return badParameter("q", "is not 1 to 400 bytes long")
			}
			_, err := boundary.Text("q", value)
			return err
		},
	}
}

// paged adds what every list takes.
func paged(filters ...Parameter) []Parameter {
	return append(filters,
		Parameter{Name: "limit", Summary: "How many items, 1 to 200; 50 when left out.", check: func(value string) error {
			if value == "" {
				return badParameter("limit", "is empty")
			}
			_, err := boundary.Limit(value)
			return err
		}},
		Parameter{Name: "cursor", Summary: "Where the page begins: next of the page before.", check: func(string) error { return nil }},
	)
}

// readQuery takes the query apart by the table. What it doesn't know is refused: a misspelt filter must not widen a list.
func readQuery(route Route, raw string) (url.Values, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return nil, problems.Refuse("invalid_parameter", problems.Item{Code: "invalid_parameter", Detail: "the query can't be read"})
	}
	for name, values := range query {
		at := slices.IndexFunc(route.Query, func(p Parameter) bool { return p.Name == name })
		if at < 0 {
			return nil, problems.Refuse("unknown_parameter", problems.Item{Code: "unknown_parameter", Detail: "this call knows " + known(route)})
		}
		if len(values) != 1 {
			return nil, badParameter(name, "stands twice")
		}
		if err := route.Query[at].check(values[0]); err != nil {
			return nil, err
		}
	}
	for _, p := range route.Query {
		if p.Required && !query.Has(p.Name) {
			return nil, badParameter(p.Name, "is missing")
		}
	}
	return query, nil
}

func known(route Route) string {
	if len(route.Query) == 0 {
		return "no parameter"
	}
	names := make([]string, len(route.Query))
	for i, p := range route.Query {
		names[i] = p.Name
	}
	return strings.Join(names, ", ")
}

func badParameter(name, detail string) error {
	return problems.Refuse("invalid_parameter", problems.Item{Code: "invalid_parameter", Detail: name + " " + detail})
}

// page is what a list was asked for.
func (a *API) page(c *call) (reader.Page, error) {
	limit, err := boundary.Limit(c.query.Get("limit"))
	if err != nil {
		return reader.Page{}, err
	}
	page := reader.Page{Limit: limit}
	if !c.query.Has("cursor") {
		return page, nil
	}
	at, err := a.cursors.Decode(c.listScope(), c.query.Get("cursor"))
	if err != nil {
		return reader.Page{}, err
	}
	page.Before = &reader.Key{Position: at.Position, ID: events.ID(at.ID)}
	return page, nil
}

func (a *API) next(c *call, key *reader.Key) *string { return a.nextOf(c.listScope(), key) }

func (a *API) nextOf(scope string, key *reader.Key) *string {
	if key == nil {
		return nil
	}
	cursor := a.cursors.Encode(scope, boundary.Cursor{Position: key.Position, ID: string(key.ID)})
	return &cursor
}

// listScope is what a cursor holds for: one list of one member under the same filters.
func (c *call) listScope() string {
	filters := url.Values{}
	for name, values := range c.query {
		if name != "cursor" && name != "limit" {
			filters[name] = values
		}
	}
	return c.scopeOf(c.route.Pattern, filters)
}

// scopeOf is that of a list whose pattern names nothing that the call's doesn't.
func (c *call) scopeOf(pattern string, filters url.Values) string {
	return strings.Join([]string{c.caller.Organisation, string(c.caller.Member), concrete(pattern, c.part), filters.Encode()}, "\x00")
}
