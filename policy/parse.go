package policy

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/gowebpki/jcs"
)

//go:embed default.json
var defaultJSON []byte

// Default is the shipped policy, parsed anew at every call: nobody can change another's.
func Default() *Document {
	d, err := Parse(defaultJSON)
	if err != nil {
		panic(fmt.Sprintf("policy: the embedded default is refused: %v", err)) // a test parses it
	}
	return d
}

// ErrInvalid is the one family of this package: every refusal of Parse is an *Error and matches it.
var ErrInvalid = errors.New("invalid policy")

// Codes of a Problem.
const (
	CodeMalformed = "policy_malformed"          // not the JSON of the schema
	CodeInvalid   = "policy_invalid"            // a value that nothing could work with
	CodeWeakens   = "policy_weakens_given_rule" // a given value made weaker
)

// Problem is one thing that is wrong with a document.
type Problem struct {
	Code    string `json:"code"`
	Pointer string `json:"pointer"` // RFC 6901
	Reason  string `json:"reason"`
}

// Error lists every problem found, in the order of the document.
type Error struct{ Problems []Problem }

func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("%s at %q: %s", p.Code, p.Pointer, p.Reason)
	}
	return "read a policy: " + strings.Join(lines, "; ")
}

// Is makes every Error match ErrInvalid.
func (e *Error) Is(target error) bool { return target == ErrInvalid }

func malformed(pointer, format string, args ...any) *Error {
	return &Error{[]Problem{{CodeMalformed, pointer, fmt.Sprintf(format, args...)}}}
}

// Parse reads a document strictly (each key once, exactly as spelled, none missing and none unknown) and validates it.
func Parse(data []byte) (*Document, error) {
	if _, err := jcs.Transform(data); err != nil { // refuses what encoding/json lets pass: a key twice, broken UTF-8
		return nil, malformed("", "not one JSON document: %s", err)
	}
	var given any
	if err := decode(data, &given); err != nil {
		return nil, err
	}
	d := new(Document)
	if err := decode(data, d); err != nil {
		return nil, err
	}
	if err := exact(given, d); err != nil {
		return nil, err
	}
	if problems := validate(d); len(problems) > 0 {
		return nil, &Error{problems}
	}
	return d, nil
}

func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	err := decoder.Decode(into)
	var wrongType *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &wrongType):
		return malformed(pointerOf(wrongType.Field), "a JSON %s where a %s belongs", wrongType.Value, wrongType.Type.Kind())
	}
	return malformed("", "not one JSON document: %s", err)
}

func pointerOf(field string) string {
	if field == "" {
		return ""
	}
	return "/" + strings.ReplaceAll(field, ".", "/")
}

// exact compares what came in with what the document says when it is written again: encoding/json skips unknown keys, takes
// any letter case and fills what is missing, none of which a policy may rely on.
func exact(given any, d *Document) error {
	written, err := json.Marshal(d)
	if err != nil {
		return malformed("", "cannot be written again: %s", err)
	}
	var understood any
	if err := decode(written, &understood); err != nil {
		return err
	}
	return differ("", given, understood)
}

func differ(pointer string, given, understood any) error {
	switch want := understood.(type) {
	case map[string]any:
		got, ok := given.(map[string]any)
		if !ok {
			return malformed(pointer, "must be an object")
		}
		return differKeys(pointer, got, want)
	case []any:
		got, ok := given.([]any)
		if !ok || len(got) != len(want) {
			return malformed(pointer, "must be a list")
		}
		for i := range want {
			if err := differ(fmt.Sprintf("%s/%d", pointer, i), got[i], want[i]); err != nil {
				return err
			}
		}
		return nil
	default:
		if given == nil || given != understood {
			return malformed(pointer, "must not be null")
		}
		return nil
	}
}

func differKeys(pointer string, got, want map[string]any) error {
	for _, key := range sortedKeys(got) {
		if _, known := want[key]; !known {
			return malformed(pointer+"/"+escape(key), "no such key")
		}
	}
	for _, key := range sortedKeys(want) {
		value, present := got[key]
		if !present {
			return malformed(pointer+"/"+escape(key), "missing")
		}
		if err := differ(pointer+"/"+escape(key), value, want[key]); err != nil {
			return err
		}
	}
	return nil
}

func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool { return keys[i] < keys[j] })
	return keys
}

// Canonical is the document in RFC 8785 form: the bytes that SHA256 digests and an event carries.
func (d *Document) Canonical() []byte {
	written, err := json.Marshal(d)
	if err == nil {
		written, err = jcs.Transform(written)
	}
	if err != nil {
		panic(fmt.Sprintf("policy: strings, small integers and booleans do not marshal: %v", err))
	}
	return written
}

// SHA256 is the digest of Canonical in lower-case hex: with the version, what a decision names (spec 3.3).
func (d *Document) SHA256() string {
	sum := sha256.Sum256(d.Canonical())
	return hex.EncodeToString(sum[:])
}
