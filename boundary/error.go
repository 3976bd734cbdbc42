package boundary

import "errors"

// Code names a refusal on the wire. Codes are never renamed (spec 9.6).
type Code string

const (
	InvalidJSON      Code = "invalid_json"
	DuplicateKey     Code = "duplicate_key"
	InvalidText      Code = "invalid_text"
	NumberOutOfRange Code = "number_out_of_range"
	NestingTooDeep   Code = "nesting_too_deep"
	UnknownField     Code = "unknown_field"
	WrongType        Code = "wrong_type"
	BodyTooLarge     Code = "body_too_large"
	InvalidID        Code = "invalid_id"
	InvalidLimit     Code = "invalid_limit"
	InvalidCursor    Code = "invalid_cursor"
)

// ErrRefused is in the chain of every refusal of this package.
var ErrRefused = errors.New("input refused")

// Error is one refusal. Its text may be shown, logged and stored: it holds no
// value of the input, and a key only if the key is a plain label (see label).
type Error struct {
	Code Code
	// Pointer is the JSON pointer (RFC 6901) of the refused place, cut before
	// the first key that is no plain label. Empty for the whole document.
	Pointer string
	Detail  string
}

func (e *Error) Error() string {
	text := "boundary: " + string(e.Code) + ": " + e.Detail
	if e.Pointer != "" {
		text += " at " + e.Pointer
	}
	return text
}

func (e *Error) Unwrap() error { return ErrRefused }

// label reports whether a key may be repeated to the caller and the log:
// ^[A-Za-z0-9_.-]{1,64}$. Other keys may be personal text.
func label(s string) bool {
	if len(s) == 0 || len(s) > 64 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; !alphanumeric(c) && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

func alphanumeric(c byte) bool {
	return lowerOrDigit(c) || 'A' <= c && c <= 'Z'
}

func lowerOrDigit(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9'
}
