// Package web is what a member sees: server-rendered pages that work without script (spec 10.2 to 10.4, house "Pages"). It shows
// what acts read and turns forms into acts; it decides nothing.
//
// It guarantees: every act is a form that is answered with 303, or with the same form and everything that was typed; nothing is
// kept by a stray Enter, a pre-ticked box or a default; a change is claimed only when the read models show it; every page but
// those that the route table calls Anyone's is answered to a verified member only, never stored by a cache, and framed, scripted
// or posted to from another site by nobody.
//
// It fails closed: a token that can't be verified is no token, and a template that breaks shows nothing of its page.
package web
