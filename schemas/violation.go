package schemas

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// ErrViolation is in the chain of every refusal. Its text is the code on the wire.
var ErrViolation = errors.New("schema_violation")

// The codes of single violations. They are never renamed.
const (
	codeRequired      = "required"
	codeType          = "type"
	codeEnum          = "enum"
	codeConst         = "const"
	codePattern       = "pattern"
	codeFormat        = "format"
	codeAdditional    = "additional_property"
	codePropertyName  = "property_name"
	codeTooShort      = "too_short"
	codeTooLong       = "too_long"
	codeTooFew        = "too_few"
	codeTooMany       = "too_many"
	codeTooSmall      = "too_small"
	codeTooGreat      = "too_great"
	codeNotUnique     = "not_unique"
	codeNotAdmitted   = "not_admitted"
	codeNoAlternative = "no_alternative"
	codeJSON          = "json"
	codeUnknownSchema = "unknown_schema"
)

// maxViolations bounds an answer: a hostile document can break a schema in thousands of places.
const maxViolations = 20

// Violation is one place where a document breaks its schema. It may be shown and logged: it holds no value of the document,
// and a key only where that is a plain label.
type Violation struct {
	// Pointer is a JSON pointer (RFC 6901), cut before the first key that is no plain label. Empty for the whole document.
	Pointer string
	Code    string
	Detail  string
}

// Refusal says where a document breaks the schema named Schema. The violations are ordered and at most twenty.
type Refusal struct {
	Schema     string
	Violations []*Violation
}

func (r *Refusal) Error() string {
	parts := make([]string, len(r.Violations))
	for i, v := range r.Violations {
		parts[i] = cmp.Or(v.Pointer, "document") + " " + v.Detail
	}
	return fmt.Sprintf("%s: %s: %s", ErrViolation, r.Schema, strings.Join(parts, "; "))
}

func (r *Refusal) Unwrap() error { return ErrViolation }

func refuse(schema string, found ...Violation) *Refusal {
	slices.SortFunc(found, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Pointer, b.Pointer), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Detail, b.Detail))
	})
	found = slices.Compact(found)
	r := &Refusal{Schema: schema}
	for _, v := range found[:min(len(found), maxViolations)] {
		r.Violations = append(r.Violations, &v)
	}
	return r
}

// below moves a refusal's pointers under prefix.
func below(err error, prefix string) error {
	var r *Refusal
	if !errors.As(err, &r) {
		return err
	}
	for _, v := range r.Violations {
		v.Pointer = prefix + v.Pointer
	}
	return r
}

// violations flattens the validator's tree into its leaves.
func violations(e *jsonschema.ValidationError) []Violation {
	switch k := e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		return alternatives(e)
	case *kind.Required:
		return perKey(e, k.Missing, codeRequired, "is missing")
	case *kind.DependentRequired:
		return perKey(e, k.Missing, codeRequired, "is missing")
	case *kind.AdditionalProperties:
		return perKey(e, k.Properties, codeAdditional, "is not a property of this object")
	case *kind.PropertyNames:
		return perKey(e, []string{k.Property}, codePropertyName, "is not a name that a property can have here")
	}
	if len(e.Causes) == 0 {
		code, detail := leaf(e.ErrorKind)
		return []Violation{{pointer(e.InstanceLocation), code, detail}}
	}
	var all []Violation
	for _, cause := range e.Causes {
		all = append(all, violations(cause)...)
	}
	return all
}

// alternatives drops the branches that are of another type altogether, such as the null of an optional field. Whoever sent an
// object wants to hear what is wrong with the object.
func alternatives(e *jsonschema.ValidationError) []Violation {
	here := pointer(e.InstanceLocation)
	var kept [][]Violation
	for _, cause := range e.Causes {
		found := violations(cause)
		if len(found) != 1 || found[0].Code != codeType || found[0].Pointer != here {
			kept = append(kept, found)
		}
	}
	switch {
	case len(kept) == 1:
		return kept[0]
	case len(kept) == 0 && len(e.Causes) > 0:
		return []Violation{{here, codeType, "is of another type than it can have here"}}
	}
	return []Violation{{here, codeNoAlternative, "is none of the forms that it can have here"}}
}

// perKey points at each key by name, or at the object that holds it where the key can't be repeated.
func perKey(e *jsonschema.ValidationError, keys []string, code, detail string) []Violation {
	all := make([]Violation, len(keys))
	for i, key := range keys {
		all[i] = Violation{pointer(append(slices.Clip(e.InstanceLocation), key)), code, detail}
		if !label(key) {
			all[i].Detail = "one of its properties " + detail
		}
	}
	return all
}

func leaf(k jsonschema.ErrorKind) (code, detail string) {
	switch k := k.(type) {
	case *kind.Type:
		return codeType, "is of type " + k.Got + ", not " + strings.Join(k.Want, " or ")
	case *kind.Enum:
		return codeEnum, "is none of the words that it can be" + listed(k.Want)
	case *kind.Const:
		return codeConst, "is not the one value that it can have"
	case *kind.Pattern:
		return codePattern, "has not the form that it must have"
	case *kind.Format:
		return codeFormat, "is no valid " + k.Want
	case *kind.MinLength:
		return codeTooShort, "has fewer than " + strconv.Itoa(k.Want) + " characters"
	case *kind.MaxLength:
		return codeTooLong, "has more than " + strconv.Itoa(k.Want) + " characters"
	case *kind.MinItems:
		return codeTooFew, "has fewer than " + strconv.Itoa(k.Want) + " items"
	case *kind.MaxItems:
		return codeTooMany, "has more than " + strconv.Itoa(k.Want) + " items"
	case *kind.MinProperties:
		return codeTooFew, "has fewer than " + strconv.Itoa(k.Want) + " properties"
	case *kind.MaxProperties:
		return codeTooMany, "has more than " + strconv.Itoa(k.Want) + " properties"
	case *kind.Minimum:
		return codeTooSmall, "is less than " + k.Want.RatString()
	case *kind.Maximum:
		return codeTooGreat, "is more than " + k.Want.RatString()
	case *kind.UniqueItems:
		return codeNotUnique, "has two items that are equal"
	}
	return codeNotAdmitted, "can't stand here" // not, false and whatever a later schema brings
}

// listed names the words of an enumeration: the contract's, never what was sent.
func listed(words []any) string {
	var names []string
	for _, word := range words {
		if name, is := word.(string); is {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

func pointer(keys []string) string {
	var b strings.Builder
	for _, key := range keys {
		if !label(key) {
			break
		}
		b.WriteString("/" + key) // a label has neither ~ nor /: nothing to escape
	}
	return b.String()
}

// label reports whether a key may be repeated: ^[A-Za-z0-9_.-]{1,64}$. Another key may be personal text.
func label(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}
