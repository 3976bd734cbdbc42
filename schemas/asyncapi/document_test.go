package asyncapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/schemas"
	"iris.example/iris/schemas/asyncapi"
)

func document(t *testing.T) []byte {
	t.Helper()
	text, err := asyncapi.Document()
	require.NoError(t, err)
	return text
}

// contract is the part of the document that the tests read.
type contract struct {
	Channels map[string]struct {
		Address    *string
		Parameters map[string]any
		Messages   map[string]any
	}
	Operations map[string]struct {
		Action   string
		Summary  string
		Security []any
	}
}

func parsed(t *testing.T) (c contract) {
	t.Helper()
	require.NoError(t, json.Unmarshal(document(t), &c))
	require.NotEmpty(t, c.Channels)
	return c
}

func TestTheDocumentIsCommitted(t *testing.T) {
	t.Parallel()
	committed, err := os.ReadFile("../asyncapi.json")
	require.NoError(t, err)
	require.Equal(t, string(document(t)), string(committed), "drifted: make generate")
}

// TestTheDocumentIsAsyncAPI holds it to the published JSON Schema of AsyncAPI 3.0.
func TestTheDocumentIsAsyncAPI(t *testing.T) {
	t.Parallel()
	file, err := os.Open("../testdata/asyncapi/3.0.0.json")
	require.NoError(t, err)
	defer file.Close()
	published, err := jsonschema.UnmarshalJSON(file)
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothingElse{})
	require.NoError(t, compiler.AddResource("asyncapi.json", published))
	schema, err := compiler.Compile("asyncapi.json")
	require.NoError(t, err)
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(document(t)))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(value))

	for name, spoil := range map[string]func(doc map[string]any){
		"a member that AsyncAPI doesn't have": func(doc map[string]any) { doc["paths"] = map[string]any{} },
		"no title":                            func(doc map[string]any) { delete(doc["info"].(map[string]any), "title") },
		"an action of its own": func(doc map[string]any) {
			doc["operations"].(map[string]any)["receiveClaim"].(map[string]any)["action"] = "publish"
		},
	} {
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(document(t)))
		require.NoError(t, err)
		spoil(doc.(map[string]any))
		require.Error(t, schema.Validate(doc), name)
	}
}

type nothingElse struct{}

func (nothingElse) Load(url string) (any, error) { return nil, fmt.Errorf("%s is not at hand", url) }

// compiler knows the document and every schema file beside it, by their places.
func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(nothingElse{})
	add := func(name string, text []byte) {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		require.NoError(t, c.AddResource(schemas.Base+name, value))
	}
	require.NoError(t, fs.WalkDir(schemas.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schemas.Files(), name)
		add(name, text)
		return err
	}))
	add("asyncapi.json", document(t))
	return c
}

// TestEveryReferenceLeadsSomewhere: inside of the document, and to the files beside it.
func TestEveryReferenceLeadsSomewhere(t *testing.T) {
	t.Parallel()
	var doc any
	require.NoError(t, json.Unmarshal(document(t), &doc))
	inside, beside := 0, 0
	var walk func(node any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, item := range node {
				walk(item)
			}
		case map[string]any:
			if target, ok := node["$ref"].(string); ok {
				if pointer, local := strings.CutPrefix(target, "#/"); local {
					inside++
					at := doc
					for _, part := range strings.Split(pointer, "/") {
						at = at.(map[string]any)[part]
					}
					require.NotNil(t, at, target)
				} else {
					beside++
					_, err := fs.Stat(schemas.Files(), target)
					require.NoError(t, err, target)
				}
			}
			for _, child := range node {
				walk(child)
			}
		}
	}
	walk(doc)
	require.Greater(t, inside, 20)
	require.Greater(t, beside, len(events.Types()))
}

// judge judges by the schema of a message, as the document has it.
func judge(t *testing.T, c *jsonschema.Compiler, channel, message string) func(text []byte) error {
	t.Helper()
	schema, err := c.Compile(schemas.Base + "asyncapi.json#/channels/" + channel + "/messages/" + message + "/payload/schema")
	require.NoError(t, err)
	return func(text []byte) error {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		return schema.Validate(value)
	}
}

