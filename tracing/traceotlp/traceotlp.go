// Package traceotlp sends traces to a collector over OTLP/HTTP, the wire of OpenTelemetry (spec "Operations"). It is off until an
// endpoint is named.
//
// It guarantees: what is sent holds what tracing lets into a span and the version of the program, and what the operator put
// into OTEL_RESOURCE_ATTRIBUTES, and nothing of the machine; a collector that doesn't answer costs spans and never a request, its absence is
// no error at the start, and a stop waits for it no longer than Farewell.
// Off loopback an endpoint is https.
package traceotlp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"iris.example/iris/tracing"
)

// ErrEndpoint: where the traces are to go is no address for them.
var ErrEndpoint = errors.New("traceotlp: endpoint refused")

// Config says where to.
type Config struct {
	Endpoint string // a collector's address, such as https://collector:4318; its path is /v1/traces unless it has one
	Service  string // what this process is called there; default iris
	Version  string // of the program
	Loopback func(host string) bool
	Farewell time.Duration // how long a stop waits for what is left to be taken; default 5 s
}

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Service == "" {
		c.Service = "iris"
	}
	if c.Loopback == nil {
		c.Loopback = func(string) bool { return false }
	}
	if c.Farewell == 0 {
		c.Farewell = 5 * time.Second
	}
	return c
}

// Validate refuses an address that holds a secret, or would send traces in the clear over a network. It doesn't quote it.
func (c Config) Validate() error {
	u, err := url.Parse(c.Endpoint)
	switch {
	case err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%w: not of the form https://collector:4318, without user, query and fragment", ErrEndpoint)
	case u.Scheme == "https" || u.Scheme == "http" && c.Loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%w: neither https nor on loopback", ErrEndpoint)
}

// Traces sends what its tracer's spans say.
type Traces struct {
	provider *sdk.TracerProvider
	queue    sdk.SpanProcessor
	exporter sdk.SpanExporter
	farewell time.Duration
}

// Open makes the exporter. It connects with the first spans.
func Open(ctx context.Context, c Config) (*Traces, error) {
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	endpoint := c.Endpoint
	if u, _ := url.Parse(endpoint); strings.Trim(u.Path, "/") == "" {
		endpoint = strings.TrimRight(endpoint, "/") + "/v1/traces"
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("open the exporter of traces: %w", err)
	}
	about := resource.NewSchemaless(attribute.String("service.name", c.Service), attribute.String("service.version", c.Version))
	queue := sdk.NewBatchSpanProcessor(exporter)
	return &Traces{sdk.NewTracerProvider(sdk.WithResource(about), sdk.WithSpanProcessor(queue)), queue, exporter, c.Farewell}, nil
}

// Tracer makes the spans. Whether a trace is taken is decided where it begins: always, unless who called says no.
func (t *Traces) Tracer() tracing.Tracer { return tracing.New(t.provider) }

// Stop sends what is left, and drops what the collector hasn't taken when the time is over: left to itself the queue would go on trying
// for half a minute a batch.
func (t *Traces) Stop(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, t.farewell)
	defer cancel()
	err := t.queue.Shutdown(limited) // the provider's own leaves the queue running where ctx is over already
	if err != nil {
		err = errors.Join(err, t.exporter.Shutdown(context.WithoutCancel(ctx)))
	}
	return err
}
