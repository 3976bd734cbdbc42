package web_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/projections/reader"
)

func TestAMemoryIsTakenToEveryProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	v := b.signedIn("ann")
	id := b.remember("ann", "Send drafts to <ann@example.org> & wait.", events.CategoryPreference)
	path := "/memory/" + string(id) + "/promote"
	require.Contains(t, v.get("/memory").body, `href="`+path+`"`)

	page := v.get(path)
	require.Contains(t, page.body, "Send drafts to &lt;ann@example.org&gt; &amp; wait.")
	page = v.post(path, page.form(t, path))
	require.Equal(t, http.StatusUnprocessableEntity, page.status)
	require.Contains(t, page.body, `&lt;<mark title="email address">ann@example.org</mark>&gt;`)
	require.Contains(t, page.body, "<li>email address</li>")
	require.Contains(t, page.body, `href="/memory/`+string(id)+`/edit"`)

	b.edit("ann", id, "Send drafts early.")
	page = v.post(path, v.get(path).form(t, path))
	require.Contains(t, page.said(), "It may be used in every program now.")
	require.Contains(t, page.body, "Send drafts early.")
	require.Contains(t, v.get("/memory?tier=person").body, "Yours alone, in every program of your organisation")
	list, err := b.acts.AgentMemory(context.Background(), b.caller("ann"), "default", reader.Page{})
	require.NoError(t, err)
	require.Empty(t, list.Items, "the member sees one memory")
}

func TestALessonStaysInItsProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.member("ben")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	kept, err := b.acts.Remember(context.Background(), b.caller("ann"), b.request(), acts.Words{
		Kind: events.KindLesson, Category: events.CategoryWork, Body: "Check the units first.",
	})
	require.NoError(t, err)
	b.await(kept.Position)
	path := "/memory/" + string(kept.MemoryID) + "/promote"
	v := b.signedIn("ann")
	require.NotContains(t, v.get("/memory").body, path, "what can't be done isn't offered")
	page := v.post(path, v.get(path).form(t, path))
	require.Equal(t, http.StatusUnprocessableEntity, page.status)
	require.Contains(t, page.body, "lessons, stay in their program")

	require.Equal(t, http.StatusNotFound, b.signedIn("ben").get(path).status, "another's is as unknown as one that isn't there")
}