func examples(t *testing.T, group, verdict string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	names, err := fs.Glob(os.DirFS("../examples"), path.Join(group, verdict, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, name := range names {
		found[name], err = os.ReadFile(path.Join("../examples", name))
		require.NoError(t, err)
	}
	return found
}

// TestTheDocumentJudgesAsTheContractDoes: who builds on the document alone accepts and refuses what Iris does.
func TestTheDocumentJudgesAsTheContractDoes(t *testing.T) {
	t.Parallel()
	c := compiler(t)
	for group, judges := range map[string]func([]byte) error{
		"claim": judge(t, c, "claims", "claim"), "outcome": judge(t, c, "outcomes", "settled"),
	} {
		for name, text := range examples(t, group, "valid") {
			require.NoError(t, judges(text), name)
		}
		for name, text := range examples(t, group, "invalid") {
			require.Error(t, judges(text), name)
		}
	}
	book, definitions, recalls := judge(t, c, "member", "commit"), judge(t, c, "organisation", "commit"), judge(t, c, "recalls", "envelope")
	for name, text := range examples(t, "commit", "valid") {
		for _, judges := range []func([]byte) error{book, definitions, recalls} {
			require.NoError(t, judges(text), name) // an event of another channel passes as one that isn't known there
		}
	}
}

// TestEveryTypeOfEventIsOnOneChannel, with its schema: a commit with that event's bad data is refused there and nowhere else.
func TestEveryTypeOfEventIsOnOneChannel(t *testing.T) {
	t.Parallel()
	c := compiler(t)
	channels := map[string]func([]byte) error{
		"member": judge(t, c, "member", "commit"), "organisation": judge(t, c, "organisation", "commit"), "recalls": judge(t, c, "recalls", "envelope"), "role": judge(t, c, "role", "commit"),
		"session": judge(t, c, "session", "commit"),
	}
	var batch []map[string]any
	require.NoError(t, json.Unmarshal(examples(t, "commit", "valid")["commit/valid/one-event.json"], &batch))
	for _, typ := range events.Types() {
		batch[0]["type"] = string(typ)
		for name, data := range examples(t, string(typ), "valid") {
			batch[0]["data"] = json.RawMessage(data)
			text, err := json.Marshal(batch)
			require.NoError(t, err)
			for _, judges := range channels {
				require.NoError(t, judges(text), name)
			}
		}
		batch[0]["data"] = map[string]any{"no": "such property"}
		text, err := json.Marshal(batch)
		require.NoError(t, err)
		refused := 0
		for _, judges := range channels {
			if judges(text) != nil {
				refused++
			}
		}
		require.Equal(t, 1, refused, typ)
	}
}

// TestAddressesAreTheSubjects: with its parameters filled in, an address is a subject of the code, and has no others.
func TestAddressesAreTheSubjects(t *testing.T) {
	t.Parallel()
	const id = "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f"
	fill := strings.NewReplacer("{organisation}", "acme", "{producer}", "notes", "{member}", id, "{session}", id, "{role}", "reviewer")
	want := map[string]string{
		"claims": events.ProposedSubject("acme", "notes"), "outcomes": events.OutcomeSubject("acme", "notes"),
		"member": events.Subject("acme", events.Member(id)), "organisation": events.Subject("acme", events.Organisation()),
		"session": events.Subject("acme", events.Session(id)),
		"recalls": events.RecallSubject("acme"), "role": events.Subject("acme", events.Role("reviewer")),
	}
	for name, channel := range parsed(t).Channels {
		if channel.Address == nil {
			require.Equal(t, "acknowledgement", name)
			continue
		}
		require.Equal(t, want[name], fill.Replace(*channel.Address), name)
		require.Equal(t, strings.Count(*channel.Address, "{"), len(channel.Parameters), name)
		for parameter := range channel.Parameters {
			require.Contains(t, *channel.Address, "{"+parameter+"}")
		}
	}
	require.Len(t, parsed(t).Channels, len(want)+1)
}

// TestEveryOperationSaysWhoMayAndWhy, and every channel but the reply's is used.
func TestEveryOperationSaysWhoMayAndWhy(t *testing.T) {
	t.Parallel()
	text := string(document(t))
	for name, operation := range parsed(t).Operations {
		require.Contains(t, []string{"send", "receive"}, operation.Action, name)
		require.NotEmpty(t, operation.Summary, name)
		require.Len(t, operation.Security, 1, name)
	}
	for name := range parsed(t).Channels {
		require.Contains(t, text, `"$ref": "#/channels/`+name+`"`)
	}
}
