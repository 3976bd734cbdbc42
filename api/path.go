package api

import (
	"net/http"
	"strings"

	"iris.example/iris/boundary"
)

// pathPart is a name that may stand in a pattern, and what its value must be.
type pathPart struct {
	name, summary string
	schema        map[string]any
	check         func(field, value string) error
}

// pathParts are all of them. Whatever a route names here is checked before anything else of the call is looked at.
func pathParts() []pathPart {
	id := map[string]any{"type": "string", "format": "uuid"}
	slug := map[string]any{"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,62}$"}
	handle := map[string]any{"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"}
	return []pathPart{
		{"id", "The id, in lower case.", id, boundary.UUID},
		{"member", "The member's opaque id, in lower case.", id, boundary.UUID},
		{"producer", "The producer's name.", slug, boundary.Slug},
		{"program", "The program.", slug, boundary.Slug},
		{"role", "The role's key.", slug, boundary.Slug},
		{"tenant", "The tenant.", handle, boundary.Handle},
		{"tool", "The tool's name.", handle, boundary.Handle},
		{"client", "The client's id, as its tokens name it.", handle, boundary.Handle},
	}
}

// partsOf are those that a pattern names.
func partsOf(pattern string) []pathPart {
	var named []pathPart
	for _, part := range pathParts() {
		if strings.Contains(pattern, "{"+part.name+"}") {
			named = append(named, part)
		}
	}
	return named
}

// readPath takes the named parts out of the address.
func readPath(route Route, r *http.Request) (map[string]string, error) {
	parts := map[string]string{}
	for _, part := range partsOf(route.Pattern) {
		value := r.PathValue(part.name)
		if err := part.check(part.name, value); err != nil {
			return nil, err
		}
		parts[part.name] = value
	}
	return parts, nil
}

// concrete is the pattern with its parts filled in: what a command id is bound to.
func concrete(pattern string, parts map[string]string) string {
	for name, value := range parts {
		pattern = strings.ReplaceAll(pattern, "{"+name+"}", value)
	}
	return pattern
}
