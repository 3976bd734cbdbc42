package serving

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/rebuild"
	"iris.example/iris/schemas"
	"iris.example/iris/vault"
	"iris.example/iris/workers/projector"
)

// OperatorConfig is what an operator's act upon the read models needs: a worker's environment, and for a rebuild the right to make and
// rename schemas, which no running process has.
type OperatorConfig struct {
	NATS          NATS
	Postgres      Postgres
	PostgresAdmin string // the address of a superuser; only rebuilding needs it
	Keys          string // folder of master.key
	Logger        *slog.Logger
}

// WithDefaults fills what was left out.
func (c OperatorConfig) WithDefaults() OperatorConfig {
	c.NATS.Replicas = Config{NATS: c.NATS}.WithDefaults().NATS.Replicas
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate does no I/O.
func (c OperatorConfig) Validate() error {
	if c.Keys == "" {
		return refuse("keys", "no folder is named", "name the folder that `iris migrate --keys` made (IRIS_KEYS)")
	}
	if c.PostgresAdmin != "" {
		if _, err := assembly.AsSuperuser(c.PostgresAdmin); err != nil {
			return refuse("PostgreSQL", "the superuser's address can't be read", "set IRIS_POSTGRES_ADMIN as postgres://postgres@host:5432/postgres?sslmode=verify-full")
		}
		if err := verified(c.PostgresAdmin, "IRIS_POSTGRES_ADMIN"); err != nil {
			return err
		}
	}
	return errors.Join(c.NATS.Validate(), c.Postgres.Validate())
}

// Operator acts upon the read models of a deployment, beside the processes that run there: they read and project on. It writes no fact
// and takes nothing in.
type Operator struct {
	cfg           OperatorConfig
	conn          *nats.Conn
	log           *eventlog.JetStream
	vault         *vault.Vault
	codec         events.Codec
	organisations []string
}

// Operate connects. Close it.
func Operate(ctx context.Context, cfg OperatorConfig) (*Operator, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	o := &Operator{cfg: cfg}
	if err := o.open(ctx); err != nil {
		o.Close()
		return nil, err
	}
	return o, nil
}

func (o *Operator) open(ctx context.Context) error {
	contract, err := schemas.Compile()
	if err != nil {
		return err
	}
	master, err := openMaster(o.cfg.Keys)
	if err != nil {
		return err
	}
	if o.conn, err = o.cfg.NATS.connect("operator"); err != nil {
		return err
	}
	if o.log, err = eventlog.New(o.conn, eventlog.Config{Replicas: o.cfg.NATS.Replicas}); err != nil {
		return err
	}
	o.vault, err = vault.Open(ctx, vault.Config{URL: o.cfg.Postgres.URL(assembly.VaultDatabase, vault.Role), Master: master, Now: time.Now})
	if err != nil {
		return fmt.Errorf("%w; `iris migrate` makes database %s", err, assembly.VaultDatabase)
	}
	o.codec = events.Codec{Keys: o.vault, Contract: contract}
	o.organisations, err = o.vault.Organisations(ctx)
	return err
}

// Close lets go of the stores.
func (o *Operator) Close() {
	if o.vault != nil {
		o.vault.Close()
	}
	if o.conn != nil {
		o.conn.Close()
	}
}

// Models is an act upon the read models.
type Models struct {
	Act               ModelsAct
	Schema            string // to drop
	AcceptDifferences bool
	Progress          func(rebuild.Progress)
}

// ModelsAct says which.
type ModelsAct string

const (
	Rebuild  ModelsAct = "rebuild"
	Rollback ModelsAct = "rollback"
	Drop     ModelsAct = "drop"
)

// Models makes the read models anew, rolls back or drops what is kept. One process at a time, whoever runs it: PostgreSQL holds the lock,
// and lets go of it with a process that dies (rebuild.ErrRunning).
func (o *Operator) Models(ctx context.Context, ask Models) (rebuild.Report, error) {
	if o.cfg.PostgresAdmin == "" {
		return rebuild.Report{}, refuse("PostgreSQL", "schemas are made and renamed by a superuser", "set IRIS_POSTGRES_ADMIN as for `iris migrate`")
	}
	server, err := assembly.AsSuperuser(o.cfg.PostgresAdmin)
	if err != nil {
		return rebuild.Report{}, err
	}
	cfg := rebuild.Config{
		AdminURL: server.Database(assembly.ModelsDatabase), OwnerURL: server.URL(assembly.ModelsDatabase, migrations.Owner),
		ProjectorURL:  o.cfg.Postgres.URL(assembly.ModelsDatabase, migrations.Projector),
		Organisations: o.organisations, Follow: engine.Followed(o.log), Last: o.log.Last, Codec: o.codec,
		AcceptDifferences: ask.AcceptDifferences, Progress: ask.Progress,
	}
	switch ask.Act {
	case Rebuild:
		return rebuild.Run(ctx, cfg)
	case Rollback:
		return rebuild.Rollback(ctx, cfg)
	case Drop:
		return rebuild.Report{}, rebuild.Drop(ctx, cfg, ask.Schema)
	}
	return rebuild.Report{}, fmt.Errorf("%w: there is rebuild, rollback and drop", rebuild.ErrConfig)
}

// ParkedCommit is a commit that a line set aside, and its name.
type ParkedCommit struct {
	ID string `json:"id"`
	engine.Parked
}

// Parked lists what the lines of all organisations have set aside.
func (o *Operator) Parked(ctx context.Context) ([]ParkedCommit, error) {
	lines, err := o.lines()
	if err != nil {
		return nil, err
	}
	defer lines.Close()
	all, err := lines.Parked(ctx)
	items := []ParkedCommit{}
	for _, p := range all {
		items = append(items, ParkedCommit{projector.ParkedID(p), p})
	}
	return items, err
}

// Retry applies what is parked there and what waits behind it. The worker that carries the line waits for the cursor meanwhile.
func (o *Operator) Retry(ctx context.Context, id string) error {
	return o.release(func(lines *projector.Worker) error { return lines.Retry(ctx, id) })
}

// Discard gives one up, with a ticket as the reason, and applies what waits behind it.
func (o *Operator) Discard(ctx context.Context, id, reason string) error {
	return o.release(func(lines *projector.Worker) error { return lines.Discard(ctx, id, reason) })
}

func (o *Operator) release(act func(*projector.Worker) error) error {
	lines, err := o.lines()
	if err != nil {
		return err
	}
	defer lines.Close()
	return act(lines)
}

// lines are the deployment's, to be acted upon; they are not run here.
func (o *Operator) lines() (*projector.Worker, error) {
	return projector.New(projector.Config{
		Organisations: o.organisations, DatabaseURL: o.cfg.Postgres.URL(assembly.ModelsDatabase, migrations.Projector),
		Follow: engine.Followed(o.log), Codec: o.codec, Read: o.log.At, Announce: engine.NewWatermarks(nil, 0), Logger: o.cfg.Logger,
	})
}
