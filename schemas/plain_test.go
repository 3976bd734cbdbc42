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

// agree requires that plain says of data what the schema says, if it is sure, and returns whether it accepts it.
func agree(t require.TestingT, s schema, data []byte) bool {
	takes, sure := new(judge).judges(s.plain, data)
	if sure {
		require.Equal(t, s.validate("", data) == nil, takes, "%s", data)
	}
	return takes && sure
}

type example struct {
	file   string
	schema schema
	name   string // of the schema
	data   []byte
}

// allExamples are those that are accepted, or those that are refused, of everything that has a schema.
func allExamples(t testing.TB, c *Contract, verdict string) (all []example) {
	t.Helper()
	files := os.DirFS("examples")
	require.NoError(t, fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Base(path.Dir(file)) != verdict {
			return err
		}
		name := schemaOf(path.Dir(path.Dir(file)))
		require.Contains(t, c.schemas, name, file)
		data, err := fs.ReadFile(files, file)
		all = append(all, example{file, c.schemas[name], name, data})
		return err
	}))
	require.NotEmpty(t, all)
	return all
}

// schemaOf is the name of the schema that judges a group of examples.
func schemaOf(group string) string {
	switch group {
	case "commit":
		return "events/envelope"
	case "claim":
		return "claims/envelope"
	case "outcome":
		return "outcomes/iris.claim.settled.v1"
	case "receipt":
		return "receipts/consent-receipt.v1"
	case "sealed", "iris.memory.proposed.v1":
		return "claims/" + group
	}
	switch path.Dir(group) {
	case "api":
		return group
	case "tools":
		return group + "/arguments"
	}
	return "events/" + group
}

// Every example is judged by plain alone, or it costs ten times as much. Where it isn't, it stands here, with the reason.
func TestExamplesArePlain(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	for _, e := range allExamples(t, c, "valid") {
		switch e.name {
		case "events/envelope", "api/membership-change": // dependentRequired
			continue
		}
		require.True(t, agree(t, e.schema, e.data), e.file)
	}
	for _, e := range allExamples(t, c, "invalid") {
		require.False(t, agree(t, e.schema, e.data), e.file)
	}
}

// What plain says of an example that is changed at one place, in many ways, the schema says.
func TestPlainSaysWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	for _, e := range allExamples(t, c, "valid") {
		var doc any
		require.NoError(t, jsonv2.Unmarshal(e.data, &doc))
		for _, value := range []any{nil, true, "individual", 1.0, []any{"x"}, map[string]any{"x": "y"}} {
			everyChange(doc, value, func() {
				data, err := json.Marshal(doc)
				require.NoError(t, err)
				agree(t, e.schema, data)
			})
		}
	}
}

func TestPlainOfClaims(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	message := map[string]any{
		"specversion": "1.0", "id": "c-1", "source": "/producers/notes", "type": "iris.memory.proposed.v1", "datacontenttype": "application/json",
		"data": map[string]any{
			"member": map[string]any{"subject": "ada"}, "program": "default", "tier": "individual", "kind": "preference", "scope": map[string]any{"kind": "profile"},
			"category": "preference", "subject": "tea", "body": "Prefers tea.", "origin": "model-inferred",
		},
	}
	accepts := func() bool {
		data, err := json.Marshal(message)
		require.NoError(t, err)
		return agree(t, c.schemas["claims/envelope"], data)
	}
	require.True(t, accepts())
	message["Extension"] = "x"
	require.False(t, accepts(), "a name that no extension has")
	delete(message, "Extension")
	for n := range 64 {
		message[fmt.Sprint("x", n)] = "y"
	}
	require.False(t, accepts(), "too many")
}

// An example written in any way that JSON allows, or nearly: with space and escapes, its members in any order, twice or under another
// name, its values others, numbers of every form, too deep, cut off, followed by something, and with bytes that are no text.
func TestPlainOfAnyWriting(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	examples := allExamples(t, c, "valid")
	rapid.Check(t, func(t *rapid.T) {
		e := rapid.SampledFrom(examples).Draw(t, "example")
		var doc any
		require.NoError(t, jsonv2.Unmarshal(e.data, &doc))
		w := writer{t, rapid.Float64Range(0, 0.05).Draw(t, "how often it is odd")}
		agree(t, e.schema, w.write(doc))
	})
}

// writer writes a document oddly.
type writer struct {
	*rapid.T
	odd float64
}

func (w writer) oddly() bool { return rapid.Float64Range(0, 1).Draw(w.T, "odd") < w.odd }

func (w writer) write(value any) []byte {
	text := string(w.value(value))
	if w.oddly() {
		text = text[:rapid.IntRange(0, len(text)).Draw(w.T, "end")]
	}
	if w.oddly() {
		text += rapid.SampledFrom([]string{" ", "\n", "x", "{}", ",", "\x00", "\u00a0"}).Draw(w.T, "behind")
	}
	return []byte(text)
}

