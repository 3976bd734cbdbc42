package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/policy"
)

// An administrator's day by commands, and a feed that goes on where it stopped.
func TestAdministrationByCommands(t *testing.T) {
	t.Parallel()
	dir := program(t)
	up(t, dir, "--no-demo")
	does := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, got := iris(t, dir, args...)
		require.Equal(t, code, got, "%v: %s%s", args, stdout, stderr)
		return stdout, stderr
	}
	shows := func(what string, is func(stdout string) bool, args ...string) (stdout string) { // lists follow what was done
		t.Helper()
		require.Eventually(t, func() bool {
			said, _, code := iris(t, dir, args...)
			stdout = said
			return code == exitDone && is(said)
		}, time.Minute, 50*time.Millisecond, "%s: %v: %v", what, args, &stdout)
		return stdout
	}
	one := func(stdout string) bool { return strings.Count(stdout, "\n") == 2 } // and the heads
	shows("the demonstration's role holder", one, "admin", "holders", "list", "reviewer")
	shows("the demonstration's operator", one, "admin", "holders", "list", "support", "--inspection")

	stdout, _ := does(exitDone, "admin", "members", "add", "zoe@acme.example", "--name", "Zoe")
	zoe := strings.TrimSpace(stdout)
	does(exitDone, "admin", "memberships", "start", zoe, "atlas")
	stdout, _ = does(exitDone, "admin", "memberships", "end", zoe, "atlas")
	require.Contains(t, stdout, "is forgotten on")
	does(exitDone, "admin", "memberships", "resume", zoe, "atlas")
	shows("her name", func(stdout string) bool { return strings.Contains(stdout, "Zoe") }, "admin", "members", "show", zoe)
	stdout = shows("her id", func(stdout string) bool { return strings.Contains(stdout, zoe) }, "admin", "members", "list")
	require.NotContains(t, stdout, "Zoe")
	for _, unsure := range [][]string{nil, {"--yes=false"}} {
		_, stderr := does(exitCouldNot, append([]string{"admin", "members", "remove", zoe}, unsure...)...)
		require.Contains(t, stderr, "--yes")
	}
	does(exitDone, "admin", "members", "show", zoe)
	does(exitDone, "admin", "members", "remove", zoe, "--yes")
	_, stderr := does(exitNot, "admin", "members", "show", zoe)
	require.Contains(t, stderr, "not_found")
	_, stderr = does(exitNot, "admin", "roles", "define", "legal")
	require.Contains(t, stderr, "role_reserved")
	_, stderr = does(exitNot, "admin", "clients", "set", "shell-app", "nobody")
	require.Contains(t, stderr, "\n  enum: /consumers/0 ", "what the answer says of each place is shown")
	does(exitDone, "admin", "tenants", "define", "north")
	stdout, _ = does(exitDone, "admin", "tenants", "quarantine", "north")
	require.Contains(t, stdout, "quarantined")
	asks, err := openClientOf(filepath.Join(dir, ".iris"), "")
	require.NoError(t, err)
	for n := range 200 { // more than a page of the most that a page holds
		require.NoError(t, asks.ask(t.Context(), "admin", http.MethodPut, fmt.Sprint("/v1/admin/tenants/t-", n), nil, nil))
	}
	stdout, _ = does(exitDone, "admin", "tenants", "list")
	require.Equal(t, 1+201, strings.Count(stdout, "\n"))
	stdout, _ = does(exitDone, "admin", "tenants", "list", "--json")
	require.Equal(t, 201, strings.Count(stdout, `"tenant"`))
	does(exitDone, "admin", "clients", "set", "shell-app", "shell", "assistant")
	stdout, _ = does(exitDone, "admin", "clients", "list")
	require.Contains(t, stdout, "shell assistant")

	// The feed: three lines that are carried out, three that can't be.
	file := filepath.Join(dir, "feed.jsonl")
	lines := `{"subject":"yan@acme.example","displayName":"Yan","program":"atlas","action":"start","rolesGiven":["reviewer"]}
not json
{"subject":"nobody@acme.example","program":"atlas","action":"end"}
{"subject":"yan@acme.example","program":"atlas","action":"start"}

{"subject":"yan@acme.example","program":"nowhere","action":"start"}
{"subject":"yan@acme.example","program":"atlas","action":"end","rolesTaken":["reviewer"]}
`
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	run := func(code int) (s fedSummary) {
		t.Helper()
		stdout, stderr := does(code, "admin", "feed", file, "--json")
		require.NoError(t, json.Unmarshal([]byte(stdout), &s))
		require.NotContains(t, stderr, "\x1b")
		return s
	}
	first := run(exitNot)
	require.Equal(t, []int{2, 1, 0, 3}, []int{first.Changed, first.Unchanged, first.Before, len(first.BadLines)})
	for i, want := range []fedLine{{Line: 2, Code: "invalid_json"}, {Line: 3, Code: "not_found"}, {Line: 6, Code: "program_unknown"}} {
		want.Hash = first.BadLines[i].Hash
		require.Equal(t, want, first.BadLines[i])
	}
	report, err := os.ReadFile(file + ".report")
	require.NoError(t, err)
	require.NotContains(t, string(report), "yan")
	require.NotContains(t, string(report), "Yan")

	// The last line of the report was cut off, and the bad lines were mended: what is done is not done again.
	require.NoError(t, os.WriteFile(file+".report", report[:len(report)-9], 0o600))
	mended := strings.NewReplacer("not json", "", "nowhere", "default", "nobody@acme.example", "yan@acme.example").Replace(lines)
	require.NoError(t, os.WriteFile(file, []byte(mended), 0o600))
	second := run(exitDone)
	require.Equal(t, 2, second.Before)
	require.Empty(t, second.BadLines)
	third := run(exitDone)
	require.Equal(t, []int{0, 0}, []int{third.Changed, third.Unchanged})
}

// A policy is checked without a running Iris: 0 could be applied, 1 would be refused, with rule and place.
func TestPolicyCheck(t *testing.T) {
	t.Parallel()
	dir := program(t)
	shipped := string(policy.Default().Canonical())
	for name, c := range map[string]struct {
		from, to, says string
		code           int
	}{
		"as shipped": {"", "", "would be taken", exitDone},
		"stricter":   {`"shell":{"maxEntries":3`, `"shell":{"maxEntries":2`, "would be taken", exitDone},
		"weaker":     {`"shell":{"maxEntries":3`, `"shell":{"maxEntries":9`, `policy_weakens_given_rule at "/DEFAULT_BUDGETS/shell/maxEntries"`, exitNot},
		"malformed":  {`{`, `[`, "policy_malformed", exitNot},
	} {
		file := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".json")
		require.NoError(t, os.WriteFile(file, []byte(strings.Replace(shipped, c.from, c.to, 1)), 0o600))
		stdout, stderr, code := iris(t, dir, "policy", "check", file)
		require.Equal(t, c.code, code, "%s: %s%s", name, stdout, stderr)
		require.Contains(t, stdout, c.says, name)
		stdout, _, _ = iris(t, dir, "policy", "check", file, "--json")
		require.True(t, json.Valid([]byte(stdout)), stdout)
	}
}
