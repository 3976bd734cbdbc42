package member_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// mayBecome are the moves between lifecycles chosen in spec 1.2: what isn't listed is forbidden.
var mayBecome = map[events.Lifecycle][]events.Lifecycle{
	events.LifecycleDraft:      {events.LifecycleActive, events.LifecycleTombstoned},
	events.LifecycleActive:     {events.LifecyclePaused, events.LifecycleSuperseded, events.LifecycleTombstoned},
	events.LifecyclePaused:     {events.LifecycleActive, events.LifecycleSuperseded, events.LifecycleTombstoned},
	events.LifecycleSuperseded: {events.LifecycleTombstoned},
}

// Every state against every move (spec 1.2): what it becomes, or how it is refused. Five more rows than there are lifecycles: two
// forgets that can be taken back, one that is final although no sweep came by, a draft that lapsed, and a pause with an end.
func TestEveryMoveFromEveryState(t *testing.T) {
	t.Parallel()
	const refused, answered, lapsed = "invalid_lifecycle_transition", "proposal_answered", "proposal_lapsed"
	states := map[string]struct {
		lifecycle events.Lifecycle
		given     []act
	}{
		"draft":      {events.LifecycleDraft, []act{{Do: "propose", Name: "m", Subject: "units"}}},
		"lapsed":     {events.LifecycleDraft, []act{{Do: "propose", Name: "m", Subject: "units"}, {Do: "join", Program: "atlas", After: "336h"}}},
		"active":     {events.LifecycleActive, []act{{Do: "state", Name: "m", Subject: "units"}}},
		"paused":     {events.LifecyclePaused, []act{{Do: "state", Name: "m", Subject: "units"}, {Do: "pause", Of: "m"}}},
		"suppressed": {events.LifecycleActive, []act{{Do: "state", Name: "m", Subject: "units"}, {Do: "pause", Of: "m", Until: "24h"}}},
		"superseded": {events.LifecycleSuperseded, []act{{Do: "state", Name: "m", Subject: "units"}, {Do: "state", Subject: "units", Body: text("Prefers nautical miles.")}}},
		"outlived, forgotten": {events.LifecycleSuperseded, []act{
			{Do: "state", Name: "m", Subject: "units"}, {Do: "state", Subject: "units", Body: text("Prefers nautical miles.")}, {Do: "forget", Of: "m"},
		}},
		"tombstoned": {events.LifecycleTombstoned, []act{{Do: "propose", Name: "m", Subject: "units"}, {Do: "decline", Of: "m"}}},
		"forgotten":  {events.LifecyclePaused, []act{{Do: "state", Name: "m", Subject: "units"}, {Do: "forget", Of: "m"}}},
		"gone":       {events.LifecyclePaused, []act{{Do: "state", Name: "m", Subject: "units"}, {Do: "forget", Of: "m"}, {Do: "join", Program: "atlas", After: "720h"}}},
	}
	moves := map[string]act{
		"accept": {Do: "accept"}, "decline": {Do: "decline"}, "edit": {Do: "edit", Body: text("Prefers imperial units.")},
		"pause": {Do: "pause"}, "pause until": {Do: "pause", Until: "1h"}, "resume": {Do: "resume"}, "forget": {Do: "forget"}, "restore": {Do: "restore"},
		"supersede": {Do: "state", Subject: "units", Body: text("Prefers furlongs.")},
	}
	want := map[string]map[string]string{
		"draft":               {"accept": "active", "decline": "tombstoned", "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": refused, "restore": refused, "supersede": "draft"},
		"lapsed":              {"accept": lapsed, "decline": lapsed, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": refused, "restore": refused, "supersede": "draft"},
		"active":              {"accept": answered, "decline": answered, "edit": "active", "pause": "paused", "pause until": "active", "resume": "active", "forget": "paused", "restore": "active", "supersede": "superseded"},
		"paused":              {"accept": answered, "decline": answered, "edit": "paused", "pause": "paused", "pause until": "active", "resume": "active", "forget": "paused", "restore": "paused", "supersede": "superseded"},
		"suppressed":          {"accept": answered, "decline": answered, "edit": "active", "pause": "paused", "pause until": "active", "resume": "active", "forget": "paused", "restore": "active", "supersede": "superseded"},
		"superseded":          {"accept": answered, "decline": answered, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": "superseded", "restore": refused, "supersede": "superseded"},
		"outlived, forgotten": {"accept": answered, "decline": answered, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": "superseded", "restore": "superseded", "supersede": "superseded"},
		"tombstoned":          {"accept": answered, "decline": answered, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": refused, "restore": refused, "supersede": "tombstoned"},
		"forgotten":           {"accept": answered, "decline": answered, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": "paused", "restore": "active", "supersede": "paused"},
		"gone":                {"accept": answered, "decline": answered, "edit": refused, "pause": refused, "pause until": refused, "resume": refused, "forget": refused, "restore": refused, "supersede": "paused"},
	}
	require.Len(t, want, len(states))
	for from, state := range states {
		require.Len(t, want[from], len(moves), from)
		for name, move := range moves {
			t.Run(from+"/"+name, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				given := append([]act{{Do: "grant", Key: "data_processing"}, {Do: "grant", Key: "data_storage"}}, state.given...)
				for _, a := range given {
					_, err := w.perform(a)
					require.NoError(t, err, a.Do)
				}
				e := w.state.Entries[w.id("m")]
				require.Equal(t, state.lifecycle, e.Lifecycle)
				revision := e.Revision
				if move.Do != "state" {
					move.Of = "m"
				}
				decided, err := w.perform(move)
				expected := want[from][name]
				if refusal, ok := aggregates.AsRefusal(err); ok {
					require.Equal(t, expected, refusal.Code)
					require.Empty(t, decided)
					require.Equal(t, state.lifecycle, e.Lifecycle)
					require.Equal(t, revision, e.Revision)
					return
				}
				require.NoError(t, err)
				require.Equal(t, expected, string(e.Lifecycle))
				require.True(t, state.lifecycle == e.Lifecycle || slices.Contains(mayBecome[state.lifecycle], e.Lifecycle), "%s may not become %s", state.lifecycle, e.Lifecycle)
			})
		}
	}
}

func text(s string) *string { return &s }

// A pause, a resume and a restore leave everything else of the memory as it was, and are revisions of their own.
func TestMovesLeaveTheTextAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []act{
		{Do: "grant", Key: "data_processing"}, {Do: "grant", Key: "data_storage"}, {Do: "state", Name: "m", Subject: "units"},
	} {
		_, err := w.perform(a)
		require.NoError(t, err)
	}
	e := w.state.Entries[w.id("m")]
	before := *e
	for n, a := range []act{
		{Do: "pause"}, {Do: "resume"}, {Do: "pause", Until: "24h"}, {Do: "forget"}, {Do: "restore"}, {Do: "resume"},
	} {
		a.Of = "m"
		previous := e.RevisionID
		_, err := w.perform(a)
		require.NoError(t, err, a.Do)
		require.Equal(t, n+2, e.Revision, a.Do)
		require.Equal(t, previous, e.PreviousRevisionID)
		require.Len(t, e.Provenance, n+2)
		if a.Do == "restore" {
			require.NotNil(t, e.Suppressed(w.now), "the pause that stood when it was forgotten stands")
		}
	}
	require.Equal(t, events.LifecycleActive, e.Lifecycle)
	require.Nil(t, e.Suppression)
	require.Nil(t, e.ForgetAt)
	require.Equal(t, before.Body, e.Body)
	require.Equal(t, before.Labels, e.Labels)
	require.Equal(t, before.Details, e.Details)
	require.Equal(t, before.CreatedAt, e.CreatedAt)
}

// What was edited is known by its new text and no longer by the old one.
func TestAnEditedTextIsKnownAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []act{
		{Do: "grant", Key: "data_processing"}, {Do: "grant", Key: "data_storage"}, {Do: "state", Name: "m"},
		{Do: "edit", Of: "m", Body: text("Prefers imperial units.")},
	} {
		_, err := w.perform(a)
		require.NoError(t, err)
	}
	decided, err := w.perform(act{Do: "propose", Body: text("Prefers imperial units.")})
	require.NoError(t, err)
	require.Equal(t, "recalled_text", decided[0].(*events.ProposalRefused).Reason)
	decided, err = w.perform(act{Do: "propose"})
	require.NoError(t, err)
	require.IsType(t, &events.ProposalRecorded{}, decided[0])
}

// A state without texts must not write an empty one.
func TestAnEditNeedsTheTextThatItLeaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, a := range []act{{Do: "grant", Key: "data_processing"}, {Do: "grant", Key: "data_storage"}, {Do: "state", Name: "m"}} {
		_, err := w.perform(a)
		require.NoError(t, err)
	}
	w.state.Entries[w.id("m")].Body = ""
	_, err := w.perform(act{Do: "edit", Of: "m", About: text("units")})
	require.ErrorIs(t, err, member.ErrNoText)
	_, err = w.perform(act{Do: "edit", Of: "m", Body: text("Prefers imperial units.")})
	require.NoError(t, err)
}
