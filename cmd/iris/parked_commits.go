package main

import (
	"context"
	"fmt"
	"net/http"
	"text/tabwriter"
)

// parkedCommits are what a line of the read models set aside: commits of Iris's own record, where the other parked things are claims.
type parkedCommits struct {
	List    parkedCommitsList    `cmd:"" default:"withargs" help:"Commits that a line of the read models couldn't apply, and what waits behind them."`
	Retry   parkedCommitsRetry   `cmd:"" help:"Apply one and what waits behind it, after the repair."`
	Discard parkedCommitsDiscard `cmd:"" help:"Give one up, with a ticket as the reason, and apply what waited behind it."`
}

const parkedCommitsPath = "/operator/parked"

type parkedCommitsList struct {
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON bool   `name:"json" help:"Print all of them as JSON."`
}

func (c parkedCommitsList) Run(ctx context.Context, out output) error {
	iris, err := openClient(c.Data)
	if err != nil {
		return err
	}
	var answer struct {
		Items []struct {
			ID        string `json:"id"`
			Aggregate string `json:"aggregate"`
			Code      string `json:"code"`
			State     string `json:"state"`
			Reason    string `json:"reason"`
			Attempts  int    `json:"attempts"`
			FirstSeen string `json:"firstSeen"`
		} `json:"items"`
	}
	if err := iris.ask(ctx, "admin", http.MethodGet, parkedCommitsPath, nil, &answer); err != nil {
		return answered(err)
	}
	if c.JSON {
		return out.json(answer.Items)
	}
	if len(answer.Items) == 0 {
		_, err := fmt.Fprintln(out.Out, "Nothing is parked.")
		return err
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAGGREGATE\tCODE\tSTATE\tTRIED\tFIRST SEEN\tREASON")
	for _, p := range answer.Items {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, p.Aggregate, p.Code, p.State, p.Attempts, p.FirstSeen, p.Reason)
	}
	return table.Flush()
}

type parkedCommitsRetry struct {
	ID   string `arg:"" help:"LINE@POSITION, as the list shows it."`
	Data string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
}

func (c parkedCommitsRetry) Run(ctx context.Context, out output) error {
	return release(ctx, out, c.Data, map[string]string{"act": "retry", "id": c.ID}, "%s is applied, and what waited behind it.\n")
}

type parkedCommitsDiscard struct {
	ID     string `arg:"" help:"LINE@POSITION, as the list shows it."`
	Reason string `required:"" help:"A ticket or a code, never words about a person." placeholder:"TICKET"`
	Data   string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
}

func (c parkedCommitsDiscard) Run(ctx context.Context, out output) error {
	return release(ctx, out, c.Data, map[string]string{"act": "discard", "id": c.ID, "reason": c.Reason}, "%s is given up, and what waited behind it is applied.\n")
}

func release(ctx context.Context, out output, data string, ask map[string]string, said string) error {
	iris, err := openClient(data)
	if err != nil {
		return err
	}
	if err := iris.ask(ctx, "admin", http.MethodPost, parkedCommitsPath, ask, nil); err != nil {
		return answered(err)
	}
	_, err = fmt.Fprintf(out.Out, said, ask["id"])
	return err
}
