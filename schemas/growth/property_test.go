package growth_test

import (
	"encoding/json"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/schemas/growth"
)

// anySchema draws schemas out of every keyword that the checker knows, over few names and few values, so that two of them meet.
// plainly leaves out the keywords that turn a yes into a no.
type anySchema struct {
	t       *rapid.T
	plainly bool
}

type keywords = map[string]any

func (g anySchema) one(of ...any) any { return rapid.SampledFrom(of).Draw(g.t, "one") }

func (g anySchema) coin() bool { return rapid.Bool().Draw(g.t, "coin") }

func (g anySchema) number(least, most int) int {
	return rapid.IntRange(least, most).Draw(g.t, "number")
}

func (g anySchema) names() []any {
	all := []any{}
	for _, name := range []string{"a", "b", "c"} {
		if g.coin() {
			all = append(all, name)
		}
	}
	return all
}

func (g anySchema) values() []any {
	all := []any{g.one(nil, true, "a", 1)}
	for _, value := range []any{false, "ab", "abc", 2, 1.5} {
		if g.coin() {
			all = append(all, value)
		}
	}
	return all
}

func (g anySchema) list(depth int) []any {
	all := make([]any, g.number(1, 3))
	for i := range all {
		all[i] = g.draw(depth - 1)
	}
	return all
}

func (g anySchema) draw(depth int) any {
	if g.number(0, 11) == 0 {
		return g.coin()
	}
	s := keywords{}
	for range g.number(1, 3) {
		g.add(s, depth)
	}
	return s
}

// add writes one keyword, or the few that make sense together.
func (g anySchema) add(s keywords, depth int) {
	most := 13
	if depth > 0 {
		most = 22
	}
	switch g.number(0, most) {
	case 0, 1:
		s["type"] = g.one("null", "boolean", "integer", "number", "string", "array", "object")
	case 2:
		s["type"] = []any{g.one("null", "boolean", "array"), g.one("integer", "string", "object")}
	case 3:
		s["enum"] = g.values()
	case 4:
		s["const"] = g.one(nil, true, "a", "ab", 1)
	case 5:
		s["minLength"] = g.number(0, 3)
	case 6:
		s["maxLength"] = g.number(0, 3)
	case 7:
		s["pattern"] = g.one("^a", "b$")
	case 8:
		s[g.one("minimum", "exclusiveMinimum").(string)] = g.number(-1, 2)
	case 9:
		s[g.one("maximum", "exclusiveMaximum").(string)] = g.number(0, 3)
	case 10:
		s[g.one("minItems", "minProperties").(string)] = g.number(0, 2)
	case 11:
		s[g.one("maxItems", "maxProperties").(string)] = g.number(0, 3)
	case 12:
		s["required"] = g.names()
	case 13:
		s[g.one("uniqueItems", "title").(string)] = true
		if s["title"] != nil {
			s["title"] = "T"
		}
	case 14, 15, 16:
		properties := keywords{}
		for _, name := range g.names() {
			properties[name.(string)] = g.draw(depth - 1)
		}
		s["type"], s["properties"] = "object", properties
		if g.coin() {
			s["additionalProperties"] = g.one(false, false, g.draw(depth-1))
		}
	case 17:
		s["items"] = g.draw(depth - 1)
		if g.coin() {
			s["prefixItems"] = g.list(depth)
		}
	case 18:
		s["anyOf"] = g.list(depth)
	case 19:
		s["allOf"] = g.list(depth)
	case 20:
		s["dependentRequired"] = keywords{g.one("a", "b").(string): g.names()}
		s["propertyNames"] = keywords{"maxLength": g.number(0, 1)}
	case 21:
		s["$defs"] = keywords{"d": g.draw(depth - 1)}
	case 22:
		if !g.plainly {
			g.turning(s, depth)
		}
	}
}

func (g anySchema) turning(s keywords, depth int) {
	switch g.number(0, 3) {
	case 0:
		s["not"] = g.draw(depth - 1)
	case 1:
		s["oneOf"] = g.list(depth)
	case 2:
		s["contains"] = g.draw(depth - 1)
	case 3:
		s["if"] = g.draw(depth - 1)
		s["then"], s["else"] = g.draw(depth-1), g.draw(depth-1)
	}
}

// edit changes a schema somewhere, in any way.
func (g anySchema) edit(value any) any {
	s, ok := value.(keywords)
	if !ok || len(s) == 0 {
		return g.draw(1)
	}
	edited := maps.Clone(s)
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(s))).Draw(g.t, "keyword")
	switch g.number(0, 5) {
	case 0:
		delete(edited, name)
	case 1:
		g.add(edited, 1)
	default:
		edited[name] = g.inside(s[name], name)
	}
	return edited
}

