package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/common/expfmt"

	"iris.example/iris/aggregates"
	"iris.example/iris/api"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/policy"
	"iris.example/iris/problems"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
	"iris.example/iris/workers/intake"
)

// Metrics counts for one process, in a registry of its own.
type Metrics struct {
	registry   *prometheus.Registry
	counters   map[string]*prometheus.CounterVec
	histograms map[string]*prometheus.HistogramVec
}

// New makes every counter and histogram of the table. Gauges come with Watch.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), counters: map[string]*prometheus.CounterVec{}, histograms: map[string]*prometheus.HistogramVec{}}
	for _, d := range Table() {
		switch {
		case d.Kind == Counter && !scraped(d.Name):
			m.counters[d.Name] = prometheus.NewCounterVec(prometheus.CounterOpts{Name: d.Name, Help: d.Help}, d.Labels)
			m.registry.MustRegister(m.counters[d.Name])
		case d.Kind == Histogram:
			m.histograms[d.Name] = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: d.Name, Help: d.Help, Buckets: buckets()}, d.Labels)
			m.registry.MustRegister(m.histograms[d.Name])
		case d.Name == information:
			info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: d.Name, Help: d.Help}, d.Labels)
			info.WithLabelValues(version).Set(1)
			m.registry.MustRegister(info)
		}
	}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.begin()
	return m
}

// buckets reach from a synced append on a good disk to where callers give up.
func buckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}
}

// begin puts what has a closed set of labels at zero.
func (m *Metrics) begin() {
	for _, kind := range kinds() {
		for _, name := range []string{commits, conflicts, ambiguous} {
			m.counters[name].WithLabelValues(kind)
		}
		for _, result := range results() {
			m.counters[commands].WithLabelValues(kind, result)
		}
		m.histograms[commitSeconds].WithLabelValues(kind)
	}
	m.counters[recallsTotal].WithLabelValues(policy.SurfaceAssistant, "info")
	for _, to := range eventlog.Destinations() {
		for _, result := range []string{resultStored, resultConflict, resultAmbiguous, resultRefused} {
			m.counters[published].WithLabelValues(string(to), result)
		}
		m.histograms[publishSeconds].WithLabelValues(string(to))
	}
	for _, result := range runner.SnapshotResults() {
		m.counters[snapshotsTotal].WithLabelValues(string(events.AggregateMember), string(result))
	}
	m.counters[claimsParked].WithLabelValues()
	m.counters[claimsTotal].WithLabelValues(string(events.OutcomePending), "")
	m.counters[httpProblems].WithLabelValues("internal")
}

func kinds() []string {
	return []string{string(events.AggregateMember), string(events.AggregateOrganisation), string(events.AggregateRole), string(events.AggregateSession)}
}

const (
	resultStored    = "stored"
	resultConflict  = "conflict"
	resultAmbiguous = "ambiguous"
	resultRefused   = "refused"
)

func results() []string {
	return []string{string(runner.Committed), string(runner.Unchanged), string(runner.Repeated), "refused", "unknown", "unavailable", "failed"}
}

// Decided counts one command (runner.Config.Observe).
func (m *Metrics) Decided(o runner.Observation) {
	if m == nil {
		return
	}
	kind := string(o.Aggregate)
	m.counters[conflicts].WithLabelValues(kind).Add(float64(o.Conflicts))
	m.counters[ambiguous].WithLabelValues(kind).Add(float64(o.Ambiguous))
	m.counters[commands].WithLabelValues(kind, m.result(kind, o)).Inc()
	if o.Err == nil && o.Result == runner.Committed {
		m.counters[commits].WithLabelValues(kind).Inc()
		m.histograms[commitSeconds].WithLabelValues(kind).Observe(o.Took.Seconds())
	}
}

func (m *Metrics) result(kind string, o runner.Observation) string {
	switch {
	case o.Err == nil:
		return string(o.Result)
	case errors.Is(o.Err, runner.ErrOutcomeUnknown):
		return "unknown"
	case errors.Is(o.Err, runner.ErrUnavailable):
		return "unavailable"
	}
	if _, is := aggregates.AsRefusal(o.Err); is || errors.Is(o.Err, runner.ErrKeyReused) {
		m.counters[refusals].WithLabelValues(kind, problems.Of(o.Err).Code).Inc()
		return "refused"
	}
	return "failed"
}

