package natsserver

import "fmt"

// Code is the stable part of an error; compare with errors.Is.
type Code string

func (c Code) Error() string { return string(c) }

const (
	ErrConfig     Code = "nats_config_invalid"
	ErrInUse      Code = "nats_store_in_use"
	ErrKeys       Code = "nats_keys_unusable"
	ErrStoreKey   Code = "nats_store_key_mismatch"
	ErrStart      Code = "nats_start_failed"
	ErrStop       Code = "nats_stop_failed"
	ErrProducer   Code = "nats_producer_invalid"
	ErrCredential Code = "nats_credential_failed"
	ErrConnect    Code = "nats_connect_failed"
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
