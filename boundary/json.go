package boundary

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxBody is the longest document that is looked at. Commits are smaller
	// (spec 9.2: 256 KiB); an edge may set a tighter limit in Read.
	MaxBody = 1 << 20
	// MaxDepth is the number of arrays and objects that may enclose a value.
	MaxDepth = 64
)

// Read takes a whole body of at most limit bytes. A body that is longer is
// body_too_large, known after limit+1 bytes; a reader that breaks is no refusal.
func Read(r io.Reader, limit int) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return nil, fmt.Errorf("boundary: read body: %w", err)
	}
	if len(data) > limit {
		return nil, tooLarge(limit)
	}
	return data, nil
}

// Decode checks data and reads one object into the struct that into points at.
// Names match the struct's tags to the letter; a name that isn't there is
// unknown_field. A number that has to keep its digits needs a jsontext.Value or
// json.RawMessage; encoding/json's Number type is not known to the decoder.
func Decode(data []byte, into any) error {
	return decode(data, '{', "the body must be an object", into)
}

// DecodeArray is Decode for a batch: one array into a slice.
func DecodeArray(data []byte, into any) error {
	return decode(data, '[', "the body must be an array", into)
}

func decode(data []byte, kind jsontext.Kind, expected string, into any) error {
	if err := Check(data); err != nil {
		return err
	}
	if jsontext.Value(data).Kind() != kind {
		return &Error{Code: WrongType, Detail: expected}
	}
	return typed(json.Unmarshal(data, into, json.RejectUnknownMembers(true)), into)
}

// typed puts the decoder's complaint in our words. Check has passed, so only
// what concerns the target is left; the decoder's own text quotes values.
func typed(err error, into any) error {
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &semantic), semantic.JSONKind == 0 && !errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("boundary: decode into %T: not a target the decoder knows", into)
	case errors.Is(err, json.ErrUnknownName):
		return refuseKey(UnknownField, semantic.JSONPointer, "unknown field")
	case errors.Is(err, strconv.ErrRange):
		return refuse(NumberOutOfRange, semantic.JSONPointer, "a number does not fit its field")
	}
	return refuse(WrongType, semantic.JSONPointer, "a "+kindName(semantic.JSONKind)+" can't stand here")
}

// Check applies every rule that needs no target, for a payload that a JSON
// Schema judges later. The top may be any value.
func Check(data []byte) error {
	if len(data) > MaxBody {
		return tooLarge(MaxBody)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return &Error{Code: InvalidText, Detail: "a NUL byte in the body"}
	}
	if !utf8.Valid(data) {
		return &Error{Code: InvalidText, Detail: "the body is not UTF-8"}
	}
	// Surrogates are left to checkString, which can tell them from bad syntax.
	dec := jsontext.NewDecoder(bytes.NewBuffer(data[:len(data):len(data)]), jsontext.AllowInvalidUTF8(true))
	for first := true; first || dec.StackDepth() > 0; first = false {
		if err := checkToken(dec, data); err != nil {
			return err
		}
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return &Error{Code: InvalidJSON, Detail: "something follows the document"}
	}
	return nil
}

// checkToken reads one token. Depth is compared as soon as a bracket opens, so
// a document nested 20,000 deep costs 65 tokens.
func checkToken(dec *jsontext.Decoder, data []byte) error {
	start := dec.InputOffset()
	token, err := dec.ReadToken()
	if err != nil {
		return syntax(err)
	}
	if dec.StackDepth() > MaxDepth {
		return &Error{Code: NestingTooDeep, Detail: fmt.Sprintf("more than %d levels", MaxDepth)}
	}
	raw := bytes.TrimLeft(data[start:dec.InputOffset()], " \t\r\n,:")
	switch token.Kind() {
	case '"':
		if detail := checkString(raw); detail != "" {
			return refuse(InvalidText, dec.StackPointer(), detail)
		}
	case '0':
		if detail := checkNumber(string(raw)); detail != "" {
			return refuse(NumberOutOfRange, dec.StackPointer(), detail)
		}
	}
	return nil
}

