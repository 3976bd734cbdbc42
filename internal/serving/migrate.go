package serving

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/keyfile"
	"iris.example/iris/projections/migrations"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
	"iris.example/iris/screening"
	"iris.example/iris/vault"
)

// Producer is a program that the broker's administrator has let in, and that an organisation is to take claims from.
type Producer struct {
	Organisation, Name string
	Consumer           events.Consumer
	PublicKey          string // its NKey, as it stands in the broker's configuration
}

// ParseProducer reads ORGANISATION/NAME=CONSUMER:PUBLICKEY.
func ParseProducer(text string) (p Producer, err error) {
	who, what, ok := strings.Cut(text, "=")
	org, name, named := strings.Cut(who, "/")
	consumer, key, keyed := strings.Cut(what, ":")
	if !ok || !named || !keyed {
		return p, refuse("producer "+who, "it is not of the form ORGANISATION/NAME=CONSUMER:PUBLICKEY", "write it as acme/conversations=assistant:U…")
	}
	p = Producer{org, name, events.Consumer(consumer), key}
	if err := errors.Join(boundary.Slug("organisation", org), boundary.SubjectToken("producer", name)); err != nil {
		return p, fmt.Errorf("%w: producer %s: %w", ErrConfig, who, err)
	}
	if !nkeys.IsValidPublicUserKey(key) {
		return p, refuse("producer "+who, "its key is no public NKey of a user (U…)", "make one with `nk -gen user -pubout`; the seed goes to the producer alone")
	}
	return p, nil
}

// MigrateConfig is what Migrate needs: rights that no running process has.
type MigrateConfig struct {
	NATS          NATS     // as the provisioner
	Postgres      Postgres // as the processes will have it: passwords that PGPASSFILE has for their roles are set
	PostgresAdmin string   // the address of a superuser
	Keys          string   // folder of master.key and cursor.key; made the first time
	Organisations []string // to found, where they aren't
	Producers     []Producer
	Logger        *slog.Logger
	Progress      io.Writer // hears what is done; nil: nobody
}

// WithDefaults fills what was left out.
func (c MigrateConfig) WithDefaults() MigrateConfig {
	c.NATS.Replicas = Config{NATS: c.NATS}.WithDefaults().NATS.Replicas
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	return c
}

// Validate does no I/O.
func (c MigrateConfig) Validate() error {
	if c.Keys == "" {
		return refuse("keys", "no folder is named", "name a folder that only you can read (IRIS_KEYS); back it up apart from everything else")
	}
	if _, err := assembly.AsSuperuser(c.PostgresAdmin); err != nil {
		return refuse("PostgreSQL", "migrating takes a superuser's address", "set IRIS_POSTGRES_ADMIN as postgres://postgres@host:5432/postgres?sslmode=verify-full")
	}
	for _, org := range c.Organisations {
		if err := boundary.Slug("organisation", org); err != nil {
			return fmt.Errorf("%w: organisation: %w", ErrConfig, err)
		}
	}
	return errors.Join(c.NATS.Validate(), c.Postgres.Validate(), verified(c.PostgresAdmin, "IRIS_POSTGRES_ADMIN"))
}

// Migrate makes what is missing and brings what is there up to date: keys, databases, roles, tables, the inbox, organisations,
// producers. Doing it again changes nothing. An organisation that was founded is never founded again: its streams are compared.
func Migrate(ctx context.Context, cfg MigrateConfig) error {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return err
	}
	master, err := cfg.makeKeys()
	if err != nil {
		return err
	}
	cfg.say("databases")
	if err := cfg.prepareDatabases(ctx); err != nil {
		return err
	}
	keys, err := vault.Open(ctx, vault.Config{URL: cfg.Postgres.URL(assembly.VaultDatabase, vault.Role), Master: master, Now: time.Now})
	if err != nil {
		return err
	}
	defer keys.Close()
	conn, err := cfg.NATS.connect("migrate")
	if err != nil {
		return err
	}
	defer conn.Close()
	l, err := eventlog.New(conn, eventlog.Config{Replicas: cfg.NATS.Replicas})
	if err != nil {
		return err
	}
	if err := cfg.lookAtEdition(ctx); err != nil {
		return err
	}
	cfg.say("inbox")
	if err := l.CreateInbox(ctx); err != nil {
		return err
	}
	return cfg.found(ctx, keys, l)
}

