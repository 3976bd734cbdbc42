package api_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func put(path, token, body string) request {
	return request{method: http.MethodPut, path: path, token: token, body: body}
}

// A claim under auto-keep is kept at once, told so, listed as kept ahead, and undone by a forget; asked the next time (spec 1.5).
func TestAutoKeepIsAskedForListedAndUndone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	require.JSONEq(t, `{"autoKeep":{"default":false},"implicitPromotion":true}`, string(b.ok(get("/v1/me/settings", ada)).body))
	set := put("/v1/me/settings", ada, `{"autoKeep":{"default":true}}`).with("Idempotency-Key", "s-1")
	first := b.ok(set)
	require.JSONEq(t, `{"autoKeep":{"default":true},"implicitPromotion":true}`, string(first.body))
	again := b.ok(set)
	require.Equal(t, first.position, again.position, "the same command is carried out once")
	require.Equal(t, first.body, again.body)

	got := b.ok(post("/v1/proposals", assistant, proposal()))
	claim := into[claimed](b, got)
	require.Equal(t, "kept", claim.Outcome)
	require.Equal(t, claim, into[claimed](b, b.ok(get("/v1/proposals/"+claim.ProposalID, assistant).waiting(got.position))))
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/proposals", ada))).Items)
	own, _ := b.own(ada, "subject", `"answers"`)
	list := into[listed](b, b.ok(get("/v1/me/memory?autoKept=true", ada).waiting(got.position)))
	require.Len(t, list.Items, 1)
	require.Equal(t, claim.ProposalID, list.Items[0]["memoryId"])
	require.Equal(t, true, list.Items[0]["autoKept"])
	require.Equal(t, "model-inferred", list.Items[0]["origin"], "the member has confirmed nothing")
	require.EqualValues(t, 2, list.Items[0]["revision"])
	require.NotEmpty(t, list.Items[0]["consent"])
	require.Equal(t, false, into[map[string]any](b, b.ok(get(own, ada).waiting(b.ok(remove(own, ada)).position)))["autoKept"])

	got = b.ok(remove("/v1/me/memory/"+claim.ProposalID, ada))
	require.Empty(t, into[listed](b, b.ok(get("/v1/me/memory?autoKept=true", ada).waiting(got.position))).Items)
	require.Equal(t, "pending", into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal()))).Outcome)
	b.refused(put("/v1/me/settings", ada, `{"autoKeep":{"nowhere":true}}`), http.StatusUnprocessableEntity, "program_unknown")
	b.refused(put("/v1/me/settings", ada, `{"autoKeep":{"atlas":true}}`), http.StatusUnprocessableEntity, "not_in_program")

	// An edit is a yes: what was kept ahead is confirmed by it.
	kept := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal("body", `"Likes tea."`, "subject", `"tea"`))))
	got = b.ok(get("/v1/me/memory/"+kept.ProposalID, ada).waiting(b.ok(put("/v1/me/settings", ada, `{"autoKeep":{}}`)).position))
	edit := b.ok(patch("/v1/me/memory/"+kept.ProposalID, ada, into[map[string]any](b, got)["revisionId"].(string), `{"body":"Likes green tea."}`))
	now := into[map[string]any](b, b.ok(get("/v1/me/memory/"+kept.ProposalID, ada).waiting(edit.position)))
	require.Equal(t, false, now["autoKept"])
	require.Equal(t, "user-confirmed", now["origin"])

	// Nobody else's settings moved, and an assistant changes none.
	for _, other := range []string{b.member(acme, "ben"), b.member(borealis, "ada")} {
		require.JSONEq(t, `{"autoKeep":{"default":false},"implicitPromotion":true}`, string(b.ok(get("/v1/me/settings", other)).body))
	}
	b.refused(put("/v1/me/settings", assistant, `{"implicitPromotion":true}`), http.StatusForbidden, "member_required")
}

