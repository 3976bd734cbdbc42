package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// What an assistant used is counted once per recall and memory, shown to the member, and weighs in the next recall (spec 1.2, 10.5).
func TestWhatWasUsedIsCountedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	memory, kept := b.keep(acme, "ada")
	b.own(ada)
	shown := question("surface", `"notebook"`)
	first := into[recalled](b, b.ok(post("/v1/recall", assistant, shown)))
	before := into[map[string]any](b, b.ok(get("/v1/me/memory/"+memory, ada).waiting(kept)))
	used := func(recall string, ids string) request {
		return post("/v1/recall/"+recall+"/used", assistant, `{"memoryIds":[`+ids+`]}`)
	}
	counted := func(r response) any { return into[map[string]any](b, r)["counted"] }

	call := used(first.RecallID, quoted(memory)).with("Idempotency-Key", "u-1")
	got := b.ok(call) // its row may not be there yet: it waits
	require.EqualValues(t, 1, counted(got))
	require.Equal(t, got.body, b.ok(call).body)
	require.EqualValues(t, 0, counted(b.ok(used(first.RecallID, quoted(memory)))), "once per recall")
	require.EqualValues(t, 0, counted(b.ok(used(first.RecallID, ""))))
	second := into[recalled](b, b.ok(post("/v1/recall", assistant, shown)))
	require.EqualValues(t, 1, counted(b.ok(used(second.RecallID, quoted(memory)+","+quoted(memory)))), "another recall")

	after := into[map[string]any](b, b.ok(get("/v1/me/memory/"+memory, ada).waiting(got.position)))
	require.EqualValues(t, 2, after["referenceCount"])
	after["referenceCount"] = before["referenceCount"]
	require.Equal(t, before, after, "no revision, and updatedAt stays")

	factor := func(r recalled) string {
		for _, e := range r.Entries {
			if e["memoryId"] == memory {
				return e["factors"].(map[string]any)["references"].(string)
			}
		}
		return ""
	}
	require.Equal(t, "0.000000000", factor(first))
	third := into[recalled](b, b.ok(post("/v1/recall", assistant, shown)))
	require.Equal(t, "0.285714286", factor(third), "2/(2+5)")
	for _, r := range []recalled{first, second, third} {
		require.True(t, into[replayed](b, b.ok(get("/v1/audit/recalls/"+r.RecallID+"/replay", b.auditor(acme)))).Matches)
	}

	b.refused(used(first.RecallID, quoted(unknownID)), http.StatusUnprocessableEntity, "not_recalled")
	later, _ := b.own(ada, "body", `"I like tea."`)
	b.refused(used(first.RecallID, quoted(memory)+","+quoted(later[len("/v1/me/memory/"):])), http.StatusUnprocessableEntity, "not_recalled")
	b.refused(used(unknownID, quoted(memory)), http.StatusNotFound, "not_found")
	for _, other := range []string{b.assistant(acme, "ben"), b.assistant(borealis, "ada")} {
		b.refused(post("/v1/recall/"+first.RecallID+"/used", other, `{"memoryIds":[`+quoted(memory)+`]}`), http.StatusNotFound, "not_found")
	}
}
