package traceotlp_test

import (
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"iris.example/iris/identity"
	"iris.example/iris/tracing"
	"iris.example/iris/tracing/traceotlp"
)

// A collector hears every span with its parent, its attributes and its code, and of the surroundings only what the operator
// says.
func TestACollectorHearsTheSpans(t *testing.T) {
	received := make(chan *collector.ExportTraceServiceRequest, 4)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost {
			t.Errorf("%s %s", r.Method, r.URL.Path)
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Errorf("unpack: %v", err)
				return
			}
			body = unpacked
		}
		content, err := io.ReadAll(body)
		var request collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(content, &request) != nil {
			t.Errorf("read a request: %v", err)
		}
		received <- &request
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(server.Close)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	traces, err := traceotlp.Open(t.Context(), traceotlp.Config{Endpoint: server.URL, Version: "v1", Loopback: identity.Loopback})
	require.NoError(t, err)
	tracer := traces.Tracer()
	ctx, outer := tracer.Begin(t.Context(), tracing.HTTP, tracing.Route("POST", "/v1/recall"))
	_, inner := tracer.Begin(ctx, tracing.Recall, tracing.Position(7))
	inner.End("consent_state_unavailable")
	outer.End("")
	require.NoError(t, traces.Stop(t.Context()))

	request := <-received
	require.Len(t, request.ResourceSpans, 1)
	about := map[string]string{}
	for _, a := range request.ResourceSpans[0].Resource.Attributes {
		about[a.Key] = a.Value.GetStringValue()
	}
	require.Equal(t, map[string]string{"service.name": "iris", "service.version": "v1", "deployment.environment": "test"}, about)
	spans := request.ResourceSpans[0].ScopeSpans[0].Spans
	require.Len(t, spans, 2)
	require.Equal(t, "recall", spans[0].Name)
	require.Equal(t, "consent_state_unavailable", spans[0].Status.Message)
	require.Equal(t, "iris.position", spans[0].Attributes[0].Key)
	require.EqualValues(t, 7, spans[0].Attributes[0].Value.GetIntValue())
	require.Equal(t, "http", spans[1].Name)
	require.Equal(t, spans[1].SpanId, spans[0].ParentSpanId)
}

// A collector that isn't there, or says nothing, costs nobody anything but spans, and at the end no more time than is given to it.
func TestNobodyWaitsForACollector(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait there to be taken
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for name, endpoint := range map[string]string{"gone": gone.URL, "silent": "http://" + silent.Addr().String()} {
		for when, until := range map[string]context.Context{"in time": t.Context(), "too late": over} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				traces, err := traceotlp.Open(t.Context(), traceotlp.Config{Endpoint: endpoint, Loopback: identity.Loopback, Farewell: 50 * time.Millisecond})
				require.NoError(t, err)
				began := time.Now()
				for range 2_000 {
					_, span := traces.Tracer().Begin(t.Context(), tracing.Act)
					span.End("")
				}
				if err := traces.Stop(until); name == "silent" {
					require.Error(t, err, "what is left was not sent")
				}
				require.Less(t, time.Since(began), 5*time.Second)
			})
		}
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"", "collector:4318", "http://collector:4318", "https://user:s3cret@collector", "https://collector?key=s3cret", "ftp://collector"} {
		err := traceotlp.Config{Endpoint: endpoint, Loopback: identity.Loopback}.WithDefaults().Validate()
		require.ErrorIs(t, err, traceotlp.ErrEndpoint, endpoint)
		require.NotContains(t, err.Error(), "s3cret")
	}
	for _, endpoint := range []string{"https://collector:4318", "http://127.0.0.1:4318", "https://collector/otlp/v1/traces"} {
		require.NoError(t, traceotlp.Config{Endpoint: endpoint, Loopback: identity.Loopback}.WithDefaults().Validate(), endpoint)
	}
}
