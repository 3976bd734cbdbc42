package schemas_test

import (
	"os"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/schemas"
)

// BenchmarkCheck checks what is written most, and the largest, in the form in which it stands on the wire.
func BenchmarkCheck(b *testing.B) {
	c := contract(b)
	event := func(t events.Type) func([]byte) error {
		return func(data []byte) error { return c.Check(t, data) }
	}
	for _, is := range []struct {
		name, example string
		judge         func([]byte) error
	}{
		{"proposed", "iris.proposal.recorded.v1/valid/by-a-producer.json", event(events.TypeProposalRecorded)},
		{"kept", "iris.memory.kept.v1/valid/edited.json", event(events.TypeMemoryKept)},
		{"stated", "iris.memory.stated.v1/valid/own-words.json", event(events.TypeMemoryStated)},
		{"recalled", "iris.recall.resolved.v1/valid/two-entries.json", event(events.TypeRecallResolved)},
		{"asked", "api/state/valid/everything.json", func(data []byte) error { return c.CheckRequest(schemas.RequestState, data) }},
		{"claimed", "claim/valid/with-extensions.json", c.CheckClaimMessage},
	} {
		b.Run(is.name, func(b *testing.B) {
			data, err := os.ReadFile("examples/" + is.example)
			require.NoError(b, err)
			data, err = jcs.Transform(data)
			require.NoError(b, err)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := is.judge(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
