package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/api"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/metrics"
	"iris.example/iris/projections/engine"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
	"iris.example/iris/workers/intake"
)

const secret = "zebrafinch"

func page(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	_, text, err := m.Write()
	require.NoError(t, err)
	require.NotContains(t, string(text), secret)
	return string(text)
}

func has(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		require.Contains(t, page, "\n"+line+"\n")
	}
}

// What a command became is told by result and code; the error's words are not.
func TestCommands(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	member := runner.Observation{Aggregate: events.AggregateMember, Took: time.Millisecond}
	with := func(change func(*runner.Observation)) {
		o := member
		change(&o)
		m.Decided(o)
	}
	with(func(o *runner.Observation) { o.Result, o.Conflicts, o.Ambiguous = runner.Committed, 2, 1 })
	with(func(o *runner.Observation) { o.Result = runner.Unchanged })
	with(func(o *runner.Observation) { o.Result = runner.Repeated })
	with(func(o *runner.Observation) {
		o.Err = fmt.Errorf("%s: %w", secret, aggregates.Refuse("opted_out", "spec 1.8"))
	})
	with(func(o *runner.Observation) { o.Err = aggregates.Refuse("memory_unknown", "spec 9.5") })
	with(func(o *runner.Observation) { o.Err = aggregates.Refuse(secret, "nowhere") })
	with(func(o *runner.Observation) {
		o.Err = fmt.Errorf("%w: %w", runner.ErrOutcomeUnknown, aggregates.Refuse("opted_out", ""))
	})
	with(func(o *runner.Observation) { o.Err = fmt.Errorf("%s: %w", secret, runner.ErrUnavailable) })
	with(func(o *runner.Observation) { o.Err = errors.New(secret) })
	has(t, page(t, m),
		`iris_commits_total{aggregate="member"} 1`, `iris_commits_total{aggregate="organisation"} 0`,
		`iris_commit_conflicts_total{aggregate="member"} 2`, `iris_commit_ambiguous_total{aggregate="member"} 1`,
		`iris_commit_seconds_count{aggregate="member"} 1`,
		`iris_commands_total{aggregate="member",result="unchanged"} 1`, `iris_commands_total{aggregate="member",result="repeated"} 1`,
		`iris_commands_total{aggregate="member",result="refused"} 3`, `iris_commands_total{aggregate="member",result="unknown"} 1`,
		`iris_commands_total{aggregate="member",result="unavailable"} 1`, `iris_commands_total{aggregate="member",result="failed"} 1`,
		`iris_refusals_total{aggregate="member",code="opted_out"} 1`, `iris_refusals_total{aggregate="member",code="not_found"} 1`,
		`iris_refusals_total{aggregate="member",code="internal"} 1`)
}

// Words of a caller's own become no label.
func TestNoLabelIsACallers(t *testing.T) {
	t.Parallel()
	m := metrics.New("test")
	m.Recalled(recalls.Observation{Surface: secret, Severity: "info", Took: time.Second})
	m.Settled(intake.Observation{Outcome: "rejected", Code: secret, Waited: time.Second})
	has(t, page(t, m), "iris_claims_parked_total 0")
	m.Settled(intake.Observation{Outcome: intake.OutcomeAgain, Code: "store_unavailable"})
	m.Settled(intake.Observation{Outcome: intake.OutcomeParked, Code: "schema_violation"})
	m.Published(eventlog.Published{To: eventlog.ToLedger, Messages: 12, Took: time.Millisecond})
	m.Published(eventlog.Published{To: eventlog.ToLedger, Messages: 1, Err: fmt.Errorf("%s: %w", secret, eventlog.ErrConflict)})
	m.Published(eventlog.Published{To: eventlog.ToAccess, Messages: 1, Err: eventlog.ErrAmbiguous})
	m.Published(eventlog.Published{To: eventlog.ToInbox, Messages: 1, Err: errors.New(secret)})
	m.Answered(api.Observation{Method: "GET", Pattern: "unmatched", Status: 404, Code: "not_found"})

	mux := http.NewServeMux()
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	mux.HandleFunc("GET /ok", func(w http.ResponseWriter, _ *http.Request) {
		require.NoError(t, http.NewResponseController(w).Flush())
	})
	pages := m.Pages(mux)
	for _, r := range [][2]string{{"GET", "/things/" + secret}, {"GET", "/ok"}, {"GET", "/" + secret}, {"ZEBRAFINCH", "/ok"}} {
		pages.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(r[0], r[1], nil))
	}
	has(t, page(t, m),
		`iris_recalls_total{severity="info",surface="unlisted"} 1`, `iris_claims_total{code="unlisted",outcome="rejected"} 1`,
		`iris_claims_total{code="store_unavailable",outcome="again"} 1`, `iris_claim_seconds_count 2`, `iris_claims_parked_total 1`,
		`iris_published_messages_total{result="stored",to="ledger"} 12`, `iris_publish_seconds_count{to="ledger"} 1`,
		`iris_published_messages_total{result="conflict",to="ledger"} 1`, `iris_published_messages_total{result="ambiguous",to="access"} 1`,
		`iris_published_messages_total{result="refused",to="inbox"} 1`,
		`iris_http_requests_total{method="GET",route="unmatched",status="404"} 2`, `iris_http_problems_total{code="not_found"} 1`,
		`iris_http_requests_total{method="GET",route="/things/{id}",status="418"} 1`, `iris_http_requests_total{method="GET",route="/ok",status="200"} 1`)

	var none *metrics.Metrics
	none.Decided(runner.Observation{})
	none.Published(eventlog.Published{})
	none.Recalled(recalls.Observation{})
	none.Settled(intake.Observation{})
	none.Answered(api.Observation{})
	none.Pages(mux).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/ok", nil))
}

