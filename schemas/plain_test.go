package schemas

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What plain takes, the schema takes: of every example of an event, as it is and changed at one place in many ways.
func TestPlainTakesNothingThatTheSchemaRefuses(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	names, err := fs.Glob(os.DirFS("examples"), "iris.*/*/*.json")
	require.NoError(t, err)
	taken := map[string]bool{}
	for _, name := range names {
		group := strings.Split(name, "/")[0]
		schema := "events/" + group + suffix
		if c.byPath[schema] == nil {
			continue
		}
		data, err := os.ReadFile(path.Join("examples", name))
		require.NoError(t, err)
		var doc any
		if jsonv2.Unmarshal(data, &doc) != nil {
			continue // refused before a schema sees it
		}
		agree := func(doc any) {
			if c.plain[schema].takes(doc) {
				require.NoError(t, c.byPath[schema].Validate(doc), name)
				taken[group] = true
			}
		}
		agree(doc)
		for _, value := range []any{nil, true, false, "", "x", "individual", 1.0, 0.5, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}} {
			everyChange(doc, value, func() { agree(doc) })
		}
	}
	for _, hot := range []string{"iris.proposal.recorded.v1", "iris.memory.kept.v1", "iris.memory.stated.v1", "iris.proposal.declined.v1", "iris.memory.superseded.v1"} {
		require.True(t, taken[hot], "%s is plain, or it costs three times as much", hot)
	}
}

// The same of claims, which producers write: every valid example is plain, too.
func TestPlainOfClaims(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	const schema = "claims/envelope" + suffix
	names, err := fs.Glob(os.DirFS("examples"), "claim/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		data, err := os.ReadFile(path.Join("examples", name))
		require.NoError(t, err)
		var doc any
		if jsonv2.Unmarshal(data, &doc) != nil {
			continue // refused before a schema sees it
		}
		agree := func() {
			if c.plain[schema].takes(doc) {
				require.NoError(t, c.byPath[schema].Validate(doc), name)
			}
		}
		agree()
		for _, value := range []any{nil, true, "", "x", 1.0, 0.5, []any{}, []any{"x"}, map[string]any{}, map[string]any{"x": "y"}} {
			everyChange(doc, value, agree)
		}
	}
	message := map[string]any{
		"specversion": "1.0", "id": "c-1", "source": "/producers/notes", "type": "iris.memory.proposed.v1", "datacontenttype": "application/json",
		"data": map[string]any{
			"member": map[string]any{"subject": "ada"}, "program": "default", "tier": "individual", "kind": "preference", "scope": map[string]any{"kind": "profile"},
			"category": "preference", "subject": "tea", "body": "Prefers tea.", "origin": "model-inferred",
		},
	}
	require.True(t, c.plain[schema].takes(message), "a claim is plain, or it costs three times as much")
	message["Extension"] = "x"
	require.False(t, c.plain[schema].takes(message), "a name that no extension has")
	delete(message, "Extension")
	for n := range 64 {
		message[fmt.Sprint("x", n)] = "y"
	}
	require.False(t, c.plain[schema].takes(message), "too many")
}

// everyChange puts value in the place of each part of doc, takes each away, and adds one to each object; after is called with doc
// changed, which is as before then.
func everyChange(doc, value any, after func()) {
	switch d := doc.(type) {
	case map[string]any:
		for name, before := range d {
			d[name] = value
			after()
			delete(d, name)
			after()
			d[name] = before
			everyChange(before, value, after)
		}
		d["surprise"] = value
		after()
		delete(d, "surprise")
	case []any:
		for i, before := range d {
			d[i] = value
			after()
			d[i] = before
			everyChange(before, value, after)
		}
	}
}

// Schemas of every keyword that plain knows, and some that it doesn't, made at random: it never says yes alone.
func TestPlainOfAnySchema(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": []any{drawSchema(t, 3)}})
		require.NoError(t, err)
		s, err := compileText(text)
		require.NoError(t, err, string(text))
		p := plainOf(s, map[*jsonschema.Schema]*plain{})
		for range 10 {
			value := drawValue(t, 3)
			if p.takes(value) {
				require.NoError(t, s.Validate(value), "%s takes %v", text, value)
			}
		}
	})
}

func drawSchema(t *rapid.T, depth int) any {
	sub := func() any {
		if depth == 0 {
			return map[string]any{}
		}
		return drawSchema(t, depth-1)
	}
	s := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		switch rapid.SampledFrom([]string{
			"type", "const", "enum", "length", "pattern", "required", "properties", "additional", "items", "count", "anyOf", "allOf", "not", "unique", "bool", "if", "format",
			"named", "names",
		}).Draw(t, "keyword") {
		case "type":
			s["type"] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"string", "object", "array", "boolean", "null", "number", "integer"}), 1, 3, rapid.ID).Draw(t, "types")
		case "const":
			s["const"] = drawValue(t, 1)
		case "enum":
			s["enum"] = []any{drawValue(t, 0), "a"}
		case "length":
			s["minLength"], s["maxLength"] = rapid.IntRange(0, 2).Draw(t, "min"), rapid.IntRange(1, 3).Draw(t, "max")
		case "pattern":
			s["pattern"] = rapid.SampledFrom([]string{"^[a-c]{1,2}$", "b", "^a"}).Draw(t, "pattern")
		case "required":
			s["required"] = []any{drawName(t)}
		case "properties":
			s["properties"] = map[string]any{drawName(t): sub(), "a": sub()}
		case "additional":
			s["additionalProperties"] = rapid.SampledFrom([]any{false, true, sub()}).Draw(t, "additional")
		case "items":
			s["items"] = sub()
		case "count":
			s["minItems"], s["maxItems"] = rapid.IntRange(0, 1).Draw(t, "least"), rapid.IntRange(1, 2).Draw(t, "most")
		case "anyOf":
			s["anyOf"] = []any{sub(), sub()}
		case "allOf":
			s["allOf"] = []any{sub(), sub()}
		case "not":
			s["not"] = sub()
		case "if":
			s["if"], s["then"], s["else"] = sub(), sub(), sub()
		case "format":
			s["format"] = "uuid"
		case "named":
			s["minProperties"], s["maxProperties"] = rapid.IntRange(0, 1).Draw(t, "fewest"), rapid.IntRange(0, 2).Draw(t, "most named")
		case "names":
			s["propertyNames"] = sub()
		case "unique":
			s["uniqueItems"] = true
		case "bool":
			return rapid.Bool().Draw(t, "anything or nothing")
		}
	}
	return s
}

func drawName(t *rapid.T) string { return rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name") }

func drawValue(t *rapid.T, depth int) any {
	kinds := 5
	if depth > 0 {
		kinds = 7
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return float64(rapid.IntRange(0, 2).Draw(t, "number"))
	case 3, 4:
		return rapid.StringOfN(rapid.RuneFrom([]rune("abcä")), 0, 3, -1).Draw(t, "string")
	case 5:
		array := []any{}
		for range rapid.IntRange(0, 2).Draw(t, "items") {
			array = append(array, drawValue(t, depth-1))
		}
		return array
	}
	object := map[string]any{}
	for range rapid.IntRange(0, 2).Draw(t, "properties") {
		object[drawName(t)] = drawValue(t, depth-1)
	}
	return object
}

func compileText(text []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	compiler.UseRegexpEngine(compilePattern)
	if err := compiler.AddResource("test.json", doc); err != nil {
		return nil, err
	}
	return compiler.Compile("test.json")
}
