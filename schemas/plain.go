package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// plain is what our schemas say, compiled from the compiled schema: types, constants, lengths, patterns, and which properties there
// are. It says yes to what the schema takes, for sure; where it doesn't, be it for a keyword that it doesn't know, the schema itself
// decides and says why. It spares nine tenths of what checking costs: a validator that must name every violation wants the document as
// maps, and keeps books on each property that it passes.
type plain struct {
	unknown bool     // it has a keyword that isn't here
	never   bool     // it is false
	types   kinds    // 0: any
	values  []value  // of const or enum; nil: any
	all     []*plain // $ref and allOf
	some    []*plain // anyOf; none: anything

	not, cond   *plain
	then, other *plain
	format      *jsonschema.Format

	minLength, maxLength int // of a string
	pattern              pattern

	least, most int64 // of a number

	members                      []member // by name
	required                     int      // of the members
	rest                         *plain   // of members that are no properties; nil: anything
	names                        *plain   // of all members; nil: any
	minProperties, maxProperties int

	items              *plain // nil: anything
	minItems, maxItems int
	unique             bool
}

// member is what an object's schema says of one name.
type member struct {
	name     string
	property *plain // nil: it is none
	required bool
}

// plainOf compiles what s says, once for each schema, so that those that name themselves end. Nothing says nothing.
func plainOf(s *jsonschema.Schema, known map[*jsonschema.Schema]*plain) *plain {
	if p, ok := known[s]; ok || s == nil {
		return p
	}
	p := &plain{
		never: s.Bool != nil && !*s.Bool, types: kindsOf(s.Types), format: s.Format, unique: s.UniqueItems,
		minLength: atLeast(s.MinLength), maxLength: atMost(s.MaxLength), minItems: atLeast(s.MinItems), maxItems: atMost(s.MaxItems),
		minProperties: atLeast(s.MinProperties), maxProperties: atMost(s.MaxProperties),
	}
	known[s] = p
	p.not, p.cond, p.then, p.other = plainOf(s.Not, known), plainOf(s.If, known), plainOf(s.Then, known), plainOf(s.Else, known)
	p.all, p.some, p.items = plainsOf(s.AllOf, known), plainsOf(s.AnyOf, known), plainOf(s.Items2020, known)
	if s.Ref != nil {
		p.all = append(p.all, plainOf(s.Ref, known))
	}
	p.object(s, known)
	if s.Pattern != nil {
		p.pattern = s.Pattern.(pattern)
	}
	p.unknown = !p.constants(s) || !p.numbers(s) || beyondPlain(s)
	return p
}

func plainsOf(all []*jsonschema.Schema, known map[*jsonschema.Schema]*plain) []*plain {
	plains := make([]*plain, len(all))
	for i, s := range all {
		plains[i] = plainOf(s, known)
	}
	return plains
}

// kinds is a set of JSON's types.
type kinds uint8

const (
	aString kinds = 1 << iota
	anObject
	anArray
	aBoolean
	aNull
	aNumber // or an integer: a document has no others
)

func kindsOf(types *jsonschema.Types) (set kinds) {
	if types == nil {
		return 0
	}
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
	p.required, p.names = len(s.Required), plainOf(s.PropertyNames, known)
	names := slices.Concat(slices.Collect(maps.Keys(s.Properties)), s.Required)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		p.members = append(p.members, member{name, plainOf(s.Properties[name], known), slices.Contains(s.Required, name)})
	}
	switch rest := s.AdditionalProperties.(type) {
	case bool:
		if !rest {
			p.rest = &plain{never: true}
		}
	case *jsonschema.Schema:
		p.rest = plainOf(rest, known)
	}
}

// constants are values that can stand in a document and hold no others.
func (p *plain) constants(s *jsonschema.Schema) bool {
	var all []any
	switch {
	case s.Enum != nil && s.Const != nil:
		return false
	case s.Enum != nil:
		all = s.Enum.Values
	case s.Const != nil:
		all = []any{*s.Const}
	default:
		return true
	}
	p.values = make([]value, len(all))
	for i, one := range all {
		text, err := json.Marshal(one)
		d, ok := lay(nil, text)
		if err != nil || !ok || d[0].kind&(anObject|anArray) != 0 {
			return false
		}
		p.values[i] = d[0]
	}
	return true
}

// numbers have bounds that are integers.
func (p *plain) numbers(s *jsonschema.Schema) bool {
	var least, most bool
	p.least, least = integer(s.Minimum, math.MinInt64)
	p.most, most = integer(s.Maximum, math.MaxInt64)
	return least && most
}

func integer(n *big.Rat, absent int64) (int64, bool) {
	if n == nil {
		return absent, true
	}
	return n.Num().Int64(), n.IsInt() && n.Num().IsInt64()
}

