package identity

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/go-json-experiment/json"
	"golang.org/x/oauth2"

	"iris.example/iris/boundary"
)

// CallbackPath is where the provider sends browsers back to.
const CallbackPath = "/sign-in/callback"

// LoginConfig says who the pages are at the issuer (OpenID Connect Core, 3.1).
type LoginConfig struct {
	ClientID string
	// Secret is empty for a public client, which PKCE alone protects.
	Secret string
	// RedirectURL is where browsers reach the pages, with [CallbackPath].
	RedirectURL string
	// Scopes are asked for beside "openid".
	Scopes []string
}

// Validate refuses half a setting, and a way back that goes in the clear.
func (c LoginConfig) Validate() error {
	u, err := url.Parse(c.RedirectURL)
	switch {
	case c.ClientID == "":
		return refuseConfig("sign-in has no client id")
	case c.RedirectURL == "":
		return refuseConfig("sign-in has a client id and no redirect address")
	case err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.RawQuery != "" || u.ForceQuery || u.Path != CallbackPath:
		return refuseConfig("the redirect address is not of the form https://host" + CallbackPath)
	case u.Scheme == "https", u.Scheme == "http" && Loopback(u.Hostname()):
		return nil
	}
	return refuseConfig("the redirect address is neither https nor on loopback")
}

// LoginCode says what a sign-in failed of.
type LoginCode string

const (
	LoginStale         LoginCode = "login_stale"         // the provider doesn't take its code any more
	LoginUnavailable   LoginCode = "login_unavailable"   // the provider doesn't answer
	LoginMisconfigured LoginCode = "login_misconfigured" // the provider doesn't take us as its client, or its answer has no ID token
	LoginForged        LoginCode = "login_forged"        // an ID token that isn't of this sign-in
	LoginToken         LoginCode = "login_token"         // an access token that the API wouldn't take
	LoginClient        LoginCode = "login_client"        // an access token of another client
)

// LoginError is one failed sign-in. It quotes neither a token nor what the provider wrote: that may name a person.
type LoginError struct {
	Code   LoginCode
	Detail string
	cause  error
}

func (e *LoginError) Error() string {
	text := "identity: sign in: " + string(e.Code) + ": " + e.Detail
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *LoginError) Unwrap() error { return e.cause }

// Login signs people in at the issuer of a [Verifier], by authorization code with PKCE.
type Login struct {
	verifier *Verifier
	oauth    oauth2.Config
	origin   string
	client   *http.Client
}

// endpoints are what a sign-in needs of the discovery document.
type endpoints struct {
	Authorize string   `json:"authorization_endpoint"`
	Token     string   `json:"token_endpoint"`
	Methods   []string `json:"token_endpoint_auth_methods_supported"`
	Challenge []string `json:"code_challenge_methods_supported"`
}

// OpenLogin reads the issuer's discovery document once, and fails if it can't, or if the issuer can't do what a sign-in needs.
func OpenLogin(ctx context.Context, verifier *Verifier, config LoginConfig) (*Login, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	var e endpoints
	issuer, transport := verifier.config.Issuer, verifier.config.Transport
	if err := discover(ctx, issuer, httpClient(transport), &e); err != nil {
		return nil, err
	}
	for what, address := range map[string]string{"the authorization endpoint": e.Authorize, "the token endpoint": e.Token} {
		if err := checkAddress(issuer, address, what); err != nil {
			return nil, err
		}
	}
	if len(e.Challenge) > 0 && !slices.Contains(e.Challenge, "S256") {
		return nil, refuseConfig("the issuer takes no PKCE challenge by S256")
	}
	style, err := e.style(config.Secret)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(e.Authorize)
	if err != nil {
		return nil, refuseConfig("the authorization endpoint is no address")
	}
	return &Login{
		verifier: verifier, origin: u.Scheme + "://" + u.Host, client: exchangeClient(transport),
		oauth: oauth2.Config{
			ClientID: config.ClientID, ClientSecret: config.Secret, RedirectURL: config.RedirectURL,
			Endpoint: oauth2.Endpoint{AuthURL: e.Authorize, TokenURL: e.Token, AuthStyle: style},
			Scopes:   append([]string{"openid"}, slices.DeleteFunc(slices.Clone(config.Scopes), func(s string) bool { return s == "openid" || s == "" })...),
		},
	}, nil
}

// style is how the secret is shown. It is never tried out: a code that is sent twice is a code that may be taken for stolen.
func (e endpoints) style(secret string) (oauth2.AuthStyle, error) {
	switch {
	case secret == "":
		return oauth2.AuthStyleInParams, nil // the client id alone
	case len(e.Methods) == 0 || slices.Contains(e.Methods, "client_secret_basic"):
		return oauth2.AuthStyleInHeader, nil
	case slices.Contains(e.Methods, "client_secret_post"):
		return oauth2.AuthStyleInParams, nil
	}
	return 0, refuseConfig("the issuer takes no client secret by client_secret_basic or client_secret_post")
}

// Origin is where browsers are sent to sign in, as scheme and host.
func (l *Login) Origin() string { return l.origin }

// Address is the page of the provider that a browser is sent to. Of the verifier it holds the S256 challenge only. The audience is
// named for providers that choose by it; others choose by scope or by the client, and ignore it (RFC 6749, 3.1).
func (l *Login) Address(state, nonce, verifier string) string {
	return l.oauth.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("nonce", nonce),
		oauth2.SetAuthURLParam("audience", l.verifier.config.Audience))
}

