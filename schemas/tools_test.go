package schemas_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/schemas"
)

// TestAPromotionIsNoToolOfAnyone reads both files: a promotion has a specification, and stands in no toolset and not among what is
// always allowed; a note stands in both (spec 1.5).
func TestAPromotionIsNoToolOfAnyone(t *testing.T) {
	t.Parallel()
	var specification struct{ Name, Description string }
	read(t, "tools/memory.propose_promotion.json", &specification)
	require.Equal(t, "memory.propose_promotion", specification.Name)
	require.Contains(t, specification.Description, "not_implemented")
	var sets struct {
		Toolsets map[string][]string `json:"toolsets"`
		Always   []string            `json:"ALWAYS_ALLOWED_TOOLS"`
	}
	read(t, "tools/toolsets.json", &sets)
	require.NotEmpty(t, sets.Toolsets)
	for set, names := range sets.Toolsets {
		require.Contains(t, names, "memory.propose_note", set)
		require.NotContains(t, names, specification.Name, set)
	}
	require.Equal(t, []string{"memory.propose_note"}, sets.Always)
	offered, err := schemas.OfferedTools()
	require.NoError(t, err)
	require.Len(t, offered, 1)
	require.Equal(t, "memory.propose_note", offered[0].Name)
}

// TestANoteIsOfTierIndividual: the specification admits no other tier, and nobody but the credential says whose note it is (spec 1.5).
func TestANoteIsOfTierIndividual(t *testing.T) {
	t.Parallel()
	c := contract(t)
	require.NoError(t, c.CheckArguments(schemas.ToolProposeNote, []byte(`{"body":"Likes tea.","tier":"individual"}`)))
	for _, more := range []string{`"tier":"person"`, `"tier":"role"`, `"tier":"session"`, `"tier":2`, `"member":{"subject":"ada"}`, `"consumer":"assistant"`, `"onBehalfOf":"ada"`, `"origin":"user-stated"`} {
		require.ErrorIs(t, c.CheckArguments(schemas.ToolProposeNote, []byte(`{"body":"Likes tea.",`+more+`}`)), schemas.ErrViolation, more)
	}
	require.ErrorIs(t, c.CheckArguments("memory.propose", []byte(`{}`)), schemas.ErrViolation)
}

// TestEveryToolHasItsFileAndEveryNameATool: what stands in a toolset has a specification, under its own name, which refers to nothing
// that a harness doesn't have.
func TestEveryToolHasItsFileAndEveryNameATool(t *testing.T) {
	t.Parallel()
	tools, err := schemas.Tools()
	require.NoError(t, err)
	require.ElementsMatch(t, []string{schemas.ToolProposeNote, schemas.ToolProposePromotion}, slices.Collect(maps.Keys(tools)))
	sets, err := schemas.ReadToolsets()
	require.NoError(t, err)
	for _, name := range slices.Concat(append(slices.Collect(maps.Values(sets.Sets)), sets.AlwaysAllowed)...) {
		require.Contains(t, tools, name)
	}
	files, err := fs.Glob(os.DirFS("."), "tools/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(tools)+1)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, string(text), "$ref", file)
		if name := strings.TrimSuffix(path.Base(file), ".json"); name != "toolsets" {
			require.NotEmpty(t, tools[name].Title)
			require.NotEmpty(t, tools[name].Description)
			require.Contains(t, string(tools[name].OutputSchema), "https://json-schema.org/draft/2020-12/schema")
		}
	}
}

// TestTheWordsOfANoteAreThoseOfTheVocabulary: they are written out again, for a harness has one file.
func TestTheWordsOfANoteAreThoseOfTheVocabulary(t *testing.T) {
	t.Parallel()
	c := contract(t)
	for _, category := range events.Categories() {
		require.NoError(t, c.CheckArguments(schemas.ToolProposeNote, []byte(`{"body":"x","category":"`+string(category)+`"}`)))
	}
	var definitions struct {
		Defs struct {
			Kind struct{ Enum []events.MemoryKind } `json:"kind"`
		} `json:"$defs"`
	}
	read(t, "events/definitions.schema.json", &definitions)
	require.NotEmpty(t, definitions.Defs.Kind.Enum)
	for _, kind := range definitions.Defs.Kind.Enum {
		err := c.CheckArguments(schemas.ToolProposeNote, []byte(`{"body":"x","kind":"`+string(kind)+`"}`))
		require.Equal(t, events.TierIndividual.Admits(kind), err == nil, kind)
	}
}

func read(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}
