package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/receipts"
	"iris.example/iris/schemas"
)

func patch(path, token, revision, body string) request {
	r := request{method: http.MethodPatch, path: path, token: token, body: body}
	if revision == "" {
		return r
	}
	return r.with("If-Match", `"`+revision+`"`)
}

type conflicted struct {
	Code           string
	Current, Named *acts.Revision
}

// own keeps the member's own words and returns their address and revision.
func (b *bundle) own(token string, fields ...string) (path, revision string) {
	b.t.Helper()
	k := into[kept](b, b.ok(post("/v1/me/memory", token, words(fields...))))
	require.NotNil(b.t, k.RevisionID)
	return "/v1/me/memory/" + k.MemoryID, *k.RevisionID
}

func (b *bundle) bodies(token string) []string {
	b.t.Helper()
	said := []string{}
	for _, e := range into[recalled](b, b.ok(post("/v1/recall", token, question("query", `"answers"`)))).Entries {
		said = append(said, e["body"].(string))
	}
	return said
}

// An edit names the revision that it changes; what another has changed meanwhile answers with both (spec 9.6, 10.3).
func TestEditsNameTheirRevision(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	path, first := b.own(ada)
	got := b.ok(patch(path, ada, first, `{"body": "I like long answers."}`))
	second := *into[kept](b, got).RevisionID
	require.NotEqual(t, first, second)
	require.Equal(t, `"`+second+`"`, got.header.Get("ETag"))
	require.Equal(t, []string{"I like long answers."}, b.bodies(assistant), "the next recall says what the edit says")

	b.refused(patch(path, ada, "", `{"body": "I like no answers."}`), http.StatusPreconditionRequired, "precondition_required")
	for _, bad := range []string{"*", first, `W/"` + second + `"`, `""`, `"` + first + `", "` + second + `"`} {
		b.refused(patch(path, ada, "", `{}`).with("If-Match", bad), http.StatusBadRequest, "invalid_if_match")
	}
	stale := b.do(patch(path, ada, first, `{"body": "I like no answers."}`))
	require.Equal(t, http.StatusPreconditionFailed, stale.status, stale)
	conflict := into[conflicted](b, stale)
	require.Equal(t, "revision_conflict", conflict.Code)
	require.Equal(t, second, string(conflict.Current.RevisionID))
	require.Equal(t, "I like long answers.", conflict.Current.Body)
	require.Equal(t, first, string(conflict.Named.RevisionID))
	require.Equal(t, "I like short answers.", conflict.Named.Body)

	unknown := into[conflicted](b, b.do(patch(path, ada, "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f", `{"body": "I like no answers."}`)))
	require.Equal(t, "revision_conflict", unknown.Code)
	require.Nil(t, unknown.Named, "a revision that this memory never had")

	// Another's memory is as unknown as none, whatever its revision.
	b.refused(patch(path, b.member(acme, "ben"), second, `{}`), http.StatusNotFound, "not_found")
	b.refused(patch(path, b.member(borealis, "ada"), second, `{}`), http.StatusNotFound, "not_found")
	b.refused(patch(path, ada, second, `{"category": "medical"}`), http.StatusUnprocessableEntity, "consent_required")
	b.refused(patch(path, ada, second, `{"body": "<script>alert(1)</script>"}`), http.StatusUnprocessableEntity, "injection_suspected")
	require.Equal(t, second, *into[kept](b, b.ok(patch(path, ada, second, `{}`))).RevisionID, "nothing changed is no revision")

	// The same key gives the same answer, although its revision is stale by then.
	retry := patch(path, ada, second, `{"subject": "answers"}`).with("Idempotency-Key", "edit-1")
	one, two := b.ok(retry), b.ok(retry)
	require.Equal(t, one.body, two.body)
	require.Equal(t, one.position, two.position)
	b.refused(patch(path, ada, first, `{"subject": "answers"}`).with("Idempotency-Key", "edit-1"), http.StatusUnprocessableEntity, "idempotency_key_reused")
}

