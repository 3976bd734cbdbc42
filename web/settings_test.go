package web_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
)

func TestWhatIsKeptWithoutAskingIsMarkedAndUndone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	v := b.signedIn("ann")

	page := v.get("/settings")
	require.NotContains(t, page.body, " checked> <span>atlas", "off until the member says otherwise")
	form := page.form(t, "/settings")
	form["autoKeep"], form["implicit"] = []string{"atlas"}, []string{"yes"}
	require.Equal(t, http.StatusUnprocessableEntity, v.post("/settings", form).status, "Enter in the form is no answer")
	form.Set("answer", "save")
	page = v.post("/settings", form)
	require.Contains(t, page.said(), "Saved.")
	require.Contains(t, page.body, `value="atlas" checked`)
	require.NotContains(t, page.body, `value="default" checked`)

	claim := acts.Proposal{
		Program: "atlas", Tier: events.TierIndividual, Kind: events.KindPreference, Scope: events.Scope{Kind: events.ScopeProfile},
		Category: events.CategoryPreference, Body: "Prefers metric units.", Origin: events.OriginModelInferred,
	}
	kept, err := b.acts.Propose(context.Background(), b.callerBy("ann", "assistant-1"), b.request(), claim)
	require.NoError(t, err)
	require.Equal(t, events.OutcomeKept, kept.Outcome)
	b.await(kept.Position)
	own := b.remember("ann", "Drinks tea.", events.CategoryPreference)

	page = v.get("/memory?kept=unasked")
	require.Equal(t, "Prefers metric units.", page.words(kept.ProposalID))
	require.NotContains(t, page.body, `id="m-`+string(own))
	require.Contains(t, page.body, "Kept without asking")
	require.Contains(t, page.body, "Undo: forget it")
	undo := page.form(t, "/memory/"+string(kept.ProposalID)+"/forget")
	undo.Set("answer", "forget")
	require.Contains(t, v.post("/memory/"+string(kept.ProposalID)+"/forget", undo).said(), "Forgotten.")
}

func TestOptOutsAreSwitchedOffAndOn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	v := b.signedIn("ann")
	page := v.get("/settings")
	require.Contains(t, page.body, "Nothing is switched off")
	require.Contains(t, page.body, `<option value="assistant-1">`)

	off := page.form(t, "/settings/opt-outs")
	for _, one := range []struct{ kind, value, words string }{
		{"category", "work", "Nothing about work is proposed or kept."},
		{"producer", "assistant-1", "assistant-1 may propose nothing."},
		{"program", "atlas", "Nothing is proposed or kept in the program atlas."},
	} {
		off.Set("kind", one.kind)
		off.Set("value", one.value)
		off.Set("answer", "off")
		off.Set("key", string(newID(t)))
		page = v.post("/settings/opt-outs", off)
		require.Contains(t, page.said(), "Saved.")
		require.Contains(t, page.body, one.words)
	}
	all, err := b.acts.OptOuts(context.Background(), b.caller("ann"))
	require.NoError(t, err)
	require.Len(t, all, 3, "each leaves the others as they are")

	off.Set("value", "no-such-program")
	off.Set("key", string(newID(t)))
	require.Contains(t, v.post("/settings/opt-outs", off).body, "Nothing was changed.")

	on := page.form(t, "/settings/opt-outs")
	on.Set("answer", "on")
	page = v.post("/settings/opt-outs", on)
	all, err = b.acts.OptOuts(context.Background(), b.caller("ann"))
	require.NoError(t, err)
	require.Len(t, all, 2)
}

func TestADeclinedFactIsLetBackIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	v := b.signedIn("ann")
	require.Contains(t, v.get("/settings").body, "There is nothing that you asked not to be asked about again.")
	id := b.propose("ann", acts.Proposal{Body: "Likes tea.", Program: "atlas"})
	done, err := b.acts.Decline(context.Background(), b.caller("ann"), b.request(), id, acts.Refusal{})
	require.NoError(t, err)
	b.await(done.Position)

	page := v.get("/settings")
	require.Contains(t, page.body, "A preference in the category preference")
	require.Contains(t, page.body, "You said no when assistant-1 proposed it")
	path := "/settings/declined/" + string(id)
	page = v.post(path, page.form(t, path))
	require.Contains(t, page.said(), "It may be proposed again.")
	require.NotContains(t, page.body, path)
	b.propose("ann", acts.Proposal{Body: "Likes tea.", Program: "atlas"})
}
