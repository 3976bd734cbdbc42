package web

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"iris.example/iris/identity"
)

const (
	loginKeySize = 32
	loginWithin  = 10 * time.Minute // from our button to the way back
)

// login is a sign-in that is under way. Only the browser that began it has it, sealed: it can't be read there, made up or changed.
type login struct {
	State, Nonce, Verifier, Next string
	Until                        int64 // Unix seconds
}

// prepareLogin derives a key of its own: whoever shares the one it comes from has another use for it.
func (s *Site) prepareLogin() error {
	if s.cfg.Provider == nil {
		return nil
	}
	key, err := hkdf.Key(sha256.New, s.cfg.LoginKey, nil, "iris sign-in cookie 1", loginKeySize)
	if err != nil {
		return err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	s.login, err = cipher.NewGCMWithRandomNonce(block)
	return err
}

func (s *Site) loginCookieName() string { return s.cookieName() + "-sign-in" }

// loginCookie is Lax: the way back begins at the provider, from where a Strict one would not be brought along.
func (s *Site) loginCookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: s.loginCookieName(), Value: value, Path: "/", HttpOnly: true, Secure: s.cfg.Secure, SameSite: http.SameSiteLaxMode,
		MaxAge: int(life.Seconds()),
	}
}

func (s *Site) seal(l login) (string, error) {
	plain, err := json.Marshal(l)
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.login.Seal(nil, nil, plain, []byte(s.loginCookieName()))), nil
}

// open answers a sign-in that we sealed and that may still be finished.
func (s *Site) open(value string) (login, bool) {
	sealed, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return login{}, false
	}
	plain, err := s.login.Open(nil, nil, sealed, []byte(s.loginCookieName()))
	if err != nil {
		return login{}, false
	}
	var l login
	if json.Unmarshal(plain, &l) != nil || s.cfg.Now().Unix() >= l.Until {
		return login{}, false
	}
	return l, true
}

// startLogin sends a browser to the provider with a challenge, and has it keep what answers the challenge.
func (v *visit) startLogin() {
	if v.site.login == nil {
		v.nothingHere()
		return
	}
	form, p := v.form()
	if p != nil {
		v.message(p)
		return
	}
	if err := v.site.cfg.Limits.Address(v.r.RemoteAddr); err != nil {
		v.fail(err)
		return
	}
	started := login{ // 26 letters are 130 bits; RFC 7636 asks for 43 letters or more
		State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text(), Next: local(form.Get("next")),
		Until: v.site.cfg.Now().Add(loginWithin).Unix(),
	}
	sealed, err := v.site.seal(started)
	if err != nil {
		v.fail(err)
		return
	}
	if len(sealed) > maxCookie { // a query of many kilobytes: the first page will do
		started.Next = local("")
		if sealed, err = v.site.seal(started); err != nil {
			v.fail(err)
			return
		}
	}
	http.SetCookie(v.w, v.site.loginCookie(sealed, loginWithin))
	http.Redirect(v.w, v.r, v.site.cfg.Provider.Address(started.State, started.Nonce, started.Verifier), http.StatusSeeOther)
}

// finishLogin takes a browser back from the provider: only the one that was sent there, only once, and only to a page of ours.
func (v *visit) finishLogin() {
	if v.site.login == nil {
		v.nothingHere()
		return
	}
	if err := v.site.cfg.Limits.Address(v.r.RemoteAddr); err != nil {
		v.fail(err)
		return
	}
	query := v.r.URL.Query()
	started, ok := v.started(query.Get("state"))
	if !ok {
		v.message(staleLogin())
		return
	}
	// It is used up, whatever comes of it. A state that isn't this browser's uses nothing up, so that a link from elsewhere ends no sign-in.
	http.SetCookie(v.w, v.site.loginCookie("", -time.Second))
	if said := query.Get("error"); said != "" {
		v.loginFailed(providerSaid(said), knownError(said))
		return
	}
	token, err := v.site.cfg.Provider.Exchange(v.r.Context(), query.Get("code"), started.Nonce, started.Verifier)
	if err != nil {
		v.loginFailed(loginProblem(err), err)
		return
	}
	if len(token) > maxCookie {
		v.loginFailed(misconfigured("The access token is too long to be kept in a cookie.", "give it fewer claims"), errors.New("the access token is too long for a cookie"))
		return
	}
	http.SetCookie(v.w, v.site.cookie(token))
	v.signedIn(local(started.Next))
}

// signedIn is a page rather than a 303: through a redirect that began at the provider's site browsers bring no Strict cookie along. What
// begins at this page is ours.
func (v *visit) signedIn(next string) {
	data := v.signInPage(next)
	data.Title = "You are signed in"
	v.w.Header().Set("Refresh", "0; url="+next)
	v.render(http.StatusOK, "signed-in", data)
}

