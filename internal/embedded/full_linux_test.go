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
	smallPostgres = "IRIS_TEST_SMALL_POSTGRES"
	smallSize     = "352m" // three quarters of it hold the inbox, which reserves its bytes
)

// small is this test binary run as an Iris whose streams lie on a disk of a few hundred megabytes. The disk is a mount of this process
// alone, in a namespace of its own: root needs nothing for that, and others only a kernel that lets them have user namespaces.
func small(dir string) int {
	streams := filepath.Join(dir, "nats")
	if err := os.MkdirAll(streams, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "child:", err)
		return 1
	}
	if err := syscall.Mount("tmpfs", streams, "tmpfs", 0, "size="+smallSize+",mode=0700"); err != nil {
		fmt.Fprintln(os.Stderr, "child: mount a small disk:", err)
		return 1
	}
	instance, err := embedded.Start(context.Background(), embedded.Config{
		DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", NoDemo: true, PostgresURL: os.Getenv(smallPostgres),
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
	command := exec.Command(os.Args[0])
	data := filepath.Join(dir, "iris")
	command.Env = append(os.Environ(), smallDir+"="+data, smallPostgres+"="+postgres.URL("postgres", postgres.Superuser()))
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if os.Geteuid() != 0 {
		command.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start(), "a disk of its own takes root, or user namespaces: sysctl kernel.unprivileged_userns_clone=1 (or kernel.apparmor_restrict_unprivileged_userns=0)")
	t.Cleanup(func() {
		if command.ProcessState == nil {
			_ = command.Process.Kill()
			_ = command.Wait()
		}
	})
	answers := json.NewDecoder(bufio.NewReader(out))
	i := &iris{t: t, dir: data}
	require.NoError(t, answers.Decode(&i.ready), "the child came up; mounting takes root, or user namespaces")

	acknowledged, position := map[string]any{}, ""
	propose := func(n int) answer {
		a, err := ask(i.ready, "assistant", "POST", "/v1/proposals", proposalOf(n), "Idempotency-Key", fmt.Sprint("full-", n))
		require.NoError(t, err)
		if a.status == 202 {
			acknowledged[fmt.Sprintf("Likes the number %d.", n)], position = a.body["proposalId"], a.position
		}
		return a
	}
	for n := range 10 {
		require.Equal(t, 202, propose(n).status)
	}
	filler := fill(t, filepath.Join("/proc", strconv.Itoa(command.Process.Pid), "root", data, "nats", "filler"))
	refused := 0
	n := 10
	for ; refused < 1; n++ { // what is left of a block takes a few more
		a := propose(n)
		if a.status == http.StatusServiceUnavailable {
			require.NotEmpty(t, a.body["detail"], "a 503 says what to do meanwhile")
			refused++
			continue
		}
		require.Equal(t, 202, a.status, a.body)
		require.Less(t, n, 10_000, "the disk never got full")
	}
	listed := i.ask("member", "GET", "/v1/me/proposals?state=pending&limit=1", "")
	require.Equal(t, 200, listed.status, "what was recorded is still shown")

	require.NoError(t, os.Remove(filler))
	for m := range n { // the same keys: what was recorded although an error was returned isn't recorded again
		require.Eventually(t, func() bool { return propose(m).status == 202 }, time.Minute, 50*time.Millisecond)
	}
	require.Eventually(t, func() bool {
		a, err := ask(i.ready, "member", "GET", "/readyz", "")
		return err == nil && a.status == 200
	}, time.Minute, 50*time.Millisecond, "it is well again by itself")
	require.Equal(t, acknowledged, i.pending(position))
	_, err = io.WriteString(in, "rebuild\n")
	require.NoError(t, err)
	var different string
	require.NoError(t, answers.Decode(&different))
	require.Equal(t, "<nil>", different, "read models equal a rebuild")
	require.NoError(t, in.Close())
	require.NoError(t, command.Wait(), "a graceful stop")
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
