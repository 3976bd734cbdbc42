package growth_test

import (
	"io"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
)

func bytesOf(text string) io.Reader { return strings.NewReader(text) }

func compiledText(t require.TestingT, text string) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytesOf(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	require.NoError(t, compiler.AddResource("it.json", doc))
	schema, err := compiler.Compile("it.json")
	require.NoError(t, err)
	return schema
}
