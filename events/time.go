package events

import (
	"fmt"
	"time"
)

// timeLayout is RFC 3339 in UTC with microseconds (spec 10): six digits always, so that equal instants have equal bytes.
const timeLayout = "2006-01-02T15:04:05.000000Z"

// Time is an instant in UTC cut to microseconds when it is made (spec 9.3): PostgreSQL and JSON give back what they were given.
type Time struct{ time.Time }

// At cuts t to UTC microseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Microsecond)} }

// ParseTime reads the one form that String writes.
func ParseTime(s string) (Time, error) {
	t, err := time.Parse(timeLayout, s)
	if err != nil {
		return Time{}, fmt.Errorf("parse an instant: not of the form %s", timeLayout)
	}
	return Time{t}, nil
}

// Plus is t moved by d.
func (t Time) Plus(d time.Duration) Time { return At(t.Add(d)) }

// Passed reports whether the instant t is due at now. A nil instant never is.
func (t *Time) Passed(now Time) bool { return t != nil && !t.After(now.Time) }

// String writes RFC 3339, UTC, microseconds.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalText writes String's form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON hides the embedded method, which would write nanoseconds.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalText reads ParseTime's form.
func (t *Time) UnmarshalText(b []byte) error {
	parsed, err := ParseTime(string(b))
	*t = parsed
	return err
}

// UnmarshalJSON reads a JSON string of ParseTime's form.
func (t *Time) UnmarshalJSON(b []byte) error {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("parse an instant: not a JSON string")
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}
