package web

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
	"iris.example/iris/limits"
)

// maxCookie is what browsers take for name, value and attributes together, less the attributes.
const maxCookie = 4096 - 128

func (s *Site) cookieName() string {
	if s.cfg.Secure {
		return "__Host-iris" // browsers take it from this host and over TLS only
	}
	return "iris"
}

// cookie has no end of its own: it goes with the browser, and the token in it ends by its own time.
func (s *Site) cookie(token string) *http.Cookie {
	return &http.Cookie{
		Name: s.cookieName(), Value: token, Path: "/", HttpOnly: true, Secure: s.cfg.Secure, SameSite: http.SameSiteStrictMode,
	}
}

// identify requires a verified token of a member. It answers for itself when there is none.
func (v *visit) identify() bool {
	cookie, err := v.r.Cookie(v.site.cookieName())
	if err != nil {
		v.signedOut()
		return false
	}
	principal, err := v.site.cfg.Verifier.Verify(v.r.Context(), cookie.Value)
	switch {
	case errors.Is(err, identity.ErrKeysUnavailable):
		v.fail(err)
		return false
	case err != nil:
		v.signedOut()
		return false
	}
	if err := v.within(principal); err != nil {
		v.fail(err)
		return false
	}
	caller, err := v.site.cfg.Acts.Identify(v.r.Context(), principal)
	v.caller = caller
	if err == nil && caller.Member == "" {
		err = acts.ErrNotAMember
	}
	if err != nil {
		v.fail(err)
		return false
	}
	return true
}

// within lets a member ask once more: a form is a command, anything else a read.
func (v *visit) within(p identity.Principal) error {
	kind := limits.Reads
	if v.r.Method == http.MethodPost {
		kind = limits.Commands
	}
	return v.site.cfg.Limits.Principal(kind, p.Issuer, p.Subject, p.Client)
}

// signedOut sends a reader to sign in and back. A form must not be lost on the way, so it is answered in place.
func (v *visit) signedOut() {
	if v.r.Method == http.MethodGet || v.r.Method == http.MethodHead {
		v.see("/sign-in", url.Values{"next": {v.r.URL.RequestURI()}})
		return
	}
	v.message(&problem{Status: http.StatusUnauthorized, Code: "unauthenticated", What: "You are signed out. Nothing was done.",
		Why:  "Your sign-in has ended, or there was none.",
		Next: "Sign in in another tab, come back here and reload this page: what you wrote is sent again."})
}

type signInPage struct {
	page
	Code, Name string // of a code that is known
	Next       string
	Provider   bool // there is one to sign in at
}

func (v *visit) signInPage(next string) signInPage {
	return signInPage{page: v.page("Sign in", ""), Next: next, Provider: v.site.login != nil}
}

// showForm lets the page's forms lead to the provider: browsers hold a form to form-action through its redirects, too.
func (v *visit) showForm(code int, data signInPage) {
	if data.Provider {
		v.w.Header().Set("Content-Security-Policy", strings.Replace(contentSecurityPolicy, "form-action 'self'", "form-action 'self' "+v.site.cfg.Provider.Origin(), 1))
	}
	v.render(code, "sign-in", data)
}

func (v *visit) showSignIn() {
	query := v.r.URL.Query()
	data := v.signInPage(query.Get("next"))
	if code := query.Get("code"); code != "" {
		name, _, ok := v.site.cfg.Codes(code)
		if !ok {
			data.Problem = unknownCode()
			v.showForm(data.Problem.Status, data)
			return
		}
		data.Code, data.Name = code, name
	}
	v.showForm(http.StatusOK, data)
}

func unknownCode() *problem {
	return &problem{Status: http.StatusUnauthorized, Code: "unauthenticated", What: "You are not signed in.",
		Why: "The code in this link is not known.", Next: "Use the newest link that iris up printed, or paste a token."}
}

func (v *visit) signIn() {
	form, p := v.form()
	if p != nil {
		v.message(p)
		return
	}
	// Counted before the code is looked up: whoever guesses learns no sooner that a guess was right.
	if err := v.site.cfg.Limits.Address(v.r.RemoteAddr); err != nil {
		v.fail(err)
		return
	}
	data := v.signInPage(form.Get("next"))
	token := strings.TrimSpace(form.Get("token"))
	if code := form.Get("code"); code != "" {
		var ok bool
		if _, token, ok = v.site.cfg.Codes(code); !ok {
			data.Problem = unknownCode()
		}
	}
	if data.Problem == nil {
		data.Problem = v.checkToken(token)
	}
	if data.Problem != nil {
		v.showForm(data.Problem.Status, data)
		return
	}
	http.SetCookie(v.w, v.site.cookie(token))
	http.Redirect(v.w, v.r, local(data.Next), http.StatusSeeOther)
}

func (v *visit) checkToken(token string) *problem {
	if len(token) > maxCookie {
		return &problem{Status: http.StatusUnauthorized, Code: "unauthenticated", What: "You are not signed in.", Field: "token",
			Why: "The token is too long to be kept in a cookie.", Next: "Ask for a token with fewer claims."}
	}
	_, err := v.site.cfg.Verifier.Verify(v.r.Context(), token)
	if err == nil {
		return nil
	}
	p := v.problem(err)
	p.Field = "token"
	return p
}

func (v *visit) signOut() {
	gone := v.site.cookie("")
	gone.MaxAge = -1
	http.SetCookie(v.w, gone)
	v.see("/sign-in", nil)
}

// local keeps a redirect on this site: a path of ours with its query, or the first page.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || strings.ContainsAny(next, "\\\r\n\t") {
		return "/memory"
	}
	switch u.Path {
	case "/memory", "/memory/new", "/consents", "/settings", "/roles":
		return (&url.URL{Path: u.Path, RawQuery: u.RawQuery}).String()
	}
	return "/memory"
}
