package identity

import "errors"

var (
	// ErrUnauthenticated is in the chain of every refused token.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrKeysUnavailable joins it when the token could not be judged because
	// the issuer's keys could not be read.
	ErrKeysUnavailable = errors.New("issuer's keys unavailable")
	// ErrConfig is in the chain of every refused configuration.
	ErrConfig = errors.New("identity: configuration refused")
)

// Code says which rule a token broke. It may be shown as a detail; the wire's
// code is "unauthenticated" for all.
type Code string

const (
	TokenMissing     Code = "token_missing"
	TokenMalformed   Code = "token_malformed"
	TokenAlgorithm   Code = "token_algorithm"
	TokenKeyUnknown  Code = "token_key_unknown"
	TokenSignature   Code = "token_signature"
	TokenIssuer      Code = "token_issuer"
	TokenAudience    Code = "token_audience"
	TokenExpired     Code = "token_expired"
	TokenNotYetValid Code = "token_not_yet_valid"
	TokenClaims      Code = "token_claims"
)

// Error is one refused token. Detail is our own words, never the token's.
type Error struct {
	Code   Code
	Detail string
	cause  error
}

func (e *Error) Error() string {
	text := "identity: verify token: " + string(e.Code) + ": " + e.Detail
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrUnauthenticated}
	}
	return []error{ErrUnauthenticated, e.cause}
}

func refuse(code Code, detail string) error { return &Error{Code: code, Detail: detail} }
