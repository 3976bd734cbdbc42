package log

import "errors"

var (
	// ErrConflict: the subject's last sequence isn't the expected one (10071), or others of the subject were before this one for as
	// long as it waits for them (10164), or a batch held a known id (10201).
	// It doesn't say who won: a retry after a lost answer conflicts with itself on one node and not on three (spec 9.2).
	ErrConflict = errors.New("log: conflict")
	// ErrAmbiguous: no answer, or one that doesn't say. The message is stored, or it isn't.
	ErrAmbiguous = errors.New("log: outcome unknown")
	// ErrUnavailable: nothing was written, or nothing could be read.
	ErrUnavailable = errors.New("log: unavailable")
	// ErrMissingStream: a stream isn't there. For a ledger that is an alarm: a wrong at-rest key looks the same.
	ErrMissingStream = errors.New("log: stream missing")
	// ErrTooLarge: a body over MaxBody.
	ErrTooLarge = errors.New("log: body too large")
	// ErrNotFound: no message at this sequence.
	ErrNotFound = errors.New("log: no such message")
	// ErrDrift: a stream is configured otherwise than it must be, or ends before what was already read from it.
	ErrDrift = errors.New("log: stream drifted")
	// ErrRefused: an id, subject or stream name that may not reach the broker. Nothing was sent.
	ErrRefused = errors.New("log: refused")
)