// Kept counts what became of one snapshot (runner.Config.ObserveSnapshot).
func (m *Metrics) Kept(o runner.SnapshotObservation) {
	if m != nil {
		m.counters[snapshotsTotal].WithLabelValues(string(o.Aggregate), string(o.Result)).Inc()
	}
}

// Published counts what the broker took or didn't (eventlog.Config.Observe).
func (m *Metrics) Published(p eventlog.Published) {
	if m == nil {
		return
	}
	to, result := string(p.To), resultRefused
	switch {
	case p.Err == nil:
		result = resultStored
		m.histograms[publishSeconds].WithLabelValues(to).Observe(p.Took.Seconds())
	case errors.Is(p.Err, eventlog.ErrConflict):
		result = resultConflict
	case errors.Is(p.Err, eventlog.ErrAmbiguous):
		result = resultAmbiguous
	}
	m.counters[published].WithLabelValues(to, result).Add(float64(p.Messages))
}

// Recalled counts one recall that was answered (recalls.Service.Observe).
func (m *Metrics) Recalled(o recalls.Observation) {
	if m == nil {
		return
	}
	surface := policy.SurfaceName(o.Surface)
	m.counters[recallsTotal].WithLabelValues(surface, o.Severity).Inc()
	m.histograms[recallSeconds].WithLabelValues(surface).Observe(o.Took.Seconds())
}

// Settled counts one claim that intake had in hand (intake.Config.Observe).
func (m *Metrics) Settled(o intake.Observation) {
	if m == nil {
		return
	}
	m.counters[claimsTotal].WithLabelValues(o.Outcome, known(o.Code)).Inc()
	if o.Outcome == intake.OutcomeParked {
		m.counters[claimsParked].WithLabelValues().Inc()
	}
	if o.Outcome != intake.OutcomeAgain {
		m.histograms[claimSeconds].WithLabelValues().Observe(o.Waited.Seconds())
	}
}

// known lets codes of the table pass: what the domain wrote down as a reason may be older than this version.
func known(code string) string {
	if code == "" || problems.Known(code) {
		return code
	}
	return "unlisted"
}

// Answered counts one request to the API (api.Config.Observe).
func (m *Metrics) Answered(o api.Observation) {
	if m == nil {
		return
	}
	m.request(o.Method, o.Pattern, o.Status, o.Took)
	if o.Code != "" {
		m.counters[httpProblems].WithLabelValues(o.Code).Inc()
	}
}

func (m *Metrics) request(method, pattern string, status int, took time.Duration) {
	m.counters[httpRequests].WithLabelValues(method, pattern, strconv.Itoa(status)).Inc()
	m.histograms[httpSeconds].WithLabelValues(pattern).Observe(took.Seconds())
}

// Write is the page, in the text format.
func (m *Metrics) Write() (contentType string, page []byte, err error) {
	families, err := m.registry.Gather()
	if err != nil {
		return "", nil, fmt.Errorf("gather the metrics: %w", err)
	}
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	var out bytes.Buffer
	encoder := expfmt.NewEncoder(&out, format)
	for _, family := range families {
		if err := encoder.Encode(family); err != nil {
			return "", nil, fmt.Errorf("write the metrics: %w", err)
		}
	}
	return string(format), out.Bytes(), nil
}

// Pages counts requests to a handler whose routes are a ServeMux's: the pattern that matched, never the address.
func (m *Metrics) Pages(next http.Handler) http.Handler {
	if m == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, seen := time.Now(), &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() { m.request(api.Method(r.Method), pathOf(r.Pattern), seen.status, time.Since(began)) }()
		next.ServeHTTP(seen, r)
	})
}

// pathOf takes the method out of a pattern.
func pathOf(pattern string) string {
	for i, c := range pattern {
		if c == '/' {
			return pattern[i:]
		}
	}
	return "unmatched"
}

type statusWriter struct {
	http.ResponseWriter
	status int
	wrote  bool
}

func (w *statusWriter) WriteHeader(status int) {
	if !w.wrote {
		w.status, w.wrote = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets http.ResponseController reach what is beneath.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