// started is the sign-in that this browser began with this state.
func (v *visit) started(state string) (login, bool) {
	cookie, err := v.r.Cookie(v.site.loginCookieName())
	if err != nil {
		return login{}, false
	}
	started, ok := v.site.open(cookie.Value)
	return started, ok && subtle.ConstantTimeCompare([]byte(state), []byte(started.State)) == 1
}

// loginFailed tells the log what is for whoever operates this: a code of ours, never what the provider wrote.
func (v *visit) loginFailed(p *problem, err error) {
	if p.Status >= http.StatusInternalServerError {
		v.site.cfg.Logger.Error("sign-in failed", "code", p.Code, "error", err)
	}
	v.message(p)
}

func staleLogin() *problem {
	return &problem{Status: http.StatusBadRequest, Code: "sign_in_stale", What: "You are not signed in.",
		Why:  "This sign-in was not begun in this browser, was finished already, or has taken longer than ten minutes.",
		Next: "Begin again from the sign-in page."}
}

func providerDown() *problem {
	return &problem{Status: http.StatusServiceUnavailable, Code: "sign_in_unavailable", What: "You are not signed in.",
		Why: "Your organisation’s sign-in doesn’t answer now.", Next: "Begin again in a moment."}
}

func misconfigured(why, do string) *problem {
	return &problem{Status: http.StatusBadGateway, Code: "sign_in_misconfigured", What: "You are not signed in.", Why: why,
		Next: "You can’t correct it here. Whoever runs your organisation’s sign-in has to: " + do + "."}
}

// providerSaid puts an error that the browser brought back into our words (RFC 6749, 4.1.2.1; OpenID Connect Core, 3.1.2.6). The
// provider's own words aren't shown: anybody can write them into a link.
func providerSaid(code string) *problem {
	switch code {
	case "access_denied":
		return &problem{Status: http.StatusForbidden, Code: "sign_in_refused", What: "You are not signed in.",
			Why: "You or your organisation’s sign-in said no.", Next: "Begin again, or ask whoever runs it whether you may use Iris."}
	case "login_required", "interaction_required", "consent_required", "account_selection_required":
		return &problem{Status: http.StatusForbidden, Code: "sign_in_refused", What: "You are not signed in.",
			Why: "Your organisation’s sign-in wants something of you first.", Next: "Begin again, and answer what it asks."}
	case "server_error", "temporarily_unavailable":
		return providerDown()
	}
	return misconfigured("Your organisation’s sign-in doesn’t take Iris’s request.",
		"register Iris with its redirect address, response type “code” and the scopes that it asks for")
}

// knownError is for the log, where nothing stands that anybody can write into a link.
func knownError(code string) error {
	switch code {
	case "invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope", "invalid_target", "server_error", "temporarily_unavailable":
		return errors.New("the provider sent the browser back with " + code)
	}
	return errors.New("the provider sent the browser back with an error")
}

func loginProblem(err error) *problem {
	var failed *identity.LoginError
	if !errors.As(err, &failed) {
		return providerDown()
	}
	switch failed.Code {
	case identity.LoginStale:
		return staleLogin()
	case identity.LoginUnavailable:
		return providerDown()
	case identity.LoginForged:
		return &problem{Status: http.StatusBadRequest, Code: "sign_in_forged", What: "You are not signed in.",
			Why: "What came back from your organisation’s sign-in doesn’t belong to this one.", Next: "Begin again from the sign-in page. If it happens again, tell whoever runs Iris."}
	case identity.LoginClient:
		return misconfigured("The access token says another client_id than Iris’s own.", "put the client’s id into the claim client_id")
	case identity.LoginToken:
		return tokenRefused(failed)
	}
	return misconfigured("Your organisation’s sign-in and Iris don’t agree about Iris as its client.",
		"compare client id, secret and redirect address, and let the scope openid give an ID token")
}

// tokenRefused says what the provider has to be set to, so that its access token is one that the API takes.
func tokenRefused(failed *identity.LoginError) *problem {
	var token *identity.Error
	if !errors.As(failed, &token) {
		return providerDown()
	}
	why := "The access token of your organisation’s sign-in is not one that Iris takes: " + token.Detail + "."
	switch token.Code {
	case identity.TokenMalformed, identity.TokenMissing:
		return misconfigured(why, "give Iris’s client access tokens that are signed JWTs (RFC 9068), not opaque ones")
	case identity.TokenAudience:
		return misconfigured(why, "give Iris’s client access tokens for Iris’s audience")
	case identity.TokenAlgorithm, identity.TokenSignature, identity.TokenKeyUnknown:
		return misconfigured(why, "sign access tokens by RS256, ES256 or EdDSA with a key of its published key set")
	case identity.TokenIssuer:
		return misconfigured(why, "write the issuer that Iris is set to into the access token")
	case identity.TokenExpired, identity.TokenNotYetValid:
		return misconfigured(why, "compare its clock with Iris’s")
	}
	return misconfigured(why, "put sub, client_id, org, exp and iat into the access token")
}
