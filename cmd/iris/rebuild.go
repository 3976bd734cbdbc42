package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/internal/serving"
	"iris.example/iris/projections/rebuild"
)

const modelsPath = "/operator/models"

type rebuildCommand struct {
	Data              string `default:".iris" env:"IRIS_DATA" help:"Directory of the Iris, running or not." placeholder:"DIR"`
	Rollback          bool   `xor:"act" help:"Put back what was read before the last rebuild, brought up to date."`
	Drop              string `xor:"act" help:"Drop one kept schema, by its name." placeholder:"SCHEMA"`
	AcceptDifferences bool   `help:"Flip although rows differ from those that are read: they were wrong, or mean something new now."`
	OwnPostgres       string `name:"postgres-url" env:"IRIS_POSTGRES_URL" help:"The PostgreSQL of your own that the Iris on --data has, when it isn't running." placeholder:"URL"`
	JSON              bool   `name:"json" help:"Print the report as JSON."`

	servers       `embed:"" group:"A deployment, in place of a directory:"`
	PostgresAdmin string `env:"IRIS_POSTGRES_ADMIN" group:"A deployment, in place of a directory:" help:"Address of a superuser: postgres://postgres@host:5432/postgres?sslmode=verify-full." placeholder:"URL"`
}

// Run asks the Iris that runs on the directory. Where none does, it starts one, without a demonstration, for as long as it takes. Against
// the servers of a deployment it works here, beside whatever serves and projects there.
func (c rebuildCommand) Run(ctx context.Context, out output) error {
	ask := embedded.Models{Act: "rebuild", AcceptDifferences: c.AcceptDifferences}
	switch {
	case c.Rollback:
		ask.Act = "rollback"
	case c.Drop != "":
		ask.Act, ask.Schema = "drop", c.Drop
	}
	bar := newRebuildBar(out.Err)
	done, err := c.act(ctx, ask, bar, out)
	bar.end()
	if err != nil {
		return err
	}
	return c.print(done, out)
}

func (c rebuildCommand) act(ctx context.Context, ask embedded.Models, bar *rebuildBar, out output) (embedded.Rebuilt, error) {
	if c.named() {
		return c.deployed(ctx, ask, bar, out)
	}
	done, err := c.running(ctx, ask, bar)
	if errors.Is(err, errNobodyAnswers) {
		return c.offline(ctx, ask, bar, out)
	}
	return done, err
}

// deployed works on the servers themselves. A rebuild that another process runs is not waited for.
func (c rebuildCommand) deployed(ctx context.Context, ask embedded.Models, bar *rebuildBar, out output) (embedded.Rebuilt, error) {
	done := embedded.Rebuilt{Act: ask.Act}
	if c.PostgresAdmin == "" {
		return done, &exit{exitCouldNot, errors.New("a rebuild makes and renames schemas, which takes a superuser's address: set IRIS_POSTGRES_ADMIN as for iris migrate")}
	}
	operator, err := c.operate(ctx, out, c.PostgresAdmin)
	if err != nil {
		return done, err
	}
	defer operator.Close()
	report, err := operator.Models(ctx, serving.Models{
		Act: serving.ModelsAct(ask.Act), Schema: ask.Schema, AcceptDifferences: ask.AcceptDifferences, Progress: bar.moved,
	})
	if err == nil || errors.Is(err, rebuild.ErrDifferent) {
		done.Report = &report
	}
	if err != nil {
		done.Error = err.Error()
	}
	return done, nil
}

var errNobodyAnswers = errors.New("no Iris answers")

// running starts the rebuild in the process that has the streams, and looks now and then how far it is.
func (c rebuildCommand) running(ctx context.Context, ask embedded.Models, bar *rebuildBar) (embedded.Rebuilt, error) {
	var now embedded.Rebuilt
	if _, err := os.Stat(filepath.Join(c.Data, "run.json")); errors.Is(err, os.ErrNotExist) {
		return now, errNobodyAnswers
	}
	iris, err := openClient(c.Data)
	if err != nil {
		return now, err
	}
	if err := iris.ask(ctx, "admin", http.MethodGet, "/healthz", nil, nil); err != nil {
		var refused *refusal
		if errors.As(err, &refused) || ctx.Err() != nil {
			return now, err
		}
		return now, errNobodyAnswers
	}
	err = iris.ask(ctx, "admin", http.MethodPost, modelsPath, ask, &now)
	var refused *refusal
	if errors.As(err, &refused) && refused.Code == embedded.ErrRebuilding.Error() && ask.Act == "rebuild" {
		fmt.Fprintln(bar.out, "iris: a rebuild is under way; this watches it")
		err = iris.ask(ctx, "admin", http.MethodGet, modelsPath, nil, &now)
	}
	if err != nil {
		return now, err
	}
	look := time.NewTicker(redrawEvery)
	defer look.Stop()
	for now.Running {
		bar.moved(now.Progress)
		select {
		case <-look.C:
		case <-ctx.Done():
			return now, &exit{exitCouldNot, fmt.Errorf("no longer watched; the rebuild goes on in the running Iris: %w", ctx.Err())}
		}
		if err := iris.ask(ctx, "admin", http.MethodGet, modelsPath, nil, &now); err != nil {
			return now, err
		}
	}
	return now, nil
}

