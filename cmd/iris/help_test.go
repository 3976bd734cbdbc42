package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every command says how it is called, by a line that its own parser takes.
func TestEveryCommandHasAnExampleThatParses(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	parser, err := parserOf(context.Background(), output{&said, &said}, func(int) {})
	require.NoError(t, err)
	left := examples()
	for _, command := range parser.Model.Leaves(true) {
		path := command.Path()
		example := left[path]
		require.NotEmpty(t, example, "iris %s has no example", path)
		delete(left, path)
		require.True(t, strings.HasPrefix(example, path), "%s: %s", path, example)

		parsed, err := parser.Parse(words(example))
		require.NoError(t, err, example)
		require.Equal(t, path, parsed.Selected().Path(), example)
	}
	require.Empty(t, left, "examples of commands that aren't there")
}

// words splits a line as a shell would, as far as the examples need it. A file that must be there is this one.
func words(line string) []string {
	line, _, _ = strings.Cut(line, " > ")
	var all []string
	var quote rune
	for _, word := range strings.FieldsFunc(line, func(r rune) bool {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		}
		return r == ' ' && quote == 0
	}) {
		word = strings.Trim(word, `"'`)
		switch word {
		case "claims.jsonl", "changes.jsonl", "terms.txt", "policy.json":
			word = "help_test.go"
		}
		all = append(all, word)
	}
	return all
}

func TestHelpShowsDefaultsAndAnExample(t *testing.T) {
	t.Parallel()
	for command, says := range map[string][]string{
		"up":           {"($IRIS_DATA);\n", "default .iris.", "127.0.0.1:8420.", "Example:\n  iris up --data"},
		"audit recall": {"Example:\n  iris audit recall 0"},
		"propose":      {"Example:\n  iris propose claims.jsonl"},
	} {
		var out, errs bytes.Buffer
		require.Zero(t, run(append(strings.Fields(command), "--help"), output{&out, &errs}), errs.String())
		for _, part := range says {
			require.Contains(t, strings.Join(strings.Fields(out.String()), " "), strings.Join(strings.Fields(part), " "), command)
		}
	}
}

// What wasn't understood is answered with the help of the command that was meant, not with everything.
func TestAMisreadCommandPointsToItsOwnHelp(t *testing.T) {
	t.Parallel()
	for line, says := range map[string]string{
		"audit recall":         `"iris audit recall --help"`,
		"audit":                `"iris audit --help"`,
		"admin members nobody": `"iris admin members --help"`,
		"admin members show":   `"iris admin members show --help"`,
		"remember this":        `"iris --help"`,
		"up --dta x":           `"iris up --help"`,
		"token":                `"iris token --help"`,
	} {
		var out, errs bytes.Buffer
		require.Equal(t, exitCouldNot, run(strings.Fields(line), output{&out, &errs}), line)
		require.Contains(t, errs.String(), says, line)
		require.Empty(t, out.String(), line)
	}
}
