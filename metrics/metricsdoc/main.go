// Command metricsdoc writes the table of metrics into docs/operations.md. Run it with go generate ./metrics.
package main

import (
	"fmt"
	"os"

	"iris.example/iris/metrics"
)

const document = "../docs/operations.md"

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, "metricsdoc:", err)
		os.Exit(1)
	}
}

func write() error {
	old, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	text, err := metrics.Replace(string(old))
	if err != nil {
		return err
	}
	return os.WriteFile(document, []byte(text), 0o644)
}
