package web_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// lesson is something that ann keeps and may share.
func (b *bundle) lesson(words string) events.ID {
	b.t.Helper()
	kept, err := b.acts.Remember(context.Background(), b.caller("ann"), b.request(), acts.Words{
		Kind: events.KindLesson, Category: events.CategoryWork, Body: words,
	})
	require.NoError(b.t, err)
	b.await(kept.Position)
	return kept.MemoryID
}

// curation has ann who offers, carl who curates and ruth who holds the role.
func curation(t *testing.T) *bundle {
	b := setup(t)
	for _, name := range []string{"ann", "carl", "ruth"} {
		b.member(name)
	}
	b.tell("ruth", b.members["ruth"], member.GiveRole{Role: "reviewer"})
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	return b
}

func (v *visitor) curate(t *testing.T, answer string) answered {
	t.Helper()
	page := v.get("/roles")
	path := between(page.body, `<form method="post" action="/roles/reviewer/`, `"`)
	form := page.form(t, "/roles/reviewer/"+path)
	form.Set("answer", answer)
	return v.post("/roles/reviewer/"+path, form)
}

func TestTwoPeopleMakeAVersion(t *testing.T) {
	t.Parallel()
	b := curation(t)
	ann, carl, ruth := b.signedIn("ann"), b.signedIn("carl"), b.signedIn("ruth")
	require.Equal(t, http.StatusNotFound, ann.get("/roles").status)
	require.NotContains(t, ann.get("/memory").body, `href="/roles"`)
	require.Contains(t, ruth.get("/roles").body, "Nothing is shared with this role yet")

	offer := func(words string) events.ID {
		id := b.lesson(words)
		path := "/memory/" + string(id) + "/share"
		require.Contains(t, ann.get("/memory").body, `href="`+path+`"`)
		form := ann.get(path).form(t, path)
		form.Set("role", "reviewer")
		require.Contains(t, ann.post(path, form).said(), "Offered.")
		return id
	}
	first := offer("Check the units first.")
	page := carl.get("/roles")
	require.Contains(t, page.body, "Check the units first.")
	require.Contains(t, page.body, "it would be the first")
	require.NotContains(t, page.body, string(b.members["ann"]), "nobody learns who offered it")
	require.NotContains(t, ruth.get("/roles").body, "Check the units first.")

	path := between(page.body, `<form method="post" action="/roles/reviewer/`, `"`)
	form := page.form(t, "/roles/reviewer/"+path)
	form.Set("answer", "accept")
	require.Equal(t, http.StatusNotFound, carl.post("/roles/Reviewer.x/"+path, form).status, "no role is called that")

	require.Contains(t, carl.curate(t, "accept").said(), "Accepted.")
	page = carl.curate(t, "confirm")
	require.Equal(t, http.StatusForbidden, page.status)
	require.Contains(t, page.body, "It takes another person")
	require.Contains(t, ruth.curate(t, "confirm").said(), "Confirmed.")
	require.Contains(t, ruth.get("/roles").body, "Check the units first.")

	// What the scrubber finds is taken out and named, on the curator's page too.
	offer("Send units to ann@example.org, please.")
	page = carl.get("/roles")
	require.Contains(t, page.body, "Send units to [email address], please.")
	require.Contains(t, page.body, "The scrubber took out of it: email address.")
	require.NotContains(t, page.body, "ann@example.org")
	require.Contains(t, carl.curate(t, "reject").said(), "Rejected.")

	// The next one is shown beside the one that stands.
	offer("Check the units and the dates first.")
	require.Contains(t, carl.get("/roles").body, "<ins>")
	require.Contains(t, carl.curate(t, "reject").said(), "Rejected.")

	b.forget("ann", first)
	page = ruth.get("/roles")
	require.NotContains(t, page.body, "Check the units first.")
	require.Contains(t, page.body, "A lesson was withdrawn on")
	require.Contains(t, carl.get("/roles").body, "Its version was withdrawn")
}
