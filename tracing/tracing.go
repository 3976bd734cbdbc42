// Package tracing follows one request from where it came in to where it became visible: HTTP or intake, act, decide, append, and
// the projection that applied it (OpenTelemetry's API; "Operations"). What links them beyond a process is the traceparent in the
// envelope (spec 9.3).
//
// It guarantees that no personal text gets into a trace: the steps and the attributes are closed sets, an attribute holds a type,
// a kind, a position, a count or a code, and errors are told by their code alone. The zero Tracer does nothing and costs
// nothing.
package tracing

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"iris.example/iris/events"
)

// Step is where a request is.
type Step string

const (
	HTTP    Step = "http"    // a request to the API
	Intake  Step = "intake"  // a claim from the inbox
	Act     Step = "act"     // a command at its aggregate
	Decide  Step = "decide"  // one decision of it
	Append  Step = "append"  // until the broker has it
	Recall  Step = "recall"  // heads, fold, resolve, envelope
	Project Step = "project" // a commit in the read models
)

// Tracer makes spans.
type Tracer struct{ tracer trace.Tracer }

// New takes a provider of OpenTelemetry's.
func New(provider trace.TracerProvider) Tracer { return Tracer{provider.Tracer("iris")} }

// On says whether anybody looks.
func (t Tracer) On() bool { return t.tracer != nil }

// Span is one step under way.
type Span struct{ span trace.Span }

// Begin begins a step of what ctx is in.
func (t Tracer) Begin(ctx context.Context, step Step, about ...Attribute) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	ctx, span := t.tracer.Start(ctx, string(step), trace.WithAttributes(values(about)...))
	return ctx, Span{span}
}

// Continue begins a step of what a traceparent names: another process's span, or one of long ago. Without one it begins a trace.
func (t Tracer) Continue(ctx context.Context, parent string, step Step, about ...Attribute) (context.Context, Span) {
	if t.tracer == nil {
		return ctx, Span{}
	}
	return t.Begin(propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceParent: parent}), step, about...)
}

const traceParent = "traceparent"

// Parent is what the envelope carries on: the span of ctx, or what came from outside where nobody traces. It stands in clear, so
// what isn't a traceparent is dropped: a broken trace is no reason to refuse, and no place for words.
func Parent(ctx context.Context, given string) string {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return outside(given)
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[traceParent]
}

// outside is a traceparent of version 00 (W3C Trace Context), or nothing.
func outside(given string) string {
	parts := strings.Split(given, "-")
	if len(parts) != 4 || parts[0] != "00" || !hexOf(parts[1], 32) || !hexOf(parts[2], 16) || !hexOf(parts[3], 2) {
		return ""
	}
	if strings.Trim(parts[1], "0") == "" || strings.Trim(parts[2], "0") == "" {
		return ""
	}
	return given
}

func hexOf(s string, length int) bool {
	return len(s) == length && strings.Trim(s, "0123456789abcdef") == ""
}

// Note adds what is known only later.
func (s Span) Note(about ...Attribute) {
	if s.span != nil {
		s.span.SetAttributes(values(about)...)
	}
}

// End ends the step. code is a problem's; empty: it went well.
func (s Span) End(code string) {
	if s.span == nil {
		return
	}
	if code != "" {
		s.span.SetStatus(codes.Error, code)
	}
	s.span.End()
}

// Attribute is one fact about a step; there are only those below.
type Attribute struct{ kv attribute.KeyValue }

func values(about []Attribute) []attribute.KeyValue {
	all := make([]attribute.KeyValue, len(about))
	for i, a := range about {
		all[i] = a.kv
	}
	return all
}

// Types are those of events.
func Types(all []events.Recorded) Attribute {
	types := make([]string, len(all))
	for i, e := range all {
		types[i] = string(e.Type)
	}
	return Attribute{attribute.StringSlice("iris.types", types)}
}

// Aggregate is a kind of aggregate.
func Aggregate(kind string) Attribute { return Attribute{attribute.String("iris.aggregate", kind)} }

// Route is the pattern of a route.
func Route(method, pattern string) Attribute {
	return Attribute{attribute.String("iris.route", method+" "+pattern)}
}

// Status is HTTP's.
func Status(status int) Attribute { return Attribute{attribute.Int("iris.status", status)} }

// Outcome is what became of a claim or command, one of a closed set.
func Outcome(outcome string) Attribute { return Attribute{attribute.String("iris.outcome", outcome)} }

// Position is a sequence of a stream.
func Position(position uint64) Attribute {
	return Attribute{attribute.Int64("iris.position", int64(position))}
}

// Attempt counts from 1.
func Attempt(n int) Attribute { return Attribute{attribute.Int("iris.attempt", n)} }
