package growth_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/schemas/growth"
)

const petty = `{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": {"/a/{id}": {"post": {
  "operationId": "post_a", "summary": "S", "security": [{"token": []}],
  "parameters": [{"in": "path", "name": "id", "required": true, "schema": {"type": "string"}}, {"in": "query", "name": "q", "required": false, "schema": {"enum": ["x", "y"], "default": "x"}}],
  "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/ask"}}}},
  "responses": {
    "200": {"description": "Done.", "headers": {"H": {"schema": {"type": "string"}}}, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/said"}}}},
    "default": {"$ref": "#/components/responses/problem"}}}}},
  "components": {
    "schemas": {"ask": {"type": "object", "additionalProperties": false, "properties": {"a": {"type": "string"}}}, "said": {"type": "object", "required": ["b"], "properties": {"b": {"type": "string"}, "c": {"type": "integer"}}}},
    "responses": {"problem": {"description": "No.", "content": {"application/problem+json": {"schema": {"type": "object", "required": ["code"], "properties": {"code": {"type": "string"}}}}}}},
    "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}}}`

// TestOpenAPI: an edit of the document as text, and what is found; empty: nothing.
func TestOpenAPI(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, now, want string }{
		{"nothing", "", "", ""},
		{"summary", `"summary": "S"`, `"summary": "Other words"`, ""},
		{"path gone", `"/a/{id}"`, `"/b/{id}"`, "/paths/~1a~1{id} operation"},
		{"method gone", `"post": {`, `"put": {`, "/paths/~1a~1{id}/post operation"},
		{"path added", `"paths": {`, `"paths": {"/b": {"get": {"responses": {}}}, `, ""},
		{"name of the operation", `"post_a"`, `"post_b"`, "/paths/~1a~1{id}/post/operationId operation"},
		{"security added", `{"token": []}`, `{"token": []}, {"other": []}`, "/paths/~1a~1{id}/post/security operation"},
		{"security dropped", `[{"token": []}]`, `[]`, ""},
		{"scheme changed", `"bearer"`, `"basic"`, "/components/securitySchemes/token/scheme operation"},
		{"parameter gone", `"name": "q"`, `"name": "r"`, "/paths/~1a~1{id}/post/parameters operation"},
		{"parameter required", `"q", "required": false`, `"q", "required": true`, "/paths/~1a~1{id}/post/parameters/query q operation"},
		{"parameter added", `"parameters": [`, `"parameters": [{"in": "query", "name": "r", "schema": {}}, `, ""},
		{"required parameter added", `"parameters": [`, `"parameters": [{"in": "query", "name": "r", "required": true, "schema": {}}, `, "/paths/~1a~1{id}/post/parameters/query r operation"},
		{"parameter's values", `["x", "y"]`, `["x"]`, "/paths/~1a~1{id}/post/parameters/query q/schema/enum enum"},
		{"parameter's value added", `["x", "y"]`, `["x", "y", "z"]`, ""},
		{"parameter's default", `"default": "x"`, `"default": "y"`, "/paths/~1a~1{id}/post/parameters/query q/schema/default operation"},
		{"body required", `"requestBody": {`, `"requestBody": {"required": true, `, "/paths/~1a~1{id}/post/requestBody operation"},
		{"body gone", `"requestBody"`, `"x-body"`, "/paths/~1a~1{id}/post/requestBody operation"},
		{"body takes more", `"properties": {"a"`, `"properties": {"d": {}, "a"`, ""},
		{"body takes less", `"a": {"type": "string"}`, `"a": {"type": "string", "maxLength": 3}`, "/components/schemas/ask/properties/a/maxLength limit"},
		{"body must say more", `"properties": {"a"`, `"required": ["a"], "properties": {"a"`, "/components/schemas/ask/required required"},
		{"media type gone", `{"application/json": {"schema": {"$ref": "#/components/schemas/ask"`, `{"text/plain": {"schema": {"$ref": "#/components/schemas/ask"`, "/paths/~1a~1{id}/post/requestBody/content/application~1json operation"},
		{"answer says more", `"properties": {"b"`, `"properties": {"d": {}, "b"`, ""},
		{"answer says less", `, "c": {"type": "integer"}`, ``, "/components/schemas/said/properties/c removed"},
		{"answer may leave out", `"required": ["b"]`, `"required": []`, "/components/schemas/said/required required"},
		{"answer of another type", `{"type": "integer"}`, `{"type": "string"}`, "/components/schemas/said/properties/c/type type"},
		{"answer's status", `"200"`, `"201"`, "/paths/~1a~1{id}/post/responses/200 operation; /paths/~1a~1{id}/post/responses/201 operation"},
		{"another answer", `"responses": {
    "200"`, `"responses": {"202": {"description": "Later."}, "200"`, "/paths/~1a~1{id}/post/responses/202 operation"},
		{"header gone", `"headers": {"H"`, `"headers": {"I"`, "/paths/~1a~1{id}/post/responses/200/headers/H operation"},
		{"problem's code gone", `"code": {"type": "string"}`, `"title": {"type": "string"}`, "/components/responses/problem/content/application~1problem+json/schema/properties/code removed"},
		{"a member that isn't known", `"summary"`, `"callbacks": {}, "summary"`, "/paths/~1a~1{id}/post/callbacks operation"},
		{"an extension", `"summary"`, `"x-mine": 1, "summary"`, ""},
		{"another version of OpenAPI", `"3.1.0"`, `"3.2.0"`, "/openapi operation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, strings.Join(compare(t, petty, replaced(t, petty, c.before, c.now), growth.Document), "; "))
		})
	}
}

