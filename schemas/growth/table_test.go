package growth_test

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/schemas/growth"
)

// text is a version that stands in memory.
func text(schema string) growth.Version {
	return growth.Version{Name: "it.json", Open: func(name string) ([]byte, error) {
		if name != "it.json" {
			return nil, fs.ErrNotExist
		}
		return []byte(schema), nil
	}}
}

func compare(t require.TestingT, before, now string, as growth.Direction) []string {
	found, err := growth.Compare(text(before), text(now), as)
	require.NoError(t, err)
	all := make([]string, len(found))
	for i, f := range found {
		all[i] = strings.TrimPrefix(f.Pointer, "it.json#") + " " + f.Code
	}
	return all
}

// change is an edit of a schema, with where and why it breaks those who send (input) and those who read (events). Empty: it
// doesn't.
type change struct {
	name, before, now string
	input, events     string
}

func closed(properties, required string) string {
	return `{"type": "object", "additionalProperties": false, "required": [` + required + `], "properties": {` + properties + `}}`
}

const a = `"a": {"type": "string"}`

func changes() []change {
	return []change{
		{"nothing", closed(a, `"a"`), closed(a, `"a"`), "", ""},
		{"words for people", closed(a, ``), `{"title": "T", "description": "D", "examples": [1], "type": "object", "additionalProperties": false, "properties": {` + a + `}}`, "", ""},

		{"optional property added", closed(a, ``), closed(a+`, "b": {"type": "string"}`, ``), "", ""},
		{"required property added", closed(a, ``), closed(a+`, "b": {"type": "string"}`, `"b"`), "/required required", ""},
		{"property made required", closed(a, ``), closed(a, `"a"`), "/required required", ""},
		{"property made optional", closed(a, `"a"`), closed(a, ``), "", "/required required"},
		{"optional property removed", closed(a+`, "b": {}`, ``), closed(a, ``), "/additionalProperties removed", "/properties/b removed"},
		{"property renamed", closed(a, `"a"`), closed(`"b": {"type": "string"}`, `"b"`), "/additionalProperties removed; /required required", "/properties/a removed; /required required"},
		{"property forbidden", closed(a, ``), closed(`"a": false`, ``), "/properties/a refused", ""},
		{"property allowed", closed(`"a": false`, ``), closed(a, ``), "", "/properties/a refused"},
		{"object closed", `{"type": "object"}`, `{"type": "object", "additionalProperties": false}`, "/additionalProperties closed", ""},
		{"object opened", `{"type": "object", "additionalProperties": false}`, `{"type": "object"}`, "", ""},
		{"form of other properties tightened", `{"additionalProperties": {"type": ["string", "boolean"]}}`, `{"additionalProperties": {"type": "string"}}`, "/additionalProperties/type type", ""},
		{"form of other properties loosened", `{"additionalProperties": {"type": "string"}}`, `{"additionalProperties": {"type": ["string", "boolean"]}}`, "", "/additionalProperties/type type"},
		{"a free name got a form", `{"type": "object", "additionalProperties": {"type": ["string", "boolean"]}}`, `{"type": "object", "properties": {` + a + `}, "additionalProperties": {"type": ["string", "boolean"]}}`, "/properties/a/type type", ""},
		{"names restricted", `{"type": "object"}`, `{"type": "object", "propertyNames": {"pattern": "^a"}}`, "/propertyNames form", ""},
		{"names freed", `{"type": "object", "propertyNames": {"pattern": "^a"}}`, `{"type": "object"}`, "", "/propertyNames form"},
		{"dependency added", closed(a+`, "b": {}`, ``), `{"type": "object", "additionalProperties": false, "properties": {` + a + `, "b": {}}, "dependentRequired": {"a": ["b"]}}`, "/dependentRequired required", ""},
		{"dependency removed", `{"type": "object", "dependentRequired": {"a": ["b"]}}`, `{"type": "object"}`, "", "/dependentRequired required"},

		{"type narrowed", `{"type": ["string", "null"]}`, `{"type": "string"}`, "/type type", ""},
		{"type widened", `{"type": "string"}`, `{"type": ["string", "null"]}`, "", "/type type"},
		{"type changed", `{"type": "string"}`, `{"type": "boolean"}`, "/type type", "/type type"},
		{"number became integer", `{"type": "number"}`, `{"type": "integer"}`, "/type type", ""},
		{"integer became number", `{"type": "integer"}`, `{"type": "number"}`, "", "/type type"},
		{"type named", `{}`, `{"type": "string"}`, "/type type", ""},

		{"value removed", `{"enum": ["a", "b"]}`, `{"enum": ["a"]}`, "/enum enum", ""},
		{"value added", `{"enum": ["a"]}`, `{"enum": ["a", "b"]}`, "", "/enum enum"},
		{"values listed", `{"type": "string"}`, `{"type": "string", "enum": ["a"]}`, "/enum enum", ""},
		{"const changed", `{"const": "a"}`, `{"const": "b"}`, "/enum enum", "/enum enum"},
		{"const became a list", `{"const": "a"}`, `{"enum": ["a", "b"]}`, "", "/enum enum"},
		{"list became its type", `{"enum": ["a", "b"]}`, `{"type": "string"}`, "", "/enum enum"},
		{"booleans listed", `{"type": "boolean"}`, `{"enum": [true, false]}`, "", ""},
		{"one boolean", `{"type": "boolean"}`, `{"const": true}`, "/enum enum", ""},

		{"longest shortened", `{"type": "string", "maxLength": 9}`, `{"type": "string", "maxLength": 8}`, "/maxLength limit", ""},
		{"longest lengthened", `{"type": "string", "maxLength": 8}`, `{"type": "string", "maxLength": 9}`, "", "/maxLength limit"},
		{"longest added", `{"type": "string"}`, `{"type": "string", "maxLength": 8}`, "/maxLength limit", ""},
		{"longest dropped", `{"type": "string", "maxLength": 8}`, `{"type": "string"}`, "", "/maxLength limit"},
		{"shortest raised", `{"type": "string"}`, `{"type": "string", "minLength": 1}`, "/minLength limit", ""},
		{"shortest is nothing", `{"type": "string"}`, `{"type": "string", "minLength": 0}`, "", ""},
		{"limit of another type", `{"type": "integer"}`, `{"type": "integer", "maxLength": 8}`, "", ""},
		{"least raised", `{"type": "integer", "minimum": 1}`, `{"type": "integer", "minimum": 2}`, "/minimum limit", ""},
		{"least lowered", `{"type": "integer", "minimum": 1}`, `{"type": "integer", "minimum": 0}`, "", "/minimum limit"},
		{"greatest lowered", `{"type": "number", "maximum": 1.5}`, `{"type": "number", "maximum": 1.25}`, "/maximum limit", ""},
		{"greatest excluded", `{"type": "number", "exclusiveMaximum": 2}`, `{"type": "number", "exclusiveMaximum": 1}`, "/exclusiveMaximum limit", ""},
		{"least excluded", `{"type": "number", "exclusiveMinimum": 2}`, `{"type": "number", "exclusiveMinimum": 1}`, "", "/exclusiveMinimum limit"},
		{"fewer items", `{"type": "array", "maxItems": 9}`, `{"type": "array", "maxItems": 8}`, "/maxItems limit", ""},
		{"more items", `{"type": "array"}`, `{"type": "array", "minItems": 1}`, "/minItems limit", ""},
		{"fewer properties", `{"type": "object"}`, `{"type": "object", "maxProperties": 2}`, "/maxProperties limit", ""},
		{"more properties", `{"type": "object"}`, `{"type": "object", "minProperties": 2}`, "/minProperties limit", ""},

		{"pattern changed", `{"type": "string", "pattern": "^a"}`, `{"type": "string", "pattern": "^ab"}`, "/pattern form", "/pattern form"},
		{"pattern added", `{"type": "string"}`, `{"type": "string", "pattern": "^a"}`, "/pattern form", ""},
		{"pattern removed", `{"type": "string", "pattern": "^a"}`, `{"type": "string"}`, "", "/pattern form"},
		{"format added", `{"type": "string"}`, `{"type": "string", "format": "uuid"}`, "/format form", ""},
		{"format removed", `{"type": "string", "format": "uuid"}`, `{"type": "string"}`, "", "/format form"},
		{"items made unique", `{"type": "array"}`, `{"type": "array", "uniqueItems": true}`, "/uniqueItems form", ""},
		{"items may repeat", `{"type": "array", "uniqueItems": true}`, `{"type": "array"}`, "", "/uniqueItems form"},

		{"items narrowed", `{"type": "array", "items": {"type": ["string", "null"]}}`, `{"type": "array", "items": {"type": "string"}}`, "/items/type type", ""},
		{"first item narrowed", `{"type": "array", "prefixItems": [{"enum": [1, 2]}]}`, `{"type": "array", "prefixItems": [{"enum": [1]}]}`, "/prefixItems/0/enum enum", ""},
		{"first item gets a form of its own", `{"type": "array", "items": {"type": "string"}}`, `{"type": "array", "prefixItems": [{"type": "null"}], "items": {"type": "string"}}`, "/prefixItems/0/type type", "/items/type type"},
		{"contents demanded", `{"type": "array"}`, `{"type": "array", "contains": {"const": 1}}`, "/contains form", ""},

		{"alternative added", `{"anyOf": [{"type": "string"}]}`, `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, "", "/anyOf/0/type type"},
		{"alternative removed", `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `{"anyOf": [{"type": "string"}]}`, "/anyOf/0/type type", ""},
		{"alternatives swapped", `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `{"anyOf": [{"type": "null"}, {"type": "string"}]}`, "", ""},
		{"may be null now", `{"type": "string", "maxLength": 8}`, `{"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 8}]}`, "", "/type type"},
		{"alternative narrowed", `{"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 8}]}`, `{"anyOf": [{"type": "null"}, {"type": "string", "maxLength": 7}]}`, "/anyOf/1/maxLength limit", ""},
		{"either type, said in two ways", `{"anyOf": [{"type": "string"}, {"type": "null"}]}`, `{"type": ["null", "string"]}`, "", ""},
		{"one of changed", `{"oneOf": [{"type": "string"}, {"type": "null"}]}`, `{"oneOf": [{"type": "string"}, {"type": "boolean"}]}`, "/oneOf alternative", "/oneOf alternative"},
		{"one of widened", `{"oneOf": [{"type": "string"}, {"type": "null"}]}`, `{"oneOf": [{"type": "string"}, {"type": "null"}, {"type": "boolean"}]}`, "", "/oneOf alternative"},
		{"one of, overlapping", `{"type": "string"}`, `{"oneOf": [{"type": "string"}, {"maxLength": 3}]}`, "/oneOf alternative", "/type type"},
		{"rule added", `{"type": "string"}`, `{"allOf": [{"type": "string"}, {"maxLength": 8}]}`, "/allOf/1/maxLength limit", ""},
		{"rule moved into allOf", `{"type": "string", "maxLength": 8}`, `{"allOf": [{"maxLength": 8}, {"type": "string"}]}`, "", ""},
		{"exception added", `{"type": "string"}`, `{"type": "string", "not": {"enum": ["in"]}}`, "/not refused", ""},
		{"exception of another type", `{"type": "string"}`, `{"type": "string", "not": {"type": "null"}}`, "", ""},
		{"exception changed", `{"type": "string", "not": {"enum": ["in"]}}`, `{"type": "string", "not": {"enum": ["in", "out"]}}`, "/not refused", "/not refused"},

		{
			"branch narrowed", `{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}`,
			`{"if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b", "c"]}}`, "/then/required required", "",
		},
		{
			"condition changed", `{"type": "object", "if": {"required": ["a"]}, "then": {"required": ["b"]}}`,
			`{"type": "object", "if": {"required": ["c"]}, "then": {"required": ["b"]}}`, "/then/required required", "/then/required required",
		},
		{
			"condition that was impossible", closed(`"body": {"type": "string"}`, `"body"`),
			`{"type": "object", "additionalProperties": false, "properties": {"body": {"type": "string"}, "sealed": {"type": "string"}},
			  "if": {"required": ["sealed"]}, "then": {"properties": {"body": false}}, "else": {"required": ["body"]}}`, "", "/required required",
		},
		{
			"one of two, where the second was impossible", closed(`"body": {"type": "string"}`, `"body"`),
			`{"type": "object", "additionalProperties": false, "properties": {"body": {"type": "string"}, "sealed": {"type": "string"}},
			  "oneOf": [{"required": ["body"], "properties": {"sealed": false}}, {"required": ["sealed"], "properties": {"body": false}}]}`, "", "/required required",
		},

		{"default added", closed(`"a": {"type": "boolean"}`, ``), closed(`"a": {"type": "boolean", "default": true}`, ``), "", ""},
		{"default changed", closed(`"a": {"type": "boolean", "default": false}`, ``), closed(`"a": {"type": "boolean", "default": true}`, ``), "/properties/a/default default", "/properties/a/default default"},
		{"default removed", closed(`"a": {"type": "boolean", "default": false}`, ``), closed(`"a": {"type": "boolean"}`, ``), "/properties/a/default default", "/properties/a/default default"},

		{"everything", `true`, `{}`, "", ""},
		{"nothing at all", `{"type": "string"}`, `false`, " refused", ""},

		{"inlined", `{"$defs": {"d": {"type": "string"}}, "$ref": "#/$defs/d"}`, `{"type": "string"}`, "", ""},
		{"definition narrowed", `{"$defs": {"d": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d"}}}`, `{"$defs": {"d": {"type": "string", "maxLength": 1}}, "properties": {"a": {"$ref": "#/$defs/d"}}}`, "/$defs/d/maxLength limit", ""},
		{"definition narrowed from beside", `{"$defs": {"d": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d"}}}`, `{"$defs": {"d": {"type": "string"}}, "properties": {"a": {"$ref": "#/$defs/d", "maxLength": 1}}}`, "/properties/a/maxLength limit", ""},
		{"definition gone", `{"$defs": {"d": {"type": "string"}}}`, `{"$defs": {"e": {"type": "string"}}}`, "/$defs/d unknown_keyword", "/$defs/d unknown_keyword; /$defs/d/type type"},
		{"definition of another file", `{"type": "string"}`, `{"$ref": "other.json"}`, "other.json# unknown_keyword", "/type type; other.json# unknown_keyword"},
		{"contains itself", `{"type": "object"}`, `{"type": "object", "properties": {"a": {"$ref": "#"}}}`, " unknown_keyword", " unknown_keyword"},

		{"a keyword that isn't known", `{"type": "object"}`, `{"type": "object", "patternProperties": {"^a": {}}}`, "/patternProperties unknown_keyword", "/patternProperties unknown_keyword"},
		{"a keyword that isn't known and didn't change", `{"$dynamicRef": "#a"}`, `{"$dynamicRef": "#a"}`, "/$dynamicRef unknown_keyword", "/$dynamicRef unknown_keyword"},
		{"a keyword with a value that isn't known", `{"type": "text"}`, `{"type": "text"}`, "/type unknown_keyword", "/type unknown_keyword"},
		{"an id further down", `{"type": "object"}`, `{"type": "object", "properties": {"a": {"$id": "x"}}}`, "/properties/a/$id unknown_keyword", "/properties/a/$id unknown_keyword"},
	}
}

func TestChanges(t *testing.T) {
	t.Parallel()
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.input, strings.Join(compare(t, c.before, c.now, growth.Input), "; "), "as input")
			require.Equal(t, c.events, strings.Join(compare(t, c.before, c.now, growth.Events), "; "), "as events")
		})
	}
}
