package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
)

type parkedCommand struct {
	List    parkedList    `cmd:"" help:"Claims that couldn't be read: id, producer, time and code, never their content."`
	Show    parkedShow    `cmd:"" help:"One of them; its content only with --reveal and a --reference."`
	Retry   parkedRetry   `cmd:"" help:"Take one in again, as if its producer had sent it now."`
	Discard parkedDiscard `cmd:"" help:"Destroy one."`
	Commits parkedCommits `cmd:"" help:"Commits that a line of the read models set aside."`
}

// parkedClaim is a parked claim as it is answered.
type parkedClaim struct {
	ParkedID      string  `json:"parkedId"`
	Producer      string  `json:"producer"`
	Code          string  `json:"code"`
	ParkedAt      string  `json:"parkedAt"`
	ExpiresAt     string  `json:"expiresAt"`
	Content       *string `json:"content,omitempty"`
	ContentBase64 *string `json:"contentBase64,omitempty"`
}

type parkedList struct {
	Org  string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print all of them as JSON."`
}

func (c parkedList) Run(ctx context.Context, out output) error {
	iris, err := openClientOf(c.Data, c.Org)
	if err != nil {
		return err
	}
	all := []parkedClaim{}
	for path := "/v1/admin/parked?limit=200"; path != ""; {
		var page struct {
			Items []parkedClaim `json:"items"`
			Next  *string       `json:"next"`
		}
		if err := iris.ask(ctx, "admin", http.MethodGet, path, nil, &page); err != nil {
			return answered(err)
		}
		all = append(all, page.Items...)
		path = ""
		if page.Next != nil {
			path = "/v1/admin/parked?limit=200&cursor=" + url.QueryEscape(*page.Next)
		}
	}
	if c.JSON {
		return out.json(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out.Out, "Nothing is parked.")
		return err
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tPRODUCER\tPARKED\tCODE\tEXPIRES")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.ParkedID, p.Producer, p.ParkedAt, p.Code, p.ExpiresAt)
	}
	return table.Flush()
}

type parkedShow struct {
	ID        string `arg:"" help:"The parked claim's id."`
	Reveal    bool   `help:"Show its content as it came; it may be anybody's words, and that you read it is written down."`
	Reference string `help:"The ticket or incident that you read it for." placeholder:"ID"`
	Org       string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data      string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON      bool   `name:"json" help:"Print it as JSON."`
}

func (c parkedShow) Run(ctx context.Context, out output) error {
	if c.Reveal != (c.Reference != "") {
		return &exit{exitNot, fmt.Errorf("the content is shown with --reveal and --reference together; nothing was shown")}
	}
	iris, err := openClientOf(c.Data, c.Org)
	if err != nil {
		return err
	}
	path := "/v1/admin/parked/" + url.PathEscape(c.ID)
	if c.Reveal {
		path += "?reveal=true&reference=" + url.QueryEscape(c.Reference)
	}
	var p parkedClaim
	if err := iris.ask(ctx, "admin", http.MethodGet, path, nil, &p); err != nil {
		return answered(err)
	}
	if c.JSON {
		return out.json(p)
	}
	fmt.Fprintf(out.Out, "Parked claim %s\n  producer  %s\n  code      %s\n  parked    %s\n  expires   %s\n", p.ParkedID, p.Producer, p.Code, p.ParkedAt, p.ExpiresAt)
	content := p.Content
	if p.ContentBase64 != nil {
		raw, err := base64.StdEncoding.DecodeString(*p.ContentBase64)
		if err != nil {
			return fmt.Errorf("read the content: %w", err)
		}
		quoted := fmt.Sprintf("%q", raw) // no control character reaches the terminal
		content = &quoted
	} else if content != nil {
		quoted := fmt.Sprintf("%q", *content)
		content = &quoted
	}
	if content != nil {
		fmt.Fprintf(out.Out, "  content   %s\n", *content)
	}
	return nil
}

type parkedRetry struct {
	ID   string `arg:"" help:"The parked claim's id."`
	Org  string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the answer as it came."`
}

func (c parkedRetry) Run(ctx context.Context, out output) error {
	return unpark(ctx, out, c.Data, c.Org, c.ID, "retry", c.JSON,
		"Claim %s is in the inbox again: its producer hears the outcome, and it is parked anew if it still can't be read.\n")
}

type parkedDiscard struct {
	ID   string `arg:"" help:"The parked claim's id."`
	Org  string `help:"Organisation; left out: the first one." placeholder:"ORG"`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print the answer as it came."`
}

func (c parkedDiscard) Run(ctx context.Context, out output) error {
	return unpark(ctx, out, c.Data, c.Org, c.ID, "discard", c.JSON, "Claim %s is destroyed.\n")
}

func unpark(ctx context.Context, out output, data, org, id, act string, asJSON bool, said string) error {
	iris, err := openClientOf(data, org)
	if err != nil {
		return err
	}
	var answer struct {
		ParkedID string `json:"parkedId"`
		State    string `json:"state"`
	}
	if err := iris.ask(ctx, "admin", http.MethodPost, "/v1/admin/parked/"+url.PathEscape(id)+"/"+act, nil, &answer); err != nil {
		return answered(err)
	}
	if asJSON {
		return out.json(answer)
	}
	_, err = fmt.Fprintf(out.Out, said, answer.ParkedID)
	return err
}
