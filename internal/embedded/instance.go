package embedded

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/errgroup"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/dirlock"
	"iris.example/iris/internal/keyfile"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/pgserver"
	"iris.example/iris/metrics"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/snapshots"
	"iris.example/iris/schemas"
	"iris.example/iris/tracing"
	"iris.example/iris/vault"
	"iris.example/iris/workers/projector"
)

// Instance is a running Iris. Stop it; what failed on the way is in its errors.
type Instance struct {
	cfg   Config
	Ready Ready // addresses and credentials, for people and tests
	Acts  *acts.Acts
	Codec events.Codec
	Log   *eventlog.JetStream
	Vault *vault.Vault

	NATS      *natsserver.Server
	Issuer    *devissuer.Issuer
	postgres  *pgserver.Server // nil with a server of one's own
	databases assembly.Databases
	conn      *nats.Conn
	models    *reader.Reader
	Snapshots *snapshots.Store
	projector *projector.Worker
	inbox     *eventlog.Inbox
	listener  net.Listener
	server    *http.Server
	contract  *schemas.Contract
	rooms     *assembly.Rooms
	marks     *engine.Watermarks
	lock      *dirlock.Lock
	streams   *assembly.Streams // how commits, envelopes and fences are written
	metrics   *metrics.Metrics
	traces    traces // nil: nobody traces
	tracer    tracing.Tracer

	master vault.Master
	codes  sync.Map // sign-in code → code

	operators  http.Handler
	rebuilding rebuilding
	mending    sync.Mutex // one line at a time makes what is missing

	stopWorkers context.CancelFunc
	workers     *errgroup.Group
	failed      chan error
}

const (
	modelsDatabase = assembly.ModelsDatabase
	vaultDatabase  = assembly.VaultDatabase
	inboxDurable   = "intake"
	keyBlock       = 1024 // data keys committed ahead: what many writers use while the next block is fetched
	stopTimeout    = 15 * time.Second
)

// The development issuer's name and whom its tokens are for. The name is part of every identity in the directory, so it must not
// change with the port of a start; its keys are read from the data directory, never fetched from that address.
const (
	Issuer   = "http://localhost/iris-development-issuer"
	Audience = "iris"
)

// traces are where spans go.
type traces interface {
	Tracer() tracing.Tracer
	Stop(ctx context.Context) error
}

// Start brings everything up and returns when it answers. On an error nothing is left running.
func Start(ctx context.Context, cfg Config) (*Instance, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	i := &Instance{cfg: cfg, failed: make(chan error, 1)}
	if err := i.start(ctx); err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		return nil, errors.Join(err, i.Stop(stopping))
	}
	return i, nil
}

// Failed delivers the error that ends the instance by itself: a worker or the HTTP server that can't go on.
func (i *Instance) Failed() <-chan error { return i.failed }

// WriteReady writes the ready document to a file of its own (--ready-file), readable by its owner alone: it holds tokens.
func (i *Instance) WriteReady(path string) error { return writeJSON(path, i.Ready) }

// Now is the product's clock.
func (i *Instance) Now() time.Time { return time.Now().Add(i.cfg.ClockOffset) }

// start is the one order in which the parts can come up: stores, then rooms, then who writes into them, then who may ask.
func (i *Instance) start(ctx context.Context) (err error) {
	if err := os.MkdirAll(i.cfg.DataDir, 0o711); err != nil {
		return fmt.Errorf("make the data directory (--data names another): %w", err)
	}
	if i.lock, err = dirlock.Take(i.cfg.path("lock")); errors.Is(err, dirlock.ErrHeld) {
		return fmt.Errorf("data directory %s is in use by another Iris; stop it, or name another with --data: %w", i.cfg.DataDir, err)
	}
	if err != nil {
		return fmt.Errorf("data directory %s can't be used by this user; let it write there, or name another with --data: %w", i.cfg.DataDir, err)
	}
	if i.master, err = vault.OpenMasterKey(i.cfg.path("master.key")); err != nil {
		return err
	}
	if err := i.observe(); err != nil {
		return err
	}
	i.say("starting PostgreSQL and NATS")
	var stores errgroup.Group
	stores.Go(func() error { return i.startPostgres(ctx) })
	stores.Go(func() error { return i.startNATS(ctx) })
	stores.Go(func() (err error) { i.contract, err = schemas.Compile(); return err })
	if err := stores.Wait(); err != nil {
		return err
	}
	if err := i.openStores(ctx); err != nil {
		return err
	}
	if err := i.assemble(ctx); err != nil {
		return err
	}
	i.say("founding the organisations")
	if err := i.foundAll(ctx); err != nil {
		return err
	}
	if err := i.startWorkers(ctx); err != nil {
		return err
	}
	if err := i.serve(); err != nil {
		return err
	}
	if i.Ready, err = i.ready(ctx); err != nil {
		return err
	}
	if !i.cfg.NoDemo && i.streams.AllWell() {
		i.say("playing the demonstration")
		if err := i.demonstrate(ctx); err != nil {
			return fmt.Errorf("play the demonstration: %w", err)
		}
	}
	return writeJSON(i.cfg.path("run.json"), i.Ready)
}

