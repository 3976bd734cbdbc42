package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/internal/pgserver"
)

const (
	smallPostgres = "IRIS_TEST_SMALL_POSTGRES" // a PostgreSQL that has room; empty: the small disk is under one of the child's own
	smallStreams  = "352m"                     // three quarters of it hold the inbox, which reserves its bytes
	smallDatabase = "224m"
)

// small is this test binary run as an Iris whose streams, or whose databases, lie on a disk of a few hundred megabytes. The disk is a mount
// of this process alone, in a namespace of its own: root needs nothing for that, and others only a kernel that lets them have user
// namespaces.
func small(dir string) int {
	postgres, disk, size := os.Getenv(smallPostgres), filepath.Join(dir, "nats"), smallStreams
	if postgres == "" {
		disk, size = filepath.Join(dir, "databases"), smallDatabase
	}
	if err := os.MkdirAll(disk, 0o711); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size="+size+",mode=0711"); err != nil {
		fmt.Fprintln(os.Stderr, "child: mount a small disk:", err)
		return 1
	}
	if postgres == "" {
		server, err := pgserver.Start(context.Background(), pgserver.Config{
			DataDir: filepath.Join(disk, "postgres"), Settings: map[string]string{"min_wal_size": "32MB", "max_wal_size": "48MB"},
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			return 1
		}
		defer func() { _ = server.Stop(context.Background()) }()
		postgres = server.URL("postgres", server.Superuser())
	}
	instance, err := embedded.Start(context.Background(), embedded.Config{
		DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, PostgresURL: postgres,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	if err := json.NewEncoder(os.Stdout).Encode(instance.Ready); err != nil {
		return 1
	}
	for line := bufio.NewScanner(os.Stdin); line.Scan(); { // each line asks for a rebuild, which compares
		_, err := instance.Rebuild(context.Background(), embedded.Models{Act: "rebuild"}, nil)
		fmt.Println(strconv.Quote(fmt.Sprint(err)))
	}
	if err := instance.Stop(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	return 0
}

// The disk under the streams fills up: what was acknowledged is there, once; what can't be written answers 503 and what to do; what is
// there is still said back where that needs no write; and when there is room again everything goes on by itself.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := directory(t)
	postgres, err := pgserver.Start(t.Context(), pgserver.Config{DataDir: filepath.Join(dir, "postgres"), UnsafeNoSync: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, postgres.Stop(context.Background())) })
	c := startSmall(t, filepath.Join(dir, "iris"), postgres.URL("postgres", postgres.Superuser()))
	filler, n := c.fills("nats", "outcome_unknown")
	listed := c.ask("member", "GET", "/v1/me/proposals?state=pending&limit=1", "")
	require.Equal(t, 200, listed.status, "what was recorded is still shown")
	c.goesOn(filler, n)
}

// The disk under PostgreSQL fills up, with the vault and the read models on it: no key is handed out that isn't durable, so that nothing is
// taken in and the answer says so. The rest is as with the streams.
func TestDatabaseDiskFull(t *testing.T) {
	t.Parallel()
	c := startSmall(t, filepath.Join(directory(t), "iris"), "")
	c.goesOn(c.fills("databases", "store_unavailable"))
}

// cramped is a child on a small disk.
type cramped struct {
	*iris
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	answers *json.Decoder

	acknowledged map[string]any // proposal by its words
	position     string         // of the last
}

func startSmall(t *testing.T, data, postgres string) *cramped {
	t.Helper()
	c := &cramped{iris: &iris{t: t, dir: data}, t: t, command: exec.Command(os.Args[0]), acknowledged: map[string]any{}}
	c.command.Env = append(os.Environ(), smallDir+"="+data, smallPostgres+"="+postgres)
	c.command.Stderr = os.Stderr
	c.command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		c.command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		c.command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	var err error
	c.in, err = c.command.StdinPipe()
	require.NoError(t, err)
	out, err := c.command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.command.Start(), "a disk of its own takes root, or user namespaces: sysctl kernel.unprivileged_userns_clone=1 (or kernel.apparmor_restrict_unprivileged_userns=0)")
	t.Cleanup(func() {
		if c.command.ProcessState == nil {
			_ = c.command.Process.Kill()
			_ = c.command.Wait()
		}
	})
	c.answers = json.NewDecoder(bufio.NewReader(out))
	require.NoError(t, c.answers.Decode(&c.ready), "the child came up; mounting takes root, or user namespaces")
	return c
}

