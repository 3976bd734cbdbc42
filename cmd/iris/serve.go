package main

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"iris.example/iris/internal/serving"
	"iris.example/iris/receipts"
)

// servers are the flags about servers that others run. One environment does for serve, worker and migrate.
type servers struct {
	NATS         []string   `name:"nats" env:"IRIS_NATS" sep:"," help:"All nodes of the cluster: tls://iris-a:4222,tls://iris-b:4222,…" placeholder:"URL,…"`
	NATSCA       string     `name:"nats-ca" env:"IRIS_NATS_CA" help:"Certificates that vouch for the nodes (PEM); left out: the machine's." placeholder:"FILE"`
	NATSSeed     string     `name:"nats-seed" env:"IRIS_NATS_SEED" help:"File of this process's NKey seed." placeholder:"FILE"`
	NATSCreds    string     `name:"nats-creds" env:"IRIS_NATS_CREDS" help:"File of this process's JWT and seed, in place of an NKey." placeholder:"FILE"`
	NATSCert     string     `name:"nats-client-cert" env:"IRIS_NATS_CLIENT_CERT" help:"Certificate of this process, where the cluster asks for one." placeholder:"FILE"`
	NATSKey      string     `name:"nats-client-key" env:"IRIS_NATS_CLIENT_KEY" help:"Its key." placeholder:"FILE"`
	NATSReplicas int        `name:"nats-replicas" env:"IRIS_NATS_REPLICAS" default:"3" help:"Replicas of every stream: 1, 3 or 5." placeholder:"N"`
	Postgres     string     `env:"IRIS_POSTGRES" help:"The server, without user and database: postgres://host:5432/?sslmode=verify-full. Passwords of the roles stand in PGPASSFILE." placeholder:"URL"`
	Keys         string     `env:"IRIS_KEYS" help:"Folder of the master key, the same for all processes; iris migrate makes it." placeholder:"DIR"`
	LogLevel     slog.Level `default:"info" env:"IRIS_LOG_LEVEL" help:"debug, info, warn or error."`
}

func (s servers) cluster() serving.NATS {
	return serving.NATS{URLs: s.NATS, CA: s.NATSCA, Seed: s.NATSSeed, Credentials: s.NATSCreds, Cert: s.NATSCert, Key: s.NATSKey, Replicas: s.NATSReplicas}
}

// named reports that a deployment's servers are named, rather than a directory.
func (s servers) named() bool { return len(s.NATS) > 0 }

func (s servers) operate(ctx context.Context, out output, postgresAdmin string) (*serving.Operator, error) {
	o, err := serving.Operate(ctx, serving.OperatorConfig{
		NATS: s.cluster(), Postgres: serving.Postgres(s.Postgres), PostgresAdmin: postgresAdmin, Keys: s.Keys, Logger: s.logger(out),
	})
	if err != nil {
		return nil, &exit{exitCouldNot, err}
	}
	return o, nil
}

func (s servers) logger(out output) *slog.Logger {
	return slog.New(slog.NewJSONHandler(out.Err, &slog.HandlerOptions{Level: s.LogLevel}))
}

// process are the flags of what runs for long.
type process struct {
	servers     `embed:""`
	HTTP        string        `name:"http" env:"IRIS_HTTP" help:"Address to listen on; off loopback with TLS only." placeholder:"ADDR"`
	TLSCert     string        `name:"tls-cert" env:"IRIS_TLS_CERT" help:"Certificate (PEM)." placeholder:"FILE"`
	TLSKey      string        `name:"tls-key" env:"IRIS_TLS_KEY" help:"Its key (PEM)." placeholder:"FILE"`
	Issuer      string        `name:"oidc-issuer" env:"IRIS_OIDC_ISSUER" help:"The OpenID Connect issuer whose tokens are believed." placeholder:"URL"`
	Audience    string        `name:"oidc-audience" env:"IRIS_OIDC_AUDIENCE" help:"Whom those tokens are for." placeholder:"NAME"`
	ClientID    string        `name:"oidc-client-id" env:"IRIS_OIDC_CLIENT_ID" help:"Let members sign in at the issuer, as this client." placeholder:"ID"`
	SecretFile  string        `name:"oidc-client-secret-file" env:"IRIS_OIDC_CLIENT_SECRET_FILE" help:"File of the client's secret; left out: a public client." placeholder:"FILE"`
	RedirectURL string        `name:"oidc-redirect-url" env:"IRIS_OIDC_REDIRECT_URL" help:"Where browsers come back to: https://HOST/sign-in/callback." placeholder:"URL"`
	Scopes      []string      `name:"oidc-scopes" env:"IRIS_OIDC_SCOPES" sep:" " help:"Scopes to ask for beside openid." placeholder:"SCOPE"`
	Evidence    string        `env:"IRIS_EVIDENCE" help:"Folder of this process alone, which outlives it: how far it knows each stream to go." placeholder:"DIR"`
	ClockOffset time.Duration `env:"IRIS_CLOCK_OFFSET" help:"Move the product's clock forward." placeholder:"DUR"`
	OTLP        string        `name:"otlp" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Send traces to this collector; no text of anybody is in them." placeholder:"URL"`
	Controller  controller    `embed:"" prefix:"controller-"`
}

