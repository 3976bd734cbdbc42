package growth

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"path"
	"slices"
	"strings"
)

// kinds is a set of JSON types. An integer is a number; fraction is a number that is no integer.
type kinds uint8

const (
	null kinds = 1 << iota
	boolean
	integer
	fraction
	text
	array
	object

	number   = integer | fraction
	anything = null | boolean | number | text | array | object
)

func (k kinds) String() string {
	var words []string
	for _, one := range []struct {
		kind kinds
		word string
	}{{null, "null"}, {boolean, "boolean"}, {number, "number"}, {integer, "integer"}, {fraction, "fraction"}, {text, "string"}, {array, "array"}, {object, "object"}} {
		if k&one.kind == one.kind {
			words, k = append(words, one.word), k&^one.kind
		}
	}
	return strings.Join(words, ", ")
}

// schema is one schema with its references followed. All that stands in one must hold; nil and absent mean: no such rule.
type schema struct {
	at    string // file#pointer
	never bool   // the schema false
	rules
	all []*schema // allOf, and the target of a $ref that has neighbours
}

// rules are the keywords of a schema, but for allOf.
type rules struct {
	kinds      kinds           // 0: no type was named
	values     map[string]bool // enum and const, each value as JSON
	required   []string
	properties map[string]*schema
	additional *schema
	names      *schema
	dependent  map[string][]string
	items      *schema
	prefix     []*schema
	contains   *schema
	not        *schema
	anyOf      []*schema
	oneOf      []*schema
	cond       *schema // if
	then       *schema
	otherwise  *schema
	limits     map[string]*big.Rat
	pattern    string
	format     string
	unique     bool
	absent     string // default, as JSON
}

// reader builds schemas out of files, and gathers what it can't build.
type reader struct {
	open     Open
	files    map[string]any
	built    map[string]*schema
	building map[string]bool
	findings []Finding
}

func newReader(open Open) *reader {
	return &reader{open: open, files: map[string]any{}, built: map[string]*schema{}, building: map[string]bool{}}
}

func (r *reader) complain(at, code, reason string) {
	r.findings = append(r.findings, Finding{Pointer: at, Code: code, Reason: reason})
}

// file reads a file once. Numbers stay as they are written.
func (r *reader) file(name string) (any, error) {
	if doc, ok := r.files[name]; ok {
		return doc, nil
	}
	data, err := r.open(name)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	var doc any
	if err := decoder.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	r.files[name] = doc
	return doc, nil
}

// at builds the schema that stands at a pointer of a file.
func (r *reader) at(file, pointer string) *schema {
	place := file + "#" + pointer
	if s, ok := r.built[place]; ok {
		return s
	}
	if r.building[place] {
		r.complain(place, codeUnknown, "contains itself, which is not known here")
		return &schema{at: place}
	}
	doc, err := r.file(file)
	if err != nil {
		r.complain(place, codeUnknown, "can't be read: "+err.Error())
		return &schema{at: place}
	}
	value, ok := follow(doc, pointer)
	if !ok {
		r.complain(place, codeUnknown, "is referred to and isn't there")
		return &schema{at: place}
	}
	r.building[place] = true
	s := r.build(file, pointer, value)
	delete(r.building, place)
	r.built[place] = s
	return s
}