func (c rebuildCommand) offline(ctx context.Context, ask embedded.Models, bar *rebuildBar, out output) (embedded.Rebuilt, error) {
	done := embedded.Rebuilt{Act: ask.Act}
	if _, err := os.Stat(filepath.Join(c.Data, "master.key")); err != nil {
		return done, &exit{exitCouldNot, fmt.Errorf("%s is no Iris's directory; name it with --data", c.Data)}
	}
	instance, err := embedded.Start(ctx, embedded.Config{
		DataDir: c.Data, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, KeepOutdated: true, PostgresURL: c.OwnPostgres, Progress: out.Err, Version: version,
		Logger: slog.New(slog.NewJSONHandler(out.Err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return done, &exit{exitCouldNot, err}
	}
	report, err := instance.Rebuild(ctx, ask, bar.moved)
	if err == nil || errors.Is(err, rebuild.ErrDifferent) {
		done.Report = &report
	}
	if err != nil {
		done.Error = err.Error()
	}
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	return done, instance.Stop(stopping)
}

// print says what came of it. What didn't flip exits 1.
func (c rebuildCommand) print(done embedded.Rebuilt, out output) error {
	var failed error
	if done.Error != "" {
		failed = &exit{exitNot, fmt.Errorf("%s; what is read is as it was", done.Error)}
	}
	if c.JSON {
		return errors.Join(out.json(done), failed)
	}
	if failed != nil {
		return failed
	}
	report := done.Report
	switch done.Act {
	case "drop":
		fmt.Fprintf(out.Out, "Dropped %s.\n", c.Drop)
	case "rollback":
		fmt.Fprintf(out.Out, "Rolled back in %s. What was read until now is kept as %s: `iris rebuild --rollback` again undoes this.\n", report.Took.Round(time.Millisecond), report.Kept)
	default:
		var rows int64
		for _, n := range report.Rows {
			rows += n
		}
		fmt.Fprintf(out.Out, "Rebuilt from %d commits in %s: %d rows in %d tables.\n", report.Commits, report.Took.Round(time.Millisecond), rows, len(report.Rows))
		for _, d := range report.Differences {
			fmt.Fprintf(out.Out, "  differed: %s, %d rows read, %d built\n", d.Table, d.Read, d.Built)
		}
		fmt.Fprintf(out.Out, "What was read before is kept as %s: `iris rebuild --rollback` puts it back, `iris rebuild --drop %s` removes it.\n", report.Kept, report.Kept)
	}
	return nil
}

// rebuildBar draws a rebuild's progress on the last line of a terminal; elsewhere it says each stage, and how far reading is now
// and then.
type rebuildBar struct {
	out      io.Writer
	terminal bool
	stage    rebuild.Stage
	drawn    time.Time
}

func newRebuildBar(out io.Writer) *rebuildBar {
	return &rebuildBar{out: out, terminal: isTerminal(out)}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (b *rebuildBar) moved(p rebuild.Progress) {
	every := lineEvery
	if b.terminal {
		every = redrawEvery
	}
	if p.Stage == "" || p.Stage == b.stage && time.Since(b.drawn) < every {
		return
	}
	b.stage, b.drawn = p.Stage, time.Now()
	text := rebuildText(p)
	if !b.terminal {
		fmt.Fprintln(b.out, "iris:", text)
		return
	}
	filled := 0
	if p.Total > 0 {
		filled = int(min(p.Done, p.Total) * barWidth / p.Total)
	}
	fmt.Fprintf(b.out, "\r\x1b[K[%s%s] %s", strings.Repeat("#", filled), strings.Repeat(".", barWidth-filled), text)
}

func rebuildText(p rebuild.Progress) string {
	text := string(p.Stage)
	if p.Total == 0 {
		return text
	}
	text += fmt.Sprintf("  %d of %d commits", p.Done, p.Total)
	if p.Rate > 0 {
		text += fmt.Sprintf("  %.0f/s", p.Rate)
	}
	if p.Left > 0 {
		text += fmt.Sprintf("  %s left", p.Left.Round(time.Second))
	}
	return text
}

func (b *rebuildBar) end() {
	if b.terminal && b.stage != "" {
		fmt.Fprintln(b.out)
	}
}
