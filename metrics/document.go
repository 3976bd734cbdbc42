package metrics

import (
	"fmt"
	"strings"
)

// The generated section of docs/operations.md stands between these lines.
const (
	Begin = "<!-- metrics: written by go generate ./metrics, held by its test -->"
	End   = "<!-- metrics end -->"
)

//go:generate go run ./metricsdoc

// Document is the section: the table, and a row of the runbook for each metric that is worth an alarm.
func Document() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n| metric | kind | labels | what |\n|---|---|---|---|\n", Begin)
	for _, d := range Table() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, d.Kind, strings.Join(d.Labels, ", "), cell(d.Help))
	}
	b.WriteString("\n| alarm when | why | do |\n|---|---|---|\n")
	for _, d := range Table() {
		if d.Alarm != nil {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", cell(d.Alarm.When), cell(d.Alarm.Why), cell(d.Alarm.Do))
		}
	}
	fmt.Fprintf(&b, "\n%s", End)
	return b.String()
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// Replace puts the section where the old one stands.
func Replace(document string) (string, error) {
	before, rest, begins := strings.Cut(document, Begin)
	_, after, ends := strings.Cut(rest, End)
	if !begins || !ends {
		return "", fmt.Errorf("the document has no lines %q and %q", Begin, End)
	}
	return before + Document() + after, nil
}