// What is switched off is not taken, from whichever writer (spec 1.8, 2.2).
func TestOptOuts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	require.JSONEq(t, `{"items":[],"next":null}`, string(b.ok(get("/v1/me/opt-outs", ada)).body))
	got := b.ok(put("/v1/me/opt-outs", ada, `[{"kind":"program","key":"atlas"},{"kind":"category","key":"work"}]`))
	require.JSONEq(t, `{"items":[{"kind":"category","key":"work"},{"kind":"program","key":"atlas"}],"next":null}`, string(got.body))
	require.Equal(t, got.body, b.ok(get("/v1/me/opt-outs", ada)).body)

	claim := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal("category", `"work"`))))
	require.Equal(t, "suppressed", claim.Outcome)
	require.Equal(t, "opted_out", claim.Reason)
	require.Equal(t, "opted_out", claim.Warnings[0].Code)
	require.Equal(t, []string{"work"}, claim.Warnings[0].Keys)
	b.refused(post("/v1/me/memory", ada, words("category", `"work"`)), http.StatusUnprocessableEntity, "opted_out")

	b.ok(put("/v1/me/opt-outs", ada, `[{"kind":"producer","key":"`+assistantApp+`"}]`))
	refusal := b.refused(post("/v1/proposals", assistant, proposal()), http.StatusUnprocessableEntity, "opted_out")
	require.NotEmpty(t, refusal.ProposalID)
	require.Equal(t, "pending", into[claimed](b, b.ok(post("/v1/proposals", b.assistant(acme, "ben"), proposal()))).Outcome, "another member's")
	require.Equal(t, "pending", into[claimed](b, b.ok(post("/v1/proposals", b.assistant(borealis, "ada"), proposal()))).Outcome, "another organisation's")
	b.refused(put("/v1/me/opt-outs", ada, `[{"kind":"producer","key":"nobody"}]`), http.StatusUnprocessableEntity, "opt_out_unknown")
	require.NotContains(t, b.logged.String(), "work")

	b.ok(put("/v1/me/opt-outs", ada, `[]`))
	require.Equal(t, "pending", into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal()))).Outcome)
}

// What was declined is listed, and lifted it is proposed again (spec 1.8).
func TestTheDeclinedRegister(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	claim := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal())))
	b.ok(post("/v1/me/proposals/"+claim.ProposalID+"/decline", ada, "{}"))
	own, _ := b.own(ada)
	b.ok(remove(own+"?dontAskAgain=true", ada))
	asked := into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal("body", `"Likes tea."`))))
	b.ok(post("/v1/me/proposals/"+asked.ProposalID+"/decline", ada, `{"askAgain":true}`))

	list := into[listed](b, b.ok(get("/v1/me/declined", ada)))
	require.Len(t, list.Items, 2)
	require.Equal(t, "forgotten", list.Items[0]["how"])
	require.Equal(t, "", list.Items[0]["proposedBy"])
	require.Equal(t, claim.ProposalID, list.Items[1]["id"])
	require.Equal(t, "declined", list.Items[1]["how"])
	require.Equal(t, assistantApp, list.Items[1]["proposedBy"])
	require.Equal(t, "default", list.Items[1]["program"])
	require.Equal(t, "preference", list.Items[1]["category"])
	page := into[listed](b, b.ok(get("/v1/me/declined?limit=1", ada)))
	require.Equal(t, list.Items[:1], page.Items)
	page = into[listed](b, b.ok(get("/v1/me/declined?limit=1&cursor="+*page.Next, ada)))
	require.Equal(t, list.Items[1:], page.Items)
	require.Nil(t, page.Next)

	b.refused(post("/v1/proposals", assistant, proposal()), http.StatusUnprocessableEntity, "declined_before")
	b.refused(remove("/v1/me/declined/"+unknownID, ada), http.StatusNotFound, "not_found")
	for _, other := range []string{b.member(acme, "ben"), b.member(borealis, "ada")} {
		require.Empty(t, into[listed](b, b.ok(get("/v1/me/declined", other))).Items)
		b.refused(remove("/v1/me/declined/"+claim.ProposalID, other), http.StatusNotFound, "not_found")
	}
	lift := remove("/v1/me/declined/"+claim.ProposalID, ada).with("Idempotency-Key", "l-1")
	require.Equal(t, b.ok(lift).position, b.ok(lift).position)
	require.Len(t, into[listed](b, b.ok(get("/v1/me/declined", ada))).Items, 1)
	require.Equal(t, "pending", into[claimed](b, b.ok(post("/v1/proposals", assistant, proposal()))).Outcome)
}

// The member's lists by program, category and claimant (spec 10.2, 10.3).
func TestProposalsAreFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.join(acme, "ada")
	ada, assistant := b.member(acme, "ada"), b.assistant(acme, "ada")
	b.ok(post("/v1/proposals", assistant, proposal("body", `"One."`)))
	b.ok(post("/v1/proposals", assistant, proposal("body", `"Two."`, "category", `"work"`)))
	position := b.ok(post("/v1/proposals", assistant, proposal("body", `"Three."`, "program", `"atlas"`))).position
	for query, want := range map[string][]string{
		"":                                  {"Three.", "Two.", "One."},
		"?state=pending&program=atlas":      {"Three."},
		"?program=default":                  {"Two.", "One."},
		"?category=work":                    {"Two."},
		"?category=work&program=atlas":      {},
		"?proposedBy=" + assistantApp:       {"Three.", "Two.", "One."},
		"?proposedBy=conversations":         {},
		"?proposedBy=assistant-app&limit=1": {"Three."},
	} {
		said := []string{}
		for _, item := range into[listed](b, b.ok(get("/v1/me/proposals"+query, ada).waiting(position))).Items {
			said = append(said, item["body"].(string))
		}
		require.Equal(t, want, said, query)
	}
	b.refused(get("/v1/me/proposals?category=weather", ada), http.StatusBadRequest, "invalid_parameter")
}
