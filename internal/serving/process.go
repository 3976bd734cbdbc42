package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/metrics"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/snapshots"
	"iris.example/iris/schemas"
	"iris.example/iris/tracing"
	"iris.example/iris/tracing/traceotlp"
	"iris.example/iris/vault"
	"iris.example/iris/workers/projector"
)

// Process runs parts. Stop it; what ends it by itself is in Failed.
type Process struct {
	cfg   Config
	parts []Part

	conn      *nats.Conn
	log       *eventlog.JetStream
	streams   *assembly.Streams
	vault     *vault.Vault
	models    *reader.Reader
	snapshots *snapshots.Store
	contract  *schemas.Contract
	metrics   *metrics.Metrics
	traces    *traceotlp.Traces // nil: nobody traces
	tracer    tracing.Tracer
	rooms     *assembly.Rooms
	inbox     *eventlog.Inbox
	listener  net.Listener
	server    *http.Server

	mu            sync.Mutex                   // guards what follows
	organisations []string                     // watched so far, in order
	projectors    map[string]*projector.Worker // by organisation

	working     context.Context // ends when the workers are to stop
	stopWorkers context.CancelFunc
	workers     errgroup.Group
	failed      chan error
}

const (
	inboxDurable = "intake"
	keyBlock     = 1024 // data keys committed ahead
)

// Start runs parts and returns when they work. On an error nothing is left running.
func Start(ctx context.Context, cfg Config, parts ...Part) (*Process, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(parts); err != nil {
		return nil, err
	}
	p := &Process{cfg: cfg, parts: parts, projectors: map[string]*projector.Worker{}, failed: make(chan error, 1)}
	p.working, p.stopWorkers = context.WithCancel(context.WithoutCancel(ctx))
	if err := p.start(ctx); err != nil {
		return nil, errors.Join(err, p.Stop(context.WithoutCancel(ctx)))
	}
	return p, nil
}

// Failed delivers the error that ends the process by itself.
func (p *Process) Failed() <-chan error { return p.failed }

// Address is where it listens; empty: nowhere.
func (p *Process) Address() string {
	switch {
	case p.listener == nil:
		return ""
	case p.cfg.TLS.Cert != "":
		return "https://" + p.listener.Addr().String()
	}
	return "http://" + p.listener.Addr().String()
}

// Now is the product's clock.
func (p *Process) Now() time.Time { return time.Now().Add(p.cfg.ClockOffset) }

func (p *Process) runs(part Part) bool { return slices.Contains(p.parts, part) }

// start is the one order: stores, rooms, what is watched, who works, who may ask.
func (p *Process) start(ctx context.Context) (err error) {
	p.metrics = metrics.New(p.cfg.Version)
	if p.cfg.OTLP != "" {
		if p.traces, err = traceotlp.Open(ctx, p.cfg.traces()); err != nil {
			return err
		}
		p.tracer = p.traces.Tracer()
	}
	if p.contract, err = schemas.Compile(); err != nil {
		return err
	}
	if err := p.openStores(ctx); err != nil {
		return err
	}
	p.rooms, err = assembly.Connect(assembly.Config{
		Conn: p.conn, Log: p.log, Streams: p.streams, Vault: p.vault, Models: p.models, Snapshots: p.snapshots, Contract: p.contract, Issuer: p.cfg.OIDC.Issuer,
		Controller: p.cfg.Controller, Now: p.Now, Metrics: p.metrics, Tracer: p.tracer, Logger: p.cfg.Logger,
	})
	if err != nil {
		return err
	}
	if err := p.look(ctx); err != nil {
		return err
	}
	if err := p.startWorkers(ctx); err != nil {
		return err
	}
	return p.listen(ctx)
}

func (p *Process) openStores(ctx context.Context) (err error) {
	master, err := openMaster(p.cfg.Keys)
	if err != nil {
		return err
	}
	if p.conn, err = p.cfg.NATS.connect(string(p.parts[0])); err != nil {
		return err
	}
	if p.log, err = eventlog.New(p.conn, eventlog.Config{Replicas: p.cfg.NATS.Replicas, Observe: p.metrics.Published}); err != nil {
		return err
	}
	if p.runs(API) || p.runs(Intake) {
		if err := p.log.OpenInbox(ctx); err != nil {
			return fmt.Errorf("the inbox is not what it must be; `iris migrate` makes it: %w", err)
		}
	}
	if p.streams, err = assembly.OpenStreams(p.log, p.cfg.Evidence, p.cfg.Logger); err != nil {
		return fmt.Errorf("%w; each process has a folder of its own (IRIS_EVIDENCE)", err)
	}
	p.vault, err = vault.Open(ctx, vault.Config{URL: p.cfg.Postgres.URL(assembly.VaultDatabase, vault.Role), Master: master, Now: time.Now, Block: keyBlock})
	if err != nil {
		return fmt.Errorf("%w; `iris migrate` makes database %s", err, assembly.VaultDatabase)
	}
	p.models, err = reader.Open(ctx, reader.Config{URL: p.cfg.Postgres.URL(assembly.ModelsDatabase, migrations.App)})
	if err != nil {
		return fmt.Errorf("%w; `iris migrate` makes database %s", err, assembly.ModelsDatabase)
	}
	p.snapshots, err = snapshots.Open(ctx, snapshots.Config{URL: p.cfg.Postgres.URL(assembly.ModelsDatabase, migrations.App)})
	return err
}

