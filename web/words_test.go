package web

import (
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

func TestWhereAClaimCameFromReadsAsASentenceWould(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"conversation c-19, turns 4 to 6", "conversation c-20, turn 2", "file notes"}, sourceWords([]events.SourceRef{
		{Kind: "conversation", Ref: "c-19", Turns: []int{4, 6}}, {Kind: "conversation", Ref: "c-20", Turns: []int{2, 2}}, {Kind: "file", Ref: "notes"},
	}))
}