func (w writer) value(value any) string {
	if w.oddly() {
		return rapid.SampledFrom([]string{
			"1", "-1", "0", "-0", "01", "1.0", "1e2", "10E-1", "0.5", "1e400", "9007199254740993", "123456789012345", "1234567890123456", "-", "+1", ".5", "NaN",
			"null", "true", "tru", "False", `""`, `"x"`, `"individual"`, `"\ud800"`, `"\ud83d\ude00"`, `"\x"`, `"\u00"`, "\"\xff\"", "\"\n\"", "\"\x7f\"", `"\u0000"`, `"`, `'x'`,
			"{}", "[]", "[null]", `{"x":1}`, `{"x":1,"x":1}`, `{"x":1,}`, `[1,]`, "[1 2]", `{"x"}`, `{1:1}`, "[", "", strings.Repeat("[", 63) + strings.Repeat("]", 63),
			strings.Repeat("[", 100) + strings.Repeat("]", 100),
		}).Draw(w.T, "value")
	}
	switch v := value.(type) {
	case string:
		return w.text(v)
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = w.space() + w.value(item)
		}
		return "[" + strings.Join(items, ",") + w.space() + "]"
	case map[string]any:
		var members []string
		for name, property := range v { // in whatever order
			switch {
			case !w.oddly():
			case w.oddly():
				continue
			default:
				members = append(members, w.text(name)+":"+w.value(property))
			}
			if w.oddly() {
				name = rapid.SampledFrom([]string{"", "x", "id", "body", name + "s", strings.ToUpper(name)}).Draw(w.T, "name")
			}
			members = append(members, w.text(name)+w.space()+":"+w.space()+w.value(property)+w.space())
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	text, err := json.Marshal(value)
	require.NoError(w.T, err)
	return string(text)
}

func (w writer) text(s string) string {
	if w.oddly() {
		at := rapid.IntRange(0, len(s)).Draw(w.T, "at")
		s = s[:at] + rapid.SampledFrom([]string{"", "a", "-", "\n", "é", "\"", "\\", "/"}).Draw(w.T, "text") + s[min(at+1, len(s)):]
	}
	text, err := json.Marshal(s)
	require.NoError(w.T, err)
	if len(s) > 0 && w.oddly() {
		return fmt.Sprintf(`"\u%04x%s`, []rune(s)[0], text[1+len(string([]rune(s)[0])):])
	}
	return string(text)
}

func (w writer) space() string {
	if w.oddly() {
		return rapid.SampledFrom([]string{" ", "\t", "\r\n", "\v", "\u2003"}).Draw(w.T, "space")
	}
	return ""
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

// Each keyword, with documents that its schema takes, that it refuses, and that are left to it.
func TestPlainOfEachKeyword(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][3]string{ // documents by spaces
		`true`:                                            {`1 {} null`, ``, `0.5 1e2 {"a":1,"a":2}`},
		`false`:                                           {``, `1 {} null`, `0.5`},
		`{"type":"string"}`:                               {`"" "a"`, `1 true null [] {}`, `0.5`},
		`{"type":["null","object"]}`:                      {`null {}`, `"null" false 1 []`, ``},
		`{"type":"boolean"}`:                              {`true false`, `"true" null 0`, ``},
		`{"type":"integer"}`:                              {`0 -7 999999999999999`, `"1"`, `1.0 1e3 -0 1000000000000000`},
		`{"type":"number"}`:                               {`1`, `true`, `0.5`},
		`{"const":"true"}`:                                {`"true" "\u0074rue"`, `true "True"`, ``},
		`{"const":true}`:                                  {`true`, `"true" false`, ``},
		`{"const":null}`:                                  {`null`, `"null" false`, ``},
		`{"const":1}`:                                     {`1`, `2 "1" true`, `1.0`},
		`{"const":1.0}`:                                   {``, ``, `1 2`},
		`{"const":[]}`:                                    {``, ``, `[] 2`},
		`{"enum":["a",1,null]}`:                           {`"a" 1 null`, `"1" "null" 2 [] {}`, ``},
		`{"enum":["a",{}]}`:                               {``, ``, `"a" "b" {}`},
		`{"minLength":2,"maxLength":3}`:                   {`"ab" "äöü" "\u00e4\u00e4" 1`, `"a" "ä" "abcd" "äöüä"`, ``},
		`{"pattern":"^[ab]+$"}`:                           {`"ab" "\u0061" 1`, `"" "abc"`, ``},
		`{"format":"uuid"}`:                               {`"0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f" 1 null`, `"" "x"`, ``},
		`{"minimum":-1,"maximum":3}`:                      {`-1 0 3 "a"`, `-2 4`, `0.5`},
		`{"maximum":100000000000000000000}`:               {``, ``, `1`},
		`{"minimum":0.5}`:                                 {``, ``, `1`},
		`{"exclusiveMinimum":0}`:                          {``, ``, `1 "a"`},
		`{"required":["a"]}`:                              {`{"a":1} {"a":null,"b":1} []`, `{} {"b":1}`, ``},
		`{"properties":{"a":{"type":"string"}}}`:          {`{} {"a":"x"} {"b":1}`, `{"a":1} {"c":1,"b":2,"a":3}`, `{"a":"x","a":"x"}`},
		`{"additionalProperties":false}`:                  {`{} 1`, `{"a":1}`, ``},
		`{"additionalProperties":{"type":"null"}}`:        {`{} {"a":null}`, `{"a":1}`, ``},
		`{"required":["a"],"additionalProperties":false}`: {``, `{} {"a":1}`, ``},
		`{"properties":{"a":{},"b":{},"c":false},"required":["a","b"],"additionalProperties":false}`: {
			`{"a":1,"b":2} {"b":1,"a":2}`, `{"a":1} {"b":1} {"b":1,"c":1,"a":2} {"b":1,"d":1,"a":2}`, ``},
		`{"propertyNames":{"maxLength":1}}`:                                {`{} {"a":1} {"\u00e4":1} "ab"`, `{"ab":1}`, ``},
		`{"minProperties":1,"maxProperties":2}`:                            {`{"a":1} {"b":{"c":1,"d":2}} 1`, `{} {"a":1,"b":2,"c":3}`, ``},
		`{"items":{"type":"null"}}`:                                        {`[] [null,null] {"a":1}`, `[1] [null,[]]`, ``},
		`{"minItems":1,"maxItems":2}`:                                      {`[1] [[1,2,3],2] {}`, `[] [1,2,3]`, ``},
		`{"uniqueItems":true}`:                                             {`[] ["a"] ["a","b"]`, `["a","b","a"] ["a","\u0061"]`, `[1,2] ["a",1]`},
		`{"allOf":[{"minLength":1},{"maxLength":1}]}`:                      {`"a"`, `"" "ab"`, ``},
		`{"anyOf":[{"type":"null"},{"minLength":2}]}`:                      {`null "ab" 1`, `"a"`, ``},
		`{"anyOf":[{"type":"null"},{"contains":{}}]}`:                      {`null`, ``, `[] [1]`},
		`{"not":{"type":"string"}}`:                                        {`1 null`, `"a"`, ``},
		`{"not":{"contains":{}}}`:                                          {``, ``, `[] 1`},
		`{"if":{"type":"string"},"then":{"const":"a"},"else":{"const":1}}`: {`"a" 1`, `"b" 2 null`, ``},
		`{"if":{"type":"string"},"then":{"const":"a"}}`:                    {`"a" 1 null`, `"b"`, ``},
		`{"if":{"contains":{}},"then":false}`:                              {``, ``, `[] 1`},
		`{"then":false}`:                                                   {`1`, ``, ``},
		`{"$ref":"#/$defs/a","maxLength":1,"$defs":{"a":{"minLength":1}}}`: {`"a"`, `"" "ab"`, ``},
		`{"oneOf":[{}]}`:                                                   {``, ``, `1`},
		`{"dependentRequired":{"a":["b"]}}`:                                {``, ``, `{}`},
		`{"prefixItems":[{}]}`:                                             {``, ``, `[]`},
		`{"patternProperties":{"a":false}}`:                                {``, ``, `{} {"a":1}`},
	} {
		whole, err := compileText([]byte(text))
		require.NoError(t, err, text)
		both := schema{whole, plainOf(whole, map[*jsonschema.Schema]*plain{})}
		for i, documents := range want {
			for _, data := range strings.Fields(documents) {
				agree(t, both, []byte(data))
				takes, sure := new(judge).judges(both.plain, []byte(data))
				require.Equal(t, i < 2, sure, "%s of %s", text, data)
				require.Equal(t, i == 0, takes && sure, "%s of %s", text, data)
			}
		}
	}
}

// Schemas of every keyword that plain knows, and some that it doesn't, made at random: where it is sure, it is right.
func TestPlainOfAnySchema(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(map[string]any{"$schema": "https://json-schema.org/draft/2020-12/schema", "allOf": []any{drawSchema(t, 3)}})
		require.NoError(t, err)
		s, err := compileText(text)
		require.NoError(t, err, string(text))
		both := schema{s, plainOf(s, map[*jsonschema.Schema]*plain{})}
		for range 10 {
			data, err := json.Marshal(drawValue(t, 3))
			require.NoError(t, err)
			agree(t, both, data)
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
			"named", "names", "bounds", "contains",
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
		case "bounds":
			s["minimum"], s["maximum"] = rapid.SampledFrom([]float64{-1, 0, 0.5}).Draw(t, "minimum"), rapid.SampledFrom([]float64{1, 1.5, 1e20}).Draw(t, "maximum")
		case "contains":
			s["contains"] = sub()
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
		return rapid.SampledFrom([]float64{-2, -1, 0, 0.5, 1, 2, 1e14, 1e15, 1e16, 1e30}).Draw(t, "number")
	case 3:
		return rapid.SampledFrom([]string{"", "a", "true", "null", "1"}).Draw(t, "word")
	case 4:
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
