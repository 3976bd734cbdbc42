package growth

import (
	"cmp"
	"fmt"
	"slices"
)

// base is what every $id of ours starts with; a reference may name a file by it.
const base = "https://iris.example/schemas/"

// Direction is who must not notice a change.
type Direction int

const (
	Input    Direction = iota // those who send: what was accepted is accepted
	Events                    // those who read: what is said reads as before
	Document                  // OpenAPI or AsyncAPI, which says for itself who sends and who reads
)

func (d Direction) String() string { return [...]string{"input", "events", "document"}[d] }

// The codes of findings. They are never renamed.
const (
	codeRequired    = "required"
	codeRemoved     = "removed"
	codeClosed      = "closed"
	codeType        = "type"
	codeEnum        = "enum"
	codeLimit       = "limit"
	codeForm        = "form"
	codeDefault     = "default"
	codeRefused     = "refused"
	codeAlternative = "alternative"
	codeUnknown     = "unknown_keyword"
	codeOperation   = "operation"
)

// Finding is one way in which a change breaks somebody. Pointer leads to the rule that is broken: of the new version as Input,
// of the old one as Events.
type Finding struct {
	Pointer string
	Code    string
	Reason  string
}

func (f Finding) String() string { return fmt.Sprintf("%s: %s: %s", f.Pointer, f.Code, f.Reason) }

func (c comparison) finding(at, code, what string) Finding {
	return Finding{at, code, reason(c.as, code, what)}
}

// reason says in words what a code means for whom.
func reason(as Direction, code, what string) string {
	said := map[string][2]string{
		codeRequired:    {"%s is required and was not", "%s was always there and may be missing"},
		codeRemoved:     {"%s was accepted and is not a property any more", "%s is not a property any more"},
		codeClosed:      {"properties of any name were accepted and are not any more%s", "any property may stand here%s"},
		codeType:        {"type %s was accepted and is not any more", "may be of type %s, which it never was"},
		codeEnum:        {"%s was accepted and is not listed any more", "may be %s, which readers don't know"},
		codeLimit:       {"the limit is %s, which is tighter than it was", "the limit was %s and is wider, or gone"},
		codeForm:        {"has to have a %s that it didn't have to have", "had always a %s that it need not have any more"},
		codeDefault:     {"meant %s where it was left out, and means something else", "meant %s where it was left out, and means something else"},
		codeRefused:     {"was accepted and is not any more%s", "was never there and may be%s"},
		codeAlternative: {"one of the alternatives that were accepted may not be any more%s", "may be another alternative than readers know%s"},
	}[code]
	return fmt.Sprintf(said[as], what)
}

// Open reads a file of a version by its name.
type Open func(name string) ([]byte, error)

// Version is a contract as it stands in one version: the name of its file, and what opens that file and those it refers to.
type Version struct {
	Open Open
	Name string
}

// Directions are those that mean something for a contract: Document, or the other two.
func Directions(of Version) ([]Direction, error) {
	doc, err := newReader(of.Open).file(of.Name)
	if err != nil || has(doc, "openapi") || has(doc, "asyncapi") {
		return []Direction{Document}, err
	}
	return []Direction{Input, Events}, nil
}

// Compare lists in what ways now can't stand in for before.
func Compare(before, now Version, as Direction) ([]Finding, error) {
	p := pair{old: newReader(before.Open), now: newReader(now.Open), oldFile: before.Name, nowFile: now.Name}
	was, err := p.old.file(before.Name)
	if err != nil {
		return nil, err
	}
	is, err := p.now.file(now.Name)
	if err != nil {
		return nil, err
	}
	switch {
	case as == Document && has(was, "openapi"):
		p.openAPI(was, is)
	case as == Document && has(was, "asyncapi"):
		p.asyncAPI(was, is)
	case as == Document:
		return nil, fmt.Errorf("compare %s: it is no document of OpenAPI or AsyncAPI", before.Name)
	default:
		p.schemas("", "", as)
		if onlyDefinitions(was) {
			p.definitions(was, as)
		}
	}
	return tidy(slices.Concat(p.old.findings, p.now.findings, p.found)), nil
}

func tidy(found []Finding) []Finding {
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Reason, b.Reason))
	})
	return slices.Compact(found)
}

func has(doc any, name string) bool {
	members, _ := doc.(map[string]any)
	_, ok := members[name]
	return ok
}

// onlyDefinitions: a file of definitions says nothing by itself.
func onlyDefinitions(doc any) bool {
	members, ok := doc.(map[string]any)
	for keyword := range members {
		ok = ok && slices.Contains(words(), keyword)
	}
	return ok && members["$defs"] != nil
}

// compare asks the question of a direction of two schemas.
func compare(before, now *schema, as Direction) []Finding {
	if as == Events {
		return comparison{as: as}.implies(flat(now), before)
	}
	return comparison{as: as}.implies(flat(before), now)
}
