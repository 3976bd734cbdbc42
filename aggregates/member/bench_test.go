package member_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// BenchmarkDecide is a decision about a member of 10,000 memories whose book is in hand.
func BenchmarkDecide(b *testing.B) {
	w := newWorld(b)
	for _, key := range []events.ConsentKey{events.PurposeDataProcessing, events.PurposeDataStorage} {
		_, err := w.perform(act{Do: "grant", Key: key})
		require.NoError(b, err)
	}
	for i := range 10_000 {
		body := fmt.Sprintf("Memory number %d says what number %d says.", i, i*7)
		_, err := w.perform(act{Do: "state", Name: "m", Subject: fmt.Sprintf("subject-%d", i%2_000), Body: &body})
		require.NoError(b, err)
	}
	body := "Prefers metric units in all tables."
	_, err := w.perform(act{Do: "state", Name: "walks", Subject: "walks", Body: ptr("Likes long walks by the river.")})
	require.NoError(b, err)
	_, err = w.perform(act{Do: "propose", Name: "p", Subject: "units"})
	require.NoError(b, err)
	on := map[string]bool{"default": true}
	for name, a := range map[string]act{
		"propose": {Do: "propose", Subject: "subject-7", Body: ptr("Something else that is new.")},
		"accept":  {Do: "accept", Of: "p"},
		"state":   {Do: "state", Subject: "subject-7", Body: ptr("Something else that is new.")},
		"edit":    {Do: "edit", Of: "m", About: ptr("subject-7")},
		"promote": {Do: "promote", Of: "walks"},
		"known":   {Do: "propose", Body: &body},
		"on":      {Do: "settings", AutoKeep: &on},
	} {
		b.Run(name, func(b *testing.B) {
			command, env := a.command(w), w.env()
			for b.Loop() {
				_, err := member.Decide(w.state, command, env)
				require.NoError(b, err)
			}
		})
	}
}

func ptr[T any](v T) *T { return &v }