func (p process) config(out output) serving.Config {
	return serving.Config{
		NATS: p.cluster(), Postgres: serving.Postgres(p.Postgres), Keys: p.Keys, Evidence: p.Evidence, HTTP: p.HTTP,
		TLS: serving.TLS{Cert: p.TLSCert, Key: p.TLSKey}, OIDC: serving.OIDC{Issuer: p.Issuer, Audience: p.Audience, Login: serving.Login{
			ClientID: p.ClientID, SecretFile: p.SecretFile, RedirectURL: p.RedirectURL, Scopes: p.Scopes,
		}},
		Controller: receipts.Controller{
			Name: p.Controller.Name, Address: p.Controller.Address, Contact: p.Controller.Contact, Jurisdiction: p.Controller.Jurisdiction,
		},
		ClockOffset: p.ClockOffset, OTLP: p.OTLP, Version: version, Logger: p.logger(out),
	}
}

// run lives until it is told to stop, or can't go on.
func (p process) run(ctx context.Context, out output, parts ...serving.Part) error {
	running, err := serving.Start(ctx, p.config(out), parts...)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	fmt.Fprintf(out.Err, "iris: running %s %s\n", joined(parts), running.Address())
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-running.Failed():
	}
	fmt.Fprintln(out.Err, "iris: stopping")
	if err := running.Stop(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	return failed
}

func joined(parts []serving.Part) string {
	var names []string
	for _, p := range parts {
		names = append(names, string(p))
	}
	return strings.Join(names, ", ")
}

type serveCommand struct {
	process `embed:""`
}

func (c serveCommand) Run(ctx context.Context, out output) error {
	return c.run(ctx, out, serving.API)
}

type workerCommand struct {
	Names   []string `arg:"" name:"name" help:"intake, projector, streamguard."`
	process `embed:""`
}

func (c workerCommand) Run(ctx context.Context, out output) error {
	var parts []serving.Part
	for _, name := range c.Names {
		if !slices.Contains(serving.Workers(), serving.Part(name)) {
			return &exit{exitCouldNot, fmt.Errorf("there is no worker %q; there are %s", name, joined(serving.Workers()))}
		}
		parts = append(parts, serving.Part(name))
	}
	return c.run(ctx, out, parts...)
}

type migrateCommand struct {
	servers       `embed:""`
	PostgresAdmin string   `env:"IRIS_POSTGRES_ADMIN" help:"Address of a superuser: postgres://postgres@host:5432/postgres?sslmode=verify-full." placeholder:"URL"`
	Organisation  []string `env:"IRIS_ORGANISATIONS" sep:"," help:"Found it, where it isn't." placeholder:"ORG"`
	Producer      []string `sep:"none" help:"Take claims from a producer that the cluster's administrator has let in; or give it another key." placeholder:"ORG/NAME=CONSUMER:PUBLICKEY"`
}

func (c migrateCommand) Run(ctx context.Context, out output) error {
	config := serving.MigrateConfig{
		NATS: c.cluster(), Postgres: serving.Postgres(c.Postgres), PostgresAdmin: c.PostgresAdmin, Keys: c.Keys, Organisations: c.Organisation,
		Logger: c.logger(out), Progress: out.Err,
	}
	for _, text := range c.Producer {
		p, err := serving.ParseProducer(text)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		config.Producers = append(config.Producers, p)
	}
	if err := serving.Migrate(ctx, config); err != nil {
		return &exit{exitCouldNot, err}
	}
	return nil
}
