package growth

import (
	"maps"
	"slices"
	"strings"
)

// pair is two versions of a contract, and what was found between them.
type pair struct {
	old, now         *reader
	oldFile, nowFile string
	found            []Finding
}

func (p *pair) schemas(oldPointer, nowPointer string, as Direction) {
	p.found = append(p.found, compare(p.old.at(p.oldFile, oldPointer), p.now.at(p.nowFile, nowPointer), as)...)
}

// definitions holds each one by itself: a later file may refer to any.
func (p *pair) definitions(was any, as Direction) {
	for _, name := range slices.Sorted(maps.Keys(member(was, "$defs"))) {
		p.schemas("/$defs/"+escape(name), "/$defs/"+escape(name), as)
	}
}

func (p *pair) broken(pointer, reason string) {
	p.found = append(p.found, Finding{p.nowFile + "#" + pointer, codeOperation, reason})
}

// element is the same part of both documents. Where it stood behind a reference, the pointers are the target's.
type element struct {
	was, is        map[string]any
	wasAt, nowAt   string
	wasThere, kept bool
}

// part goes down to a member of an element.
func (p *pair) part(of element, names ...string) element {
	for _, name := range names {
		next := element{wasAt: of.wasAt + "/" + escape(name), nowAt: of.nowAt + "/" + escape(name)}
		next.was, next.wasThere = p.resolve(p.old, p.oldFile, of.was[name], &next.wasAt)
		next.is, next.kept = p.resolve(p.now, p.nowFile, of.is[name], &next.nowAt)
		of = next
	}
	return of
}

// resolve follows references inside of the document.
func (p *pair) resolve(r *reader, file string, value any, at *string) (map[string]any, bool) {
	members, ok := value.(map[string]any)
	for range 8 {
		target, refers := members["$ref"].(string)
		if !refers || !strings.HasPrefix(target, "#") {
			break
		}
		doc, err := r.file(file)
		if err != nil {
			return nil, false
		}
		*at = strings.TrimPrefix(target, "#")
		value, _ = follow(doc, *at)
		members, ok = value.(map[string]any)
	}
	return members, ok
}

func member(doc any, name string) map[string]any {
	members, _ := doc.(map[string]any)
	below, _ := members[name].(map[string]any)
	return below
}

// known holds an element to the members that this package understands. Extensions (x-) mean nothing to it.
func (p *pair) known(e element, names ...string) {
	for _, name := range slices.Sorted(maps.Keys(e.is)) {
		if !slices.Contains(names, name) && !strings.HasPrefix(name, "x-") {
			p.broken(e.nowAt+"/"+escape(name), "is not known here")
		}
	}
}

// unchanged holds single values to what they were.
func (p *pair) unchanged(e element, names ...string) {
	for _, name := range names {
		if plain(e.was[name]) != plain(e.is[name]) {
			p.broken(e.nowAt+"/"+escape(name), "was "+plain(e.was[name]))
		}
	}
}

// each visits the members that were there; one that is gone is broken.
func (p *pair) each(of element, what string, visit func(name string, e element)) {
	for _, name := range slices.Sorted(maps.Keys(of.was)) {
		e := p.part(of, name)
		switch {
		case strings.HasPrefix(name, "x-"):
		case !e.kept:
			p.broken(e.nowAt, what+" is gone")
		default:
			visit(name, e)
		}
	}
}

func root(was, is any) element {
	e := element{wasThere: true, kept: true}
	e.was, _ = was.(map[string]any)
	e.is, _ = is.(map[string]any)
	return e
}
