// Package assembly connects the rooms of Iris to stores that somebody else has opened: the servers inside one process of `iris up`,
// or the cluster and the database of `iris serve` and `iris worker` (spec 9.7). It decides nothing, opens nothing but the evidence
// and ends nothing that it was given, so that a command, a recall and a claim go the same way wherever the stores are.
package assembly

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/metrics"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/natsmarks"
	"iris.example/iris/projections/reader"
	"iris.example/iris/recalls"
	"iris.example/iris/receipts"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
	"iris.example/iris/tracing"
	"iris.example/iris/vault"
)

// Config is what the rooms are connected to. All of it is open, and stays open for as long as the rooms are used.
type Config struct {
	Conn     *nats.Conn
	Log      *eventlog.JetStream
	Streams  *Streams
	Vault    *vault.Vault
	Models   *reader.Reader
	Contract *schemas.Contract

	Snapshots runner.Snapshots // nil: every book that isn't in memory is folded from its first event

	Issuer      string // whose subjects the directory knows
	Credentials acts.Credentials
	Controller  receipts.Controller
	Now         func() time.Time // the product's clock
	Metrics     *metrics.Metrics
	Tracer      tracing.Tracer
	Logger      *slog.Logger
}

// Validate refuses an assembly with a hole in it. Credentials may be missing: then others let producers in.
func (c Config) Validate() error {
	switch {
	case c.Conn == nil || c.Log == nil || c.Streams == nil || c.Vault == nil || c.Models == nil || c.Contract == nil:
		return errors.New("assembly: config: connection, log, streams, vault, read models and contract are required")
	case c.Issuer == "":
		return errors.New("assembly: config: without an issuer nobody's subject is known")
	case c.Now == nil || c.Metrics == nil || c.Logger == nil:
		return errors.New("assembly: config: clock, metrics and logger are required")
	}
	return nil
}

// Rooms are connected.
type Rooms struct {
	cfg   Config
	Acts  *acts.Acts
	Codec events.Codec
	Marks *engine.Watermarks
}

// Connect connects the rooms. It does no I/O.
func Connect(cfg Config) (*Rooms, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	codec := events.Codec{Keys: cfg.Vault, Contract: cfg.Contract}
	shared := runner.Config{
		Log: cfg.Streams, Codec: codec, Keys: cfg.Vault, Screen: screening.New(), Now: cfg.Now, Observe: cfg.Metrics.Decided, Tracer: cfg.Tracer,
		Snapshots: cfg.Snapshots, ObserveSnapshot: cfg.Metrics.Kept,
	}
	members, err := runner.Members(shared)
	if err != nil {
		return nil, err
	}
	roles, err := runner.Roles(shared)
	if err != nil {
		return nil, err
	}
	members.With(events.AggregateRole, roles)
	organisations, err := runner.Organisations(shared)
	if err != nil {
		return nil, err
	}
	sessions, err := runner.Sessions(shared)
	if err != nil {
		return nil, err
	}
	r := &Rooms{cfg: cfg, Codec: codec, Marks: engine.NewWatermarks(cfg.Models, engine.Silence)}
	r.Acts = &acts.Acts{
		Members: members, Organisations: organisations, Roles: roles, Sessions: sessions, Screen: shared.Screen,
		Recalls: r.recalls(members, organisations, shared.Screen), Directory: cfg.Vault,
		Issuer: cfg.Issuer, Read: acts.Read{Models: cfg.Models, Wait: r.Marks}, Stream: cfg.Log, Codec: codec,
		Keys: cfg.Vault, Now: cfg.Now, Controller: cfg.Controller,
		Intake: cfg.Vault, Sealed: cfg.Contract, Parked: cfg.Vault, Inbox: cfg.Log, Credentials: cfg.Credentials,
	}
	return r, nil
}

func (r *Rooms) recalls(members *runner.Runner[*member.State, member.Command], organisations *runner.Runner[*organisation.State, organisation.Command], screen *screening.Screen) *recalls.Service {
	return &recalls.Service{
		Members: members, Organisations: organisations, Access: r.cfg.Streams, Fence: r.cfg.Streams.Fence(), Screen: screen, Codec: r.Codec, Now: r.cfg.Now,
		Observe: r.cfg.Metrics.Recalled, Tracer: r.cfg.Tracer,
	}
}

// Close ends the snapshot that is being made, before the stores are closed. Nothing else of the rooms has to be ended.
func (r *Rooms) Close() { r.Acts.Members.Close() }

// HearMarks listens to lines elsewhere until ctx ends. Where it can't, the cursor rows tell.
func (r *Rooms) HearMarks(ctx context.Context) error {
	stop, err := natsmarks.Subscribe(r.cfg.Conn, r.Marks)
	if err != nil {
		r.cfg.Logger.Warn("watermarks are read from the cursors only", "error", err)
		return nil
	}
	<-ctx.Done()
	stop()
	return nil
}
