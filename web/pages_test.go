package web_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
)

func TestAProposalIsKeptWordForWord(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	v := b.signedIn("ann")
	id := string(b.propose("ann", acts.Proposal{Body: "  Prefers 3 or 5 \"metric\" units\n\n\t  in tables.", Program: "atlas"}))

	page := v.get("/memory")
	require.Equal(t, http.StatusOK, page.status)
	require.Contains(t, page.body, "0 memories, 1 waiting for your decision")
	t.Log(page.body)
	form := page.form(t, "/proposals/"+id)
	form.Set("body", "x")
	form.Set("category", string(events.CategoryPreference))
	form.Set("answer", "remember")
	form["consent"] = []string{"data_processing", "data_storage"}
	after := v.post("/proposals/"+id, form)
	require.Equal(t, http.StatusOK, after.status)
	require.Equal(t, "/memory", after.url.Path)
	t.Log(after.said())
	_ = url.Values{}
}
