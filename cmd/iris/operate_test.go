package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/embedded"
)

// rebuildLock is what a rebuild holds at PostgreSQL, whichever process runs it.
const rebuildLock = 4_202_611_002

// operates runs a command with a worker's environment, and returns what it said and its exit code.
func (d *deployment) operates(env []string, args ...string) (printed, told string, code int) {
	d.t.Helper()
	c := d.command(args[0], env, args[1:]...)
	var out, err bytes.Buffer
	c.Stdout, c.Stderr = &out, &err
	_ = c.Run()
	return out.String(), err.String(), c.ProcessState.ExitCode()
}

// An operator's commands against three NATS nodes and a PostgreSQL that aren't ours, beside the processes that read and project there.
func TestRebuildAndParkedCommitsOfADeployment(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	serve, worker := d.run("serve-1", "serve"), d.run("worker-1", "worker", "projector", "intake")
	other := d.run("worker-2", "worker", "projector")
	for _, p := range []*part{serve, worker, other} {
		require.Eventually(t, p.ready, time.Minute, 50*time.Millisecond, p.name)
	}
	admin := d.postgres.URL("postgres", d.postgres.Superuser())
	rights := []string{"IRIS_POSTGRES_ADMIN=" + admin}
	kept := 0
	keeps := func(n int) { // and waits until both the words and the list have it
		t.Helper()
		made := serve.ask("member", "POST", "/v1/me/memory", fmt.Sprintf(
			`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","subject":"number %d","body":"Likes the number %d."}`, n, n))
		require.Equal(t, http.StatusCreated, made.status, made.body)
		kept++
		var a httpAnswer
		require.Eventually(t, func() bool { // whoever is behind, after a flip, says so and is asked again
			var err error
			a, err = serve.try("member", "GET", "/v1/me/memory?limit=200", "", "", "Iris-Wait", made.position)
			return err == nil && a.status == 200
		}, time.Minute, 50*time.Millisecond, "%v", &a)
		require.Len(t, a.body["items"], kept)
	}
	for n := range 3 {
		keeps(n)
	}

	_, told, code := d.operates(nil, "rebuild")
	require.Equal(t, exitCouldNot, code, told)
	require.Contains(t, told, "IRIS_POSTGRES_ADMIN")

	d.rebuildsAlone(rights)
	printed, told, code := d.operates(rights, "rebuild")
	require.Equal(t, exitDone, code, told)
	require.Contains(t, printed, "is kept as iris_kept_1")
	require.Contains(t, told, "iris: reading")
	keeps(3) // the workers follow the flip
	printed, told, code = d.operates(rights, "rebuild", "--rollback", "--json")
	require.Equal(t, exitDone, code, told)
	var done embedded.Rebuilt
	require.NoError(t, json.Unmarshal([]byte(printed), &done))
	require.Equal(t, "iris_kept_1", done.Report.Kept)
	keeps(4)
	_, told, code = d.operates(rights, "rebuild", "--drop", "iris")
	require.Equal(t, exitNot, code)
	require.Contains(t, told, "rebuild_not_kept")
	_, told, code = d.operates(rights, "rebuild", "--drop", "iris_kept_1")
	require.Equal(t, exitDone, code, told)

	d.releasesWhatIsParked()
	d.killedInARebuild(rights)
	keeps(5)
	printed, told, code = d.operates(rights, "rebuild")
	require.Equal(t, exitDone, code, told)
	require.Contains(t, printed, "is kept as iris_kept_1")
	keeps(6)
}

// rebuildsAlone: while one process holds the lock another is told, and nothing changes.
func (d *deployment) rebuildsAlone(rights []string) {
	t := d.t
	t.Helper()
	first, err := pgx.Connect(t.Context(), d.postgres.URL(assembly.ModelsDatabase, d.postgres.Superuser()))
	require.NoError(t, err)
	defer first.Close(context.Background())
	_, err = first.Exec(t.Context(), "SELECT pg_advisory_lock($1)", int64(rebuildLock))
	require.NoError(t, err)
	_, told, code := d.operates(rights, "rebuild")
	require.Equal(t, exitNot, code)
	require.Contains(t, told, "rebuild_running")
}

// killedInARebuild: what is read is as it was, and the lock is free. Where it dies is left to chance.
func (d *deployment) killedInARebuild(rights []string) {
	t := d.t
	t.Helper()
	c := d.command("rebuild", rights)
	said, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	_, err = said.Read(make([]byte, 64)) // it has begun
	require.NoError(t, err)
	require.NoError(t, c.Process.Kill())
	var exited *exec.ExitError
	require.ErrorAs(t, c.Wait(), &exited)
}

// releasesWhatIsParked: an envelope that nobody can read is listed, tried again in vain, and given up.
func (d *deployment) releasesWhatIsParked() {
	t := d.t
	t.Helper()
	printed, told, code := d.operates(nil, "parked", "commits")
	require.Equal(t, exitDone, code, told)
	require.Equal(t, "Nothing is parked.\n", printed)

	l, err := eventlog.New(d.cluster.Connect(t), eventlog.Config{Replicas: 3})
	require.NoError(t, err)
	position, err := l.AppendAccess(t.Context(), "acme", events.RecallSubject("acme"), []byte("[]"))
	require.NoError(t, err)
	id := fmt.Sprintf("%s@%d", events.AccessStreamFor("acme"), position)
	listed := func() (all []parkedCommit) {
		printed, told, code := d.operates(nil, "parked", "commits", "list", "--json")
		require.Equal(t, exitDone, code, told)
		require.NoError(t, json.Unmarshal([]byte(printed), &all))
		return all
	}
	require.Eventually(t, func() bool { return len(listed()) == 1 }, time.Minute, 200*time.Millisecond)
	all := listed()
	require.Equal(t, id, all[0].ID)
	require.Equal(t, "event_malformed", all[0].Code)

	for refusal, args := range map[string][]string{
		"not_parked":     {"retry", "IRIS_ACME@1"},
		"still_parked":   {"retry", id},
		"reason_refused": {"discard", id, "--reason", "some words"},
	} {
		_, told, code := d.operates(nil, append([]string{"parked", "commits"}, args...)...)
		require.Equal(t, exitNot, code, refusal)
		require.Contains(t, told, refusal)
	}
	require.Greater(t, listed()[0].Attempts, all[0].Attempts)
	_, told, code = d.operates(nil, "parked", "commits", "discard", id, "--reason", "ticket-7")
	require.Equal(t, exitDone, code, told)
	require.Equal(t, "discarded", listed()[0].State)
}
