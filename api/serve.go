package api

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/problems"
	"iris.example/iris/tracing"
)

// maxBody is the longest body of a request.
const maxBody = 64 << 10

// call is one request once it is understood.
type call struct {
	ctx     context.Context
	route   Route
	caller  acts.Caller // of the credential; empty on public routes
	request acts.Request
	id      events.ID         // {id} of the path
	part    map[string]string // what else the path names, by its name in the pattern
	ifMatch events.ID         // the revision that the caller saw
	query   url.Values
	body    []byte // judged by the route's schema
}

// mux is the table as net/http knows it.
func (a *API) mux() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, route := range a.routes {
		mux.HandleFunc(route.Method+" "+route.Pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, route) })
		methods[route.Pattern] = append(methods[route.Pattern], route.Method)
		if route.Method == http.MethodGet {
			methods[route.Pattern] = append(methods[route.Pattern], http.MethodHead)
		}
	}
	for pattern, allowed := range methods {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			a.serve(w, r, refusing(pattern, problems.Refuse("method_not_allowed")))
		})
	}
	unmatched := refusing("unmatched", acts.ErrNotFound)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, unmatched) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would answer with a redirect that repeats the address.
		if given := r.URL.EscapedPath(); given != path.Clean(given) {
			a.serve(w, r, unmatched)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refusing stands in for a route that the table doesn't have. It is public: what isn't there can be told to anyone.
func refusing(pattern string, err error) Route {
	return Route{Method: "-", Pattern: pattern, handle: func(*API, *call) (answer, error) { return answer{}, err }}
}

// serve is the way of every request: it is understood and carried out by carryOut, answered once, and logged.
func (a *API) serve(w http.ResponseWriter, r *http.Request, route Route) {
	x := a.begin(w, r, route)
	defer x.end()
	ctx, span := a.cfg.Tracer.Continue(r.Context(), traceParent(r.Header), tracing.HTTP, tracing.Route(x.method, route.Pattern))
	x.span = span
	done, err := a.carryOut(x, r.WithContext(ctx))
	if err != nil {
		x.refuse(err)
		return
	}
	x.write(done)
}

// carryOut is the one sequence of checks (spec 9.5, 9.6). Nothing is done before the last of them has passed.
func (a *API) carryOut(x *exchange, r *http.Request) (answer, error) {
	route := x.route
	c := &call{ctx: r.Context(), route: route}
	c.request.Received, c.request.Trace.Parent = events.At(a.cfg.Now()), tracing.Parent(c.ctx, traceParent(r.Header))
	if route.Method == "-" {
		return route.handle(a, c)
	}
	if r.ContentLength > maxBody {
		return answer{}, problems.Refuse("body_too_large")
	}

	if route.Who == Public {
		if err := a.cfg.Limits.Address(r.RemoteAddr); err != nil {
			return answer{}, err
		}
	} else {
		token, err := identity.BearerToken(r.Header.Values("Authorization"))
		if err != nil {
			return answer{}, a.stranger(r.RemoteAddr, err)
		}
		principal, err := a.cfg.Verifier.Verify(c.ctx, token)
		if err != nil {
			return answer{}, a.stranger(r.RemoteAddr, err)
		}
		x.organisation = principal.Organisation
		if err := a.within(route, principal); err != nil {
			return answer{}, err
		}
		if route.Permission != "" && !principal.Has(route.Permission) {
			return answer{}, &acts.NotPermitted{Permission: route.Permission}
		}
		if c.caller, err = a.cfg.Acts.Identify(c.ctx, principal); err != nil {
			return answer{}, err
		}
		if route.Who == Member && c.caller.Member == "" {
			return answer{}, acts.ErrNotAMember
		}
	}

	var err error
	if c.part, err = readPath(route, r); err != nil {
		return answer{}, err
	}
	c.id = events.ID(c.part["id"])
	if c.query, err = readQuery(route, r.URL.RawQuery); err != nil {
		return answer{}, err
	}
	if route.Command {
		if c.request.Key, err = idempotencyKey(r.Header); err != nil {
			return answer{}, err
		}
		x.w.Header().Set("Idempotency-Key", c.request.Key)
		c.request.Route = route.Method + " " + concrete(route.Pattern, c.part)
	}
	if route.Conditional {
		if c.ifMatch, err = ifMatch(r.Header); err != nil {
			return answer{}, err
		}
	}
	if c.body, err = a.readBody(route, r); err != nil {
		return answer{}, err
	}
	if route.Waits {
		if err := a.await(c, r.Header); err != nil {
			return answer{}, err
		}
	}
	return route.handle(a, c)
}

// await holds a read until what the caller has written is visible (spec 9.1).
func (a *API) await(c *call, header http.Header) error {
	position, asked, err := waitPosition(header)
	if err != nil || !asked {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, a.cfg.Wait)
	defer cancel()
	if c.query.Has("q") {
		if err := a.cfg.Acts.Searchable(ctx, c.caller, position); err != nil {
			return err
		}
	}
	return a.cfg.Acts.Visible(ctx, c.caller, position)
}

// clock measures how long answers take; it is no part of the product's time.
func clock() time.Time { return time.Now() }
