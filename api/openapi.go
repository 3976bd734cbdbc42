package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"reflect"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"iris.example/iris/events"
	"iris.example/iris/problems"
	"iris.example/iris/schemas"
)

//go:generate go run ./openapigen

// OpenAPI writes the contract, OpenAPI 3.1, from the table, the request schemas and the answers' types. It is the same for every
// process of a version, and committed as schemas/openapi.json.
func OpenAPI() ([]byte, error) {
	d := &contract{components: map[string]any{}}
	paths := map[string]map[string]any{}
	for _, route := range Routes() {
		operation, err := d.operation(route)
		if err != nil {
			return nil, fmt.Errorf("api: describe %s %s: %w", route.Method, route.Pattern, err)
		}
		if paths[route.Pattern] == nil {
			paths[route.Pattern] = map[string]any{}
		}
		paths[route.Pattern][strings.ToLower(route.Method)] = operation
	}
	d.components["problem"] = schemaOf(reflect.TypeFor[problems.Problem]())
	return indented(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{
			"title": "Iris", "version": "1",
			"description": "Governed memory of an organisation's members. " + events.FixedPhrase + " " + events.NoTraining +
				" Fields may be added to answers, never renamed.",
		},
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"paths":             paths,
		"components": map[string]any{
			"schemas": d.components,
			"securitySchemes": map[string]any{
				"token": map[string]any{"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "An OpenID Connect token of the deployment's issuer."},
			},
			"responses": map[string]any{
				"problem": map[string]any{
					"description": "A refusal or a fault, with a stable code (RFC 9457).",
					"content":     map[string]any{"application/problem+json": map[string]any{"schema": reference("problem")}},
				},
			},
		},
	})
}

// contract collects the component schemas that operations refer to.
type contract struct{ components map[string]any }

func reference(component string) map[string]any {
	return map[string]any{"$ref": "#/components/schemas/" + component}
}

func (d *contract) operation(route Route) (map[string]any, error) {
	success := map[string]any{
		"description": "Done.",
		"content":     contentOf(route.Answer),
	}
	if route.Command {
		success["headers"] = map[string]any{
			"Iris-Position":   header("Where the command stands; a read with Iris-Wait sees it."),
			"Idempotency-Key": header("The key under which the command can be repeated."),
		}
	}
	operation := map[string]any{
		"operationId": operationID(route), "summary": route.Summary, "security": []any{}, "parameters": parameters(route),
		"responses": map[string]any{strconv.Itoa(route.Success): success, "default": map[string]any{"$ref": "#/components/responses/problem"}},
	}
	if route.Unchanged != 0 {
		operation["responses"].(map[string]any)[strconv.Itoa(route.Unchanged)] = success
	}
	if route.Who != Public {
		operation["security"] = []any{map[string]any{"token": []string{}}}
		operation["description"] = callers(route)
	}
	if route.Request != "" {
		if err := d.add("api/" + route.Request + ".schema.json"); err != nil {
			return nil, err
		}
		operation["requestBody"] = map[string]any{
			"content": map[string]any{"application/json": map[string]any{"schema": reference("api." + route.Request)}},
		}
	}
	return operation, nil
}

func contentOf(answer any) map[string]any {
	if _, plain := answer.(text); plain {
		return map[string]any{"text/plain": map[string]any{"schema": map[string]any{"type": "string"}}}
	}
	return map[string]any{"application/json": map[string]any{"schema": schemaOf(reflect.TypeOf(answer))}}
}

func operationID(route Route) string {
	words := strings.FieldsFunc(route.Pattern, func(r rune) bool { return strings.ContainsRune("/{}.", r) })
	return strings.ToLower(route.Method) + "_" + strings.Join(words, "_")
}

func callers(route Route) string {
	switch {
	case route.Permission != "":
		return "Takes a token with the permission " + string(route.Permission) + "."
	case route.Who == Member:
		return "The member's own: takes a token of a member."
	}
	return "Takes any valid token."
}

func header(description string) map[string]any {
	return map[string]any{"description": description, "schema": map[string]any{"type": "string"}}
}

