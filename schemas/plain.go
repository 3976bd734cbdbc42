package schemas

import (
	"slices"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plain is what most of our schemas say, compiled from the compiled schema: types, constants, lengths, patterns, and which properties
// there are. It says yes to what the schema takes, for sure; where it doesn't, be it for a keyword that it doesn't know, the schema
// itself decides and says why. It spares two thirds of what checking an event costs: a validator that must name every violation
// keeps books on each property that it passes.
type plain struct {
	unknown bool       // a keyword that isn't here: never yes
	types   kinds      // 0: any; numbers are never plain
	values  []any      // of const or enum; nil: any
	all     []*plain   // $ref and allOf
	some    [][]*plain // anyOf

	not, cond   *certain
	then, other *plain
	format      *jsonschema.Format

	minLength, maxLength int // of a string; -1: none
	pattern              jsonschema.Regexp

	required   []string
	properties map[string]*plain
	rest       *plain // of properties that aren't named; nil: anything
	closed     bool   // there are none
	names      *plain // of all properties; nil: any

	minProperties, maxProperties int // -1: none

	items              *plain
	minItems, maxItems int // -1: none
}

// plainOf compiles what s says, once for each schema, so that those that name themselves end.
func plainOf(s *jsonschema.Schema, known map[*jsonschema.Schema]*plain) *plain {
	if p, ok := known[s]; ok {
		return p
	}
	p := &plain{
		minLength: bound(s.MinLength), maxLength: bound(s.MaxLength), minItems: bound(s.MinItems), maxItems: bound(s.MaxItems),
		minProperties: bound(s.MinProperties), maxProperties: bound(s.MaxProperties),
	}
	known[s] = p
	p.unknown = beyondPlain(s)
	p.pattern, p.required = s.Pattern, s.Required
	if s.Types != nil && !s.Types.IsEmpty() {
		p.types = kindsOf(s.Types)
	}
	if s.Enum != nil {
		p.values = s.Enum.Values
	}
	if s.Const != nil {
		p.values = []any{*s.Const}
	}
	p.unknown = p.unknown || slices.ContainsFunc(p.values, compound)
	if s.Ref != nil {
		p.all = append(p.all, plainOf(s.Ref, known))
	}
	p.all = append(p.all, plainsOf(s.AllOf, known)...)
	if len(s.AnyOf) > 0 {
		p.some = append(p.some, plainsOf(s.AnyOf, known))
	}
	p.not, p.cond, p.format = certainOf(s.Not, known), certainOf(s.If, known), s.Format
	if s.Then != nil {
		p.then = plainOf(s.Then, known)
	}
	if s.Else != nil {
		p.other = plainOf(s.Else, known)
	}
	p.object(s, known)
	if s.Items2020 != nil {
		p.items = plainOf(s.Items2020, known)
	}
	return p
}

// kinds is a set of JSON's types.
type kinds uint8

const (
	aString kinds = 1 << iota
	anObject
	anArray
	aBoolean
	aNull
	aNumber // or an integer: never plain
)

func kindsOf(types *jsonschema.Types) (set kinds) {
	for _, name := range types.ToStrings() {
		switch name {
		case "string":
			set |= aString
		case "object":
			set |= anObject
		case "array":
			set |= anArray
		case "boolean":
			set |= aBoolean
		case "null":
			set |= aNull
		default:
			set |= aNumber
		}
	}
	return set
}

func (p *plain) object(s *jsonschema.Schema, known map[*jsonschema.Schema]*plain) {
	if len(s.Properties) > 0 {
		p.properties = map[string]*plain{}
	}
	for name, property := range s.Properties {
		p.properties[name] = plainOf(property, known)
	}
	if s.PropertyNames != nil {
		p.names = plainOf(s.PropertyNames, known)
	}
	switch rest := s.AdditionalProperties.(type) {
	case bool:
		p.closed = !rest
	case *jsonschema.Schema:
		p.rest = plainOf(rest, known)
	}
}

// certain is a schema whose answer must be known in both directions. It is asked itself where plain's no may not be its own.
type certain struct {
	schema *jsonschema.Schema
	plain  *plain
}

func certainOf(s *jsonschema.Schema, known map[*jsonschema.Schema]*plain) *certain {
	if s == nil {
		return nil
	}
	return &certain{s, plainOf(s, known)}
}

func (c *certain) takes(value any) bool {
	if c.plain.takes(value) {
		return true
	}
	switch value.(type) {
	case string, map[string]any:
		if c.plain.sure() {
			return false
		}
	}
	return c.schema.Validate(value) == nil
}

// sure: its no is the schema's too, but of a number. It says nothing but which constants there may be, of itself or of properties.
func (p *plain) sure() bool {
	if p.unknown || p.types != 0 || len(p.all)+len(p.some) > 0 || p.not != nil || p.cond != nil || p.format != nil || p.pattern != nil ||
		p.minLength >= 0 || p.maxLength >= 0 || p.minItems >= 0 || p.maxItems >= 0 || p.items != nil || p.rest != nil || p.closed {
		return false
	}
	for _, property := range p.properties {
		if property.values == nil || !property.sure() {
			return false
		}
	}
	return p.values == nil || len(p.properties)+len(p.required) == 0
}

func plainsOf(all []*jsonschema.Schema, known map[*jsonschema.Schema]*plain) []*plain {
	plains := make([]*plain, len(all))
	for i, s := range all {
		plains[i] = plainOf(s, known)
	}
	return plains
}

func bound(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

// beyondPlain is true of a schema with a keyword that asserts something and isn't in plain.
func beyondPlain(s *jsonschema.Schema) bool {
	return s.DraftVersion < 2020 || s.Bool != nil || s.RecursiveRef != nil || s.DynamicRef != nil || s.Enum != nil && s.Const != nil || len(s.OneOf) > 0 ||
		len(s.PatternProperties) > 0 ||
		len(s.Dependencies) > 0 || len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0 || s.UnevaluatedProperties != nil ||
		s.UniqueItems || s.Contains != nil || s.MinContains != nil || s.MaxContains != nil || s.Items != nil || s.AdditionalItems != nil ||
		len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil ||
		s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil ||
		s.Maximum != nil || s.Minimum != nil || s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil ||
		len(s.Extensions) > 0
}

// compound values, and numbers, which have more than one way to be equal, are left to the schema.
func compound(value any) bool {
	switch value.(type) {
	case string, bool, nil:
		return false
	}
	return true
}

// takes is true only of what the schema takes.
func (p *plain) takes(value any) bool {
	if p.unknown {
		return false
	}
	for _, other := range p.all {
		if !other.takes(value) {
			return false
		}
	}
	if !p.takesWhole(value) {
		return false
	}
	for _, some := range p.some {
		if !slices.ContainsFunc(some, func(one *plain) bool { return one.takes(value) }) {
			return false
		}
	}
	switch v := value.(type) {
	case string:
		return p.is(aString) && p.equals(value) && p.takesString(v)
	case map[string]any:
		return p.is(anObject) && p.values == nil && p.takesObject(v)
	case []any:
		return p.is(anArray) && p.values == nil && p.takesArray(v)
	case bool:
		return p.is(aBoolean) && p.equals(value)
	case nil:
		return p.is(aNull) && p.equals(value)
	}
	return false
}

// takesWhole is what a schema says of a value of whatever type by other schemas.
func (p *plain) takesWhole(value any) bool {
	if p.not != nil && p.not.takes(value) {
		return false
	}
	if p.format != nil && p.format.Validate(value) != nil {
		return false
	}
	if p.cond == nil { // nothing is asked of then and else
		return true
	}
	branch := p.other
	if p.cond.takes(value) {
		branch = p.then
	}
	return branch == nil || branch.takes(value)
}

func (p *plain) is(kind kinds) bool { return p.types == 0 || p.types&kind != 0 }

func (p *plain) equals(value any) bool {
	return p.values == nil || slices.Contains(p.values, value)
}

func (p *plain) takesString(s string) bool {
	if p.minLength >= 0 || p.maxLength >= 0 {
		if n := utf8.RuneCountInString(s); n < p.minLength || p.maxLength >= 0 && n > p.maxLength {
			return false
		}
	}
	return p.pattern == nil || p.pattern.MatchString(s)
}

func (p *plain) takesObject(object map[string]any) bool {
	if len(object) < p.minProperties || p.maxProperties >= 0 && len(object) > p.maxProperties {
		return false
	}
	for _, name := range p.required {
		if _, ok := object[name]; !ok {
			return false
		}
	}
	for name, value := range object {
		property, named := p.properties[name]
		switch {
		case p.names != nil && !p.names.takes(name),
			named && !property.takes(value),
			!named && p.closed,
			!named && p.rest != nil && !p.rest.takes(value):
			return false
		}
	}
	return true
}

func (p *plain) takesArray(array []any) bool {
	if len(array) < p.minItems || p.maxItems >= 0 && len(array) > p.maxItems {
		return false
	}
	if p.items == nil {
		return true
	}
	for _, item := range array {
		if !p.items.takes(item) {
			return false
		}
	}
	return true
}
