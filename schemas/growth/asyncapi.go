package growth

import (
	"maps"
	"slices"
)

// asyncAPI holds every channel, its messages and every operation to what they were. A message's schema is another contract, held
// by itself, so here it only has to be the same file; what an extension or a description says may change. What Iris receives may
// grow by messages, and so may what it sends: a reader passes over a type that it doesn't know.
func (p *pair) asyncAPI(was, is any) {
	document := root(was, is)
	p.known(document, "asyncapi", "id", "info", "defaultContentType", "servers", "channels", "operations", "components")
	p.unchanged(document, "asyncapi", "defaultContentType")
	p.each(p.part(document, "channels"), "the channel", func(_ string, channel element) { p.channel(channel) })
	p.each(p.part(document, "operations"), "the operation", func(_ string, operation element) {
		p.known(operation, "action", "channel", "title", "summary", "description", "security", "tags", "messages", "reply")
		p.unchanged(element{was: operation.was, is: operation.is, wasAt: operation.wasAt, nowAt: operation.nowAt}, "action", "channel", "security", "reply")
		p.kept(operation, "messages")
	})
	p.each(p.part(document, "components", "securitySchemes"), "the way to prove who one is", func(_ string, e element) { p.unchanged(e, "type") })
}

func (p *pair) channel(e element) {
	p.known(e, "address", "title", "summary", "description", "servers", "parameters", "messages", "tags")
	p.unchanged(e, "address", "servers")
	parameters := p.part(e, "parameters")
	p.each(parameters, "the parameter", func(_ string, parameter element) {
		p.known(parameter, "description", "examples", "enum", "default", "location")
		p.unchanged(parameter, "enum", "default", "location")
	})
	for _, name := range slices.Sorted(maps.Keys(parameters.is)) {
		if parameters.was[name] == nil {
			p.broken(parameters.nowAt+"/"+escape(name), "is a new part of the address")
		}
	}
	p.each(p.part(e, "messages"), "the message", func(_ string, message element) {
		p.known(message, "name", "title", "summary", "description", "contentType", "payload", "headers", "tags", "examples", "correlationId")
		p.unchanged(message, "name", "contentType", "headers")
		p.payload(p.part(message, "payload"))
	})
}

// payload: the envelope is the same, and of the events that it may hold none went.
func (p *pair) payload(e element) {
	p.unchanged(e, "schemaFormat")
	schema := p.part(e, "schema")
	if !schema.wasThere || !schema.kept {
		p.unchanged(e, "schema")
		return
	}
	p.unchanged(schema, "$ref")
	p.kept(p.part(schema, "items"), "allOf")
	for _, name := range slices.Sorted(maps.Keys(schema.was)) {
		if !slices.Contains([]string{"$ref", "items"}, name) {
			p.unchanged(schema, name)
		}
	}
}

// kept: a list keeps what it had, in any order.
func (p *pair) kept(e element, name string) {
	before, _ := e.was[name].([]any)
	now, _ := e.is[name].([]any)
	for _, item := range before {
		if !slices.ContainsFunc(now, func(other any) bool { return plain(other) == plain(item) }) {
			p.broken(e.nowAt+"/"+name, "has no more "+plain(item))
		}
	}
}
