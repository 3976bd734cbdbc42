package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

const childDir = "IRIS_TEST_CHILD_DIR"

// child is this test binary run as an Iris that can be killed: it prints its ready document and lives until it is killed, or
// until the parent lets go of its standard input.
func child(dir string) int {
	instance, err := embedded.Start(context.Background(), embedded.Config{DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(instance.Ready); err != nil {
		return 1
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := instance.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

type running struct {
	command *exec.Cmd
	let     io.Closer
	ready   embedded.Ready
}

func run(t *testing.T, dir string) *running {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childDir+"="+dir)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() { // before its folder goes, where the test failed
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	r := &running{command: command, let: in}
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&r.ready), "the child came up")
	return r
}

const kills = 50

// kill -9 at fifty random points of a stream of commands: no acknowledged event is lost, none is doubled, and the read models come to
// the same as the stream.
func TestKilledAtRandomPoints(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(directory(t), "iris")
	acknowledged := map[string]string{} // body → memory
	proposal := func(n int) (key, body, request string) {
		body = fmt.Sprintf("Likes the number %d.", n)
		return fmt.Sprintf("k-%d", n), body, fmt.Sprintf(`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":%q,"origin":"model-inferred"}`, body)
	}
	n := 0
	for round := range kills {
		r := run(t, dir)
		done := make(chan struct{})
		kill := 1 + rand.IntN(8)
		go func() {
			defer close(done)
			for sent := 0; ; sent++ {
				if sent == kill {
					_ = r.command.Process.Kill() // while the next request is on its way
				}
				key, body, request := proposal(n)
				a, err := ask(r.ready, "assistant", "POST", "/v1/proposals", request, "Idempotency-Key", key)
				if err != nil {
					return // killed: whether this one was recorded, nobody knows yet; it is sent again
				}
				if a.status != 202 {
					t.Errorf("round %d: %d %v", round, a.status, a.body)
					return
				}
				acknowledged[body] = a.body["proposalId"].(string)
				n++
			}
		}()
		<-done
		_ = r.command.Wait()
	}

	r := run(t, dir)
	key, body, request := proposal(n)
	last, err := ask(r.ready, "assistant", "POST", "/v1/proposals", request, "Idempotency-Key", key)
	require.NoError(t, err)
	require.Equal(t, 202, last.status)
	acknowledged[body] = last.body["proposalId"].(string)

	found := map[string]string{}
	next := ""
	for {
		path := "/v1/me/proposals?state=pending&limit=200"
		if next != "" {
			path += "&cursor=" + next
		}
		page, err := ask(r.ready, "member", "GET", path, "", "Iris-Wait", last.position)
		require.NoError(t, err)
		require.Equal(t, 200, page.status, page.body)
		for _, item := range page.items() {
			require.NotContains(t, found, item["body"], "doubled")
			found[item["body"].(string)] = item["proposalId"].(string)
		}
		if next, _ = page.body["next"].(string); next == "" {
			break
		}
	}
	require.Equal(t, acknowledged, found)
	require.NoError(t, r.let.Close())
	require.NoError(t, r.command.Wait(), "a graceful stop")
}
