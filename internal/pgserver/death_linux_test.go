package pgserver_test

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestPostgresDiesWithItsParentAndTheDataOpensAgain(t *testing.T) {
	t.Parallel()
	cfg := config(folder(t))
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), childEnv+"="+cfg.DataDir)
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err, line)

	fd, err := unix.PidfdOpen(pid, 0)
	require.NoError(t, err)
	defer unix.Close(fd)
	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	s := start(t, cfg) // at once: the old one may still be going down
	gone := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(gone, int(patience.Milliseconds()))
	for err == unix.EINTR { // Go's own preemption signals
		n, err = unix.Poll(gone, int(patience.Milliseconds()))
	}
	require.NoError(t, err)
	require.Equal(t, 1, n, "postgres outlived its parent")
	connect(t, s)
}
