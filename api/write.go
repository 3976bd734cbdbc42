package api

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/problems"
	"iris.example/iris/tracing"
)

// answer is what a handler made of a call.
type answer struct {
	status   int // 0: the table's
	position uint64
	revision events.ID // of the one memory that the answer is about: its ETag, for If-Match
	body     any
}

// exchange is one request and its one answer. Organisation is known once the token is; nothing else of the caller is kept.
type exchange struct {
	w            http.ResponseWriter
	method       string
	route        Route
	logger       *slog.Logger
	observe      func(Observation)
	span         tracing.Span
	began        time.Time
	id           events.ID
	organisation string
	status       int
	code         string // of the problem, if it was one
}

func (a *API) begin(w http.ResponseWriter, r *http.Request, route Route) *exchange {
	x := &exchange{w: w, method: Method(r.Method), route: route, logger: a.cfg.Logger, observe: a.cfg.Observe, began: clock()}
	x.id, _ = events.RandomID() // an answer without an id is still an answer
	header := w.Header()
	header.Set("Iris-Request", string(x.id))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.TLS != nil {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
	return x
}

// Method keeps a made-up one out of logs and metrics.
func Method(m string) string {
	switch m {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return m
	}
	return "other"
}

// end answers for what panicked, and writes the access log. Of a panic the log has its type and where it was: its words may be
// anyone's.
func (x *exchange) end() {
	if panicked := recover(); panicked != nil {
		if panicked == http.ErrAbortHandler {
			panic(panicked)
		}
		x.logger.Error("request panicked", "request", x.id, "route", x.route.Pattern, "type", fmt.Sprintf("%T", panicked), "stack", string(debug.Stack()))
		if x.status == 0 {
			x.problem(problems.Of(errPanicked), nil)
		}
	}
	took := clock().Sub(x.began)
	x.span.Note(tracing.Status(x.status))
	x.span.End(x.code)
	x.observe(Observation{x.method, x.route.Pattern, x.status, x.code, took})
	x.logger.Info("request", "method", x.method, "route", x.route.Pattern, "status", x.status,
		"code", x.code, "duration", took,
		"organisation", x.organisation, "request", x.id)
}

var errPanicked = errors.New("panicked")

// write answers with what was done.
func (x *exchange) write(done answer) {
	if x.route.Command {
		x.w.Header().Set("Iris-Position", strconv.FormatUint(done.position, 10))
	}
	if done.revision != "" {
		x.w.Header().Set("ETag", `"`+string(done.revision)+`"`)
	}
	if done.status == 0 {
		done.status = x.route.Success
	}
	x.send(done.status, "application/json", done.body)
}

// rejected is a claim that was recorded and not taken: a problem to the caller, but one that stands at a position (spec 10.1).
type rejected struct {
	cause      error
	position   uint64
	proposalID events.ID
}

func (r *rejected) Error() string { return fmt.Sprintf("proposal %s: %v", r.proposalID, r.cause) }

func (r *rejected) Unwrap() error { return r.cause }

// rejection is a problem with the extra member that RFC 9457 allows.
type rejection struct {
	problems.Problem
	ProposalID events.ID `json:"proposalId"`
}

// refuse answers with a problem. What is our fault, or may be over in a moment, is logged with its cause.
func (x *exchange) refuse(err error) {
	p := problems.Of(err)
	if p.Status >= http.StatusInternalServerError {
		x.logger.Error("request failed", "request", x.id, "route", x.route.Pattern, "code", p.Code, "error", err)
	}
	var claim *rejected
	if errors.As(err, &claim) {
		x.w.Header().Set("Iris-Position", strconv.FormatUint(claim.position, 10))
		x.problem(p, rejection{p, claim.proposalID})
		return
	}
	if conflict, ok := acts.AsRevisionConflict(err); ok {
		x.problem(p, conflictProblem{p, conflict.Current, conflict.Named})
		return
	}
	if findings, field, ok := acts.AsScrubFindings(err); ok {
		x.problem(p, scrubProblemOf(p, findings, field))
		return
	}
	if p.Status == http.StatusUnauthorized {
		x.w.Header().Set("WWW-Authenticate", challenge(err))
	}
	x.problem(p, nil)
}

func challenge(err error) string {
	var token *identity.Error
	if errors.As(err, &token) && token.Code != identity.TokenMissing {
		return `Bearer realm="iris", error="invalid_token"`
	}
	return `Bearer realm="iris"`
}

func (x *exchange) problem(p problems.Problem, extended any) {
	x.code = p.Code
	if p.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(int(p.RetryAfter.Seconds())))
	}
	if extended == nil {
		extended = p
	}
	x.send(p.Status, "application/problem+json", extended)
}

func (x *exchange) send(status int, mediaType string, body any) {
	if page, ok := body.(text); ok {
		x.deliver(status, page.mediaType, page.content)
		return
	}
	content, err := json.Marshal(body, json.Deterministic(true))
	if err != nil {
		x.logger.Error("answer can't be written", "request", x.id, "route", x.route.Pattern, "type", fmt.Sprintf("%T", body))
		x.status = http.StatusInternalServerError
		x.w.WriteHeader(x.status)
		return
	}
	x.deliver(status, mediaType, content)
}

func (x *exchange) deliver(status int, mediaType string, content []byte) {
	x.status = status
	x.w.Header().Set("Content-Type", mediaType)
	x.w.WriteHeader(status)
	_, _ = x.w.Write(content) // a caller that hung up
}
