package identity

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// KeySource answers the public keys that may have signed a token with this key
// id; all of them for "". No key and no error means the id is unknown.
type KeySource interface {
	Keys(ctx context.Context, kid string) ([]jose.JSONWebKey, error)
}

// Config says whose tokens are believed.
type Config struct {
	// Issuer and Audience are compared with "iss" and "aud" to the letter.
	// Both are required.
	Issuer   string
	Audience string

	// Keys is a local key set. Without it the keys come from JWKSURL, and
	// without that from the issuer's discovery document.
	Keys    KeySource
	JWKSURL string

	// Leeway is granted on every time in a token: 30 s by default for keys that
	// come over HTTP, nothing for local ones, whose issuer shares our clock.
	Leeway time.Duration
	// Transport fetches keys and discovery; http.DefaultTransport by default.
	Transport http.RoundTripper
	// Now is the product's clock. Required.
	Now func() time.Time
}

const (
	remoteLeeway = 30 * time.Second
	maxLeeway    = 2 * time.Minute
)

func (c Config) WithDefaults() Config {
	if c.Leeway == 0 && c.Keys == nil {
		c.Leeway = remoteLeeway
	}
	if c.Transport == nil {
		c.Transport = http.DefaultTransport
	}
	return c
}

// Validate refuses half a setting, and anything that would send or fetch keys
// in the clear off loopback.
func (c Config) Validate() error {
	switch {
	case c.Issuer == "" && c.Audience == "":
		return refuseConfig("issuer and audience are not set")
	case c.Issuer == "":
		return refuseConfig("an audience is set without an issuer")
	case c.Audience == "":
		return refuseConfig("an issuer is set without an audience")
	case c.Keys != nil && c.JWKSURL != "":
		return refuseConfig("local keys and a key set address exclude each other")
	case c.Leeway < 0 || c.Leeway > maxLeeway:
		return refuseConfig("the leeway is not within 0 and " + maxLeeway.String())
	case c.Now == nil:
		return refuseConfig("no clock is set")
	}
	if err := CheckIssuerURL(c.Issuer); err != nil {
		return err
	}
	if c.JWKSURL != "" {
		return checkAddress(c.Issuer, c.JWKSURL, keySetAddress)
	}
	return nil
}

// CheckIssuerURL accepts https, and http on loopback, without user, query or
// fragment.
func CheckIssuerURL(issuer string) error {
	u, err := url.Parse(issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || u.ForceQuery:
		return refuseConfig("the issuer is not an absolute address without user, query and fragment")
	case u.Scheme == "https", u.Scheme == "http" && Loopback(u.Hostname()):
		return nil
	}
	return refuseConfig("the issuer is neither https nor on loopback")
}

const keySetAddress = "the key set's address"

// checkAddress allows plain http for a loopback address of a loopback issuer
// only: a remote issuer's discovery document must not send us to our own ports.
func checkAddress(issuer, address, what string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return refuseConfig(what + " is not an absolute address without user")
	}
	if u.Scheme == "https" {
		return nil
	}
	if from, err := url.Parse(issuer); err == nil && u.Scheme == "http" && Loopback(u.Hostname()) && Loopback(from.Hostname()) {
		return nil
	}
	return refuseConfig(what + " is neither https nor on loopback with its issuer")
}

// Loopback reports whether a host, without a port, is this machine by its
// address or the name localhost. No name is looked up.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func refuseConfig(why string) error { return fmt.Errorf("%w: %s", ErrConfig, why) }
