package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"text/tabwriter"
	"time"

	"iris.example/iris/internal/bench"
	"iris.example/iris/internal/embedded"
)

type benchCommand struct {
	Rounds        int  `default:"10" help:"How often raw and measured alternate."`
	Each          int  `default:"100" help:"Operations a round."`
	Claims        int  `default:"10000" help:"Claims that intake is measured with, of a tenth as many members; 0: not."`
	RebuildEvents int  `default:"100000" help:"Events that a rebuild is measured with; a million is told in proportion, and takes minutes to write. 0: not."`
	Organisations int  `default:"100" help:"Organisations that are created and restarted; 0: none."`
	JSON          bool `name:"json" help:"Print the figures as JSON."`
}

func (c benchCommand) Run(ctx context.Context, out output) error {
	starts, err := startTimes(ctx)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	cfg := bench.Config{Rounds: c.Rounds, Each: c.Each, RebuildEvents: c.RebuildEvents, Claims: c.Claims, Progress: out.Err}
	figures, err := bench.Run(ctx, cfg)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	figures = append(append(starts, figures...), bench.Screening(c.Rounds))
	if c.Organisations > 0 {
		many, err := bench.Organisations(ctx, cfg, c.Organisations)
		if err != nil {
			return &exit{exitCouldNot, err}
		}
		figures = append(figures, many...)
	}
	if c.JSON {
		return out.json(figures)
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	for _, f := range figures {
		met := "met"
		if !f.Met {
			met = "NOT MET"
		}
		fmt.Fprintf(table, "%s\t%s\traw: %s\tratio %.2f\t%s\t%s\n", f.Name, f.Measured, f.Raw, f.Ratio, f.Promise, met)
	}
	return table.Flush()
}

// startTimes starts this very program twice on one fresh directory, with the demonstration, and waits for the ready document.
func startTimes(ctx context.Context) ([]bench.Figure, error) {
	dir, err := os.MkdirTemp("", "iris-bench-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		return nil, err
	}
	var figures []bench.Figure
	for _, start := range []struct {
		name  string
		limit time.Duration
	}{{"iris up from nothing to ready", 5 * time.Second}, {"second start", 2 * time.Second}} {
		took, err := startOnce(ctx, filepath.Join(dir, "iris"))
		if err != nil {
			return nil, err
		}
		figures = append(figures, bench.Figure{
			Name: start.name, Measured: took.Round(time.Millisecond).String(), Raw: start.limit.String(), Ratio: took.Seconds() / start.limit.Seconds(),
			Promise: "≤ " + start.limit.String(), Met: took <= start.limit,
		})
	}
	return figures, nil
}

func startOnce(ctx context.Context, dir string) (time.Duration, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	command := exec.CommandContext(ctx, self, "up", "--data", dir, "--http", "127.0.0.1:0", "--nats", "127.0.0.1:0", "--json")
	command.Stderr = os.Stderr
	printed, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	var ready embedded.Ready
	err = json.NewDecoder(bufio.NewReader(printed)).Decode(&ready)
	took := time.Since(began)
	_ = command.Process.Signal(syscall.SIGTERM)
	if ended := command.Wait(); err == nil {
		err = ended
	}
	if err != nil {
		return 0, fmt.Errorf("start %s: %w", dir, err)
	}
	return took, nil
}
