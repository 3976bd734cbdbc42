package schemas_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

// openAPI is the committed document. That it is the one that the code writes is tested in api/, which owns it.
func openAPI(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, json.Unmarshal(text, &doc))
	require.Equal(t, "3.1.0", doc["openapi"])
	return doc
}

// visit calls with every object of a document and the pointer to it, in order.
func visit(pointer string, node any, call func(pointer string, node map[string]any)) {
	switch node := node.(type) {
	case []any:
		for i, item := range node {
			visit(pointer+"/"+strconv.Itoa(i), item, call)
		}
	case map[string]any:
		call(pointer, node)
		for _, name := range slices.Sorted(maps.Keys(node)) {
			visit(pointer+"/"+strings.ReplaceAll(name, "/", "~1"), node[name], call)
		}
	}
}

// resolve follows a reference inside of the document; nil: it leads nowhere.
func resolve(doc map[string]any, node map[string]any) map[string]any {
	for node["$ref"] != nil {
		pointer, inside := strings.CutPrefix(node["$ref"].(string), "#/")
		if !inside {
			return nil
		}
		var at any = doc
		for _, part := range strings.Split(pointer, "/") {
			members, _ := at.(map[string]any)
			at = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
		}
		if node, _ = at.(map[string]any); node == nil {
			return nil
		}
	}
	return node
}

func TestOpenAPIReferencesLeadSomewhere(t *testing.T) {
	t.Parallel()
	doc, references := openAPI(t), 0
	visit("", doc, func(pointer string, node map[string]any) {
		if target, ok := node["$ref"].(string); ok {
			references++
			require.NotNil(t, resolve(doc, node), "%s: %s", pointer, target)
		}
	})
	require.Greater(t, references, 50)
}

// TestOpenAPIOperations: each has a name of its own, says what it is, how it succeeds and that it fails with a problem; each
// part of its path is a parameter.
func TestOpenAPIOperations(t *testing.T) {
	t.Parallel()
	doc := openAPI(t)
	names := map[string]bool{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, value := range item.(map[string]any) {
			where, operation := method+" "+path, value.(map[string]any)
			require.Contains(t, []string{"get", "put", "post", "patch", "delete"}, method, where)
			name := operation["operationId"].(string)
			require.False(t, names[name], "%s: two operations are %s", where, name)
			names[name] = true
			require.NotEmpty(t, operation["summary"], where)
			require.NotNil(t, operation["security"], where)
			succeeds := false
			for status, answer := range operation["responses"].(map[string]any) {
				succeeds = succeeds || strings.HasPrefix(status, "2") || strings.HasPrefix(status, "3")
				require.NotEmpty(t, resolve(doc, answer.(map[string]any))["description"], where)
			}
			require.True(t, succeeds, where)
			failure, _ := operation["responses"].(map[string]any)["default"].(map[string]any)
			require.NotNil(t, failure, where)
			content, _ := resolve(doc, failure)["content"].(map[string]any)
			require.Contains(t, content, "application/problem+json", where)
			for _, part := range strings.Split(path, "/") {
				if strings.HasPrefix(part, "{") {
					require.True(t, slices.ContainsFunc(operation["parameters"].([]any), func(p any) bool {
						parameter := resolve(doc, p.(map[string]any))
						return parameter["in"] == "path" && "{"+parameter["name"].(string)+"}" == part && parameter["required"] == true
					}), "%s: %s", where, part)
				}
			}
		}
	}
	require.Greater(t, len(names), 15)
}

// TestOpenAPISchemasCompile: every schema of the document, wherever it stands.
func TestOpenAPISchemasCompile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("openapi.json", document))
	doc, compiled := openAPI(t), 0
	for name := range doc["components"].(map[string]any)["schemas"].(map[string]any) {
		_, err := compiler.Compile("openapi.json#/components/schemas/" + name)
		require.NoError(t, err, name)
		compiled++
	}
	visit("", doc["paths"], func(pointer string, node map[string]any) {
		schema, ok := node["schema"].(map[string]any)
		if !ok || strings.Contains(pointer, "/schema/") {
			return
		}
		alone := maps.Clone(schema)
		alone["components"] = doc["components"] // what its references mean
		text, err := json.Marshal(alone)
		require.NoError(t, err)
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		require.NoError(t, err)
		one := jsonschema.NewCompiler()
		one.DefaultDraft(jsonschema.Draft2020)
		require.NoError(t, one.AddResource("alone.json", value))
		_, err = one.Compile("alone.json")
		require.NoError(t, err, pointer)
		compiled++
	})
	require.Greater(t, compiled, 50)
}
