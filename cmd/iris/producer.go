package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
)

type producerCommand struct {
	Add    producerAdd    `cmd:"" help:"Let a service publish claims; its credentials are shown once."`
	Revoke producerRevoke `cmd:"" help:"Cut a producer's credentials off, for good."`
}

type producerAdd struct {
	Name     string `arg:"" help:"The producer's name: small letters, digits and hyphens."`
	Org      string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Consumer string `default:"assistant" help:"Consumer that it claims as."`
	Creds    string `help:"Write the credentials here, readable by you alone; left out: ORG-NAME.creds." placeholder:"FILE" type:"path"`
	Data     string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON     bool   `name:"json" help:"Print what the producer needs as JSON, without the credentials."`
}

// added is the answer to a producer's addition, and what is printed of it.
type added struct {
	Producer        string `json:"producer"`
	Consumer        string `json:"consumer"`
	PublicKey       string `json:"publicKey"`
	Credentials     string `json:"credentials,omitempty"`
	CredentialsFile string `json:"credentialsFile"`
	NATS            string `json:"nats"`
	Subject         string `json:"subject"`
	Outcomes        string `json:"outcomes"`
	InboxPrefix     string `json:"inboxPrefix"`
	IntakeKey       string `json:"intakeKey"`
}

// Run takes the file before it asks: credentials that can't be written down are lost. Once they stand in it the file stays, whatever
// else fails: nobody is shown them again.
func (c producerAdd) Run(ctx context.Context, out output) error {
	iris, err := openClientOf(c.Data, c.Org)
	if err != nil {
		return err
	}
	path := c.Creds
	if path == "" {
		path = iris.ready.Organisation + "-" + c.Name + ".creds"
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &exit{exitNot, fmt.Errorf("the credentials can't be written; nothing was added: %w", err)}
	}
	written := false
	defer func() {
		if !written {
			_ = os.Remove(path)
		}
	}()
	defer file.Close() // again, after the write, is no harm
	var a added
	if err := iris.ask(ctx, "admin", http.MethodPost, "/v1/admin/producers", map[string]string{"producer": c.Name, "consumer": c.Consumer}, &a); err != nil {
		return answered(err)
	}
	_, err = file.WriteString(a.Credentials)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("the producer was added, and its credentials can't be written; revoke it and add it again: %w", err)
	}
	written = true
	a.Credentials, a.CredentialsFile, a.NATS = "", path, iris.ready.NATS.URL
	if c.JSON {
		return out.json(a)
	}
	_, err = fmt.Fprintf(out.Out, `Producer %s of %s may publish as %s.
  NATS          %s
  credentials   %s (shown to nobody again)
  publish to    %s
  outcomes on   %s
  inbox prefix  %s
  seal to       %s
`, a.Producer, iris.ready.Organisation, a.Consumer, a.NATS, path, a.Subject, a.Outcomes, a.InboxPrefix, a.IntakeKey)
	return err
}

type producerRevoke struct {
	Name string `arg:"" help:"The producer's name."`
	Org  string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the answer as it came."`
}

func (c producerRevoke) Run(ctx context.Context, out output) error {
	iris, err := openClientOf(c.Data, c.Org)
	if err != nil {
		return err
	}
	var answer struct {
		Producer string `json:"producer"`
		State    string `json:"state"`
	}
	if err := iris.ask(ctx, "admin", http.MethodDelete, "/v1/admin/producers/"+url.PathEscape(c.Name), nil, &answer); err != nil {
		return answered(err)
	}
	if c.JSON {
		return out.json(answer)
	}
	_, err = fmt.Fprintf(out.Out, "Producer %s of %s is revoked: its credentials are cut off, and what it left in the inbox is refused.\n", answer.Producer, iris.ready.Organisation)
	return err
}

// openClientOf is openClient for one of the organisations that run.json has tokens of.
func openClientOf(dir, org string) (*client, error) {
	iris, err := openClient(dir)
	if err != nil || org == "" || org == iris.ready.Organisation {
		return iris, err
	}
	other := iris.ready.OtherOrganisation
	if org != other.Organisation {
		return nil, &exit{exitCouldNot, fmt.Errorf("run.json has no tokens of organisation %q, only of %s and %s", org, iris.ready.Organisation, other.Organisation)}
	}
	iris.ready.Organisation, iris.ready.Tokens = other.Organisation, other.Tokens
	return iris, nil
}

// answered tells "no" (1) from "could not be asked" (2).
func answered(err error) error {
	var refused *refusal
	if errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusUnauthorized {
		return &exit{exitNot, refused}
	}
	return err
}
