package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/client/batch"
)

func claimLine(id, subject, body string) string {
	return fmt.Sprintf(`{"id":%q,"data":{"member":{"subject":%q},"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":%q,"origin":"model-inferred"}}`, id, subject, body) + "\n"
}

// full is a terminal's file on a disk without room.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A producer's day: added, a file carried to its outcomes and taken up again, what couldn't be read looked after, revoked.
func TestProducerByCommands(t *testing.T) {
	t.Parallel()
	dir := program(t)
	ready := up(t, dir, "--no-demo")
	does := func(code int, args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, got := iris(t, dir, args...)
		require.Equal(t, code, got, "%v: %s%s", args, stdout, stderr)
		return stdout, stderr
	}
	stdout, _ := does(exitDone, "producer", "add", "notes", "--consumer", "assistant", "--creds", "notes.creds")
	require.Contains(t, stdout, "iris.in.acme.notes.memory.proposed")
	creds := filepath.Join(dir, "notes.creds")
	info, err := os.Stat(creds)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	content, err := os.ReadFile(creds)
	require.NoError(t, err)
	require.Contains(t, string(content), "BEGIN NATS USER JWT")
	require.NotContains(t, stdout, "SEED")
	_, stderr := does(exitNot, "producer", "add", "other", "--creds", "notes.creds")
	require.Contains(t, stderr, "nothing was added")
	_, stderr = does(exitNot, "producer", "add", "notes", "--creds", "again.creds")
	require.Contains(t, stderr, "producer_exists")
	require.NoFileExists(t, filepath.Join(dir, "again.creds"), "no empty credentials are left")
	does(exitCouldNot, "producer", "add", "notes", "--org", "nowhere")
	stdout, _ = does(exitDone, "producer", "add", "notes", "--org", "borealis", "--json")
	require.Contains(t, stdout, `"subject": "iris.in.borealis.notes.memory.proposed"`)
	require.FileExists(t, filepath.Join(dir, "borealis-notes.creds"))
	// Nothing can be printed: it was added, and its only credentials stay.
	kept := filepath.Join(dir, "unsaid.creds")
	err = producerAdd{Name: "unsaid", Consumer: "assistant", Creds: kept, Data: filepath.Join(dir, ".iris")}.Run(t.Context(), output{Out: full{}, Err: io.Discard})
	require.ErrorIs(t, err, syscall.ENOSPC)
	content, err = os.ReadFile(kept)
	require.NoError(t, err, "the credentials are shown to nobody again")
	require.Contains(t, string(content), "BEGIN NATS USER JWT")

	// The file: a good line, one that Iris refuses, one that is none.
	lines := claimLine("n-1", "ada@acme.example", "Prefers tea.") + claimLine("n-2", "nobody", "Prefers milk.") + "{\n"
	file := filepath.Join(dir, "claims.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	stdout, stderr = does(exitNot, "propose", file, "--creds", "notes.creds", "--json")
	var summary proposeSummary
	require.NoError(t, json.Unmarshal([]byte(stdout), &summary))
	require.Equal(t, map[string]int{"pending": 1, "rejected": 1}, summary.Outcomes)
	require.Equal(t, map[string]int{"not_found": 1}, summary.Reasons)
	require.Equal(t, []batch.BadLine{{Line: 3, Code: "invalid_json"}}, summary.BadLines)
	require.Contains(t, stderr, "3 of 3", "plain lines, where there is no terminal")
	require.NotContains(t, stderr, "\x1b")
	report, err := os.ReadFile(file + ".report")
	require.NoError(t, err)
	require.NotContains(t, string(report), "tea")
	require.Equal(t, 2, strings.Count(string(report), "\n"))

	require.NoError(t, os.WriteFile(file, []byte(lines[:len(lines)-2]+claimLine("n-3", "ada@acme.example", "Prefers rye bread.")), 0o600))
	stdout, _ = does(exitDone, "propose", file, "--creds", "notes.creds")
	require.Regexp(t, `settled +1\n  pending +1\nsettled before +2\n  rejected +1\nbad lines +0\nwithout an outcome +0`, stdout)

	// Parked.
	conn, err := nats.Connect(ready.NATS.URL, nats.UserCredentials(creds), nats.CustomInboxPrefix("_INBOX_acme_notes"))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	told, err := conn.SubscribeSync("iris.out.acme.notes")
	require.NoError(t, err)
	_, err = conn.Request("iris.in.acme.notes.memory.proposed", []byte(`{"words of ada":`), time.Minute)
	require.NoError(t, err)
	_, err = told.NextMsg(time.Minute)
	require.NoError(t, err)
	stdout, _ = does(exitDone, "parked", "list", "--json")
	var parked []parkedClaim
	require.NoError(t, json.Unmarshal([]byte(stdout), &parked))
	require.Len(t, parked, 1)
	require.Equal(t, "notes", parked[0].Producer)
	stdout, _ = does(exitDone, "parked", "list")
	require.Contains(t, stdout, "invalid_json")
	require.NotContains(t, stdout, "ada")
	stdout, _ = does(exitDone, "parked", "show", parked[0].ParkedID)
	require.NotContains(t, stdout, "ada")
	does(exitNot, "parked", "show", parked[0].ParkedID, "--reveal")
	does(exitNot, "parked", "show", parked[0].ParkedID, "--reference", "INC-7")
	stdout, _ = does(exitDone, "parked", "show", parked[0].ParkedID, "--reveal", "--reference", "INC-7")
	require.Contains(t, stdout, "words of ada")
	does(exitDone, "parked", "retry", parked[0].ParkedID)
	_, err = told.NextMsg(time.Minute)
	require.NoError(t, err)
	does(exitNot, "parked", "discard", parked[0].ParkedID) // it was parked anew, under another id
	stdout, _ = does(exitDone, "parked", "list", "--json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &parked))
	does(exitDone, "parked", "discard", parked[0].ParkedID)
	stdout, _ = does(exitDone, "parked", "list")
	require.Equal(t, "Nothing is parked.\n", stdout)

	does(exitDone, "producer", "revoke", "notes")
	does(exitNot, "producer", "revoke", "nobody")
	require.NoError(t, os.Remove(file+".report"))
	_, stderr = does(exitCouldNot, "propose", file, "--creds", "notes.creds")
	require.Contains(t, stderr, "run it again")
	require.Contains(t, stderr, "doesn't take these credentials")
	require.NotContains(t, stderr, "rye")
}

func TestProgressWithoutATerminal(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := newProgress(&said, 10)
	p.moved(batch.Progress{Settled: 1})
	for range 3 {
		p.slowed(errors.New("inbox_full"), 100*time.Millisecond)
	}
	p.moved(batch.Progress{Settled: 10})
	p.end()
	require.Equal(t, 1, strings.Count(said.String(), "slowing down"), "said once")
	require.Contains(t, said.String(), "10 of 10")
	require.Equal(t, "5 of 20  5/s  3s left", describe(5, 20, time.Second))
	require.Equal(t, "0 of 20", describe(0, 20, time.Second))
}