func (c *cramped) propose(n int) answer {
	a, err := ask(c.ready, "assistant", "POST", "/v1/proposals", proposalOf(n), "Idempotency-Key", fmt.Sprint("full-", n))
	require.NoError(c.t, err)
	if a.status == 202 {
		c.acknowledged[fmt.Sprintf("Likes the number %d.", n)], c.position = a.body["proposalId"], a.position
	}
	return a
}

// fills writes until the disk has no room and a proposal is refused for it. It returns what to remove, and how many were proposed.
func (c *cramped) fills(disk, code string) (filler string, n int) {
	c.t.Helper()
	for n = range 10 {
		require.Equal(c.t, 202, c.propose(n).status)
	}
	filler = fill(c.t, filepath.Join("/proc", strconv.Itoa(c.command.Process.Pid), "root", c.dir, disk, "filler"))
	for n = 10; ; n++ { // what is left of a block takes a few more
		a := c.propose(n)
		if a.status == http.StatusServiceUnavailable {
			require.NotEmpty(c.t, a.body["detail"], "a 503 says what to do meanwhile")
			require.Equal(c.t, code, a.body["code"])
			return filler, n + 1
		}
		require.Equal(c.t, 202, a.status, a.body)
		require.Less(c.t, n, 10_000, "the disk never got full")
	}
}

// goesOn makes room and has everything that was asked asked again.
func (c *cramped) goesOn(filler string, n int) {
	t := c.t
	t.Helper()
	require.NoError(t, os.Remove(filler))
	for m := range n { // the same keys: what was recorded although an error was returned isn't recorded again
		require.Eventually(t, func() bool { return c.propose(m).status == 202 }, time.Minute, 50*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		a, err := ask(c.ready, "member", "GET", "/readyz", "")
		return err == nil && a.status == 200
	}, time.Minute, 50*time.Millisecond, "it is well again by itself")
	require.Equal(t, c.acknowledged, c.pending(c.position))
	_, err := io.WriteString(c.in, "rebuild\n")
	require.NoError(t, err)
	var different string
	require.NoError(t, c.answers.Decode(&different))
	require.Equal(t, "<nil>", different, "read models equal a rebuild")
	require.NoError(t, c.in.Close())
	require.NoError(t, c.command.Wait(), "a graceful stop")
}

func proposalOf(n int) string {
	return fmt.Sprintf(`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":"Likes the number %d.","origin":"model-inferred"}`, n)
}

// pending reads everything that waits for the member, at a position, and fails when something stands there twice.
func (i *iris) pending(position string) map[string]any {
	i.t.Helper()
	found, next := map[string]any{}, ""
	for {
		path := "/v1/me/proposals?state=pending&limit=200"
		if next != "" {
			path += "&cursor=" + next
		}
		var page answer
		require.Eventually(i.t, func() bool {
			a, err := ask(i.ready, "member", "GET", path, "", "Iris-Wait", position)
			page = a
			return err == nil && a.status == 200
		}, time.Minute, 50*time.Millisecond, "%v", &page)
		for _, item := range page.items() {
			require.NotContains(i.t, found, item["body"], "doubled")
			found[item["body"].(string)] = item["proposalId"]
		}
		if next, _ = page.body["next"].(string); next == "" {
			return found
		}
	}
}

// fill writes until there is no room, and returns what to remove to make some.
func fill(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	for _, size := range []int{1 << 20, 4 << 10, 1} { // down to the last byte
		block := make([]byte, size)
		for err == nil {
			_, err = f.Write(block)
		}
		require.True(t, errors.Is(err, syscall.ENOSPC), err)
		err = nil
	}
	return path
}
