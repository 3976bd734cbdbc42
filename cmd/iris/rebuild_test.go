package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
	"iris.example/iris/projections/rebuild"
)

// rebuildAs runs `iris rebuild` and returns what it said and its exit code.
func rebuildAs(t *testing.T, dir string, args ...string) (printed, told string, code int) {
	t.Helper()
	command := exec.Command(filepath.Join(dir, "bin", "iris"), append([]string{"rebuild", "--data", filepath.Join(dir, ".iris")}, args...)...)
	var out, err bytes.Buffer
	command.Stdout, command.Stderr = &out, &err
	_ = command.Run()
	return out.String(), err.String(), command.ProcessState.ExitCode()
}

func TestRebuildOfARunningIrisAndOfOneThatStands(t *testing.T) {
	t.Parallel()
	dir := program(t)
	_, told, code := rebuildAs(t, dir)
	require.Equal(t, exitCouldNot, code)
	require.Contains(t, told, "is no Iris's directory")
	require.NoDirExists(t, filepath.Join(dir, ".iris"), "a question makes no state")

	t.Run("running", func(t *testing.T) {
		up(t, dir)
		printed, told, code := rebuildAs(t, dir)
		require.Equal(t, exitDone, code, told)
		require.Contains(t, printed, "is kept as iris_kept_1")
		require.NotContains(t, told, "\r", "plain lines where there is no terminal")

		var both sync.WaitGroup
		for range 2 { // whoever is second watches the first, or comes after it
			both.Go(func() {
				printed, told, code := rebuildAs(t, dir)
				assert.Equal(t, exitDone, code, told)
				assert.Contains(t, printed, "is kept as iris_kept_")
			})
		}
		both.Wait()

		printed, told, code = rebuildAs(t, dir, "--rollback", "--json")
		require.Equal(t, exitDone, code, told)
		var done embedded.Rebuilt
		require.NoError(t, json.Unmarshal([]byte(printed), &done))
		require.Equal(t, "rollback", done.Act)
		newest := done.Report.Kept
		require.Contains(t, []string{"iris_kept_2", "iris_kept_3"}, newest)

		parked := exec.Command(filepath.Join(dir, "bin", "iris"), "parked", "commits", "--data", filepath.Join(dir, ".iris"))
		said, err := parked.CombinedOutput()
		require.NoError(t, err, string(said))
		require.Equal(t, "Nothing is parked.\n", string(said))
		parked = exec.Command(filepath.Join(dir, "bin", "iris"), "parked", "commits", "retry", "IRIS_ACME@1", "--data", filepath.Join(dir, ".iris"))
		said, err = parked.CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(said), "not_parked")

		_, told, code = rebuildAs(t, dir, "--drop", "iris")
		require.Equal(t, exitNot, code)
		require.Contains(t, told, "rebuild_not_kept")
		for _, kept := range []string{"iris_kept_1", "iris_kept_2", "iris_kept_3"}[:newest[len(newest)-1]-'0'] {
			printed, told, code = rebuildAs(t, dir, "--drop", kept)
			require.Equal(t, exitDone, code, told)
			require.Contains(t, printed, "Dropped "+kept)
		}
		_, told, code = rebuildAs(t, dir, "--rollback")
		require.Equal(t, exitNot, code)
		require.Contains(t, told, "nothing to roll back to")
	})

	printed, told, code := rebuildAs(t, dir)
	require.Equal(t, exitDone, code, told)
	require.Contains(t, printed, "is kept as iris_kept_1")
	require.Contains(t, told, "iris: reading")
}

func TestTheBarSaysRateAndTimeLeft(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	bar := &rebuildBar{out: &out, terminal: true}
	bar.moved(rebuild.Progress{Stage: rebuild.Reading, Done: 250, Total: 1000, Rate: 50, Left: 15 * time.Second})
	bar.moved(rebuild.Progress{Stage: rebuild.Indexing})
	bar.end()
	require.Contains(t, out.String(), strings.Repeat("#", barWidth/4)+".")
	require.Contains(t, out.String(), "250 of 1000 commits  50/s  15s left")
	require.Contains(t, out.String(), "indexing\n")
	require.False(t, isTerminal(&out))
}
