package main

import (
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"iris.example/iris/internal/corpus"
	"iris.example/iris/screening"
)

// benches are what can be measured; without a name everything that needs no corpus.
type benches struct {
	All       benchCommand          `cmd:"" default:"withargs" help:"Measure against the raw limits, in the same run."`
	Screening benchScreeningCommand `cmd:"" help:"Measure the screening on labelled texts: detection, precision and false positives."`
}

type benchScreeningCommand struct {
	Corpus string `required:"" help:"Directory with injection.jsonl and pii.jsonl." placeholder:"DIR"`
	JSON   bool   `name:"json" help:"Print one JSON document."`
}

func (c benchScreeningCommand) Run(out output) error {
	texts, err := corpus.Read(c.Corpus)
	if err != nil {
		return &exit{exitCouldNot, err}
	}
	report := corpus.Measure(texts, screening.New(), out.Err)
	if c.JSON {
		return out.json(report)
	}
	return printScreening(report, out)
}

func printScreening(r *corpus.Report, out output) error {
	table := tabwriter.NewWriter(out.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "rules %s\n\n", r.Rules)
	fmt.Fprintln(table, "attacks\ttexts\tfound\tdetection\taddresses the model")
	for _, label := range [...]string{"attack", "benign"} {
		if label == "benign" {
			fmt.Fprintln(table, "\nbenign\ttexts\tflagged\tfalse positives\t")
		}
		for _, name := range slices.Sorted(maps.Keys(r.Injection.ByVariant)) {
			v := r.Injection.ByVariant[name]
			if v.Label != label {
				continue
			}
			addressed, share := "", v.Detection
			if v.ModelAddressed {
				addressed = "yes"
			}
			if label == "benign" {
				share = v.FalsePositiveRate
			}
			fmt.Fprintf(table, "%s\t%d\t%d\t%s\t%s\n", name, v.Texts, v.Flagged, decimal(share), addressed)
		}
	}
	fmt.Fprintf(table, "\nattacks that address the model\t\t\t%s\t≥ 0.850\n", decimal(r.Injection.ModelAddressedDetection))
	fmt.Fprintf(table, "all attacks\t%d\t\t%s\t\n", r.Injection.Attacks, decimal(r.Injection.Detection))
	fmt.Fprintf(table, "false positives on benign texts\t%d\t\t%s\t≤ 0.020\n", r.Injection.Benign, decimal(r.Injection.FalsePositiveRate))
	fmt.Fprintln(table, "\npersonal data\titem\tspans\tfound\twhole\trecall\tprecision")
	for _, name := range slices.Sorted(maps.Keys(r.PII.ByType)) {
		t := r.PII.ByType[name]
		item := string(t.Item)
		if item == "" {
			item = "(needs a model)"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%s\t%s\n", name, item, t.Spans, t.Found, t.Whole, decimal(t.Recall), decimal(t.Precision))
	}
	return table.Flush()
}

func decimal(rate *float64) string {
	if rate == nil {
		return "–"
	}
	return fmt.Sprintf("%.3f", *rate)
}