// Pause, resume, forget and restore are known to the very next recall, and what was recalled before stays proved (spec 1.2, 2.2, 3.3).
func TestRecallsKnowEveryMove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant, auditor := b.member(acme, "ada"), b.assistant(acme, "ada"), b.auditor(acme)
	path, first := b.own(ada)
	var made []string
	recall := func() recalled {
		r := into[recalled](b, b.ok(post("/v1/recall", assistant, question())))
		made = append(made, r.RecallID)
		return r
	}
	require.Len(t, recall().Entries, 1)

	got := b.ok(post(path+"/pause", ada, ""))
	r := recall()
	require.Empty(t, r.Entries)
	require.Equal(t, map[string]int{"lifecycle-paused": 1}, r.Audit.SuppressionCounts)
	one := into[map[string]any](b, b.ok(get(path, ada).waiting(got.position)))
	require.Equal(t, "paused", one["lifecycle"])
	b.ok(post(path+"/resume", ada, "{}"))
	require.Len(t, recall().Entries, 1)

	until := events.At(b.now().Add(time.Minute)).String()
	got = b.ok(post(path+"/pause", ada, `{"until": "`+until+`"}`))
	r = recall()
	require.Empty(t, r.Entries)
	require.Equal(t, map[string]int{"user-pause": 1}, r.Audit.SuppressionCounts)
	one = into[map[string]any](b, b.ok(get(path, ada).waiting(got.position)))
	require.Equal(t, "active", one["lifecycle"], "with an end it is suppressed only")
	require.Equal(t, until, one["suppression"].(map[string]any)["endsAt"])
	b.offset.Add(int64(time.Minute))
	require.Len(t, recall().Entries, 1, "it ends at its instant, whether anything came by or not")
	require.Nil(t, into[map[string]any](b, b.ok(get(path, ada)))["suppression"])
	b.refused(post(path+"/pause", ada, `{"until": "`+until+`"}`), http.StatusUnprocessableEntity, "pause_end_in_the_past")

	b.ok(remove(path, ada))
	require.Empty(t, recall().Entries)
	for _, move := range []request{
		post(path+"/pause", ada, ""), post(path+"/resume", ada, ""), patch(path, ada, first, `{}`),
	} {
		b.refused(move, http.StatusConflict, "invalid_lifecycle_transition")
	}
	got = b.ok(post(path+"/restore", ada, ""))
	require.Len(t, recall().Entries, 1)
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/memory?forgotten=true", ada).waiting(got.position))).Items)
	require.Len(t, into[listed](b, b.ok(get("/v1/me/memory", ada))).Items, 1)

	got = b.ok(remove(path, ada))
	b.offset.Add(int64(30 * 24 * time.Hour))
	// The credentials of before have run out by now.
	ada, assistant, auditor = b.member(acme, "ada"), b.assistant(acme, "ada"), b.auditor(acme)
	b.refused(post(path+"/restore", ada, ""), http.StatusConflict, "invalid_lifecycle_transition")
	b.refused(get(path, ada).waiting(got.position), http.StatusNotFound, "not_found")
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/memory?forgotten=true", ada))).Items)
	require.Empty(t, recall().Entries)

	for _, id := range made {
		require.Equal(t, "verified", into[replayed](b, b.ok(get("/v1/audit/recalls/"+id+"/replay", auditor))).Result)
	}
}

// The chain is the record: every revision with what it changed, and nothing of a text that is gone for good (spec 1.2, 10.3).
func TestHistory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada := b.member(acme, "ada")
	path, first := b.own(ada)
	second := *into[kept](b, b.ok(patch(path, ada, first, `{"body": "I like long answers.", "subject": "answers"}`))).RevisionID
	got := b.ok(post(path+"/pause", ada, ""))
	type chain struct{ Items []acts.Revision }
	all := into[chain](b, b.ok(get(path+"/history", ada).waiting(got.position))).Items
	require.Len(t, all, 3)
	paused, edited, stated := all[0], all[1], all[2]
	require.Equal(t, second, string(edited.RevisionID))
	require.Equal(t, first, string(*edited.PreviousRevisionID))
	require.Nil(t, stated.PreviousRevisionID)
	require.Nil(t, stated.Difference)
	require.Equal(t, "I like short answers.", stated.Body)
	require.Equal(t, []acts.Piece{
		{Kind: acts.PieceSame, Text: "I like "}, {Kind: acts.PieceRemoved, Text: "short"}, {Kind: acts.PieceAdded, Text: "long"}, {Kind: acts.PieceSame, Text: " answers."},
	}, edited.Difference.Body)
	require.Equal(t, []acts.LabelChange{{Label: "subject", From: "", To: "answers"}}, edited.Difference.Labels)
	require.Equal(t, []acts.LabelChange{{Label: "lifecycle", From: "active", To: "paused"}}, paused.Difference.Labels)
	require.Empty(t, paused.Difference.Body)
	require.Equal(t, "I like long answers.", paused.Body, "what an event doesn't bring stays")
	for i, r := range all {
		require.Len(t, r.ProvenanceChain, 3-i)
		require.Equal(t, r.Event, r.ProvenanceChain[len(r.ProvenanceChain)-1].Type)
		require.False(t, r.Erased)
	}
	b.refused(get(path+"/history", b.member(acme, "ben")), http.StatusNotFound, "not_found")
	b.refused(get(path+"/history", b.assistant(acme, "ada")), http.StatusForbidden, "member_required")

	got = b.ok(remove(path, ada))
	forgotten := into[chain](b, b.ok(get(path+"/history", ada).waiting(got.position))).Items
	require.Len(t, forgotten, 4)
	require.Equal(t, "I like long answers.", forgotten[0].Body, "what can be restored can be read")
	b.offset.Add(int64(30 * 24 * time.Hour))
	ada = b.member(acme, "ada")
	answer := b.ok(get(path+"/history", ada))
	gone := into[chain](b, answer).Items
	require.Len(t, gone, 4)
	require.NotContains(t, string(answer.body), "answers")
	for _, r := range gone {
		require.True(t, r.Erased)
		require.NotEmpty(t, r.ProvenanceChain)
	}
}

