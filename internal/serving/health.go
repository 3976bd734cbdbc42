package serving

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/metrics"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/standing"
	"iris.example/iris/workers/intake"
)

// Health is every check of what this process needs; nil where it is well.
func (p *Process) Health(ctx context.Context) map[string]error {
	ctx, cancel := within(ctx)
	defer cancel()
	checks := map[string]error{"nats": p.connected(), "vault": p.vault.Ping(ctx), "models": p.models.Ping(ctx)}
	if p.runs(API) || p.runs(Intake) {
		checks["intake"] = intake.Behind(ctx, p.log, time.Now()) // the broker's clock is the machine's, not the product's
	}
	if p.runs(Projector) {
		checks["projections"] = p.unhealthy()
	}
	maps.Copy(checks, p.streams.Guard.Health())
	return checks
}

func (p *Process) connected() error {
	if status := p.conn.Status(); status != nats.CONNECTED {
		return fmt.Errorf("connection is %s", status)
	}
	return nil
}

func (p *Process) unhealthy() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []error
	for _, lines := range p.projectors {
		all = append(all, lines.Unhealthy())
	}
	return errors.Join(all...)
}

func (p *Process) standing(ctx context.Context) (all []metrics.Standing, err error) {
	if !p.runs(Projector) {
		return nil, nil // whoever carries the lines tells
	}
	var failed []error
	for _, org := range p.known() {
		failed = append(failed, p.models.WithOrganisation(ctx, org, func(s *reader.Session) error {
			counts, err := standing.Count(ctx, s)
			for _, c := range counts {
				all = append(all, metrics.Standing{Line: c.Line, Parked: uint64(c.Parked), Missing: uint64(c.Missing)})
			}
			return err
		}))
	}
	return all, errors.Join(failed...)
}

func (p *Process) outdated(ctx context.Context) (bool, error) {
	if !p.runs(Projector) {
		return false, nil // as above
	}
	return p.models.Outdated(ctx)
}

// status is what a worker answers: whether it lives, how it is, its metrics. Names of checks are shown, causes are logged.
func (p *Process) status() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		tell(w, http.StatusOK, map[string]string{"status": "ok"})
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		status, checks := http.StatusOK, map[string]string{}
		for name, err := range p.Health(r.Context()) {
			checks[name] = "ok"
			if err != nil {
				status, checks[name] = http.StatusServiceUnavailable, "not ready"
				p.cfg.Logger.Warn("not ready", "check", name, "error", err)
			}
		}
		tell(w, status, map[string]any{"checks": checks})
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		contentType, page, err := p.metrics.Write()
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(page) // whoever asked went away
	})
	return mux
}

func tell(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked went away
}
