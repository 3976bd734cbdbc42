// Package tracefile writes traces to a file, one span a line of JSON, for development (`iris up --trace FILE`). A deployment that
// has a collector gives tracing.New its own provider; nothing else here knows an exporter.
//
// A span is in the file once the batch is written that it is in, at the latest when the provider stops. Who owns the machine owns
// the file: it is made readable by its owner alone, although no text of anybody is in it.
package tracefile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"iris.example/iris/tracing"
)

// Traces writes what its tracer's spans say.
type Traces struct {
	provider *sdk.TracerProvider
}

// Open appends to a file.
func Open(path string) (*Traces, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the trace file: %w", err)
	}
	return To(file), nil
}

// To writes to w and closes it at the end. Every trace is written: a sampler would lose the one that is looked for.
func To(w io.WriteCloser) *Traces {
	return &Traces{sdk.NewTracerProvider(
		sdk.WithResource(resource.Empty()), sdk.WithSampler(sdk.AlwaysSample()), sdk.WithBatcher(&exporter{w: w}),
	)}
}

// Tracer makes the spans.
func (t *Traces) Tracer() tracing.Tracer { return tracing.New(t.provider) }

// Stop writes what is left and closes the file.
func (t *Traces) Stop(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Line is one span in the file.
type Line struct {
	Trace      string         `json:"trace"`
	Span       string         `json:"span"`
	Parent     string         `json:"parent,omitempty"`
	Step       string         `json:"step"`
	Began      time.Time      `json:"began"`
	Took       time.Duration  `json:"tookNanoseconds"`
	Code       string         `json:"code,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"`
}

// exporter is the SDK's way to the file.
type exporter struct {
	mu sync.Mutex // guards w
	w  io.WriteCloser
}

func (e *exporter) ExportSpans(_ context.Context, spans []sdk.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []error
	for _, span := range spans {
		line, err := json.Marshal(lineOf(span))
		if err == nil {
			_, err = e.w.Write(append(line, '\n'))
		}
		all = append(all, err)
	}
	return errors.Join(all...)
}

func lineOf(span sdk.ReadOnlySpan) Line {
	l := Line{
		Trace: span.SpanContext().TraceID().String(), Span: span.SpanContext().SpanID().String(), Step: span.Name(),
		Began: span.StartTime().UTC(), Took: span.EndTime().Sub(span.StartTime()), Attributes: map[string]any{},
	}
	if parent := span.Parent(); parent.IsValid() {
		l.Parent = parent.SpanID().String()
	}
	if status := span.Status(); status.Code == codes.Error {
		l.Code = status.Description
	}
	for _, kv := range span.Attributes() {
		l.Attributes[string(kv.Key)] = kv.Value.AsInterface()
	}
	return l
}

func (e *exporter) Shutdown(context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.w.Close()
}
