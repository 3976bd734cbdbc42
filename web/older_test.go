package web_test

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
)

// older follows the link of that text.
func (v *visitor) older(t *testing.T, page answered, text string) answered {
	t.Helper()
	require.Contains(t, page.body, `">`+text+`</a>`)
	before, _, _ := strings.Cut(page.body, `">`+text+`</a>`)
	next := v.get(html.UnescapeString(before[strings.LastIndex(before, `<a href="`)+len(`<a href="`):]))
	require.Equal(t, http.StatusOK, next.status)
	return next
}

// Each candidate is on one page, for the curator and then for who holds the role.
func TestMoreCandidatesThanAPage(t *testing.T) {
	t.Parallel()
	b := curation(t)
	carl, ruth := b.signedIn("carl"), b.signedIn("ruth")
	offer := func(n int) events.ID {
		id := b.lesson(fmt.Sprintf("Lesson %d ends here.", n))
		offered, err := b.acts.ProposeShare(context.Background(), b.caller("ann"), b.request(), events.DefaultProgram, id, acts.Offer{Role: "reviewer"})
		require.NoError(t, err)
		return offered.CandidateID
	}
	var all []events.ID
	for n := range 22 {
		all = append(all, offer(n))
	}
	first := carl.get("/roles")
	second := carl.older(t, first, "Show older ones that wait for a curator")
	for n, shown := range map[int]answered{21: first, 2: first, 1: second, 0: second} {
		require.Contains(t, shown.body, fmt.Sprintf("Lesson %d ends here.", n))
	}
	require.Equal(t, 20, strings.Count(first.body, "ends here."))
	require.Equal(t, 2, strings.Count(second.body, "ends here."))
	require.NotContains(t, second.body, "Show older")
	require.Contains(t, second.body, `<a href="/roles">All roles</a>`)

	for _, id := range all {
		_, err := b.acts.AcceptCandidate(context.Background(), b.caller("carl"), b.request(), "reviewer", id)
		require.NoError(t, err)
	}
	for v, text := range map[*visitor]string{ruth: "Show older ones that wait to be confirmed", carl: "Show older ones that are accepted"} {
		first = v.get("/roles")
		second = v.older(t, first, text)
		require.Equal(t, 20, strings.Count(first.body, "ends here."))
		require.Equal(t, 2, strings.Count(second.body, "ends here."))
		require.Contains(t, second.body, "Lesson 0 ends here.")
	}
	require.Equal(t, http.StatusNotFound, ruth.get("/roles?role=nobody").status)
	require.Equal(t, 20, strings.Count(ruth.get("/roles?role=reviewer&accepted=x").body, "ends here."), "no mark: from the newest on")
}

func TestMoreRolesThanAPage(t *testing.T) {
	t.Parallel()
	b := curation(t)
	for n := range 20 {
		b.define(context.Background(), organisation.DefineRole{Role: fmt.Sprintf("a-%02d", n)})
	}
	carl := b.signedIn("carl")
	first := carl.get("/roles")
	require.Equal(t, 20, strings.Count(first.body, `<section aria-labelledby="role-`))
	second := carl.older(t, first, "Show more roles")
	require.Equal(t, 1, strings.Count(second.body, `<section aria-labelledby="role-`))
	require.Contains(t, second.body, `id="role-reviewer"`)
}

func TestMoreRevisionsThanAPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	id := b.remember("ann", "Version 1.", events.CategoryWork)
	for n := 2; n <= 51; n++ {
		b.edit("ann", id, fmt.Sprintf("Version %d.", n))
	}
	v := b.signedIn("ann")
	first := v.get("/memory/" + string(id) + "/history")
	require.Contains(t, first.body, `<ol class="cards" reversed start="51">`)
	require.Equal(t, 50, strings.Count(first.body, "<h2 id="))
	require.NotContains(t, first.body, "Revision 1: ")
	second := v.older(t, first, "Show older revisions")
	require.Contains(t, second.body, "Revision 1: You said it")
	require.Contains(t, second.body, "Version 1.")
	require.Equal(t, 1, strings.Count(second.body, "<h2 id="))
}

// What still waits is not said to be declined, however many newer ones wait with it.
func TestAProposalBehindAllPagesStillWaits(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	propose := func(n int) events.ID {
		return b.propose("ann", acts.Proposal{Kind: events.KindPreference, Category: events.CategoryWork, Body: fmt.Sprintf("Claim %d.", n)})
	}
	oldest := propose(0)
	for n := range 200 {
		propose(n + 1)
	}
	v := b.signedIn("ann")
	require.Empty(t, v.get("/memory?done=declined&at=1&id="+string(oldest)).said())
	b.decline("ann", oldest)
	require.Contains(t, v.get("/memory?done=declined&at=1&id="+string(oldest)).said(), "Not remembered.")
}