func follow(doc any, pointer string) (any, bool) {
	if pointer == "" {
		return doc, true
	}
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch at := doc.(type) {
		case map[string]any:
			next, ok := at[part]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			var i int
			if _, err := fmt.Sscanf(part, "%d", &i); err != nil || i < 0 || i >= len(at) {
				return nil, false
			}
			doc = at[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }

// build reads the keywords of one schema. The list is closed: what isn't here is a finding.
func (r *reader) build(file, pointer string, value any) *schema {
	s := &schema{at: file + "#" + pointer}
	if flag, ok := value.(bool); ok {
		s.never = !flag
		return s
	}
	keywords, ok := value.(map[string]any)
	if !ok {
		r.complain(s.at, codeUnknown, "is no schema")
		return s
	}
	if target, ok := keywords["$ref"].(string); ok {
		if s = r.referred(file, pointer, target, keywords); s != nil {
			return s
		}
		s = &schema{at: file + "#" + pointer, all: []*schema{r.reference(file, target)}}
	}
	for _, keyword := range slices.Sorted(maps.Keys(keywords)) {
		r.keyword(s, file, pointer, keyword, keywords[keyword])
	}
	return s
}

// referred takes the place of a reference that stands alone, or beside words for people; its default stays with it.
func (r *reader) referred(file, pointer, target string, keywords map[string]any) *schema {
	for keyword := range keywords {
		if keyword != "$ref" && keyword != "default" && !slices.Contains(words(), keyword) {
			return nil
		}
	}
	s := *r.reference(file, target)
	if fallback, ok := keywords["default"]; ok {
		s.absent = plain(fallback)
	}
	return &s
}

func (r *reader) reference(file, target string) *schema {
	name, pointer, _ := strings.Cut(target, "#")
	switch {
	case strings.HasPrefix(name, base):
		file = strings.TrimPrefix(name, base)
	case name != "":
		file = path.Join(path.Dir(file), name)
	}
	return r.at(file, pointer)
}

// words are the keywords for people and for finding things. They say nothing about an instance.
func words() []string {
	return []string{"$schema", "$id", "$comment", "$defs", "title", "description", "examples", "deprecated", "readOnly", "writeOnly"}
}

func (r *reader) keyword(s *schema, file, pointer, keyword string, value any) {
	below := pointer + "/" + escape(keyword)
	known := true
	switch keyword {
	case "$ref": // read before
	case "type":
		s.kinds, known = kindsOf(value)
	case "enum":
		var listed map[string]bool
		listed, known = valuesOf(value)
		s.only(listed)
	case "const":
		s.only(map[string]bool{plain(value): true})
	case "required":
		s.required, known = texts(value)
	case "properties":
		s.properties, known = r.byName(file, below, value)
	case "dependentRequired":
		s.dependent, known = dependents(value)
	case "additionalProperties":
		s.additional = r.build(file, below, value)
	case "propertyNames":
		s.names = r.build(file, below, value)
	case "items":
		s.items = r.build(file, below, value)
	case "contains":
		s.contains = r.build(file, below, value)
	case "not":
		s.not = r.build(file, below, value)
	case "if":
		s.cond = r.build(file, below, value)
	case "then":
		s.then = r.build(file, below, value)
	case "else":
		s.otherwise = r.build(file, below, value)
	case "prefixItems":
		s.prefix, known = r.list(file, below, value)
	case "anyOf":
		s.anyOf, known = r.list(file, below, value)
	case "oneOf":
		s.oneOf, known = r.list(file, below, value)
	case "allOf":
		var more []*schema
		more, known = r.list(file, below, value)
		s.all = append(s.all, more...)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		known = s.limit(keyword, value)
	case "pattern":
		s.pattern, known = value.(string)
	case "format":
		s.format, known = value.(string)
	case "uniqueItems":
		s.unique, known = value.(bool)
	case "default":
		s.absent = plain(value)
	default:
		known = slices.Contains(words(), keyword) && (keyword != "$id" || pointer == "")
	}
	if !known {
		r.complain(s.at+"/"+escape(keyword), codeUnknown, "the keyword, or its value, is not known here")
	}
}

// only narrows the values to those listed; enum and const may stand side by side.
func (s *schema) only(values map[string]bool) {
	s.values = whole{s, {rules: rules{values: values}}}.values()
}

func (s *schema) limit(keyword string, value any) bool {
	n, ok := value.(json.Number)
	if !ok {
		return false
	}
	limit, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return false
	}
	if s.limits == nil {
		s.limits = map[string]*big.Rat{}
	}
	s.limits[keyword] = limit
	return true
}

func (r *reader) byName(file, pointer string, value any) (map[string]*schema, bool) {
	members, ok := value.(map[string]any)
	all := make(map[string]*schema, len(members))
	for _, name := range slices.Sorted(maps.Keys(members)) {
		all[name] = r.build(file, pointer+"/"+escape(name), members[name])
	}
	return all, ok
}

func (r *reader) list(file, pointer string, value any) ([]*schema, bool) {
	items, ok := value.([]any)
	all := make([]*schema, len(items))
	for i, item := range items {
		all[i] = r.build(file, fmt.Sprintf("%s/%d", pointer, i), item)
	}
	return all, ok && len(all) > 0
}

func kindsOf(value any) (kinds, bool) {
	names, ok := texts(value)
	if name, one := value.(string); one {
		names, ok = []string{name}, true
	}
	var k kinds
	for _, name := range names {
		kind, known := map[string]kinds{
			"null": null, "boolean": boolean, "integer": integer, "number": number, "string": text, "array": array, "object": object,
		}[name]
		ok, k = ok && known, k|kind
	}
	return k, ok && k != 0
}

func valuesOf(value any) (map[string]bool, bool) {
	list, ok := value.([]any)
	all := make(map[string]bool, len(list))
	for _, item := range list {
		all[plain(item)] = true
	}
	return all, ok
}

func texts(value any) ([]string, bool) {
	list, ok := value.([]any)
	all := make([]string, len(list))
	for i, item := range list {
		var is bool
		all[i], is = item.(string)
		ok = ok && is
	}
	return all, ok
}

func dependents(value any) (map[string][]string, bool) {
	members, ok := value.(map[string]any)
	all := make(map[string][]string, len(members))
	for name, list := range members {
		needs, is := texts(list)
		all[name], ok = needs, ok && is
	}
	return all, ok
}

// plain writes a value as JSON, members in order. A number keeps its spelling: 1 and 1.0 count as different, which is safe.
func plain(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "?" // what was decoded from JSON encodes
	}
	return string(data)
}

// kindOf is the type of a value that plain wrote.
func kindOf(value string) kinds {
	switch value[0] {
	case 'n':
		return null
	case 't', 'f':
		return boolean
	case '"':
		return text
	case '[':
		return array
	case '{':
		return object
	}
	if n, ok := new(big.Rat).SetString(value); ok && n.IsInt() {
		return integer
	}
	return fraction
}