// Terms are published by an administrator, and never edited (spec 2.1, 10.9).
func TestTermsArePublishedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.mint(devissuer.Claims{Subject: "root", Client: pages, Organisation: acme, Permissions: []identity.Permission{identity.Admin}})
	ada := b.member(acme, "ada")
	terms := func(version, text string) string {
		return fmt.Sprintf(`{"id": "memory", "version": %q, "locale": "en", "text": %q}`, version, text)
	}
	body := terms("2027-01", "We keep it for as long as you want.")
	b.refused(post("/v1/admin/terms", ada, body), http.StatusForbidden, "permission_missing")
	got := b.ok(post("/v1/admin/terms", admin, body))
	require.Equal(t, http.StatusCreated, got.status)
	require.Equal(t, http.StatusOK, b.ok(post("/v1/admin/terms", admin, body)).status, "the same again is no other version")
	b.refused(post("/v1/admin/terms", admin, terms("2027-01", "We keep it for as long as we want.")), http.StatusConflict, "terms_immutable")
	b.refused(post("/v1/admin/terms", admin, terms("2026-11", "We keep it for as long as we want.")), http.StatusConflict, "terms_immutable")

	current := into[listed](b, b.ok(get("/v1/terms", ada))).Items
	require.Len(t, current, 1)
	require.Equal(t, "2027-01", current[0]["version"])
	require.Equal(t, into[map[string]any](b, got), current[0])
	require.Equal(t, "2026-11", into[listed](b, b.ok(get("/v1/terms", b.member(borealis, "ada")))).Items[0]["version"], "another organisation's are its own")

	// A consent is given under the text that was shown, old or new; the fingerprints of both match.
	for _, version := range []string{"2026-11", "2027-01"} {
		got = b.ok(post("/v1/me/consents", ada, `{"key": "medical", "decision": "grant", "termsId": "memory", "termsVersion": "`+version+
			`", "source": "settings-toggle", "locale": "en", "shown": "May I?"}`))
		standing := into[listed](b, b.ok(get("/v1/me/consents", ada).waiting(got.position)))
		for _, c := range standing.Items {
			if c["key"] == "medical" {
				require.Equal(t, true, c["fingerprintMatches"])
				require.Equal(t, version, c["terms"].(map[string]any)["version"])
			}
		}
	}
	require.False(t, strings.Contains(b.logged.String(), "as long as"), "no text in the log")
}

