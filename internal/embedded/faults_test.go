package embedded_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

// postmaster is the process that runs the private PostgreSQL.
func (i *iris) postmaster() int {
	i.t.Helper()
	content, err := os.ReadFile(filepath.Join(i.dir, "postgres", "postmaster.pid"))
	require.NoError(i.t, err)
	pid, err := strconv.Atoi(strings.SplitN(string(content), "\n", 2)[0])
	require.NoError(i.t, err)
	return pid
}

// settled sends a command until it is answered: 503 says what to do meanwhile, and the same key finds out what became of it.
func (i *iris) settled(role, method, path, body, key string) answer {
	i.t.Helper()
	var last answer
	require.Eventually(i.t, func() bool {
		a, err := ask(i.ready, role, method, path, body, "Idempotency-Key", key)
		if err != nil {
			return false
		}
		last = a
		if a.status == http.StatusServiceUnavailable {
			require.NotEmpty(i.t, a.body["detail"], "a 503 says what to do meanwhile")
		}
		return a.status < 500
	}, patience, 20*time.Millisecond)
	return last
}

// The database is killed again and again while commands go on: what was acknowledged is there, once, and visible in the end
// without anybody's help.
func TestDatabaseKilledMeanwhile(t *testing.T) {
	t.Parallel()
	i, instance := start(t, func(c *embedded.Config) { c.NoDemo = true; c.UnsafeNoSync = false })
	acknowledged := map[string]any{}
	position := ""
	const each = 15
	for round := range 3 {
		for n := range each {
			if n == each/2 {
				require.NoError(t, syscall.Kill(i.postmaster(), syscall.SIGKILL))
			}
			body := fmt.Sprintf("Likes the number %d.", round*each+n)
			a := i.settled("assistant", "POST", "/v1/proposals", fmt.Sprintf(
				`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":%q,"origin":"model-inferred"}`, body), fmt.Sprintf("n-%d-%d", round, n))
			require.Equal(t, 202, a.status, a.body)
			require.Equal(t, "pending", a.body["outcome"])
			acknowledged[body], position = a.body["proposalId"], a.position
		}
	}
	var listed answer
	require.Eventually(t, func() bool {
		a, err := ask(i.ready, "member", "GET", "/v1/me/proposals?state=pending&limit=200", "", "Iris-Wait", position)
		listed = a
		return err == nil && a.status == 200
	}, patience, 50*time.Millisecond)
	found := map[string]any{}
	for _, item := range listed.items() {
		require.NotContains(t, found, item["body"], "doubled")
		found[item["body"].(string)] = item["proposalId"]
	}
	require.Equal(t, acknowledged, found)
	require.Eventually(t, func() bool {
		a, err := ask(i.ready, "member", "GET", "/readyz", "")
		return err == nil && a.status == 200
	}, patience, 50*time.Millisecond, "it is well again by itself")
	last, err := instance.Log.Last(context.Background(), "IRIS_ACME")
	require.NoError(t, err)
	require.Equal(t, strconv.FormatUint(last, 10), position, "nothing else was recorded")
}

// A clock behind what was recorded is refused at the start, with what to do.
func TestClockSetBack(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(directory(t), "iris")
	cfg := embedded.Config{DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, UnsafeNoSync: true, ClockOffset: 48 * time.Hour}
	ahead, err := embedded.Start(context.Background(), cfg)
	require.NoError(t, err)
	require.NoError(t, ahead.Stop(context.Background()))
	cfg.ClockOffset = 0
	_, err = embedded.Start(context.Background(), cfg)
	require.ErrorContains(t, err, "--clock-offset of at least")
	cfg.ClockOffset = 49 * time.Hour
	again, err := embedded.Start(context.Background(), cfg)
	require.NoError(t, err)
	require.NoError(t, again.Stop(context.Background()))
}