func syntax(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return refuseKey(DuplicateKey, syntactic.JSONPointer, "duplicate key")
	case errors.As(err, &syntactic):
		return refuse(InvalidJSON, syntactic.JSONPointer, fmt.Sprintf("not JSON near byte %d", syntactic.ByteOffset))
	}
	return &Error{Code: InvalidJSON, Detail: "the body ends too early"}
}

// checkString looks at the escapes of one quoted string that is otherwise
// valid JSON, and says what is wrong with it.
func checkString(raw []byte) string {
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		switch unit := hex4(raw[i+1:]); {
		case unit == 0:
			return "an escaped NUL"
		case 0xDC00 <= unit && unit <= 0xDFFF:
			return "a lone surrogate"
		case 0xD800 <= unit && unit <= 0xDBFF:
			if !lowSurrogate(raw[i+5:]) {
				return "a lone surrogate"
			}
			i += 6
		}
		i += 4
	}
	return ""
}

func lowSurrogate(raw []byte) bool {
	if !bytes.HasPrefix(raw, []byte(`\u`)) {
		return false
	}
	unit := hex4(raw[2:])
	return 0xDC00 <= unit && unit <= 0xDFFF
}

// hex4 reads the four digits that the decoder has already found to be there.
func hex4(raw []byte) uint64 {
	unit, _ := strconv.ParseUint(string(raw[:4]), 16, 16)
	return unit
}

// limitDigits is 2^53, the last integer before which every one is a float64.
const limitDigits = "9007199254740992"

// checkNumber compares digits, not floats: 2^53+1 as a float64 is 2^53. A
// number other than zero that float64 turns into zero is refused as well; as
// jsonb it would expand to more digits than PostgreSQL takes.
func checkNumber(raw string) string {
	mantissa, exponent := raw, "0"
	if i := strings.IndexAny(raw, "eE"); i >= 0 {
		mantissa, exponent = raw[:i], raw[i+1:]
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return ""
	}
	power, err := strconv.ParseInt(exponent, 10, 32)
	if err != nil {
		return "a number that no float64 holds"
	}
	// The value is 0.digits times ten to the power of point.
	point := len(whole) - (len(whole) + len(fraction) - len(digits)) + int(power)
	if point > len(limitDigits) || point == len(limitDigits) && padded(digits, point) > limitDigits {
		return "a number beyond 2^53"
	}
	if value, err := strconv.ParseFloat(raw, 64); err != nil || value == 0 {
		return "a number that no float64 holds"
	}
	return ""
}

func padded(digits string, n int) string {
	if len(digits) >= n {
		return digits[:n]
	}
	return digits + strings.Repeat("0", n-len(digits))
}

func tooLarge(limit int) error {
	return &Error{Code: BodyTooLarge, Detail: fmt.Sprintf("longer than %d bytes", limit)}
}

func refuse(code Code, at jsontext.Pointer, detail string) error {
	return &Error{Code: code, Pointer: shown(at), Detail: detail}
}

// refuseKey is refuse for a complaint about the last key of the pointer.
func refuseKey(code Code, at jsontext.Pointer, detail string) error {
	if key := at.LastToken(); label(key) {
		detail += " " + strconv.Quote(key)
	}
	return refuse(code, at, detail)
}

// shown cuts a pointer before the first key that may be personal text.
func shown(at jsontext.Pointer) string {
	var out strings.Builder
	for key := range at.Tokens() {
		if !label(key) {
			break
		}
		out.WriteString("/" + key)
	}
	return out.String()
}

func kindName(kind jsontext.Kind) string {
	switch kind {
	case '"':
		return "string"
	case '0':
		return "number"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	case '[':
		return "list"
	}
	return "object"
}