func atLeast(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func atMost(n *int) int {
	if n == nil {
		return math.MaxInt
	}
	return *n
}

// beyondPlain is true of a schema with a keyword that asserts something and isn't in plain.
func beyondPlain(s *jsonschema.Schema) bool {
	return s.DraftVersion < 2020 || s.RecursiveRef != nil || s.DynamicRef != nil || len(s.OneOf) > 0 || len(s.PatternProperties) > 0 ||
		len(s.Dependencies) > 0 || len(s.DependentRequired) > 0 || len(s.DependentSchemas) > 0 || s.UnevaluatedProperties != nil ||
		s.Contains != nil || s.MinContains != nil || s.MaxContains != nil || s.Items != nil || s.AdditionalItems != nil ||
		len(s.PrefixItems) > 0 || s.UnevaluatedItems != nil ||
		s.ContentEncoding != nil || s.ContentMediaType != nil || s.ContentSchema != nil ||
		s.ExclusiveMaximum != nil || s.ExclusiveMinimum != nil || s.MultipleOf != nil || len(s.Extensions) > 0
}

// judge holds the values of a document to what is said of them.
type judge struct {
	document
	unsure bool // it was asked something that it doesn't know: no answer counts
}

// accepts is true only of what the schema takes.
func (j *judge) accepts(p *plain, data []byte) bool {
	takes, sure := j.judges(p, data)
	return takes && sure
}

// judges says what the schema says, if it is sure. Nothing of data stays with the judge, but room for the next.
func (j *judge) judges(p *plain, data []byte) (takes, sure bool) {
	d, ok := lay(j.document[:0], data)
	j.document, j.unsure = d, !ok
	takes = ok && j.takes(p, 0)
	clear(d)
	return takes, !j.unsure
}

// takes judges the value that stands at a place of the document.
func (j *judge) takes(p *plain, at int) bool {
	v := &j.document[at]
	switch {
	case p.unknown:
		j.unsure = true
		return false
	case p.never, p.types != 0 && p.types&v.kind == 0, p.values != nil && !slices.ContainsFunc(p.values, v.equals), !j.takesKind(p, at):
		return false
	}
	for _, other := range p.all {
		if !j.takes(other, at) {
			return false
		}
	}
	if len(p.some) > 0 && !slices.ContainsFunc(p.some, func(one *plain) bool { return j.takes(one, at) }) {
		return false
	}
	if p.not != nil && j.takes(p.not, at) {
		return false
	}
	if p.cond == nil { // nothing is asked of then and else
		return true
	}
	branch := p.other
	if j.takes(p.cond, at) {
		branch = p.then
	}
	return branch == nil || j.takes(branch, at)
}

// equals is asked of what can't hold other values.
func (v *value) equals(other value) bool {
	return v.kind == other.kind && bytes.Equal(v.text, other.text)
}

func (j *judge) takesKind(p *plain, at int) bool {
	switch v := &j.document[at]; v.kind {
	case aString:
		return p.takesString(v.text)
	case aNumber:
		n, err := strconv.ParseInt(string(v.text), 10, 64)
		return err == nil && p.least <= n && n <= p.most
	case anObject:
		return j.takesObject(p, at)
	case anArray:
		return j.takesArray(p, at)
	}
	return true
}

func (p *plain) takesString(text []byte) bool {
	if p.minLength > 0 || p.maxLength < len(text) { // there are no more characters than bytes
		if n := utf8.RuneCount(text); n < p.minLength || n > p.maxLength {
			return false
		}
	}
	return (p.pattern == nil || p.pattern.Match(text)) && (p.format == nil || p.format.Validate(string(text)) == nil)
}

func (j *judge) takesObject(p *plain, at int) bool {
	v := &j.document[at]
	if v.count < p.minProperties || v.count > p.maxProperties {
		return false
	}
	missing, last := p.required, -1
	for name := at + 1; name < v.next; name = j.document[name+1].next {
		property := p.rest
		if i := p.find(j.document[name].text, last+1); i >= 0 {
			last = i
			if p.members[i].required {
				missing--
			}
			if p.members[i].property != nil {
				property = p.members[i].property
			}
		}
		if p.names != nil && !j.takes(p.names, name) || property != nil && !j.takes(property, name+1) {
			return false
		}
	}
	return missing == 0
}

// find looks among the members from one on, then among those before: where names ascend, as in all that we write ourselves, most are
// the next one.
func (p *plain) find(name []byte, from int) int {
	for i := from; i < len(p.members); i++ {
		if p.members[i].name == string(name) {
			return i
		}
	}
	for i := range from {
		if p.members[i].name == string(name) {
			return i
		}
	}
	return -1
}

func (j *judge) takesArray(p *plain, at int) bool {
	v := &j.document[at]
	if v.count < p.minItems || v.count > p.maxItems || p.unique && !j.distinct(at) {
		return false
	}
	if p.items == nil {
		return true
	}
	for item := at + 1; item < v.next; item = j.document[item].next {
		if !j.takes(p.items, item) {
			return false
		}
	}
	return true
}

// distinct knows strings only.
func (j *judge) distinct(at int) bool {
	v := &j.document[at]
	seen := make(map[string]bool, v.count)
	for item := at + 1; item < v.next; item = j.document[item].next {
		one := &j.document[item]
		switch {
		case one.kind != aString:
			j.unsure = true
			return false
		case seen[string(one.text)]:
			return false
		}
		seen[string(one.text)] = true
	}
	return true
}