func (i *Instance) say(what string) { fmt.Fprintln(i.cfg.Progress, "iris:", what) }

func (i *Instance) startPostgres(ctx context.Context) (err error) {
	if i.cfg.PostgresURL != "" {
		server, err := assembly.AsSuperuser(i.cfg.PostgresURL)
		if err != nil {
			return fmt.Errorf("IRIS_POSTGRES_URL: %w", err)
		}
		i.databases = server
		return assembly.PrepareDatabases(ctx, i.cfg.PostgresURL, server)
	}
	i.postgres, err = pgserver.Start(ctx, pgserver.Config{DataDir: i.cfg.path("postgres"), Logger: i.cfg.Logger, UnsafeNoSync: i.cfg.UnsafeNoSync})
	if err != nil {
		return err
	}
	i.databases = i.postgres
	return assembly.PrepareDatabases(ctx, i.postgres.URL("postgres", i.postgres.Superuser()), i.postgres)
}

func (i *Instance) startNATS(ctx context.Context) (err error) {
	host, port, err := splitPort(i.cfg.NATS)
	if err != nil {
		return err
	}
	key, err := wrappedKey(ctx, i.master, i.cfg.path("nats-at-rest.key"))
	if err != nil {
		return err
	}
	i.NATS, err = natsserver.Start(ctx, natsserver.Config{
		StoreDir: i.cfg.path("nats"), KeyDir: i.cfg.path("nats-keys"), Host: host, Port: port, EncryptionKey: key, Logger: i.cfg.Logger,
		UnsafeNoSync: i.cfg.UnsafeNoSync,
	})
	return err
}

func (i *Instance) openStores(ctx context.Context) (err error) {
	if i.conn, err = i.NATS.Connect(); err != nil {
		return err
	}
	if i.Log, err = eventlog.New(i.conn, eventlog.Config{Observe: i.metrics.Published}); err != nil {
		return err
	}
	if i.streams, err = assembly.OpenStreams(i.Log, i.cfg.path("evidence"), i.cfg.Logger); err != nil {
		return err
	}
	if err := i.Log.CreateInbox(ctx); err != nil {
		return err
	}
	i.Vault, err = vault.Open(ctx, vault.Config{URL: i.databases.URL(vaultDatabase, vault.Role), Master: i.master, Now: time.Now, Block: keyBlock})
	if err != nil {
		return err
	}
	if i.models, err = reader.Open(ctx, reader.Config{URL: i.databases.URL(modelsDatabase, migrations.App)}); err != nil {
		return err
	}
	if i.Snapshots, err = snapshots.Open(ctx, snapshots.Config{URL: i.databases.URL(modelsDatabase, migrations.App)}); err != nil {
		return err
	}
	i.listener, err = net.Listen("tcp", i.cfg.HTTP)
	if err != nil {
		return fmt.Errorf("listen on %s: another program may have the port; choose one with --http: %w", i.cfg.HTTP, err)
	}
	i.Issuer, err = devissuer.Open(ctx, devissuer.Config{
		Dir: i.cfg.path("issuer"), URL: Issuer, Audience: Audience, Now: i.Now,
	})
	return err
}

func (i *Instance) origin() string { return "http://" + i.listener.Addr().String() }

