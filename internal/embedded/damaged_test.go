package embedded_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

// One bit of a file of the streams is another one. Iris starts all the same, so that who may audit can ask; the audit says that the
// record is damaged, or isn't there, and blames neither an age limit nor a fault of the program. The other organisation goes on.
func TestADamagedFileIsFoundAndSaid(t *testing.T) {
	t.Parallel()
	for stream, says := range map[string]struct {
		code   string
		status int
	}{"IRIS_ACME": {"record_damaged", 500}, "IRIS_ACCESS_ACME": {"record_gone", 410}} {
		t.Run(stream, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(directory(t), "iris")
			cfg := embedded.Config{DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true}
			run := func(of func(i *iris)) {
				instance, err := embedded.Start(context.Background(), cfg)
				require.NoError(t, err)
				of(&iris{t, instance.Ready, dir})
				require.NoError(t, instance.Stop(context.Background()))
			}
			audit := func(i *iris, recall any) answer {
				return i.ask("auditor", "GET", fmt.Sprintf("/v1/audit/recalls/%s/replay", recall), "")
			}
			propose := func(i *iris, n int) {
				require.Equal(t, 202, i.ask("assistant", "POST", "/v1/proposals",
					fmt.Sprintf(`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","origin":"model-inferred","body":"Likes tea number %d."}`, n)).status)
			}
			var recall any
			run(func(i *iris) {
				for n := range 6 {
					propose(i, n)
				}
				recall = i.ask("assistant", "POST", "/v1/recall", question).body["recallId"]
				for range 2 { // so that the one that is damaged isn't the last
					require.Equal(t, 200, i.ask("assistant", "POST", "/v1/recall", question).status)
				}
				require.Equal(t, "verified", audit(i, recall).body["result"])
			})
			flip(t, dir, stream)
			run(func(i *iris) {
				found := audit(i, recall)
				require.Equal(t, says.code, found.body["code"])
				require.Equal(t, says.status, found.status)
				other := *i
				other.ready.Tokens = i.ready.OtherOrganisation.Tokens
				propose(&other, 1)
			})
		})
	}
}

// flip changes a bit of the ledger's last third, which is the member's, or of the first envelope.
func flip(t *testing.T, dir, stream string) {
	t.Helper()
	blocks, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", stream, "msgs", "*.blk"))
	require.NoError(t, err)
	require.Len(t, blocks, 1)
	content, err := os.ReadFile(blocks[0])
	require.NoError(t, err)
	at := len(content) * 4 / 5
	if stream == "IRIS_ACCESS_ACME" {
		at = len(content) / 6
	}
	content[at] ^= 1
	require.NoError(t, os.WriteFile(blocks[0], content, 0o600))
}
