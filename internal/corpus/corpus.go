// Package corpus measures the screening on texts that somebody else has labelled (spec 1.7). The texts stay where they are: the
// caller names a directory, and nothing of it is kept, printed or put in an error.
//
// The directory holds two files of JSON Lines: injection.jsonl, whose rows are {text, label: attack|benign, variant}, and pii.jsonl,
// whose rows are {text, spans: [{type, value, start, end}]} with offsets in Unicode code points. Other keys are passed over.
package corpus

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The files that a corpus has.
const (
	InjectionFile = "injection.jsonl"
	PIIFile       = "pii.jsonl"
)

// ErrShape is every error about a directory that isn't a corpus.
var ErrShape = errors.New("not a corpus for the screening")

// Corpus is what was read.
type Corpus struct {
	Injection []Labelled
	PII       []Tagged
}

// Labelled is a text that attacks or doesn't.
type Labelled struct {
	Text    string `json:"text"`
	Label   string `json:"label"`
	Variant string `json:"variant"`
}

// Tagged is a text and what is personal in it.
type Tagged struct {
	Text  string `json:"text"`
	Spans []Span `json:"spans"`
}

// Span is one of its places, in code points of the text as it stands in the file.
type Span struct {
	Type  string `json:"type"`
	Value string `json:"value"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Read reads both files, or says what it expected and what it found.
func Read(dir string) (*Corpus, error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: expected a directory with %s and %s, found nothing at %q", ErrShape, InjectionFile, PIIFile, dir)
	case err != nil:
		return nil, fmt.Errorf("read the corpus: %w", err)
	case !info.IsDir():
		return nil, fmt.Errorf("%w: expected a directory with %s and %s, found a file at %q", ErrShape, InjectionFile, PIIFile, dir)
	}
	for _, name := range [...]string{InjectionFile, PIIFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w: expected %s and %s in %q, found %s", ErrShape, InjectionFile, PIIFile, dir, listed(dir))
		}
	}
	c := &Corpus{}
	if c.Injection, err = rows(filepath.Join(dir, InjectionFile), checkLabelled); err != nil {
		return nil, err
	}
	if c.PII, err = rows(filepath.Join(dir, PIIFile), checkTagged); err != nil {
		return nil, err
	}
	return c, nil
}

// listed names what lies in a directory, the first few of it.
func listed(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "a directory that can't be listed"
	}
	if len(entries) == 0 {
		return "an empty directory"
	}
	var names []string
	for _, e := range entries[:min(len(entries), 8)] {
		names = append(names, e.Name())
	}
	if len(entries) > len(names) {
		names = append(names, fmt.Sprintf("and %d more", len(entries)-len(names)))
	}
	return strings.Join(names, ", ")
}

// rows reads one row a line, of whatever length.
func rows[Row any](path string, check func(*Row) error) ([]Row, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	defer file.Close()
	name := filepath.Base(path)
	var all []Row
	lines := bufio.NewReader(file)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			var row Row
			if json.Unmarshal([]byte(line), &row) != nil {
				return nil, fmt.Errorf("%w: %s line %d: expected a JSON object with the keys of the file's rows, found %s", ErrShape, name, n, shape(line))
			}
			if bad := check(&row); bad != nil {
				return nil, fmt.Errorf("%w: %s line %d: %w", ErrShape, name, n, bad)
			}
			all = append(all, row)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read the corpus: %s line %d: %w", name, n, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%w: %s: expected a row on each line, found none", ErrShape, name)
	}
	return all, nil
}

// shape says what a line is without repeating it.
func shape(line string) string {
	var value any
	if json.Unmarshal([]byte(line), &value) != nil {
		return fmt.Sprintf("%d bytes that are not JSON", len(line))
	}
	switch value.(type) {
	case map[string]any:
		return "an object whose keys have other types"
	case []any:
		return "an array"
	}
	return "a bare value"
}

func checkLabelled(row *Labelled) error {
	switch {
	case row.Text == "":
		return errors.New(`expected "text", found none`)
	case row.Label != "attack" && row.Label != "benign":
		return errors.New(`expected "label" to be attack or benign, found something else`)
	case row.Variant == "":
		row.Variant = "unnamed"
	}
	return nil
}

func checkTagged(row *Tagged) error {
	if row.Text == "" {
		return errors.New(`expected "text", found none`)
	}
	n := len([]rune(row.Text))
	for i, s := range row.Spans {
		if s.Type == "" || s.Start < 0 || s.End <= s.Start || s.End > n {
			return fmt.Errorf(`expected spans[%d] to have a "type" and 0 ≤ start < end ≤ %d, found %d and %d`, i, n, s.Start, s.End)
		}
	}
	return nil
}