// assemble connects the rooms.
func (i *Instance) assemble(ctx context.Context) (err error) {
	i.rooms, err = assembly.Connect(assembly.Config{
		Conn: i.conn, Log: i.Log, Streams: i.streams, Vault: i.Vault, Models: i.models, Snapshots: i.Snapshots, Contract: i.contract, Issuer: Issuer,
		Credentials: brokerCredentials{i.NATS}, Controller: i.cfg.Controller, Now: i.Now, Metrics: i.metrics, Tracer: i.tracer, Logger: i.cfg.Logger,
	})
	if err != nil {
		return err
	}
	i.Acts, i.Codec, i.marks = i.rooms.Acts, i.rooms.Codec, i.rooms.Marks
	return ctx.Err()
}

func (i *Instance) startWorkers(ctx context.Context) (err error) {
	i.projector, err = i.rooms.Projector(i.cfg.organisations(), i.databases.URL(modelsDatabase, migrations.Projector), i.mendModels)
	if err != nil {
		return err
	}
	if i.inbox, err = i.Log.Claims(ctx, inboxDurable); err != nil {
		return err
	}
	claims, err := i.rooms.Intake(i.inbox)
	if err != nil {
		return err
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i.stopWorkers, i.workers = cancel, &errgroup.Group{}
	i.operators = i.operator(working)
	i.workers.Go(func() error { return i.rooms.HearMarks(working) })
	i.workers.Go(func() error { i.streams.Guard.Run(working); return nil })
	i.work("intake", func() error { return claims.Run(working) })
	// A stopped line is told by /readyz and the log; recall and acceptance don't need the read models and go on.
	i.workers.Go(func() error { return i.projector.Run(working) })
	return i.renew(ctx, working)
}

func (i *Instance) work(name string, run func() error) {
	i.workers.Go(func() error {
		err := run()
		if err != nil {
			select {
			case i.failed <- fmt.Errorf("%s: %w", name, err):
			default:
			}
		}
		return err
	})
}

func (i *Instance) serve() error {
	cursorKey, err := keyfile.Open(i.cfg.path("cursor.key"))
	if err != nil {
		return err
	}
	if err := i.watch(); err != nil {
		return err
	}
	handler, err := i.rooms.Handler(assembly.HTTP{
		Verifier: i.Issuer.Verifier(), CursorKey: cursorKey, Version: i.cfg.Version, ClockOffset: i.cfg.ClockOffset, Ready: i.readiness,
		Limits: *i.cfg.Limits, Codes: i.signIn, Operators: i.operators,
	})
	if err != nil {
		return err
	}
	i.server = assembly.Server(handler, i.cfg.Logger)
	i.work("http", func() error {
		if err := i.server.Serve(i.listener); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	return nil
}

// Stop ends everything in the reverse order: who asks, who writes, the rooms, the stores. It may be called on what never
// started, and twice.
func (i *Instance) Stop(ctx context.Context) error {
	var all []error
	if i.server != nil {
		all = append(all, assembly.End(ctx, i.server))
	} else if i.listener != nil {
		all = append(all, i.listener.Close())
	}
	if i.stopWorkers != nil {
		i.stopWorkers()
	}
	if i.workers != nil {
		all = append(all, i.workers.Wait())
	}
	if i.inbox != nil { // which is its worker's until that has ended
		i.inbox.Close()
	}
	if i.rooms != nil {
		i.rooms.Close()
	}
	i.streams.Close()
	if i.Snapshots != nil {
		i.Snapshots.Close()
	}
	if i.models != nil {
		i.models.Close()
	}
	if i.Vault != nil {
		i.Vault.Close()
	}
	if i.conn != nil {
		i.conn.Close()
	}
	if i.NATS != nil {
		all = append(all, i.NATS.Stop(ctx))
	}
	if i.postgres != nil {
		all = append(all, i.postgres.Stop(ctx))
	}
	if i.traces != nil {
		if err := i.traces.Stop(ctx); err != nil { // spans are no reason to end badly
			i.cfg.Logger.Warn("the last traces were not kept", "error", err)
		}
	}
	if i.lock != nil {
		i.lock.Release()
	}
	return errors.Join(all...)
}

// AdminURL addresses a database of the private PostgreSQL as its superuser, for measurements and operators.
func (i *Instance) AdminURL(database string) string {
	if i.postgres == nil {
		return i.cfg.PostgresURL
	}
	return i.postgres.URL(database, i.postgres.Superuser())
}
