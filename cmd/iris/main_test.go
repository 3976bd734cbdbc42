package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/embedded"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dir, _ := built() // there is a folder where the build failed, too
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// built makes the binary once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "iris-build-")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", filepath.Join(dir, "iris"), ".").CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("build iris: %w: %s", err, out)
	}
	return dir, nil
})

// program returns a folder laid out like the checkout: bin/iris in it.
func program(t *testing.T) string {
	t.Helper()
	from, err := built()
	require.NoError(t, err)
	dir, err := os.MkdirTemp("", "iris-cli-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Mkdir(filepath.Join(dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(filepath.Join(from, "iris"), filepath.Join(dir, "bin", "iris")))
	return dir
}

// up starts `iris up` and waits for its ready document. It is stopped as a person would stop it.
func up(t *testing.T, dir string, args ...string) embedded.Ready {
	t.Helper()
	command := exec.Command(filepath.Join(dir, "bin", "iris"), append([]string{"up", "--data", filepath.Join(dir, ".iris"), "--http", "127.0.0.1:0", "--nats", "127.0.0.1:0", "--json"}, args...)...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		require.NoError(t, command.Process.Signal(syscall.SIGTERM))
		require.NoError(t, command.Wait(), said.String())
	})
	var ready embedded.Ready
	require.NoError(t, json.NewDecoder(bufio.NewReader(out)).Decode(&ready), "it didn't come up; what it said stands below")
	return ready
}

func iris(t *testing.T, dir string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := exec.Command(filepath.Join(dir, "bin", "iris"), args...)
	command.Dir = dir
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err := command.Run()
	if exited, ok := err.(*exec.ExitError); ok {
		return out.String(), errs.String(), exited.ExitCode()
	}
	require.NoError(t, err)
	return out.String(), errs.String(), 0
}

// The README's walk, word for word but for the port, and what a reader must see after each step.
func TestReadmeWalk(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	first := strings.SplitN(string(readme), "\n", 6)
	require.Regexp(t, `^make run\b`, first[3], "the README begins with the two commands")
	require.Regexp(t, `^make test\b`, first[4])

	var steps []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(string(readme), -1) {
		steps = append(steps, block[1])
	}
	sees := []func(string){
		func(out string) {
			require.Contains(t, out, "Prefers metric units in all tables")
			require.NotContains(t, out, "migraine", "what she only was asked about is not said")
		},
		func(out string) { require.Contains(t, out, ": verified") },
		func(out string) { require.NotContains(t, out, "letters", "nothing is remembered without an answer") },
		func(out string) { require.Contains(t, out, "Likes letters of one page.") },
		func(out string) {
			require.NotContains(t, out, "Likes letters", "a forget is honoured by the next recall")
			require.Contains(t, out, ": verified")
		},
	}
	require.Len(t, steps, len(sees), "every step of the walk says what it must show")

	dir := program(t)
	ready := up(t, dir)
	const marker = "=== next step"
	script := "set -eu\n" + strings.Join(steps, "\necho '"+marker+"'\n")
	shell := exec.Command("sh", "-c", strings.ReplaceAll(script, "http://127.0.0.1:8420", ready.HTTP))
	shell.Dir = dir
	var errs bytes.Buffer
	shell.Stderr = &errs
	out, err := shell.Output()
	require.NoError(t, err, "%s%s", out, errs.String())
	for n, shown := range strings.Split(string(out), marker) {
		sees[n](shown)
	}
}

func TestCommandsSayWhatToDo(t *testing.T) {
	t.Parallel()
	dir := program(t)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"recall", "tea"}, exitCouldNot, "start Iris with `iris up --data .iris`"},
		{[]string{"audit", "recall", "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f"}, exitCouldNot, "start Iris with"},
		{[]string{"remember", "this"}, exitCouldNot, "iris --help"},
		{[]string{"up", "--http", "0.0.0.0:80"}, exitCouldNot, "loopback only"},
		{[]string{"up", "--clock-offset=-1h"}, exitCouldNot, "forward only"},
		{[]string{"token"}, exitCouldNot, "--sub"},
	} {
		_, stderr, code := iris(t, dir, c.args...)
		require.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, "%v", c.args)
	}
	stdout, _, code := iris(t, dir, "version")
	require.Zero(t, code)
	require.Equal(t, "iris dev\n", stdout)
	help, _, code := iris(t, dir, "--help")
	require.Zero(t, code)
	require.Contains(t, help, "governed memory")
}

func TestAuditExitCodes(t *testing.T) {
	t.Parallel()
	dir := program(t)
	up(t, dir, "--no-demo", "--ready-file", filepath.Join(dir, "ready.json"))
	content, err := os.ReadFile(filepath.Join(dir, "ready.json"))
	require.NoError(t, err)
	var ready embedded.Ready
	require.NoError(t, json.Unmarshal(content, &ready))
	require.Equal(t, "acme", ready.Organisation)
	for _, role := range []string{"member", "assistant", "member2", "operator", "approver", "roleHolder", "curator", "auditor", "admin", "producer"} {
		require.NotEmpty(t, ready.Tokens[role], role)
		require.NotEmpty(t, ready.OtherOrganisation.Tokens[role], role)
	}
	_, stderr, code := iris(t, dir, "audit", "recall", "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")
	require.Equal(t, exitCouldNot, code)
	require.Contains(t, stderr, "404")
	stdout, _, code := iris(t, dir, "recall", "tea", "--json")
	require.Zero(t, code)
	var answer recalled
	require.NoError(t, json.Unmarshal([]byte(stdout), &answer))
	require.Empty(t, answer.Entries, "no demonstration, no memories")
	stdout, stderr, code = iris(t, dir, "audit", "recall", answer.RecallID, "--wait", "10s", "--json")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"result": "verified"`)
	_, _, code = iris(t, dir, "token", "--sub", "ada@acme.example", "--permissions", "iris.everything")
	require.Equal(t, exitNot, code)
}

func TestNotVerifiedIsExitCodeOne(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	for result, want := range map[string]int{"verified": exitDone, "not-verified": exitNot, "verified-except-erased": exitExceptErased} {
		require.Equal(t, want, report(verdict(proof{Result: result}), output{&errs, &errs}), result)
	}
}