// streams is a log of two streams, of which one may not answer.
type streams struct {
	heads map[string]uint64
	aged  time.Duration
	gone  bool
}

func (s streams) Last(_ context.Context, stream string) (uint64, error) {
	head, known := s.heads[stream]
	if !known {
		return 0, eventlog.ErrUnavailable
	}
	return head, nil
}

func (s streams) At(_ context.Context, _ string, sequence uint64) (eventlog.Message, error) {
	if s.gone && sequence == 8 {
		return eventlog.Message{}, eventlog.ErrNotFound
	}
	return eventlog.Message{Stored: time.Now().Add(-s.aged)}, nil
}

func (s streams) OldestClaim(context.Context) (time.Time, bool, error) {
	return time.Now().Add(-time.Hour), true, nil
}

// Lag is counted from the first position that isn't applied; a source that doesn't answer leaves its own gauges out, and no others.
func TestGauges(t *testing.T) {
	t.Parallel()
	for _, gone := range []bool{false, true} {
		m := metrics.New("test")
		require.NoError(t, m.Watch(metrics.Sources{
			Lines: func() []engine.Status {
				return []engine.Status{
					{Name: "A", Stream: "A", State: engine.Following, Position: 7, Commits: 5}, {Name: "B", Stream: "B", State: engine.Stopped, Position: 3},
					{Name: "C", Stream: "C", State: engine.Following, Position: 9}, // beyond what the head was a moment ago
				}
			},
			Streams:  streams{heads: map[string]uint64{"A": 10, "C": 8}, aged: 100 * time.Second, gone: gone},
			Standing: func(context.Context) ([]metrics.Standing, error) { return []metrics.Standing{{"A", 2, 3}}, nil },
			Outdated: func(context.Context) (bool, error) {
				if gone {
					return false, errors.New(secret)
				}
				return true, nil
			},
			Ready: func(context.Context) map[string]error {
				return map[string]error{"nats": nil, "streams of a": errors.New(secret)}
			},
		}))
		text := page(t, m)
		has(t, text,
			`iris_stream_head{stream="A"} 10`, `iris_projection_lag_positions{line="A"} 3`, `iris_projection_commits_total{line="A"} 5`,
			`iris_projection_following{line="A"} 1`, `iris_projection_following{line="B"} 0`, `iris_projection_position{line="B"} 3`,
			`iris_projection_lag_positions{line="C"} 0`, `iris_projection_lag_seconds{line="C"} 0`,
			`iris_projection_parked{line="A"} 2`, `iris_projection_missing_positions{line="A"} 3`,
			`iris_ready{check="nats"} 1`, `iris_ready{check="streams_of_a"} 0`,
			`iris_scrape_unanswered{source="streams"} 1`, `iris_scrape_unanswered{source="standing"} 0`, `iris_scrape_unanswered{source="inbox"} 0`)
		require.Regexp(t, `\niris_projection_lag_seconds{line="A"} 10[0-9]\.`, text)
		require.Regexp(t, `\niris_claim_oldest_seconds 36[0-9][0-9]`, text)
		require.Equal(t, !gone, strings.Contains(text, "\niris_read_models_outdated 1"))
		require.Equal(t, gone, strings.Contains(text, `iris_scrape_unanswered{source="edition"} 1`))
		require.NotContains(t, text, `stream="B"`)
		require.NotContains(t, text, `iris_projection_lag_positions{line="B"}`)
	}
	m := metrics.New("test")
	require.NoError(t, m.Watch(metrics.Sources{}), "a process without any of them")
	page(t, m)
}
