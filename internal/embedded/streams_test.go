package embedded_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

// An old backup of the streams in the place of the newer ones: nothing of that organisation is written or said, and it shows. The
// other organisation, which lost nothing, goes on. With the streams as they were everything does.
func TestOlderStreamsAreNotWrittenTo(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(directory(t), "iris")
	cfg := embedded.Config{DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true}
	run := func(of func(i *iris)) {
		instance, err := embedded.Start(context.Background(), cfg)
		require.NoError(t, err)
		of(&iris{t, instance.Ready, dir})
		require.NoError(t, instance.Stop(context.Background()))
	}
	propose := func(i *iris, text string) answer {
		return i.ask("assistant", "POST", "/v1/proposals",
			`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","origin":"model-inferred","body":"`+text+`"}`)
	}
	unready := func(i *iris) (pointers []any) {
		ready := i.ask("member", "GET", "/readyz", "")
		require.Equal(t, 503, ready.status)
		for _, item := range ready.body["errors"].([]any) {
			pointers = append(pointers, item.(map[string]any)["pointer"])
		}
		return pointers
	}
	streams, older, newer := filepath.Join(dir, "nats"), filepath.Join(dir, "nats-older"), filepath.Join(dir, "nats-newer")

	run(func(i *iris) { require.Equal(t, 200, i.ask("member", "GET", "/readyz", "").status) })
	require.NoError(t, os.CopyFS(older, os.DirFS(streams)))
	run(func(i *iris) { require.Equal(t, 202, propose(i, "Prefers green tea.").status) })
	require.NoError(t, os.Rename(streams, newer))
	require.NoError(t, os.Rename(older, streams))

	run(func(i *iris) {
		require.Contains(t, unready(i), "/streams of acme")
		require.NotContains(t, unready(i), "/streams of borealis")

		refused := propose(i, "Prefers coffee.")
		require.Equal(t, 503, refused.status)
		require.Equal(t, "store_unavailable", refused.body["code"])
		silent := i.ask("assistant", "POST", "/v1/recall", question)
		require.Equal(t, 503, silent.status)
		require.Equal(t, "consent_state_unavailable", silent.body["code"])

		other := *i
		other.ready.Tokens = i.ready.OtherOrganisation.Tokens
		require.Equal(t, 202, propose(&other, "Prefers cake.").status)
	})

	require.NoError(t, os.RemoveAll(streams))
	require.NoError(t, os.Rename(newer, streams))
	run(func(i *iris) {
		// What borealis recorded meanwhile isn't on these streams: now that is the alarm.
		require.Equal(t, 202, propose(i, "Prefers water.").status)
		require.NotContains(t, unready(i), "/streams of acme")
		require.Contains(t, unready(i), "/streams of borealis")
	})
}
