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

// A member's way through the pages in a real browser that runs no script: sees a proposal, edits and keeps it, declines another,
// forgets, and takes a consent back.
func TestTheJourneyWithoutScript(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.codes["one-code"] = b.token("ann")
	first := string(b.propose("ann", acts.Proposal{Body: "Prefers metric units in all tables.", Program: "atlas"}))
	second := string(b.propose("ann", acts.Proposal{Body: "Works late on Fridays.", Category: events.CategoryWork}))

	tab := browser.Open(t)
	tab.WithoutScript()

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
	require.Contains(t, tab.Text("#status"), "Forgotten. It is no longer used. The text is destroyed on ")
	require.Zero(t, tab.Count("#m-"+first))
	require.Contains(t, tab.Text(".empty"), "you had all of it forgotten")
	tab.Press("#status a")
	require.Equal(t, "Forgotten", tab.Text("h1"))
	require.Equal(t, "1 memory on this page, being forgotten", tab.Text(".counts"))
	require.Contains(t, tab.Text("#m-"+first), "Prefers metric units.")

	tab.Press("header form button")
	at, err := url.Parse(tab.Address())
	require.NoError(t, err)
	require.Equal(t, "/sign-in", at.Path)
}