// Every answer to a consent question is receipted, and the receipt is the same whenever it is asked for (spec 2.1, 10.4).
func TestReceipts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	contract, err := schemas.Compile()
	require.NoError(t, err)
	ada := b.member(acme, "ada")
	type receipted struct {
		EventID string
		Receipt json.RawMessage
	}
	decide := func(decision string) response {
		return b.ok(post("/v1/me/consents", ada, `{"key": "medical", "decision": "`+decision+`", "termsId": "memory", "termsVersion": "2026-11",
			"source": "settings-toggle", "locale": "en", "shown": "May I remember your health?"}`))
	}
	grant := decide("grant")
	granted := into[receipted](b, grant)
	withdrawal := b.ok(post("/v1/me/consents/"+granted.EventID+"/withdraw", ada, ""))
	denial := decide("deny")
	for state, answer := range map[string]response{"dpv:ConsentGiven": grant, "dpv:ConsentWithdrawn": withdrawal, "dpv:ConsentRefused": denial} {
		event := into[receipted](b, answer)
		require.NoError(t, contract.CheckReceipt(event.Receipt))
		require.Equal(t, state, into[receipts.Receipt](b, response{body: event.Receipt}).Status.Type)
		path := "/v1/me/consents/" + event.EventID + "/receipt"
		for range 2 {
			require.JSONEq(t, string(event.Receipt), string(b.ok(get(path, ada).waiting(denial.position)).body))
			b.offset.Add(int64(time.Minute))
		}
		b.refused(get(path, b.member(acme, "ben")), http.StatusNotFound, "not_found")
		b.refused(get(path, b.assistant(acme, "ada")), http.StatusForbidden, "member_required")
	}
	terms := into[listed](b, b.ok(get("/v1/terms", ada))).Items[0]
	receipt := into[receipts.Receipt](b, response{body: granted.Receipt})
	require.Equal(t, terms["sha256"], receipt.Notice.SHA256)
	require.Equal(t, "memory/2026-11", receipt.Notice.Identifier)
	require.Equal(t, "May I remember your health?", receipt.Notice.Shown)
	require.Equal(t, string(b.memberID(acme, "ada")), receipt.DataSubject.Identifier)
	require.Equal(t, grant.position, receipt.Proof.Position)
	b.refused(get("/v1/me/consents/"+unknownID+"/receipt", ada), http.StatusNotFound, "not_found")
}

// A memory is found by whole words of what it says now, by its own member alone (spec 9.4, 10.3).
func TestMemoriesAreFoundByTheirWords(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben := b.member(acme, "ada"), b.member(acme, "ben")
	path, revision := b.own(ada, "subject", `"style"`)
	b.own(ada, "body", `"I drink oolong in the mornings."`)
	got := b.ok(post("/v1/me/memory", ben, words("body", `"I like short walks and answers."`)))
	found := func(token, query string) []string {
		bodies := []string{}
		for _, item := range into[listed](b, b.ok(get("/v1/me/memory?q="+url.QueryEscape(query), token).waiting(got.position))).Items {
			bodies = append(bodies, item["body"].(string))
		}
		return bodies
	}
	for query, want := range map[string][]string{
		"answer": {"I like short answers."}, "Short, ANSWERS": {"I like short answers."}, "morning": {"I drink oolong in the mornings."},
		"i": {"I drink oolong in the mornings.", "I like short answers."}, "style": {"I like short answers."}, "short oolong": {}, "ans": {}, "walks": {},
	} {
		require.Equal(t, want, found(ada, query), query)
	}
	got = b.ok(patch(path, ada, revision, `{"body": "I like long letters."}`))
	require.Empty(t, found(ada, "short"))
	require.Equal(t, []string{"I like long letters."}, found(ada, "letter"))
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/memory?q=letter&category=goal", ada))).Items, "the other filters hold as well")
	b.refused(get("/v1/me/memory?q=", ada), http.StatusBadRequest, "invalid_parameter")
	b.refused(get("/v1/me/memory?q=%21%3F", ada), http.StatusUnprocessableEntity, "query_without_words")
	b.refused(get("/v1/me/memory?q="+strings.Repeat("a", 401), ada), http.StatusBadRequest, "invalid_parameter")
	require.NotContains(t, b.logged.String(), "letter", "no query in the log")

	// Pages of a search go on where they ended, and under no other query.
	first := into[listed](b, b.ok(get("/v1/me/memory?q=i&limit=1", ada)))
	require.Len(t, first.Items, 1)
	second := into[listed](b, b.ok(get("/v1/me/memory?q=i&limit=1&cursor="+url.QueryEscape(*first.Next), ada)))
	require.Len(t, second.Items, 1)
	require.NotEqual(t, first.Items[0]["memoryId"], second.Items[0]["memoryId"])
	b.refused(get("/v1/me/memory?q=letter&limit=1&cursor="+url.QueryEscape(*first.Next), ada), http.StatusBadRequest, "invalid_cursor")
}