func parameters(route Route) []any {
	all := []any{}
	add := func(in, name, description string, required bool, schema map[string]any) {
		all = append(all, map[string]any{"in": in, "name": name, "description": description, "required": required, "schema": schema})
	}
	for _, part := range partsOf(route.Pattern) {
		add("path", part.name, part.summary, true, part.schema)
	}
	if route.Conditional {
		add("header", "If-Match", "The revision that the caller saw, in quotes: the ETag of the memory.", true, map[string]any{"type": "string"})
	}
	for _, p := range route.Query {
		schema := map[string]any{"type": "string"}
		if p.Words != nil {
			schema["enum"] = p.Words
		}
		add("query", p.Name, p.Summary, p.Required, schema)
	}
	if route.Command {
		add("header", "Idempotency-Key", "1 to 128 visible ASCII characters; left out: a fresh one.", false,
			map[string]any{"type": "string", "minLength": 1, "maxLength": maxIdempotencyKey, "pattern": "^[!-~]+$"})
	}
	if route.Waits {
		add("header", "Iris-Wait", "A position that must be visible before this is answered.", false,
			map[string]any{"type": "string", "pattern": "^[0-9]+$"})
	}
	return all
}

// add copies a schema file into the components, and every definition that it refers to, under names without slashes.
func (d *contract) add(file string) error {
	text, err := fs.ReadFile(schemas.Files(), file)
	if err != nil {
		return err
	}
	var schema map[string]any
	if err := json.Unmarshal(text, &schema); err != nil {
		return err
	}
	delete(schema, "$id")
	delete(schema, "$schema")
	name := componentName(file)
	d.components[name] = schema
	return d.rewrite(schema, file)
}

func componentName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, ".schema.json"), "/", ".")
}

// rewrite turns references between files into references between components.
func (d *contract) rewrite(node any, file string) error {
	switch node := node.(type) {
	case []any:
		for _, item := range node {
			if err := d.rewrite(item, file); err != nil {
				return err
			}
		}
	case map[string]any:
		if ref, ok := node["$ref"].(string); ok {
			component, err := d.define(ref, file)
			if err != nil {
				return err
			}
			node["$ref"] = "#/components/schemas/" + component
		}
		for _, child := range node {
			if err := d.rewrite(child, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// define adds one definition of another file, once.
func (d *contract) define(ref, from string) (component string, err error) {
	target, pointer, _ := strings.Cut(ref, "#/$defs/")
	file := from
	if target != "" {
		file = path.Join(path.Dir(from), target)
	}
	component = componentName(file) + "." + pointer
	if d.components[component] != nil {
		return component, nil
	}
	text, err := fs.ReadFile(schemas.Files(), file)
	if err != nil {
		return "", err
	}
	var schema struct {
		Definitions map[string]map[string]any `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return "", err
	}
	definition, ok := schema.Definitions[pointer]
	if !ok {
		return "", fmt.Errorf("%s has no definition %s", file, pointer)
	}
	d.components[component] = definition
	return component, d.rewrite(definition, file)
}

// schemaOf describes an answer by its Go type. Objects are open: fields may be added (spec 10).
func schemaOf(t reflect.Type) map[string]any {
	switch t {
	case reflect.TypeFor[events.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case reflect.TypeFor[events.ID]():
		return map[string]any{"type": "string", "format": "uuid"}
	case reflect.TypeFor[jsontext.Value]():
		return map[string]any{"type": "object"}
	}
	switch t.Kind() {
	case reflect.String:
		return map[string]any{"type": "string"}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int:
		return map[string]any{"type": "integer"}
	case reflect.Pointer:
		return map[string]any{"anyOf": []any{map[string]any{"type": "null"}, schemaOf(t.Elem())}}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Struct:
		return objectOf(t)
	}
	panic("api: no JSON Schema for " + t.String()) // a field of a kind that no answer has had; the contract's test finds it
}

func objectOf(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	for i := range t.NumField() {
		name, option, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		properties[name] = schemaOf(t.Field(i).Type)
		if option == "" {
			required = append(required, name)
		}
	}
	return map[string]any{"type": "object", "properties": properties, "required": required}
}

func indented(document any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return b.Bytes(), err
}
