package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/receipts"
)

type upCommand struct {
	Data        string        `default:".iris" env:"IRIS_DATA" help:"Directory of all state." placeholder:"DIR"`
	HTTP        string        `name:"http" default:"127.0.0.1:8420" help:"Address of API and pages; port 0 picks a free one." placeholder:"ADDR"`
	NATS        string        `name:"nats" default:"127.0.0.1:4222" help:"Address that producers connect to; port 0 picks a free one." placeholder:"ADDR"`
	NoDemo      bool          `help:"Organisations, people and tokens, but no memories."`
	ClockOffset time.Duration `help:"Move the product's clock forward." placeholder:"DUR"`
	ReadyFile   string        `help:"Write addresses and tokens here, as JSON, when everything answers." placeholder:"FILE" type:"path"`
	Postgres    string        `env:"IRIS_POSTGRES_URL" help:"A PostgreSQL of your own, as a superuser, in place of the private one." placeholder:"URL"`
	Trace       string        `help:"Append the spans of every request here, a line of JSON each; no text of anybody is in them." placeholder:"FILE" type:"path"`
	OTLP        string        `name:"otlp" env:"OTEL_EXPORTER_OTLP_ENDPOINT" help:"Send the spans to this collector instead." placeholder:"URL"`
	Controller  controller    `embed:"" prefix:"controller-"`
	JSON        bool          `name:"json" help:"Print the ready document on standard output."`
	LogLevel    slog.Level    `default:"warn" help:"debug, info, warn or error."`
}

// controller is who answers for the deployment, on receipts: whole, or left out.
type controller struct {
	Name         string `env:"IRIS_CONTROLLER_NAME" help:"Who answers for this deployment, as receipts of consents say it." placeholder:"NAME"`
	Address      string `env:"IRIS_CONTROLLER_ADDRESS" help:"Where the controller is." placeholder:"ADDR"`
	Contact      string `env:"IRIS_CONTROLLER_CONTACT" help:"How the controller is reached." placeholder:"CONTACT"`
	Jurisdiction string `env:"IRIS_CONTROLLER_JURISDICTION" help:"Whose law applies." placeholder:"LAW"`
}

func (c upCommand) Run(ctx context.Context, out output) error {
	instance, err := embedded.Start(ctx, embedded.Config{
		DataDir: c.Data, HTTP: c.HTTP, NATS: c.NATS, NoDemo: c.NoDemo, ClockOffset: c.ClockOffset, PostgresURL: c.Postgres, Progress: out.Err, Version: version, TraceFile: c.Trace, OTLP: c.OTLP,
		Controller: receipts.Controller{
			Name: c.Controller.Name, Address: c.Controller.Address, Contact: c.Controller.Contact, Jurisdiction: c.Controller.Jurisdiction,
		},
		Logger: slog.New(slog.NewJSONHandler(out.Err, &slog.HandlerOptions{Level: c.LogLevel})),
	})
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	if err := c.announce(instance, out); err != nil {
		return err
	}
	var failed error
	select {
	case <-ctx.Done():
	case failed = <-instance.Failed():
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	fmt.Fprintln(out.Err, "iris: stopping")
	if err := instance.Stop(stopping); err != nil {
		return err
	}
	return failed
}

func (c upCommand) announce(instance *embedded.Instance, out output) error {
	if c.ReadyFile != "" {
		if err := instance.WriteReady(c.ReadyFile); err != nil {
			return err
		}
	}
	if c.JSON {
		return out.json(instance.Ready)
	}
	ready := instance.Ready
	fmt.Fprintf(out.Out, `
Iris is running. Everything below is for this machine and this run.

  Pages and API   %s
  NATS            %s
    publish to    %s
    credentials   %s
  State           %s

Sign in to the pages as
`, ready.HTTP, ready.NATS.URL, ready.NATS.Subject, ready.NATS.Creds, c.Data)
	for _, role := range slices.Sorted(maps.Keys(ready.SignIn)) {
		fmt.Fprintf(out.Out, "  %-12s %s\n", role, ready.SignIn[role])
	}
	fmt.Fprintf(out.Out, `
Tokens for every role stand in %s/run.json, or make one: iris token --help
The README has a five-minute walk. Stop with Ctrl-C.
`, c.Data)
	return nil
}
