package metrics

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	eventlog "iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
)

// Streams is what the gauges need of the log.
type Streams interface {
	Last(ctx context.Context, stream string) (uint64, error)
	At(ctx context.Context, stream string, sequence uint64) (eventlog.Message, error)
	OldestClaim(ctx context.Context) (came time.Time, waiting bool, err error)
}

// Standing is what stands in the read models' tables about one line.
type Standing struct {
	Line    string
	Parked  uint64
	Missing uint64
}

// Sources are asked at each scrape. One that is nil has no gauges: this process doesn't run it.
type Sources struct {
	Lines    func() []engine.Status
	Streams  Streams
	Standing func(ctx context.Context) ([]Standing, error)
	Outdated func(ctx context.Context) (bool, error)    // what is read was filled before an update
	Ready    func(ctx context.Context) map[string]error // every check; nil where it is well
}

const scrapeTimeout = 2 * time.Second

// scraped are the metrics of the table that sources give.
func scraped(name string) bool {
	return slices.Contains([]string{streamHead, linePosition, lineFollows, lineLag, lineLate, lineCommits, lineParked, lineMissing, outdated, claimOldest, ready, unanswered}, name)
}

// Watch adds the gauges of sources. Call it once.
func (m *Metrics) Watch(s Sources) error {
	w := &watch{sources: s, described: map[string]*prometheus.Desc{}}
	for _, d := range Table() {
		if scraped(d.Name) {
			w.described[d.Name] = prometheus.NewDesc(d.Name, d.Help, d.Labels, nil)
		}
	}
	return m.registry.Register(w)
}

// watch asks the sources. It holds nothing between scrapes.
type watch struct {
	sources   Sources
	described map[string]*prometheus.Desc
}

func (w *watch) Describe(out chan<- *prometheus.Desc) {
	for _, d := range w.described {
		out <- d
	}
}

// Collect has no context of the scrape's: each source has its own bound.
func (w *watch) Collect(out chan<- prometheus.Metric) {
	lines := w.lines(out)
	w.answered(out, "streams", func(ctx context.Context) error { return w.streams(ctx, out, lines) })
	w.answered(out, "standing", func(ctx context.Context) error { return w.standing(ctx, out) })
	w.answered(out, "edition", func(ctx context.Context) error { return w.edition(ctx, out) })
	w.answered(out, "inbox", func(ctx context.Context) error { return w.inbox(ctx, out) })
	w.checks(out)
}

func (w *watch) answered(out chan<- prometheus.Metric, source string, ask func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	silent := 0.0
	if err := ask(ctx); err != nil {
		silent = 1
	}
	w.gauge(out, unanswered, silent, source)
}

func (w *watch) gauge(out chan<- prometheus.Metric, name string, value float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(w.described[name], prometheus.GaugeValue, value, labels...)
}

func (w *watch) lines(out chan<- prometheus.Metric) []engine.Status {
	if w.sources.Lines == nil {
		return nil
	}
	lines := w.sources.Lines()
	for _, s := range lines {
		w.gauge(out, linePosition, float64(s.Position), s.Name)
		w.gauge(out, lineFollows, one(s.State == engine.Following || s.State == engine.Starting), s.Name)
		out <- prometheus.MustNewConstMetric(w.described[lineCommits], prometheus.CounterValue, float64(s.Commits), s.Name)
	}
	return lines
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// streams asks each stream once, and gives what answers: a head can't be missing for another stream's sake.
func (w *watch) streams(ctx context.Context, out chan<- prometheus.Metric, lines []engine.Status) error {
	if w.sources.Streams == nil {
		return nil
	}
	var all []error
	heads := map[string]uint64{}
	for _, s := range lines {
		head, asked := heads[s.Stream]
		if !asked {
			last, err := w.sources.Streams.Last(ctx, s.Stream)
			if err != nil {
				all = append(all, err)
				continue
			}
			head, heads[s.Stream] = last, last
			w.gauge(out, streamHead, float64(head), s.Stream)
		}
		// The line moved on since its status was taken; behind is never negative.
		behind := head - min(head, s.Position)
		w.gauge(out, lineLag, float64(behind), s.Name)
		late, err := w.late(ctx, s, behind)
		if err != nil {
			all = append(all, err)
			continue
		}
		w.gauge(out, lineLate, late.Seconds(), s.Name)
	}
	return errors.Join(all...)
}

// late is how long the first message behind the line has stood on the stream, by the broker's clock and ours.
func (w *watch) late(ctx context.Context, s engine.Status, behind uint64) (time.Duration, error) {
	if behind == 0 {
		return 0, nil
	}
	next, err := w.sources.Streams.At(ctx, s.Stream, s.Position+1)
	if errors.Is(err, eventlog.ErrNotFound) { // a gap: what stands behind it is younger
		next, err = w.sources.Streams.At(ctx, s.Stream, s.Position+behind)
	}
	return max(0, time.Since(next.Stored)), err
}

func (w *watch) standing(ctx context.Context, out chan<- prometheus.Metric) error {
	if w.sources.Standing == nil {
		return nil
	}
	all, err := w.sources.Standing(ctx)
	for _, s := range all {
		w.gauge(out, lineParked, float64(s.Parked), s.Line)
		w.gauge(out, lineMissing, float64(s.Missing), s.Line)
	}
	return err
}

func (w *watch) edition(ctx context.Context, out chan<- prometheus.Metric) error {
	if w.sources.Outdated == nil {
		return nil
	}
	is, err := w.sources.Outdated(ctx)
	if err == nil {
		w.gauge(out, outdated, one(is))
	}
	return err
}

func (w *watch) inbox(ctx context.Context, out chan<- prometheus.Metric) error {
	if w.sources.Streams == nil {
		return nil
	}
	came, waiting, err := w.sources.Streams.OldestClaim(ctx)
	if err != nil {
		return err
	}
	age := time.Duration(0)
	if waiting {
		age = max(0, time.Since(came))
	}
	w.gauge(out, claimOldest, age.Seconds())
	return nil
}

// checks names a check as /readyz does, in words that Prometheus users can type.
func (w *watch) checks(out chan<- prometheus.Metric) {
	if w.sources.Ready == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	for name, err := range w.sources.Ready(ctx) {
		w.gauge(out, ready, one(err == nil), strings.ReplaceAll(name, " ", "_"))
	}
}
