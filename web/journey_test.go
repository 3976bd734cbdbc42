package web_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/internal/browser"
)

// A member's way through the pages in a real browser: sees a proposal, edits and keeps it, declines another, forgets, and takes a
// consent back. The pages hold no script; a browser that would run some must find the same way as one that runs none.
func TestTheJourney(t *testing.T) {
	t.Parallel()
	t.Run("without script", func(t *testing.T) {
		t.Parallel()
		tab := browser.Open(t)
		tab.WithoutScript()
		journey(t, tab)
	})
	t.Run("with script", func(t *testing.T) {
		t.Parallel()
		journey(t, browser.Open(t))
	})
}

func journey(t *testing.T, tab *browser.Tab) {
	b := setup(t)
	b.member("ann")
	b.codes["one-code"] = b.token("ann")
	first := string(b.propose("ann", acts.Proposal{Body: "Prefers metric units in all tables.", Program: "atlas"}))
	second := string(b.propose("ann", acts.Proposal{Body: "Works late on Fridays.", Category: events.CategoryWork}))

	// A link alone signs nobody in.
	require.EqualValues(t, http.StatusOK, tab.Visit(b.server.URL+"/memory"))
	require.Contains(t, tab.Address(), "/sign-in?next=%2Fmemory")
	tab.Visit(b.server.URL + "/sign-in?code=one-code&next=/memory")
	require.Equal(t, "Sign in as Ann <Archer>", tab.Text("main form:first-of-type button"))
	require.EqualValues(t, http.StatusOK, tab.Press("main form:first-of-type button"))
	require.True(t, strings.HasSuffix(tab.Address(), "/memory"), tab.Address())
	require.Equal(t, "0 memories, 2 waiting for your decision", tab.Text(".counts"))
	require.Zero(t, tab.Count("input:checked, [autofocus]"), "nothing is ticked or focused beforehand")

	// Enter says neither yes nor no, wherever it is pressed.
	for _, field := range []string{"input[name=consent]", "input[name=askAgain]"} {
		require.EqualValues(t, http.StatusUnprocessableEntity, tab.Enter("#p-"+first+" "+field))
		require.Contains(t, tab.Text("#problem"), "You pressed neither")
		require.Equal(t, 2, tab.Count("article.card"), "both proposals still wait")
	}

	// Without the consents nothing is kept, and nothing that was typed is lost.
	words := "#f-" + first + "-body"
	tab.Write(words, "Prefers metric units.\n\n  Also in drawings.")
	require.EqualValues(t, http.StatusUnprocessableEntity, tab.Press("#p-"+first+" button[value=remember]"))
	require.Equal(t, "Prefers metric units.\n\n  Also in drawings.", tab.Value(words))
	require.Contains(t, tab.Text("#problem"), "It takes consents that you have not given.")
	require.Equal(t, "Error: What Iris remembers – Iris", tab.Title())

	tab.Click("#p-" + first + " input[value=data_processing]")
	tab.Click("#p-" + first + " input[value=data_storage]")
	require.EqualValues(t, http.StatusOK, tab.Press("#p-"+first+" button[value=remember]"))
	require.Contains(t, tab.Text("#status"), "Remembered")
	require.Equal(t, "1 memory, 1 waiting for your decision", tab.Text(".counts"))
	require.Equal(t, "Prefers metric units.\n\n  Also in drawings.", tab.Text("#m-"+first+" .words"))
	require.Contains(t, tab.Text("#m-"+first+" .facts"), "An assistant proposed it and you said yes")

	require.EqualValues(t, http.StatusOK, tab.Press("#p-"+second+" button[value=decline]"))
	require.Contains(t, tab.Text("#status"), "Not remembered. You will not be asked about it again.")
	require.Zero(t, tab.Count("#p-"+second))

	// A consent is taken back in one step, and what follows is said in words.
	tab.Visit(b.server.URL + "/consents")
	tab.Press("#c-data_storage button")
	require.Contains(t, tab.Text("#status"), "Taken back: Store what is remembered. Nothing that is remembered is used")
	tab.Visit(b.server.URL + "/memory")
	require.Contains(t, tab.Text(".paused"), "Nothing that is remembered is used")
	require.Contains(t, tab.Text("#m-"+first+" .unused"), "Not used now.")
	tab.Visit(b.server.URL + "/consents")
	tab.Press("#c-data_storage button[value=grant]")
	require.Contains(t, tab.Text("#status"), "Granted: Store what is remembered.")

	tab.Visit(b.server.URL + "/memory")
	require.Zero(t, tab.Count(".unused"))
	tab.Press("#m-" + first + " button[value=forget]")
	require.Contains(t, tab.Text("#status"), "Forgotten. It is no longer used. The text is due to be destroyed on ")
	require.Zero(t, tab.Count("#m-"+first))
	require.Contains(t, tab.Text(".empty"), "you had all of it forgotten")
	tab.Press("#status a")
	require.Equal(t, "Forgotten", tab.Text("h1"))
	require.Equal(t, "1 memory on this page, being forgotten", tab.Text(".counts"))
	require.Contains(t, tab.Text("#m-"+first), "Prefers metric units.")

	// What is being forgotten is restored there, or undone right after; then it is edited, paused and resumed, and found again.
	row := "#m-" + first
	require.EqualValues(t, http.StatusOK, tab.Press(row+" form[action$=restore] button"))
	require.Contains(t, tab.Text("#status"), "Restored.")
	require.Equal(t, "1 memory, 0 waiting for your decision", tab.Text(".counts"))
	tab.Press(row + " button[value=forget]")
	require.EqualValues(t, http.StatusOK, tab.Press("#status button"))
	require.Contains(t, tab.Text("#status"), "Restored.")

	tab.Visit(b.server.URL + "/memory/" + first + "/edit")
	require.Equal(t, "Prefers metric units.\n\n  Also in drawings.", tab.Value("#body"))
	other := b.edit("ann", events.ID(first), "Prefers imperial units.")
	tab.Write("#body", "Prefers metric units, also in letters.")
	require.EqualValues(t, http.StatusPreconditionFailed, tab.Press("main button[value=save]"))
	require.Contains(t, tab.Text("#problem"), "It was changed since you opened it.")
	require.Equal(t, "Prefers imperial units.", tab.Text("main section .words"))
	require.Equal(t, "Prefers metric units, also in letters.", tab.Value("#body"), "nothing that was typed is lost")
	require.Equal(t, string(other), tab.Value("input[name=ifMatch]"))
	require.EqualValues(t, http.StatusOK, tab.Press("main button[value=save]"))
	require.Contains(t, tab.Text("#status"), "Saved, word for word")
	require.Equal(t, "Prefers metric units, also in letters.", tab.Text(row+" .words"))

	tab.Visit(b.server.URL + "/memory/" + first + "/history")
	require.Contains(t, tab.Text("main li:first-child h2"), "You edited it")
	require.Equal(t, "imperial", strings.TrimSpace(tab.Text("main li:first-child del")))
	require.Contains(t, tab.Text("main li:first-child"), "metric")

	tab.Visit(b.server.URL + "/memory")
	require.EqualValues(t, http.StatusOK, tab.Press(row+" form[action$=pause] button"))
	require.Contains(t, tab.Text("#status"), "Paused.")
	require.Contains(t, tab.Text(row), "You paused it.")
	require.EqualValues(t, http.StatusOK, tab.Press(row+" form[action$=resume] button"))
	require.Contains(t, tab.Text("#status"), "Resumed.")
	require.Zero(t, tab.Count(".unused"))
	tab.Choose(row+" select[name=for]", "week")
	tab.Press(row + " form[action$=pause] button")
	require.Contains(t, tab.Text(row), "You paused it until ")
	tab.Press(row + " form[action$=resume] button")

	b.awaitWords()
	tab.Write("#q", "letter")
	require.EqualValues(t, http.StatusOK, tab.Press(".search button"))
	require.Equal(t, 1, tab.Count(row))
	tab.Write("#q", "imperial")
	tab.Press(".search button")
	require.Zero(t, tab.Count(row))
	require.Contains(t, tab.Text(".empty"), "Nothing matches")
	tab.Write("#q", "?!")
	tab.Press(".search button")
	require.Contains(t, tab.Text("#problem"), "There is no word to look for.")

	tab.Visit(b.server.URL + "/consents")
	tab.Visit(b.server.URL + browser.Ask[string](tab, `document.querySelector("#c-data_storage a[href$=receipt]").getAttribute("href")`))
	require.Contains(t, tab.Text("main dl"), "Store what is remembered")
	require.Contains(t, tab.Text("main dl"), "memory/2026-11")

	tab.Press("header form button")
	at, err := url.Parse(tab.Address())
	require.NoError(t, err)
	require.Equal(t, "/sign-in", at.Path)
}