func (p *Process) startWorkers(ctx context.Context) error {
	p.workers.Go(func() error { p.streams.Guard.Run(p.working); return nil })
	p.workers.Go(func() error { p.lookOften(); return nil })
	if p.runs(API) {
		p.workers.Go(func() error { return p.rooms.HearMarks(p.working) })
	}
	if !p.runs(Intake) {
		return nil
	}
	inbox, err := p.log.Claims(ctx, inboxDurable)
	if err != nil {
		return err
	}
	p.inbox = inbox
	claims, err := p.rooms.Intake(inbox)
	if err != nil {
		return err
	}
	p.work("intake", func() error { return claims.Run(p.working) })
	return nil
}

// work runs what the process can't do without.
func (p *Process) work(name string, run func() error) {
	p.workers.Go(func() error {
		err := run()
		if err != nil {
			select {
			case p.failed <- fmt.Errorf("%s: %w", name, err):
			default:
			}
		}
		return err
	})
}

func (p *Process) listen(ctx context.Context) error {
	if err := p.metrics.Watch(metrics.Sources{Lines: p.lines, Streams: p.log, Standing: p.standing, Outdated: p.outdated, Ready: p.Health}); err != nil {
		return err
	}
	if p.cfg.HTTP == "" {
		return nil
	}
	handler, err := p.handler(ctx)
	if err != nil {
		return err
	}
	p.server = assembly.Server(handler, p.cfg.Logger)
	if p.cfg.TLS.Cert != "" {
		pair, err := tls.LoadX509KeyPair(p.cfg.TLS.Cert, p.cfg.TLS.Key)
		if err != nil {
			return fmt.Errorf("read the certificate %s and its key %s: %w", p.cfg.TLS.Cert, p.cfg.TLS.Key, err)
		}
		p.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	}
	if p.listener, err = net.Listen("tcp", p.cfg.HTTP); err != nil {
		return fmt.Errorf("listen on %s: another program may have the port: %w", p.cfg.HTTP, err)
	}
	p.work("http", func() error {
		if p.server.TLSConfig != nil {
			return closed(p.server.ServeTLS(p.listener, "", ""))
		}
		return closed(p.server.Serve(p.listener))
	})
	return nil
}

func closed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// handler answers everything in a process that serves, and how it is in one that only works.
func (p *Process) handler(ctx context.Context) (http.Handler, error) {
	if !p.runs(API) {
		return p.status(), nil
	}
	cursorKey, err := readCursorKey(p.cfg.Keys)
	if err != nil {
		return nil, err
	}
	verifier, err := identity.Open(ctx, identity.Config{Issuer: p.cfg.OIDC.Issuer, Audience: p.cfg.OIDC.Audience, Now: p.Now})
	if err != nil {
		return nil, fmt.Errorf("%w; see that the issuer %s answers", err, p.cfg.OIDC.Issuer)
	}
	provider, err := p.openLogin(ctx, verifier)
	if err != nil {
		return nil, err
	}
	return p.rooms.Handler(assembly.HTTP{
		Verifier: verifier, CursorKey: cursorKey, Version: p.cfg.Version, ClockOffset: p.cfg.ClockOffset, Ready: p.Health, Limits: *p.cfg.Limits,
		Secure: p.cfg.secure(), Provider: provider,
	})
}

// Stop takes nothing more in, finishes what is in hand, and lets go of the stores. It may be called on what never started.
func (p *Process) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.StopWithin)
	defer cancel()
	var all []error
	if p.server != nil && p.listener != nil {
		all = append(all, assembly.End(ctx, p.server))
	}
	p.stopWorkers()
	all = append(all, p.workers.Wait())
	if p.inbox != nil { // which is its worker's until that has ended
		p.inbox.Close()
	}
	if p.rooms != nil {
		p.rooms.Close()
	}
	p.streams.Close()
	if p.snapshots != nil {
		p.snapshots.Close()
	}
	if p.models != nil {
		p.models.Close()
	}
	if p.vault != nil {
		p.vault.Close()
	}
	if p.conn != nil {
		p.conn.Close()
	}
	if p.traces != nil && p.traces.Stop(ctx) != nil { // spans are no reason to end badly
		p.cfg.Logger.Warn("the last traces were not sent")
	}
	return errors.Join(all...)
}
