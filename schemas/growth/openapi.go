package growth

import (
	"maps"
	"slices"
	"strings"
)

// openAPI holds every operation to what its callers may count on: its place, its parameters and body as Input, its answers as
// Events.
func (p *pair) openAPI(was, is any) {
	document := root(was, is)
	p.known(document, "openapi", "info", "jsonSchemaDialect", "paths", "components", "servers", "tags")
	p.unchanged(document, "openapi", "jsonSchemaDialect")
	p.each(p.part(document, "paths"), "the path", func(_ string, path element) {
		p.each(path, "the operation", func(_ string, operation element) { p.operation(operation) })
	})
	p.each(p.part(document, "components", "securitySchemes"), "the way to prove who one is", func(_ string, e element) {
		p.unchanged(e, "type", "scheme", "in", "name")
	})
}

func (p *pair) operation(e element) {
	p.known(e, "operationId", "summary", "description", "tags", "security", "parameters", "requestBody", "responses", "deprecated")
	p.unchanged(e, "operationId")
	if plain(e.was["security"]) != plain(e.is["security"]) && plain(e.is["security"]) != "[]" {
		p.broken(e.nowAt+"/security", "was "+plain(e.was["security"]))
	}
	p.parameters(e)
	p.requestBody(e)
	p.each(p.part(e, "responses"), "the answer", func(_ string, answer element) { p.answer(answer) })
	for _, status := range slices.Sorted(maps.Keys(member(e.is, "responses"))) {
		if strings.HasPrefix(status, "2") && member(e.was, "responses")[status] == nil {
			p.broken(e.nowAt+"/responses/"+status, "is an answer that callers don't know")
		}
	}
}

// parameters are known by name and place; their order means nothing.
func (p *pair) parameters(e element) {
	before, now := byPlace(e.was["parameters"]), byPlace(e.is["parameters"])
	for _, place := range slices.Sorted(maps.Keys(before)) {
		if now[place] == nil {
			p.broken(e.nowAt+"/parameters", place+" is gone")
		}
	}
	for _, place := range slices.Sorted(maps.Keys(now)) {
		parameter := element{was: before[place], is: now[place], wasAt: e.wasAt + "/parameters/" + place, nowAt: e.nowAt + "/parameters/" + place}
		p.known(parameter, "name", "in", "description", "required", "schema", "deprecated", "example", "examples")
		if parameter.is["required"] == true && parameter.was["required"] != true {
			p.broken(parameter.nowAt, "is required and was not")
		}
		if parameter.was != nil {
			p.values(parameter.was["schema"], parameter.is["schema"], parameter.wasAt, parameter.nowAt)
		}
	}
}

// values compares two schemas of parameters. They stand in a list, so they are built where they stand, not by pointer.
func (p *pair) values(was, is any, wasAt, nowAt string) {
	before, now := p.old.build(p.oldFile, wasAt+"/schema", orAnything(was)), p.now.build(p.nowFile, nowAt+"/schema", orAnything(is))
	p.found = append(p.found, compare(before, now, Input)...)
	if before.absent != "" && before.absent != now.absent {
		p.broken(nowAt+"/schema/default", reason(Input, codeDefault, before.absent))
	}
}

func orAnything(schema any) any {
	if schema == nil {
		return true
	}
	return schema
}

func byPlace(value any) map[string]map[string]any {
	all := map[string]map[string]any{}
	list, _ := value.([]any)
	for _, item := range list {
		if parameter, ok := item.(map[string]any); ok {
			in, _ := parameter["in"].(string)
			name, _ := parameter["name"].(string)
			all[in+" "+name] = parameter
		}
	}
	return all
}

func (p *pair) requestBody(e element) {
	body := p.part(e, "requestBody")
	if !body.wasThere && !body.kept {
		return
	}
	p.known(body, "description", "required", "content")
	if body.is["required"] == true && body.was["required"] != true {
		p.broken(body.nowAt, "is required and was not")
	}
	if body.wasThere && !body.kept {
		p.broken(body.nowAt, "is gone")
		return
	}
	p.content(body, Input)
}

func (p *pair) answer(e element) {
	p.known(e, "description", "headers", "content")
	p.content(e, Events)
	p.each(p.part(e, "headers"), "the header", func(_ string, header element) {
		p.known(header, "description", "required", "schema")
		p.schemas(header.wasAt+"/schema", header.nowAt+"/schema", Events)
	})
}

func (p *pair) content(e element, as Direction) {
	p.each(p.part(e, "content"), "the media type", func(_ string, media element) {
		p.known(media, "schema", "example", "examples")
		switch _, was := media.was["schema"]; {
		case !was && as == Events:
		case media.is["schema"] == nil && as == Input:
		case !was || media.is["schema"] == nil:
			p.broken(media.nowAt+"/schema", "stands on one side alone")
		default:
			p.schemas(media.wasAt+"/schema", media.nowAt+"/schema", as)
		}
	})
}
