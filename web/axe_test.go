package web_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/internal/browser"
)

// Every page, empty and full, in both colour schemes, with and without a refusal: no violation of WCAG 2.2 AA or of axe's best
// practices.
func TestPagesAreAccessible(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.member("new")
	b.codes["ann"], b.codes["new"] = b.token("ann"), b.token("new")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage, events.PurposeCrossDevice)
	b.consent("ann", "deny", "medical")
	old := b.remember("ann", "Prefers metric units.", events.CategoryPreference)
	b.forget("ann", b.remember("ann", "Has a cat.", events.CategoryOther))
	b.propose("ann", acts.Proposal{Body: "Has asthma.", Category: events.CategoryPhysicalHealth, Subject: "breath"})
	session := string(b.propose("ann", acts.Proposal{
		Body: "Wants short answers\n\ttoday.", Scope: events.Scope{Kind: events.ScopeSession, SessionID: "s-81"}, Program: "atlas",
		SourceRefs: []events.SourceRef{{Kind: "conversation", Ref: "c-19", Turns: []int{4, 6}}},
	}))

	tab := browser.Open(t)
	look := func(name, path string) {
		t.Helper()
		tab.Visit(b.server.URL + path)
		tab.Accessible(name)
		for _, id := range browser.Ask[[]string](tab, `[...document.querySelectorAll("[id]")].map(e => e.id)`) {
			require.Equal(t, 1, browser.Ask[int](tab, `document.querySelectorAll("[id='`+id+`']").length`), "%s: id %s", name, id)
		}
	}
	look("sign in", "/sign-in")
	look("sign in with an unknown code", "/sign-in?code=x")
	look("sign in with a code", "/sign-in?code=new")
	tab.Press("main form:first-of-type button")
	look("empty memory", "/memory")
	look("nothing matches", "/memory?category=work")
	look("nothing forgotten", "/memory?show=forgotten")
	look("own words", "/memory/new")
	look("consents", "/consents")
	look("settings", "/settings")
	look("no such page", "/nowhere")

	tab.Visit(b.server.URL + "/sign-in?code=ann")
	tab.Press("main form:first-of-type button")
	look("full memory", "/memory")
	look("saving", "/memory?at=999999&done=forgotten&id="+string(old))
	look("filtered", "/memory?category=preference")
	look("filtered by all", "/memory?tier=individual&state=paused&kept=unasked&program=atlas")
	b.optOut("ann", events.OptOut{Kind: events.OptOutCategory, Key: "family"})
	b.decline("ann", b.propose("ann", acts.Proposal{Body: "Likes tea.", Program: "atlas"}))
	look("full settings", "/settings")
	look("forgotten", "/memory?show=forgotten")
	look("full consents", "/consents")
	look("found", "/memory?q=metric")
	look("no words to look for", "/memory?q=%3F")
	look("edit", "/memory/"+string(old)+"/edit")
	address := b.remember("ann", "Write to ann@example.org.", events.CategoryOther)
	look("take to every program", "/memory/"+string(address)+"/promote")
	require.EqualValues(t, http.StatusUnprocessableEntity, tab.Press("main form button"))
	tab.Accessible("words that can't leave")
	look("just forgotten, with its undo", b.forgotten("ann", b.remember("ann", "Has a dog.", events.CategoryOther)))
	edited := b.remember("ann", "Likes short answers.", events.CategoryPreference)
	b.edit("ann", edited, "Likes long answers.")
	look("history", "/memory/"+string(edited)+"/history")
	b.pause("ann", edited)
	look("paused", "/memory")
	tab.Visit(b.server.URL + "/consents")
	look("receipt", browser.Ask[string](tab, `document.querySelector("a[href$=receipt]").getAttribute("href")`))

	lesson := "/memory/" + string(b.lesson("Ask ann@example.org about units.")) + "/share"
	look("offer to a role", lesson)
	tab.Press("main form button")
	b.member("carl")
	b.tell("carl", b.members["carl"], member.GiveRole{Role: "reviewer"})
	b.codes["carl"] = b.token("carl")
	tab.Visit(b.server.URL + "/sign-in?code=carl")
	tab.Press("main form:first-of-type button")
	look("role memory, before a curator", "/roles")
	tab.Press("main button[value=accept]")
	look("role memory, before a holder", "/roles")
	tab.Press("main button[value=confirm]")
	tab.Accessible("a refused confirmation")
	tab.Visit(b.server.URL + "/sign-in?code=ann")
	tab.Press("main form:first-of-type button")

	// Paper has the texts that the screen folds away, and none of the buttons.
	shows := func(css string) bool {
		return browser.Ask[bool](tab, `[...document.querySelectorAll("`+css+`")].some(e => e.checkVisibility({contentVisibilityAuto: true}) && e.getClientRects().length > 0)`)
	}
	tab.Visit(b.server.URL + "/memory")
	require.True(t, shows("nav") && shows("button[value=remember]") && !shows(".terms"))
	tab.Media("print", "light")
	require.True(t, !shows("nav") && !shows("button[value=remember]") && shows(".terms") && shows("textarea"))
	require.Greater(t, len(tab.Print()), 10<<10)
	tab.Media("", "light")

	tab.Visit(b.server.URL + "/memory")
	require.EqualValues(t, http.StatusUnprocessableEntity, tab.Press("#p-"+session+" button[value=remember]"))
	tab.Accessible("a refused answer")
	require.Equal(t, "problem", browser.Ask[string](tab, `document.activeElement.id`), "focus goes to what went wrong")
	tab.Click("#problem a")
	require.Equal(t, "f-"+session+"-keep", browser.Ask[string](tab, `document.activeElement.id`), "and from there to the field")

	tab.Visit(b.server.URL + "/memory/new")
	tab.Write("#body", "Sleeps badly.")
	tab.Choose("#category", "physical_health")
	require.EqualValues(t, http.StatusUnprocessableEntity, tab.Press("main button[value=remember]"))
	tab.Accessible("refused own words")

	tab.Visit(b.server.URL + "/memory")
	tab.Press("#m-" + string(old) + " button[value=forget]")
	require.Equal(t, "status", browser.Ask[string](tab, `document.activeElement.id`), "focus goes to what was done")
	require.Empty(t, browser.Ask[[]string](tab, `[...document.querySelectorAll("main :is(a, button, summary, input:not([type=hidden]), select)")]
		.filter(e => !e.classList.contains("nothing") && e.checkVisibility())
		.filter(e => { const r = e.getBoundingClientRect(); return r.height < 24 && getComputedStyle(e).display != "inline" })
		.map(e => e.outerHTML)`), "targets of at least 24 pixels")
}
