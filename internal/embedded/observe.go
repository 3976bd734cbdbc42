package embedded

import (
	"cmp"
	"context"
	"errors"
	"maps"

	"iris.example/iris/metrics"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/standing"
	"iris.example/iris/tracing/tracefile"
	"iris.example/iris/tracing/traceotlp"
)

// observe makes what counts and what traces, before anything is there to be seen.
func (i *Instance) observe() (err error) {
	i.metrics = metrics.New(cmp.Or(i.cfg.Version, "devel"))
	switch {
	case i.cfg.OTLP != "":
		i.traces, err = traceotlp.Open(context.Background(), i.cfg.collector())
	case i.cfg.TraceFile != "":
		i.traces, err = tracefile.Open(i.cfg.TraceFile)
	}
	if err != nil {
		i.traces = nil
		return err
	}
	if i.traces != nil {
		i.tracer = i.traces.Tracer()
	}
	return nil
}

// watch adds what is asked at each scrape.
func (i *Instance) watch() error {
	return i.metrics.Watch(metrics.Sources{Lines: i.projector.Status, Streams: i.Log, Standing: i.standing, Outdated: i.models.Outdated, Ready: i.readiness})
}

func (i *Instance) standing(ctx context.Context) ([]metrics.Standing, error) {
	var all []metrics.Standing
	var failed []error
	for _, org := range i.cfg.organisations() {
		failed = append(failed, i.models.WithOrganisation(ctx, org, func(s *reader.Session) error {
			counts, err := standing.Count(ctx, s)
			for _, c := range counts {
				all = append(all, metrics.Standing{Line: c.Line, Parked: uint64(c.Parked), Missing: uint64(c.Missing)})
			}
			return err
		}))
	}
	return all, errors.Join(failed...)
}

// readiness is every check; nil where it is well.
func (i *Instance) readiness(ctx context.Context) map[string]error {
	checks := map[string]error{"nats": i.NATS.Healthy(), "projections": i.projector.Unhealthy(), "intake": i.intakeBehind(ctx)}
	if i.postgres != nil {
		checks["postgres"] = i.postgres.Ping(ctx)
	}
	maps.Copy(checks, i.streams.Guard.Health())
	return checks
}
