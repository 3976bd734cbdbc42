package web_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// TestFormsThatNoPageSends: what isn't text is refused before an act sees it, and a consent counts once however often it is named.
func TestFormsThatNoPageSends(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	ann := b.signedIn("ann")
	form := ann.get("/memory/new").form(t, "/memory")
	for name, value := range map[string]string{"answer": "remember", "kind": "lesson", "category": "work", "termsId": "memory", "termsVersion": "2026-11"} {
		form.Set(name, value)
	}
	for name, body := range map[string]string{"not UTF-8": "Tea\xff", "NUL": "Tea\x00"} {
		form.Set("body", body)
		page := ann.post("/memory", form)
		require.Equal(t, http.StatusBadRequest, page.status, name)
		require.Contains(t, page.body, "The form can&#39;t be read", name)
	}

	last := func() uint64 {
		seq, err := b.log.Last(context.Background(), events.StreamFor(org))
		require.NoError(t, err)
		return seq
	}
	before := last()
	form.Set("body", "Tea, please.")
	form["consent"] = strings.Split(strings.Repeat("data_processing,data_storage,nonsense,", 2000), ",")
	page := ann.post("/memory", form)
	require.Contains(t, page.said(), "Remembered", page.body)
	require.Equal(t, before+3, last(), "two consents and the words")
}
