package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"iris.example/iris/internal/serving"
	"iris.example/iris/projections/engine"
)

// parkedCommits are what a line of the read models set aside: commits of Iris's own record, where the other parked things are claims.
type parkedCommits struct {
	List    parkedCommitsList    `cmd:"" default:"withargs" help:"Commits that a line of the read models couldn't apply, and what waits behind them."`
	Retry   parkedCommitsRetry   `cmd:"" help:"Apply one and what waits behind it, after the repair."`
	Discard parkedCommitsDiscard `cmd:"" help:"Give one up, with a ticket as the reason, and apply what waited behind it."`
}

const parkedCommitsPath = "/operator/parked"

type parkedCommitsList struct {
	Data    string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON    bool   `name:"json" help:"Print all of them as JSON."`
	servers `embed:"" group:"A deployment, in place of a directory:"`
}

// parkedCommit is one as it is shown.
type parkedCommit struct {
	ID        string    `json:"id"`
	Aggregate string    `json:"aggregate"`
	Code      string    `json:"code"`
	State     string    `json:"state"`
	Reason    string    `json:"reason"`
	Attempts  int       `json:"attempts"`
	FirstSeen time.Time `json:"firstSeen"`
}

func (c parkedCommitsList) Run(ctx context.Context, out output) error {
	all, err := c.list(ctx, out)
	if err != nil {
		return err
	}
	if c.JSON {
		return out.json(all)
	}
	if len(all) == 0 {
		_, err := fmt.Fprintln(out.Out, "Nothing is parked.")
		return err
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tAGGREGATE\tCODE\tSTATE\tTRIED\tFIRST SEEN\tREASON")
	for _, p := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, p.Aggregate, p.Code, p.State, p.Attempts, p.FirstSeen.UTC().Format(time.RFC3339), p.Reason)
	}
	return table.Flush()
}

func (c parkedCommitsList) list(ctx context.Context, out output) ([]parkedCommit, error) {
	if c.named() {
		return c.deployed(ctx, out)
	}
	iris, err := openClient(c.Data)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Items []parkedCommit `json:"items"`
	}
	err = iris.ask(ctx, "admin", http.MethodGet, parkedCommitsPath, nil, &answer)
	return answer.Items, answered(err)
}

func (c parkedCommitsList) deployed(ctx context.Context, out output) ([]parkedCommit, error) {
	operator, err := c.operate(ctx, out, "")
	if err != nil {
		return nil, err
	}
	defer operator.Close()
	parked, err := operator.Parked(ctx)
	if err != nil {
		return nil, &exit{exitCouldNot, err}
	}
	all := []parkedCommit{}
	for _, p := range parked {
		all = append(all, parkedCommit{p.ID, p.Aggregate, p.Code, p.State, p.Reason, p.Attempts, p.FirstSeen})
	}
	return all, nil
}

type parkedCommitsRetry struct {
	ID      string `arg:"" help:"LINE@POSITION, as the list shows it."`
	Data    string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	servers `embed:"" group:"A deployment, in place of a directory:"`
}

func (c parkedCommitsRetry) Run(ctx context.Context, out output) error {
	const said = "%s is applied, and what waited behind it.\n"
	if c.named() {
		return c.release(ctx, out, c.ID, said, func(o *serving.Operator) error { return o.Retry(ctx, c.ID) })
	}
	return release(ctx, out, c.Data, map[string]string{"act": "retry", "id": c.ID}, said)
}

type parkedCommitsDiscard struct {
	ID      string `arg:"" help:"LINE@POSITION, as the list shows it."`
	Reason  string `required:"" help:"A ticket or a code, never words about a person." placeholder:"TICKET"`
	Data    string `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	servers `embed:"" group:"A deployment, in place of a directory:"`
}

func (c parkedCommitsDiscard) Run(ctx context.Context, out output) error {
	const said = "%s is given up, and what waited behind it is applied.\n"
	if c.named() {
		return c.release(ctx, out, c.ID, said, func(o *serving.Operator) error { return o.Discard(ctx, c.ID, c.Reason) })
	}
	return release(ctx, out, c.Data, map[string]string{"act": "discard", "id": c.ID, "reason": c.Reason}, said)
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

// release acts in a deployment. What is refused, or still bad, is a no; a store that doesn't answer is neither.
func (s servers) release(ctx context.Context, out output, id, said string, act func(*serving.Operator) error) error {
	operator, err := s.operate(ctx, out, "")
	if err != nil {
		return err
	}
	defer operator.Close()
	err = act(operator)
	for _, refused := range []error{engine.ErrNotParked, engine.ErrReason, engine.ErrStillBad} {
		if errors.Is(err, refused) {
			return &exit{exitNot, err}
		}
	}
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	_, err = fmt.Fprintf(out.Out, said, id)
	return err
}