func (c MigrateConfig) say(what string) { fmt.Fprintln(c.Progress, "iris: migrating:", what) }

func (c MigrateConfig) makeKeys() (vault.Master, error) {
	if err := os.MkdirAll(c.Keys, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of the keys: %w", err)
	}
	master, err := vault.OpenMasterKey(filepath.Join(c.Keys, masterKeyFile))
	if err != nil {
		return nil, err
	}
	_, err = keyfile.Open(filepath.Join(c.Keys, cursorKeyFile))
	return master, err
}

func (c MigrateConfig) prepareDatabases(ctx context.Context) error {
	server, err := assembly.AsSuperuser(c.PostgresAdmin)
	if err != nil {
		return err
	}
	if err := assembly.PrepareDatabases(ctx, c.PostgresAdmin, server); err != nil {
		return err
	}
	return setPasswords(ctx, c.PostgresAdmin, c.Postgres)
}

// lookAtEdition says what is left to do after an update; a rebuild is no part of migrating, because older workers may still run.
func (c MigrateConfig) lookAtEdition(ctx context.Context) error {
	models, err := reader.Open(ctx, reader.Config{URL: c.Postgres.URL(assembly.ModelsDatabase, migrations.App), MaxConns: 1})
	if err != nil {
		return err
	}
	defer models.Close()
	outdated, err := models.Outdated(ctx)
	if outdated {
		c.say("what is read was filled before this update; once no older process runs: iris rebuild")
	}
	return err
}

func (c MigrateConfig) found(ctx context.Context, keys *vault.Vault, l *eventlog.JetStream) error {
	founded, err := keys.Organisations(ctx)
	if err != nil {
		return err
	}
	organisations, err := c.runner(keys, l)
	if err != nil {
		return err
	}
	for _, org := range c.Organisations {
		c.say("organisation " + org)
		if slices.Contains(founded, org) {
			if err := l.OpenOrganisation(ctx, org); err != nil {
				return fmt.Errorf("organisation %s was founded before and its streams are not what they must be; they are never made anew: %w", org, err)
			}
		} else if err := l.CreateOrganisation(ctx, org); err != nil {
			return err
		}
		if err := keys.EnsureOrganisation(ctx, org); err != nil { // from here on it is founded
			return err
		}
		if err := run(ctx, organisations, org, organisation.Found{}); err != nil {
			return fmt.Errorf("found organisation %s: %w", org, err)
		}
	}
	for _, p := range c.Producers {
		c.say("producer " + p.Name + " of " + p.Organisation)
		command := organisation.RegisterProducer{Name: p.Name, Consumer: p.Consumer, PublicKey: p.PublicKey}
		if err := run(ctx, organisations, p.Organisation, command); err != nil {
			return fmt.Errorf("register producer %s of %s: %w", p.Name, p.Organisation, err)
		}
	}
	return nil
}

type organisations = runner.Runner[*organisation.State, organisation.Command]

func (c MigrateConfig) runner(keys *vault.Vault, l *eventlog.JetStream) (*organisations, error) {
	contract, err := schemas.Compile()
	if err != nil {
		return nil, err
	}
	return runner.Organisations(runner.Config{Log: l, Codec: events.Codec{Keys: keys, Contract: contract}, Keys: keys, Screen: screening.New(), Now: time.Now})
}

// run carries out a command that changes nothing where it is so already.
func run(ctx context.Context, to *organisations, org string, command organisation.Command) error {
	id, err := events.RandomID()
	if err != nil {
		return err
	}
	_, err = to.Run(ctx, runner.Command[organisation.Command]{
		Organisation: org, Aggregate: events.Organisation(), ID: id, Received: events.At(time.Now()),
		Actor: events.Actor{ID: "iris", Kind: events.ActorSystem}, Setting: runner.Setting{Policy: organisation.Initial(org).Policy},
		Request: []byte(id), Body: command,
	})
	return err
}