func replaced(t *testing.T, text, before, now string) string {
	t.Helper()
	if before == "" {
		return text
	}
	require.Contains(t, text, before)
	return strings.Replace(text, before, now, 1)
}

// TestAsyncAPI edits our own document.
func TestAsyncAPI(t *testing.T) {
	t.Parallel()
	ours, err := os.ReadFile("../asyncapi.json")
	require.NoError(t, err)
	for _, c := range []struct{ name, before, now, want string }{
		{"nothing", "", "", ""},
		{"words", `"title": "Iris, by NATS"`, `"title": "Iris"`, ""},
		{"channel gone", `    "claims": {`, `    "demands": {`, "/channels/claims operation"},
		{"address", `"address": "iris.in.`, `"address": "iris.inbox.`, "/channels/claims/address operation"},
		{"parameter gone", `        "producer": {`, `        "maker": {`, "/channels/claims/parameters/maker operation; /channels/claims/parameters/producer operation"},
		{"message gone", `        "settled": {`, `        "ended": {`, "/channels/outcomes/messages/settled operation"},
		{"message added", `        "settled": {`, `        "parked": {}, "settled": {`, ""},
		{"schema of a message", `"$ref": "claims/envelope.schema.json"`, `"$ref": "claims/other.schema.json"`, "/channels/claims/messages/claim/payload/schema/$ref operation"},
		{"content type", `"contentType": "application/cloudevents+json"`, `"contentType": "application/json"`, "/channels/claims/messages/claim/contentType operation"},
		{"type of event gone", `"const": "iris.memory.stated.v1"`, `"const": "iris.memory.stated.v2"`, "/channels/member/messages/commit/payload/schema/items/allOf operation"},
		{"operation gone", `    "receiveClaim": {`, `    "takeClaim": {`, "/operations/receiveClaim operation"},
		{"the other way round", `"action": "receive"`, `"action": "send"`, ""},
		{"who may", `"type": "asymmetricEncryption"`, `"type": "X509"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := compare(t, string(ours), replaced(t, string(ours), c.before, c.now), growth.Document)
			switch {
			case strings.HasPrefix(c.name, "the other way"):
				require.Len(t, found, 1)
				require.Regexp(t, `^/operations/[A-Za-z]+/action operation$`, found[0])
			case strings.HasPrefix(c.name, "who may"):
				require.Len(t, found, 1)
				require.Regexp(t, `^/components/securitySchemes/[a-z]+/type operation$`, found[0])
			default:
				require.Equal(t, c.want, strings.Join(found, "; "))
			}
		})
	}
}