// Exchange turns the code that a browser came back with into the token that every request is made with. It is the access token, and
// one that the API takes: signed by the issuer for our audience. The ID token only proves that it is of this sign-in and of whom.
func (l *Login) Exchange(ctx context.Context, code, nonce, verifier string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	told, err := l.oauth.Exchange(context.WithValue(ctx, oauth2.HTTPClient, l.client), code, oauth2.VerifierOption(verifier))
	if err != nil {
		return "", exchangeFailed(err)
	}
	raw, _ := told.Extra("id_token").(string)
	subject, err := l.idToken(ctx, raw, nonce)
	if err != nil {
		return "", err
	}
	principal, err := l.verifier.Verify(ctx, told.AccessToken)
	switch {
	case errors.Is(err, ErrKeysUnavailable):
		return "", &LoginError{LoginUnavailable, "the issuer's keys can't be read", err}
	case err != nil:
		return "", &LoginError{LoginToken, "the API wouldn't take the access token", err}
	case principal.Client != l.oauth.ClientID:
		return "", &LoginError{Code: LoginClient, Detail: "the access token's client_id isn't the client that asked for it"}
	case principal.MemberSubject() != subject:
		return "", &LoginError{Code: LoginForged, Detail: "ID token and access token are of two subjects"}
	}
	return told.AccessToken, nil
}

// exchangeFailed keeps of the provider's answer a code that we know and the status, and of a failed request its cause.
func exchangeFailed(err error) error {
	var refused *oauth2.RetrieveError
	var request *url.Error
	switch {
	case errors.As(err, &refused):
	case errors.As(err, &request): // the network's words: address and cause
		return &LoginError{LoginUnavailable, "the token endpoint gave no answer", request.Err}
	default: // what could quote an answer
		return &LoginError{Code: LoginMisconfigured, Detail: "the token endpoint's answer is not one with an access token"}
	}
	status := 0
	if refused.Response != nil {
		status = refused.Response.StatusCode
	}
	switch refused.ErrorCode {
	case "invalid_grant":
		return &LoginError{Code: LoginStale, Detail: "the token endpoint answered invalid_grant"}
	case "invalid_client", "unauthorized_client", "invalid_request", "invalid_scope", "invalid_target", "unsupported_grant_type":
		return &LoginError{Code: LoginMisconfigured, Detail: "the token endpoint answered " + refused.ErrorCode}
	}
	if status >= 500 || status == http.StatusTooManyRequests {
		return &LoginError{Code: LoginUnavailable, Detail: fmt.Sprintf("the token endpoint answered %d", status)}
	}
	return &LoginError{Code: LoginMisconfigured, Detail: fmt.Sprintf("the token endpoint answered %d", status)}
}

// idClaims are what is looked at of an ID token (OpenID Connect Core, 3.1.3.7).
type idClaims struct {
	Issuer          string           `json:"iss"`
	Audience        jwt.Audience     `json:"aud"`
	AuthorizedParty string           `json:"azp"`
	Expiry          *jwt.NumericDate `json:"exp"`
	NotBefore       *jwt.NumericDate `json:"nbf"`
	IssuedAt        *jwt.NumericDate `json:"iat"`
	Subject         string           `json:"sub"`
	Nonce           string           `json:"nonce"`
}

// idToken answers who signed in, from a token that the issuer signed for us and for this nonce.
func (l *Login) idToken(ctx context.Context, token, nonce string) (string, error) {
	if token == "" {
		return "", &LoginError{Code: LoginMisconfigured, Detail: "the token endpoint gave no ID token"}
	}
	payload, err := l.verifier.signed(ctx, token)
	if errors.Is(err, ErrKeysUnavailable) {
		return "", &LoginError{LoginUnavailable, "the issuer's keys can't be read", err}
	}
	if err != nil {
		return "", &LoginError{LoginForged, "the ID token isn't the issuer's", err}
	}
	var c idClaims
	switch {
	case boundary.Check(payload) != nil || json.Unmarshal(payload, &c) != nil || !identifier(c.Subject):
		return "", &LoginError{Code: LoginForged, Detail: "the ID token's claims are not the JSON we expect"}
	case c.Issuer != l.verifier.config.Issuer:
		return "", &LoginError{Code: LoginForged, Detail: "the ID token is of another issuer"}
	case !slices.Contains(c.Audience, l.oauth.ClientID) || len(c.Audience) > 1 && c.AuthorizedParty != l.oauth.ClientID,
		c.AuthorizedParty != "" && c.AuthorizedParty != l.oauth.ClientID:
		return "", &LoginError{Code: LoginForged, Detail: "the ID token is for another client"}
	case nonce == "" || subtle.ConstantTimeCompare([]byte(c.Nonce), []byte(nonce)) != 1:
		return "", &LoginError{Code: LoginForged, Detail: "the ID token is of another sign-in"}
	}
	if err := l.verifier.checkTimes(c.Expiry, c.NotBefore, c.IssuedAt); err != nil {
		return "", &LoginError{LoginForged, "the ID token isn't valid now", err}
	}
	return c.Subject, nil
}

// exchangeClient reads a refusal as well as an answer, both of a bounded length, and follows no redirect: a code goes nowhere else.
func exchangeClient(transport http.RoundTripper) *http.Client {
	return &http.Client{
		Transport: short{transport}, Timeout: fetchTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

type short struct{ next http.RoundTripper }

func (s short) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxDocument), response.Body}
	return response, nil
}
