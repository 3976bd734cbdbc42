package web

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
	"iris.example/iris/limits"
)

// Verifier says who a token is of.
type Verifier interface {
	Verify(ctx context.Context, token string) (identity.Principal, error)
}

// Provider signs members in. *identity.Login is one.
type Provider interface {
	// Origin is where browsers are sent to, as scheme and host.
	Origin() string
	Address(state, nonce, verifier string) string
	// Exchange turns the code that a browser brings back into a token that Verifier takes, or fails with an *identity.LoginError.
	Exchange(ctx context.Context, code, nonce, verifier string) (token string, err error)
}

// Config is what the pages need. Acts, Verifier and Now have no default.
type Config struct {
	Acts     *acts.Acts
	Verifier Verifier
	// Codes turns a sign-in code into the token that it stands for, on a development machine; by default no code is known. It is
	// asked again on POST: a GET never signs anyone in.
	Codes func(code string) (name, token string, ok bool)
	// Provider is where members may sign in; nil: nowhere, a token has to be pasted. LoginKey seals what a browser keeps meanwhile: 32
	// bytes or more, the same in all processes, since a browser may come back to another one.
	Provider Provider
	LoginKey []byte
	Logger   *slog.Logger
	Now      func() time.Time
	// Secure says that browsers reach the pages over TLS, here or at a proxy. Without it the cookie travels in the clear, which is
	// for loopback only.
	Secure bool
	// Limits bounds how often a member may ask, and how often an address may try to sign in; nil: as often as they like.
	Limits *limits.Limiter
}

// ErrConfig is in the chain of every refused configuration.
var ErrConfig = errors.New("web_config")

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Codes == nil {
		c.Codes = func(string) (string, string, bool) { return "", "", false }
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate is called after WithDefaults.
func (c Config) Validate() error {
	if c.Acts == nil || c.Verifier == nil || c.Now == nil {
		return errors.Join(ErrConfig, errors.New("acts, verifier and clock are required"))
	}
	if c.Provider != nil && len(c.LoginKey) < loginKeySize {
		return errors.Join(ErrConfig, errors.New("a provider is set without a key of 32 bytes for the sign-in's cookie"))
	}
	return nil
}
