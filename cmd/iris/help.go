package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

// helpFor prints a command's help, and an example of it at the end.
func helpFor(examples map[string]string) kong.HelpPrinter {
	return func(options kong.HelpOptions, ctx *kong.Context) error {
		if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
			return err
		}
		command := ctx.Selected()
		if command == nil || examples[command.Path()] == "" {
			return nil
		}
		_, err := fmt.Fprintf(ctx.Stdout, "\nExample:\n  iris %s\n", examples[command.Path()])
		return err
	}
}

// helpOf is a flag's help with its default, which kong leaves out where a placeholder stands in its place.
func helpOf(value *kong.Value) string {
	help := kong.DefaultHelpValueFormatter(value)
	if value.Flag == nil || value.Flag.PlaceHolder == "" || !value.HasDefault {
		return help
	}
	return strings.TrimSuffix(help, ".") + "; default " + value.Default + "."
}

// misread says what of the command line wasn't understood, and whose help to read.
func misread(err error, to io.Writer) {
	command := "iris"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
		command += " " + parse.Context.Selected().Path()
	}
	fmt.Fprintf(to, "iris: %v\nRun \"%s --help\" to see what there is.\n", err, command)
}

// examples are a line for each command that does something, by its path. A test parses them all.
func examples() map[string]string {
	const member, claim = "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f", "01937630-0c11-7a02-8b1e-4f5a6b7c8d9e"
	const deployed = "--nats tls://iris-a:4222,tls://iris-b:4222,tls://iris-c:4222 --nats-seed core.seed " +
		"--postgres 'postgres://db:5432/?sslmode=verify-full' --keys /var/lib/iris/keys"
	return map[string]string{
		"up":      "up --data state --http 127.0.0.1:8421 --nats 127.0.0.1:0",
		"serve":   "serve " + deployed + " --evidence /var/lib/iris/evidence --http 127.0.0.1:8420 --oidc-issuer https://id.example --oidc-audience iris",
		"worker":  "worker intake projector " + deployed + " --evidence /var/lib/iris/evidence",
		"migrate": "migrate " + deployed + " --postgres-admin 'postgres://postgres@db:5432/postgres?sslmode=verify-full' --organisation acme",
		"ready":   "ready http://127.0.0.1:8420",
		"token":   "token --sub ada@acme.example --client assistant-app --permissions iris.propose,iris.recall",
		"recall":  `recall "which units should the table use?" --context health`,

		"audit recall":    "audit recall " + claim + " --wait 10s --json",
		"producer add":    "producer add notes --consumer assistant --creds notes.creds",
		"producer revoke": "producer revoke notes",
		"propose":         "propose claims.jsonl --creds notes.creds",

		"admin programs list":      "admin programs list",
		"admin programs define":    "admin programs define atlas",
		"admin roles list":         "admin roles list",
		"admin roles define":       "admin roles define reviewer",
		"admin members list":       "admin members list --json",
		"admin members show":       "admin members show " + member,
		"admin members add":        "admin members add zoe@acme.example --name Zoe",
		"admin members remove":     "admin members remove " + member + " --yes",
		"admin memberships start":  "admin memberships start " + member + " atlas",
		"admin memberships resume": "admin memberships resume " + member + " atlas",
		"admin memberships end":    "admin memberships end " + member + " atlas",
		"admin holders list":       "admin holders list support --inspection",
		"admin holders give":       "admin holders give reviewer " + member,
		"admin holders take":       "admin holders take reviewer " + member,
		"admin clients list":       "admin clients list",
		"admin clients set":        "admin clients set shell-app shell assistant",
		"admin clients remove":     "admin clients remove shell-app",
		"admin terms list":         "admin terms list",
		"admin terms publish":      "admin terms publish memory 2027-01 terms.txt --locale en",
		"admin policy show":        "admin policy show > policy.json",
		"admin policy apply":       "admin policy apply policy.json",
		"admin tenants list":       "admin tenants list",
		"admin tenants define":     "admin tenants define north",
		"admin tenants remove":     "admin tenants remove north",
		"admin tenants quarantine": "admin tenants quarantine north",
		"admin tenants release":    "admin tenants release north",
		"admin feed":               "admin feed changes.jsonl",
		"policy check":             "policy check policy.json",

		"parked list":            "parked list",
		"parked show":            "parked show " + claim + " --reveal --reference INC-7",
		"parked retry":           "parked retry " + claim,
		"parked discard":         "parked discard " + claim,
		"parked commits list":    "parked commits list",
		"parked commits retry":   "parked commits retry IRIS_ACME@1042",
		"parked commits discard": "parked commits discard IRIS_ACME@1042 --reason INC-7",
		"rebuild":                "rebuild --data .iris",
		"bench all":              "bench all",
		"bench screening":        "bench screening --corpus DIR",
		"version":                "version",
	}
}
