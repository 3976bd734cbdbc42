package pgserver

import "fmt"

// Code is the stable part of an error; compare with errors.Is.
type Code string

func (c Code) Error() string { return string(c) }

const (
	ErrConfig      Code = "postgres_config_invalid"
	ErrNoBinaries  Code = "postgres_binaries_missing"
	ErrVersion     Code = "postgres_version_mismatch"
	ErrUnreachable Code = "postgres_directory_unreachable"
	ErrForeignDir  Code = "postgres_directory_foreign"
	ErrInUse       Code = "postgres_directory_in_use"
	ErrNoUser      Code = "postgres_user_missing"
	ErrInit        Code = "postgres_init_failed"
	ErrStart       Code = "postgres_start_failed"
	ErrLost        Code = "postgres_lost"
	ErrStop        Code = "postgres_stop_failed"
)

// Error says what failed, on what, why, and what to do next.
type Error struct {
	Code  Code
	Act   string
	Input string
	Hint  string
	Cause error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s %s", e.Code, e.Act, e.Input)
	if e.Hint != "" {
		s += " (" + e.Hint + ")"
	}
	if e.Cause != nil {
		s += ": " + e.Cause.Error()
	}
	return s
}

func (e *Error) Unwrap() []error {
	if e.Cause == nil {
		return []error{e.Code}
	}
	return []error{e.Code, e.Cause}
}
