package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"text/tabwriter"

	"iris.example/iris/client/batch"
)

type adminFeed struct {
	File   string `arg:"" help:"Changes, one a line: {\"subject\": …, \"program\": …, \"action\": \"start|end|resume\", \"rolesGiven\": […], \"rolesTaken\": […]}." type:"existingfile"`
	Report string `help:"Where outcomes are written; left out: FILE.report." placeholder:"FILE" type:"path"`
	asAdmin
}

// fedLine is one line of the report: by number and hash, without the words of the line.
type fedLine struct {
	Line    int    `json:"line"`
	Hash    string `json:"hash"`    // of the line with its number: the same change may stand twice
	Outcome string `json:"outcome"` // changed or unchanged; empty: refused
	Code    string `json:"code,omitempty"`
}

// fedSummary is --json.
type fedSummary struct {
	File      string    `json:"file"`
	Report    string    `json:"report"`
	Changed   int       `json:"changed"`
	Unchanged int       `json:"unchanged"`
	Before    int       `json:"before"` // settled by an earlier run
	BadLines  []fedLine `json:"badLines"`
}

// Run carries the lines out in their order: a later one may take back an earlier one. What was carried out stands in the report and
// isn't asked again; a line that was refused is tried again by the next run. It ends with 0 when every line was carried out, with 1
// when one was refused, with 2 when it couldn't come to the end: run it again, and it goes on.
func (c adminFeed) Run(ctx context.Context, out output) error {
	if c.Report == "" {
		c.Report = c.File + ".report"
	}
	iris, err := openClientOf(c.Data, c.Org)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(c.File)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	settled, report, err := openReport(c.Report)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	defer report.Close()
	feed := &feed{iris: iris, settled: settled, report: report, summary: fedSummary{File: c.File, Report: c.Report, BadLines: []fedLine{}}}
	lines := splitLines(content)
	feed.bar = newProgress(out.Err, len(lines))
	ended := feed.carry(ctx, lines)
	feed.bar.end()
	if err := c.print(feed.summary, out); err != nil {
		return err
	}
	switch {
	case ended != nil:
		return &exit{exitCouldNot, fmt.Errorf("not at the end; run it again and it goes on after what stands in %s: %w", c.Report, ended)}
	case len(feed.summary.BadLines) > 0:
		return &exit{exitNot, errors.New("some lines were not carried out; the table says which and why")}
	}
	return nil
}

// numbered is a line of the feed that says something.
type numbered struct {
	number int
	text   []byte
}

func splitLines(content []byte) []numbered {
	var lines []numbered
	for i, line := range bytes.Split(content, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			lines = append(lines, numbered{i + 1, line})
		}
	}
	return lines
}

func (n numbered) hash() string {
	sum := sha256.Sum256(append(fmt.Appendf(nil, "%d\n", n.number), n.text...))
	return hex.EncodeToString(sum[:])
}

// settledLines reads what an earlier run has carried out. A last line that was cut off was not; whole says whether there is none.
func settledLines(path string) (settled map[string]bool, whole bool, err error) {
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, false, err
	}
	settled = map[string]bool{}
	for _, text := range bytes.Split(content, []byte("\n")) {
		var line fedLine
		if json.Unmarshal(text, &line) == nil && line.Outcome != "" {
			settled[line.Hash] = true
		}
	}
	return settled, len(content) == 0 || content[len(content)-1] == '\n', nil
}

// openReport opens the report to add to it, on a line of its own.
func openReport(path string) (settled map[string]bool, report *os.File, err error) {
	settled, whole, err := settledLines(path)
	if err != nil {
		return nil, nil, err
	}
	if report, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600); err != nil {
		return nil, nil, err
	}
	if !whole {
		_, err = report.WriteString("\n")
	}
	return settled, report, err
}

type feed struct {
	iris    *client
	settled map[string]bool
	report  io.Writer
	bar     *progress
	summary fedSummary
	now     batch.Progress
}

// carry stops at the first line of which nobody knows whether it was carried out.
func (f *feed) carry(ctx context.Context, lines []numbered) error {
	for _, line := range lines {
		done := fedLine{Line: line.number, Hash: line.hash()}
		if f.settled[done.Hash] {
			f.summary.Before++
			f.now.Skipped++
			f.bar.moved(f.now)
			continue
		}
		var err error
		if done.Outcome, done.Code, err = f.change(ctx, line, done.Hash); err != nil {
			return err
		}
		if err := f.write(done); err != nil {
			return err
		}
	}
	return nil
}

// change asks under the line's hash as key: asked again, it is the same command.
func (f *feed) change(ctx context.Context, line numbered, hash string) (outcome, code string, err error) {
	if !json.Valid(line.text) {
		return "", "invalid_json", nil
	}
	var answer struct {
		Outcome string `json:"outcome"`
	}
	err = f.iris.askUnder(ctx, hash, "admin", http.MethodPost, "/v1/admin/memberships", json.RawMessage(line.text), &answer)
	var refused *refusal
	if errors.As(err, &refused) && refused.Status < 500 && refused.Status != http.StatusUnauthorized &&
		refused.Status != http.StatusForbidden && refused.Status != http.StatusTooManyRequests {
		return "", refused.Code, nil
	}
	return answer.Outcome, "", err
}

func (f *feed) write(done fedLine) error {
	text, err := json.Marshal(done)
	if err != nil {
		return err
	}
	if _, err := f.report.Write(append(text, '\n')); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	switch done.Outcome {
	case "":
		f.summary.BadLines = append(f.summary.BadLines, done)
		f.now.Bad++
	case "changed":
		f.summary.Changed++
		f.now.Settled++
	default:
		f.summary.Unchanged++
		f.now.Settled++
	}
	f.bar.moved(f.now)
	return nil
}

func (c adminFeed) print(s fedSummary, out output) error {
	if c.JSON {
		return out.json(s)
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "changed\t%d\nunchanged\t%d\ncarried out before\t%d\nbad lines\t%d\n", s.Changed, s.Unchanged, s.Before, len(s.BadLines))
	for _, bad := range s.BadLines {
		fmt.Fprintf(table, "  line %d\t%s\n", bad.Line, bad.Code)
	}
	return table.Flush()
}
