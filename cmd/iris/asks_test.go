package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text of several lines can't be taken for several memories, and what is printed has an order.
func TestARecallIsPrinted(t *testing.T) {
	t.Parallel()
	var answer recalled
	require.NoError(t, json.Unmarshal([]byte(`{"recallId":"r","asOf":"7","entries":[{"memoryId":"m","category":"work","body":"Reviews\n\n  end on Fridays"}],
		"audit":{"evaluatedCount":4,"suppressionCounts":{"paused":1,"consent":2}}}`), &answer))
	var printed strings.Builder
	answer.print(&printed)
	require.Equal(t, "Recall r, as of position 7: 1 of 4 entries.\n  m  [work] Reviews\n      \n        end on Fridays\n  withheld: 2, consent\n  withheld: 1, paused\n",
		printed.String())
}
