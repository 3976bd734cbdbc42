package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	producer "iris.example/iris/client"
	"iris.example/iris/client/batch"
)

type proposeCommand struct {
	File      string        `arg:"" help:"Claims, one a line: {\"id\": …, \"data\": …} as docs/assistants.md has them." type:"existingfile"`
	Creds     string        `help:"The producer's credentials; left out: those of the ready file." placeholder:"FILE" type:"path"`
	NATS      string        `name:"nats" help:"Address of NATS; left out: that of the running Iris." placeholder:"URL"`
	IntakeKey string        `help:"The organisation's intake key, age1…; left out: the running Iris is asked." placeholder:"KEY"`
	Plain     bool          `help:"Publish the words unsealed."`
	Report    string        `help:"Where outcomes are written; left out: FILE.report." placeholder:"FILE" type:"path"`
	Wait      time.Duration `default:"30s" help:"How long an outcome is waited for before its claim is sent again."`
	Data      string        `default:".iris" env:"IRIS_DATA" help:"Directory of the running Iris." placeholder:"DIR"`
	JSON      bool          `name:"json" help:"Print the summary as JSON."`
}

// Run ends with 0 when every claim has an outcome and none was refused, with 1 when a line or a claim was, with 2 when it couldn't
// come to the end: run it again, and it goes on.
func (c proposeCommand) Run(ctx context.Context, out output) error {
	if c.Report == "" {
		c.Report = c.File + ".report"
	}
	file, err := os.Open(c.File)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	defer file.Close()
	lines, err := batch.Count(file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return &exit{exitCouldNot, fmt.Errorf("read %s: %w", c.File, err)}
	}
	report, err := batch.OpenReport(c.Report)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	defer report.Close()

	bar := newProgress(out.Err, lines)
	config, err := c.settings(ctx)
	if err != nil {
		return err
	}
	config.Slowed = bar.slowed
	summary, err := c.carry(ctx, config, file, report, bar)
	bar.end()
	if printed := c.print(summary, out); printed != nil {
		return printed
	}
	return verdictOf(summary, err, c.Report)
}

func (c proposeCommand) carry(ctx context.Context, config producer.Config, file io.Reader, report *batch.Report, bar *progress) (batch.Summary, error) {
	connected, err := producer.New(config)
	if err != nil {
		return batch.Summary{}, err
	}
	defer connected.Close()
	outcomes, err := connected.Outcomes(ctx)
	if err != nil {
		return batch.Summary{}, err
	}
	defer outcomes.Close()
	return batch.Run(ctx, batch.Config{Producer: connected, Outcomes: outcomes, Report: report, Wait: c.Wait, Moved: bar.moved}, file)
}

// settings takes what wasn't said from the running Iris. With everything said, none has to run here.
func (c proposeCommand) settings(ctx context.Context) (producer.Config, error) {
	config := producer.Config{URL: c.NATS, Credentials: c.Creds, IntakeKey: c.IntakeKey, Plain: c.Plain}
	if config.URL != "" && config.Credentials != "" && (config.IntakeKey != "" || c.Plain) {
		return config, nil
	}
	iris, err := openClient(c.Data)
	if err != nil {
		return config, err
	}
	if config.URL == "" {
		config.URL = iris.ready.NATS.URL
	}
	if config.Credentials == "" {
		config.Credentials = iris.ready.NATS.Creds
	}
	if config.IntakeKey != "" || c.Plain {
		return config, nil
	}
	who, err := producer.ProducerOf(config.Credentials)
	if err != nil {
		return config, &exit{exitCouldNot, err}
	}
	if iris, err = openClientOf(c.Data, who.Organisation); err != nil {
		return config, err
	}
	var key struct {
		Recipient string `json:"recipient"`
	}
	err = iris.ask(ctx, "producer", "GET", "/v1/intake-key", nil, &key)
	config.IntakeKey = key.Recipient
	return config, err
}

// proposeSummary is --json.
type proposeSummary struct {
	File     string          `json:"file"`
	Report   string          `json:"report"`
	Settled  int             `json:"settled"`
	Skipped  int             `json:"skipped"`
	Refused  int             `json:"refusedBefore"`
	Bad      int             `json:"bad"`
	Open     int             `json:"open"`
	Outcomes map[string]int  `json:"outcomes"`
	Reasons  map[string]int  `json:"reasons"`
	BadLines []batch.BadLine `json:"badLines"`
	OpenIDs  []string        `json:"openIds"`
}

func (c proposeCommand) print(s batch.Summary, out output) error {
	slices.SortFunc(s.BadLines, func(a, b batch.BadLine) int { return a.Line - b.Line })
	if c.JSON {
		return out.json(proposeSummary{
			c.File, c.Report, s.Settled, s.Skipped, s.Refused, s.Bad, s.Open, orEmpty(s.Outcomes), orEmpty(s.Reasons),
			append([]batch.BadLine{}, s.BadLines...), append([]string{}, s.OpenIDs...),
		})
	}
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "settled\t%d\n", s.Settled)
	for _, outcome := range slices.Sorted(maps.Keys(s.Outcomes)) {
		fmt.Fprintf(table, "  %s\t%d\n", outcome, s.Outcomes[outcome])
	}
	for _, reason := range slices.Sorted(maps.Keys(s.Reasons)) {
		fmt.Fprintf(table, "    reason %s\t%d\n", reason, s.Reasons[reason])
	}
	fmt.Fprintf(table, "settled before\t%d\n", s.Skipped)
	if s.Refused > 0 {
		fmt.Fprintf(table, "  rejected\t%d\n", s.Refused)
	}
	fmt.Fprintf(table, "bad lines\t%d\n", s.Bad)
	for _, bad := range s.BadLines {
		fmt.Fprintf(table, "  line %d\t%s\n", bad.Line, bad.Code)
	}
	fmt.Fprintf(table, "without an outcome\t%d\n", s.Open)
	return table.Flush()
}

func orEmpty(m map[string]int) map[string]int {
	if m == nil {
		return map[string]int{}
	}
	return m
}

func verdictOf(s batch.Summary, err error, report string) error {
	switch {
	case err != nil:
		return &exit{exitCouldNot, fmt.Errorf("not at the end; run it again and it goes on after what stands in %s: %w", report, err)}
	case s.Open > 0:
		return &exit{exitCouldNot, fmt.Errorf("%d claims have no outcome; run it again and it sends those alone", s.Open)}
	case s.Bad > 0 || s.Outcomes["rejected"] > 0:
		return &exit{exitNot, fmt.Errorf("some were not taken; the table says why, and %s which", report)}
	}
	return nil
}
