package web

import (
	"net/http"

	"iris.example/iris/acts"
	"iris.example/iris/identity"
)

// Who may be answered.
type Who string

const (
	Anyone Who = "anyone"
	Member Who = "member" // whoever brings a verified token in the cookie
)

// Route is one line of the table. There is no other way in.
type Route struct {
	Method  string // empty: any
	Pattern string
	Who     Who
	serve   func(*visit)
}

// Routes is the whole table.
func Routes() []Route {
	return []Route{
		{"GET", "/{$}", Member, (*visit).home},
		{"GET", "/memory", Member, (*visit).showMemory},
		{"POST", "/memory", Member, (*visit).stateWords},
		{"GET", "/memory/new", Member, (*visit).showNew},
		{"POST", "/memory/{id}/forget", Member, (*visit).forget},
		{"GET", "/memory/{id}/edit", Member, (*visit).showEdit},
		{"POST", "/memory/{id}/edit", Member, (*visit).revise},
		{"POST", "/memory/{id}/pause", Member, (*visit).pause},
		{"POST", "/memory/{id}/resume", Member, (*visit).resume},
		{"POST", "/memory/{id}/restore", Member, (*visit).restore},
		{"GET", "/memory/{id}/promote", Member, (*visit).showPromote},
		{"POST", "/memory/{id}/promote", Member, (*visit).promote},
		{"GET", "/memory/{id}/share", Member, (*visit).showShare},
		{"POST", "/memory/{id}/share", Member, (*visit).share},
		{"GET", "/memory/{id}/history", Member, (*visit).showHistory},
		{"POST", "/proposals/{id}", Member, (*visit).answer},
		{"GET", "/consents", Member, (*visit).showConsents},
		{"POST", "/consents", Member, (*visit).decide},
		{"POST", "/consents/{id}/withdraw", Member, (*visit).withdraw},
		{"GET", "/consents/{id}/receipt", Member, (*visit).showReceipt},
		{"GET", "/roles", Member, (*visit).showRoles},
		{"POST", "/roles/{role}/{id}", Member, (*visit).curate},
		{"GET", "/settings", Member, (*visit).showSettings},
		{"POST", "/settings", Member, (*visit).changeSettings},
		{"POST", "/settings/opt-outs", Member, (*visit).optOut},
		{"POST", "/settings/declined/{id}", Member, (*visit).liftDeclined},
		{"GET", "/sign-in", Anyone, (*visit).showSignIn},
		{"POST", "/sign-in", Anyone, (*visit).signIn},
		{"POST", "/sign-in/oidc", Anyone, (*visit).startLogin},
		{"GET", identity.CallbackPath, Anyone, (*visit).finishLogin},
		{"POST", "/sign-out", Anyone, (*visit).signOut},
		{"GET", "/static/{file}", Anyone, (*visit).asset},
		{"", "/", Anyone, (*visit).nothingHere},
	}
}

// visit is one request with what is known of who makes it.
type visit struct {
	site   *Site
	w      http.ResponseWriter
	r      *http.Request
	route  Route
	caller acts.Caller // of Member routes only
}
