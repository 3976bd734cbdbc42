package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"iris.example/iris/identity"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/rebuild"
	"iris.example/iris/workers/projector"
)

// operatorPath and parkedPath are for whoever runs this process, with iris.admin, on loopback: no part of the published API, because they are about
// this process's own database and about every organisation in it.
const (
	operatorPath = "/operator/models"
	parkedPath   = "/operator/parked"
)

// operator answers GET with where a rebuild stands, and POST by starting one.
func (i *Instance) operator(working context.Context) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+operatorPath, func(w http.ResponseWriter, r *http.Request) {
		if i.admitted(w, r) {
			tell(w, http.StatusOK, i.rebuilt(r.Context()))
		}
	})
	mux.HandleFunc("POST "+operatorPath, func(w http.ResponseWriter, r *http.Request) {
		if !i.admitted(w, r) {
			return
		}
		var ask Models
		decoder := json.NewDecoder(io.LimitReader(r.Body, 4<<10))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&ask); err != nil || ask.Act != "rebuild" && ask.Act != "rollback" && ask.Act != "drop" {
			refuse(w, http.StatusBadRequest, "request_malformed", `send {"act":"rebuild"}, {"act":"rollback"} or {"act":"drop","schema":NAME}`)
			return
		}
		if err := i.startRebuild(working, ask); err != nil {
			refuse(w, http.StatusConflict, err.Error(), "one at a time: GET this path tells how far it is")
			return
		}
		tell(w, http.StatusAccepted, i.rebuilt(r.Context()))
	})
	mux.HandleFunc("GET "+parkedPath, func(w http.ResponseWriter, r *http.Request) {
		if i.admitted(w, r) {
			i.listParked(w, r)
		}
	})
	mux.HandleFunc("POST "+parkedPath, func(w http.ResponseWriter, r *http.Request) {
		if i.admitted(w, r) {
			i.release(w, r)
		}
	})
	return mux
}

// parked is a commit that a line set aside, and its name.
type parked struct {
	ID string `json:"id"`
	engine.Parked
}

func (i *Instance) listParked(w http.ResponseWriter, r *http.Request) {
	all, err := i.projector.Parked(r.Context())
	if err != nil {
		i.cfg.Logger.Error("list parked commits", "error", err)
		refuse(w, http.StatusServiceUnavailable, "read_model_unavailable", "the read models' database doesn't answer")
		return
	}
	items := []parked{}
	for _, p := range all {
		items = append(items, parked{projector.ParkedID(p), p})
	}
	tell(w, http.StatusOK, map[string]any{"items": items})
}

// release retries or discards. Still bad is an answer, not a fault: what is wrong stands in the list.
func (i *Instance) release(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		Act, ID, Reason string
	}
	err := json.NewDecoder(io.LimitReader(r.Body, 4<<10)).Decode(&ask)
	switch {
	case err == nil && ask.Act == "retry":
		err = i.projector.Retry(r.Context(), ask.ID)
	case err == nil && ask.Act == "discard":
		err = i.projector.Discard(r.Context(), ask.ID, ask.Reason)
	default:
		refuse(w, http.StatusBadRequest, "request_malformed", `send {"act":"retry","id":ID} or {"act":"discard","id":ID,"reason":TICKET}`)
		return
	}
	for refused, status := range map[error]int{engine.ErrNotParked: http.StatusNotFound, engine.ErrReason: http.StatusBadRequest, engine.ErrStillBad: http.StatusConflict} {
		if errors.Is(err, refused) {
			refuse(w, status, refused.Error(), err.Error())
			return
		}
	}
	if err != nil {
		i.cfg.Logger.Error("release a parked commit", "act", ask.Act, "error", err)
		refuse(w, http.StatusServiceUnavailable, "read_model_unavailable", "a store doesn't answer; nothing was changed")
		return
	}
	i.cfg.Logger.Warn("parked commit released", "act", ask.Act, "id", ask.ID)
	tell(w, http.StatusOK, map[string]string{"act": ask.Act, "id": ask.ID})
}

func (i *Instance) admitted(w http.ResponseWriter, r *http.Request) bool {
	token, err := identity.BearerToken(r.Header.Values("Authorization"))
	if err != nil {
		refuse(w, http.StatusUnauthorized, "unauthenticated", "a bearer token is needed")
		return false
	}
	principal, err := i.Issuer.Verifier().Verify(r.Context(), token)
	if err != nil {
		refuse(w, http.StatusUnauthorized, "unauthenticated", "the token is not accepted")
		return false
	}
	if !principal.Has(identity.Admin) {
		refuse(w, http.StatusForbidden, "permission_missing", string(identity.Admin)+" is needed")
		return false
	}
	return true
}

// startRebuild lets it run for as long as the process does.
func (i *Instance) startRebuild(working context.Context, ask Models) error {
	r := &i.rebuilding
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.busy {
		return ErrRebuilding
	}
	r.busy, r.last = true, Rebuilt{Act: ask.Act, Running: true}
	i.workers.Go(func() error {
		report, err := i.Rebuild(working, ask, func(p rebuild.Progress) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.last.Progress = p
		})
		r.mu.Lock()
		defer r.mu.Unlock()
		r.busy, r.last.Running = false, false
		if err != nil {
			r.last.Error = err.Error()
			i.cfg.Logger.Error("read models", "act", ask.Act, "error", err)
		}
		if err == nil || errors.Is(err, rebuild.ErrDifferent) {
			r.last.Report = &report
		}
		return nil
	})
	return nil
}

func (i *Instance) rebuilt(ctx context.Context) Rebuilt {
	i.rebuilding.mu.Lock()
	last := i.rebuilding.last
	i.rebuilding.mu.Unlock()
	if !last.Running {
		if admin, err := i.modelsAdmin(); err == nil {
			last.Kept, _ = rebuild.Kept(ctx, admin) // a database that doesn't answer keeps nothing to be told
		}
	}
	return last
}

func tell(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // whoever asked went away
}

func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"code": code, "detail": detail, "status": status, "title": http.StatusText(status)})
}
