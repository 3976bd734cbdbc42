package boundary

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const nilUUID = "00000000-0000-0000-0000-000000000000"

// Slug accepts ^[a-z0-9][a-z0-9-]{0,62}$ but for the reserved words. Field
// names the input in the error and becomes the pointer if it starts with "/";
// the value is never repeated.
func Slug(field, value string) error {
	if !slug(value) {
		return invalidID(field, "is not a slug (a-z, 0-9 and -, at most 63)")
	}
	if reserved(value) {
		return invalidID(field, "is a reserved word")
	}
	return nil
}

// UUID accepts the canonical form in lower case, any version but the nil UUID.
func UUID(field, value string) error {
	if !uuid(value) || value == nilUUID {
		return invalidID(field, "is not a UUID in lower case")
	}
	return nil
}

// SubjectToken accepts what may stand as one token of a broker subject: a slug
// or a UUID. The broker itself takes "*", ">" and bidi controls (spec 9.2), so
// nothing may reach a subject without passing here.
func SubjectToken(field, value string) error {
	if uuid(value) {
		return UUID(field, value)
	}
	return Slug(field, value)
}

// Handle accepts ^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$: session, notebook and run
// ids that a client chose. They are personal labels: sealed, never in a subject.
func Handle(field, value string) error {
	if len(value) == 0 || len(value) > 128 || !alphanumeric(value[0]) {
		return invalidID(field, "is not a handle (letters, digits, . _ : -, at most 128)")
	}
	for i := range len(value) {
		if c := value[i]; !alphanumeric(c) && !strings.ContainsRune("._:-", rune(c)) {
			return invalidID(field, "is not a handle (letters, digits, . _ : -, at most 128)")
		}
	}
	return nil
}

// Text accepts words that don't come inside JSON (a query parameter, a flag) and
// returns them in normal form C, as all text of events is (spec 9.3).
func Text(field, value string) (string, error) {
	if !utf8.ValidString(value) || strings.IndexByte(value, 0) >= 0 {
		return "", named(InvalidText, field, "is not UTF-8 without NUL")
	}
	return norm.NFC.String(value), nil
}

func slug(s string) bool {
	if len(s) == 0 || len(s) > 63 || !lowerOrDigit(s[0]) {
		return false
	}
	for i := range len(s) {
		if !lowerOrDigit(s[i]) && s[i] != '-' {
			return false
		}
	}
	return true
}

// reserved are the words that stand beside organisations and producers in
// subjects (spec 9.2).
func reserved(s string) bool {
	switch s {
	case "in", "out", "inbox", "access", "org", "fence", "sys":
		return true
	}
	return false
}

func uuid(s string) bool {
	if len(s) != len(nilUUID) {
		return false
	}
	for i := range len(s) {
		if dash := nilUUID[i] == '-'; dash != (s[i] == '-') || !dash && !lowerHex(s[i]) {
			return false
		}
	}
	return true
}

func lowerHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f'
}

func invalidID(field, detail string) error {
	return named(InvalidID, field, detail)
}

func named(code Code, field, detail string) error {
	err := &Error{Code: code, Detail: strings.TrimPrefix(field, "/") + " " + detail}
	if strings.HasPrefix(field, "/") {
		err.Pointer = field
	}
	return err
}
