package api

import (
	"net/http"
	"time"

	"iris.example/iris/identity"
	"iris.example/iris/limits"
)

// Observation is one request seen from outside, for metrics: the route's pattern, never the address.
type Observation struct {
	Method  string
	Pattern string
	Status  int
	Code    string // of the problem, if it was one
	Took    time.Duration
}

// text is an answer that is no JSON.
type text struct {
	mediaType string
	content   []byte
}

// metrics is a page of numbers for machines (spec 9.6); nothing on it is about a person.
func (a *API) metrics(*call) (answer, error) {
	mediaType, page, err := a.cfg.Metrics()
	return answer{body: text{mediaType, page}}, err
}

// kindOf is what a call counts as.
func kindOf(route Route) limits.Kind {
	switch {
	case route.Command:
		return limits.Commands
	case route.Permission == identity.Recall && route.Method == http.MethodPost:
		return limits.Recalls
	}
	return limits.Reads
}

// within lets a caller ask once more, or says when it may. Subject and client are counted under a digest.
func (a *API) within(route Route, p identity.Principal) error {
	return a.cfg.Limits.Principal(kindOf(route), p.Issuer, p.Subject, p.Client)
}

// stranger tells who shows no valid credential so, as often as an address may ask.
func (a *API) stranger(remote string, cause error) error {
	if err := a.cfg.Limits.Address(remote); err != nil {
		return err
	}
	return cause
}
