package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/embedded"
)

type tokenCommand struct {
	Sub         string        `required:"" help:"The person, as the identity provider names it."`
	Act         string        `help:"A delegate who acts for the person (act.sub)."`
	Org         string        `default:"acme" help:"Organisation."`
	Tenant      string        `help:"Tenant; none: consumer."`
	Client      string        `default:"iris-pages" help:"Client that authenticates."`
	Permissions []string      `help:"Permissions, separated by commas."`
	Persona     int           `help:"PERSONA_VERSION."`
	TTL         time.Duration `name:"ttl" default:"1h" help:"How long the token is good, at most 168h."`
	Data        string        `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
}

func (c tokenCommand) Run(ctx context.Context, out output) error {
	if _, err := openClient(c.Data); err != nil { // no run.json, no access
		return err
	}
	claims := devissuer.Claims{Subject: c.Sub, Actor: c.Act, Client: c.Client, Organisation: c.Org, PersonaVersion: c.Persona}
	if c.Tenant != "" {
		claims.Tenant = &c.Tenant
	}
	for _, name := range c.Permissions {
		permission, ok := identity.ParsePermission(name)
		if !ok {
			return &exit{exitNot, fmt.Errorf("there is no permission %q; there are %v", name, identity.AllPermissions())}
		}
		claims.Permissions = append(claims.Permissions, permission)
	}
	issuer, err := devissuer.Open(ctx, devissuer.Config{
		Dir: filepath.Join(c.Data, "issuer"), URL: embedded.Issuer, Audience: embedded.Audience, Now: time.Now,
	})
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	token, err := issuer.Mint(ctx, claims, c.TTL)
	if err != nil {
		return &exit{exitNot, err}
	}
	_, err = fmt.Fprintln(out.Out, token)
	return err
}
