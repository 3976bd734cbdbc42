package assembly

import (
	"context"
	"net/http"
	"time"

	"iris.example/iris/api"
	"iris.example/iris/limits"
	"iris.example/iris/web"
)

// HTTP is what API and pages need beside the rooms.
type HTTP struct {
	Verifier    api.Verifier
	CursorKey   []byte
	Version     string
	ClockOffset time.Duration
	Ready       func(context.Context) map[string]error
	Limits      limits.Config
	Codes       func(code string) (name, token string, ok bool) // of a development machine; nil: none
	Provider    web.Provider                                    // where members sign in; nil: nowhere
	Secure      bool                                            // browsers come over TLS
	Operators   http.Handler                                    // of /operator/; nil: there is none
}

// Handler answers for API and pages.
func (r *Rooms) Handler(h HTTP) (http.Handler, error) {
	limiter, err := limits.New(h.Limits)
	if err != nil {
		return nil, err
	}
	service, err := api.New(api.Config{
		Acts: r.Acts, Verifier: h.Verifier, Contract: r.cfg.Contract, Logger: r.cfg.Logger, Now: r.cfg.Now, CursorKey: h.CursorKey,
		Version: h.Version, ClockOffset: h.ClockOffset, Ready: h.Ready,
		Limits: limiter, Metrics: r.cfg.Metrics.Write, Observe: r.cfg.Metrics.Answered, Tracer: r.cfg.Tracer,
	}.WithDefaults())
	if err != nil {
		return nil, err
	}
	pages, err := web.New(web.Config{
		Acts: r.Acts, Verifier: h.Verifier, Codes: h.Codes, Logger: r.cfg.Logger, Now: r.cfg.Now, Secure: h.Secure, Limits: limiter,
		Provider: h.Provider, LoginKey: h.CursorKey,
	}.WithDefaults())
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	for _, prefix := range []string{"/v1/", "/healthz", "/readyz", "/metrics", "/openapi.json"} {
		mux.Handle(prefix, service.Handler())
	}
	if h.Operators != nil {
		mux.Handle("/operator/", h.Operators)
	}
	mux.Handle("/", r.cfg.Metrics.Pages(pages.Handler()))
	return bounded(mux), nil
}

// answerWithin is more than every store's own patience together. It is for the store that neither answers nor hangs up.
const answerWithin = 30 * time.Second

func bounded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}
