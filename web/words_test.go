package web

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
)

func TestWhereAClaimCameFromReadsAsASentenceWould(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"conversation c-19, turns 4 to 6", "conversation c-20, turn 2", "file notes"}, sourceWords([]events.SourceRef{
		{Kind: "conversation", Ref: "c-19", Turns: []int{4, 6}}, {Kind: "conversation", Ref: "c-20", Turns: []int{2, 2}}, {Kind: "file", Ref: "notes"},
	}))
}

func TestWhatARevisionChangedIsSaidInPlainWords(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]acts.LabelChange{
		"Not used; before: in use.":                {Label: "lifecycle", From: "active", To: "paused"},
		"In use; before: not used.":                {Label: "lifecycle", From: "paused", To: "active"},
		"Category: from Preference to Work.":       {Label: "category", From: "preference", To: "work"},
		"Subject: from nothing to units.":          {Label: "subject", To: "units"},
		"Where it is kept has changed.":            {Label: "scope", From: "a", To: "b"},
		"In use; before: waiting for your answer.": {Label: "lifecycle", From: "draft", To: "active"},
	} {
		require.Equal(t, want, labelWords(change))
	}
}
