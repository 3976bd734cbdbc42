package recall_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

// recall/1 keeps its bytes: an envelope of years ago is proved by them. A change that turns this test red is a new engine with
// files of its own, never a new golden file for this one (spec 3.2). To write one for a new engine: IRIS_WRITE_GOLDEN=1.
func TestGoldenBytesOfRecall1(t *testing.T) {
	t.Parallel()
	require.Equal(t, "recall/1", recall.Engine)
	given, err := os.ReadFile("testdata/golden/recall-1.given.json")
	require.NoError(t, err)
	var input struct {
		Now        events.Time        `json:"now"`
		Policy     json.RawMessage    `json:"policy"`
		Requests   []recall.Request   `json:"requests"`
		Candidates []recall.Candidate `json:"candidates"`
	}
	strictly(t, given, &input)
	p, err := policy.Parse(input.Policy)
	require.NoError(t, err)

	var lines []byte
	for _, q := range input.Requests {
		written, err := json.Marshal(recall.Resolve(input.Candidates, q, p, input.Now))
		require.NoError(t, err)
		canonical, err := jcs.Transform(written)
		require.NoError(t, err)
		lines = append(append(lines, canonical...), '\n')
	}

	const path = "testdata/golden/recall-1.jsonl"
	if os.Getenv("IRIS_WRITE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(path, lines, 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), string(lines))
}
