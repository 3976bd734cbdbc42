package runner

import (
	"context"
	"errors"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/tracing"
)

// Result is what became of a command that met no error.
type Result string

const (
	Committed Result = "committed"
	Unchanged Result = "unchanged"
	Repeated  Result = "repeated"
)

// Observation is one command seen from outside, for metrics: no id and no text of it.
type Observation struct {
	Aggregate events.AggregateKind
	Result    Result // empty with Err
	Err       error
	Conflicts int // appends that came second
	Ambiguous int // appends without an answer
	Took      time.Duration
}

// watch accompanies one command.
type watch struct {
	ctx     context.Context
	tracer  tracing.Tracer
	span    tracing.Span
	observe func(Observation)
	began   time.Time
	seen    Observation
}

func (r *Runner[S, C]) watch(ctx context.Context, kind events.AggregateKind) *watch {
	w := &watch{tracer: r.cfg.Tracer, observe: r.cfg.Observe, began: time.Now(), seen: Observation{Aggregate: kind}}
	w.ctx, w.span = w.tracer.Begin(ctx, tracing.Act, tracing.Aggregate(string(kind)))
	return w
}

func (w *watch) step(ctx context.Context, step tracing.Step, attempt int) tracing.Span {
	_, span := w.tracer.Begin(ctx, step, tracing.Attempt(attempt+1))
	return span
}

func (w *watch) end(outcome Outcome, err error) {
	w.seen.Err, w.seen.Took = err, time.Since(w.began)
	if err == nil {
		w.seen.Result = resultOf(outcome)
		w.span.Note(tracing.Outcome(string(w.seen.Result)), tracing.Position(outcome.Position))
		w.span.Note(tracing.Types(outcome.Events))
	}
	w.span.End(codeOf(err))
	w.observe(w.seen)
}

func resultOf(o Outcome) Result {
	switch {
	case o.Repeated:
		return Repeated
	case len(o.Events) == 0:
		return Unchanged
	}
	return Committed
}

// codeOf is the stable part of an error, for traces: its text may name an aggregate.
func codeOf(err error) string {
	if err == nil {
		return ""
	}
	if refusal, is := aggregates.AsRefusal(err); is {
		return refusal.Code
	}
	for _, known := range []error{ErrOutcomeUnknown, ErrKeyReused, ErrBroken, ErrUnavailable} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	switch {
	case errors.Is(err, eventlog.ErrConflict):
		return "conflict"
	case errors.Is(err, eventlog.ErrAmbiguous):
		return "ambiguous"
	}
	return "failed"
}