func (g anySchema) inside(value any, name string) any {
	switch value := value.(type) {
	case int:
		return max(0, value+g.number(-1, 1))
	case []any:
		if len(value) == 0 || name == "type" || name == "enum" || name == "required" {
			return value
		}
		edited := slices.Clone(value)
		i := g.number(0, len(value)-1)
		edited[i] = g.edit(value[i])
		return edited
	case keywords:
		if name != "properties" || len(value) == 0 {
			if name == "dependentRequired" || name == "$defs" || name == "properties" {
				return value
			}
			return g.edit(value)
		}
		edited := maps.Clone(value)
		property := rapid.SampledFrom(slices.Sorted(maps.Keys(value))).Draw(g.t, "property")
		edited[property] = g.edit(value[property])
		return edited
	}
	return value
}

// instance draws a value that may fulfil the schema; most do so in part.
func (g anySchema) instance(value any, depth int) any {
	s, ok := value.(keywords)
	if !ok || depth == 0 || g.number(0, 7) == 0 {
		return g.one(nil, true, false, "", "a", "ab", "abc", "b", 0, 1, 2, 3, 1.5, -1, []any{}, keywords{}, []any{"a"}, []any{1, 1}, keywords{"a": "a"}, keywords{"d": 1})
	}
	if list, ok := s["enum"].([]any); ok {
		return rapid.SampledFrom(list).Draw(g.t, "value")
	}
	if value, ok := s["const"]; ok {
		return value
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		if list, ok := s[name].([]any); ok && g.coin() {
			return g.instance(rapid.SampledFrom(list).Draw(g.t, "alternative"), depth-1)
		}
	}
	kind := s["type"]
	if several, ok := kind.([]any); ok {
		kind = rapid.SampledFrom(several).Draw(g.t, "type")
	}
	if kind == nil {
		kind = g.one("object", "array", "string", "integer")
	}
	switch kind {
	case "null":
		return nil
	case "boolean":
		return g.coin()
	case "integer":
		return g.number(-1, 4)
	case "number":
		return g.one(0.5, 1, 1.5, 2)
	case "string":
		return rapid.StringMatching(`[ab]{0,4}`).Draw(g.t, "text")
	case "array":
		all := make([]any, g.number(0, 3))
		prefix, _ := s["prefixItems"].([]any)
		for i := range all {
			all[i] = g.instance(s["items"], depth-1)
			if i < len(prefix) {
				all[i] = g.instance(prefix[i], depth-1)
			}
		}
		return all
	}
	all := keywords{}
	properties, _ := s["properties"].(keywords)
	for _, name := range []string{"a", "b", "c", "d"} {
		if g.number(0, 2) > 0 {
			of, named := properties[name]
			if !named {
				of = s["additionalProperties"]
			}
			if of != false {
				all[name] = g.instance(of, depth-1)
			}
		}
	}
	return all
}

func compiled(t require.TestingT, schema any) *jsonschema.Schema {
	text, err := json.Marshal(schema)
	require.NoError(t, err)
	return compiledText(t, string(text))
}

func asJSON(t require.TestingT, value any) string {
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// TestWhatIsAcceptedStaysAccepted: of any two schemas, where the checker finds nothing, no instance of the first fails the second.
func TestWhatIsAcceptedStaysAccepted(t *testing.T) {
	t.Parallel()
	promises := atomic.Int64{}
	rapid.Check(t, func(t *rapid.T) {
		g := anySchema{t, false}
		before := g.draw(3)
		now := before
		for range g.number(1, 3) {
			now = g.edit(now)
		}
		if len(compare(t, asJSON(t, before), asJSON(t, now), growth.Input)) > 0 {
			return
		}
		hold(t, g, before, compiled(t, before), compiled(t, now), &promises)
	})
	require.Greater(t, promises.Load(), int64(100), "instances that a promise was held to")
}

// TestReadersReadOn: where the checker finds nothing in what Iris says, what is said now fulfils what readers knew, but for
// properties that they ignore.
func TestReadersReadOn(t *testing.T) {
	t.Parallel()
	promises := atomic.Int64{}
	rapid.Check(t, func(t *rapid.T) {
		g := anySchema{t, true}
		before := g.draw(3)
		now := before
		for range g.number(1, 3) {
			now = g.edit(now)
		}
		if len(compare(t, asJSON(t, before), asJSON(t, now), growth.Events)) > 0 {
			return
		}
		hold(t, g, now, compiled(t, now), compiled(t, opened(before)), &promises)
	})
	require.Greater(t, promises.Load(), int64(100), "instances that a promise was held to")
}

func hold(t *rapid.T, g anySchema, drawn any, first, second *jsonschema.Schema, promises *atomic.Int64) {
	for range 20 {
		instance, err := jsonschema.UnmarshalJSON(bytesOf(asJSON(t, g.instance(drawn, 4))))
		require.NoError(t, err)
		if first.Validate(instance) == nil {
			promises.Add(1)
			require.NoError(t, second.Validate(instance), "%v", instance)
		}
	}
}

// opened is a schema as somebody reads by it who ignores the properties that it doesn't know.
func opened(value any) any {
	switch value := value.(type) {
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = opened(item)
		}
		return all
	case keywords:
		all := keywords{}
		for name, child := range value {
			if name != "additionalProperties" || child != false {
				all[name] = opened(child)
			}
		}
		return all
	}
	return value
}
