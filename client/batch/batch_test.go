package batch_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/client"
	"iris.example/iris/client/batch"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/testkit"
)

// bench is a real broker and a clerk who takes claims out of the inbox and tells outcomes, as intake does.
type bench struct {
	t       *testing.T
	cfg     client.Config
	core    *nats.Conn
	inbox   *eventlog.Inbox
	slowed  atomic.Int32
	mu      sync.Mutex
	arrived map[string]int // claims by id
}

func setup(t *testing.T, perProducer int64) *bench {
	t.Helper()
	b := &bench{t: t, arrived: map[string]int{}}
	server := testkit.NATS(t)
	var err error
	b.core, err = server.Connect()
	require.NoError(t, err)
	t.Cleanup(b.core.Close)
	log, err := eventlog.New(b.core, eventlog.Config{InboxMaxPerProducer: perProducer})
	require.NoError(t, err)
	require.NoError(t, log.CreateInbox(t.Context()))
	b.inbox, err = log.Claims(t.Context(), "intake")
	require.NoError(t, err)
	t.Cleanup(b.inbox.Close)
	credentials, err := server.Issue(natsserver.Producer{Org: "acme", Name: "notes"}, time.Time{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "notes.creds")
	require.NoError(t, credentials.Write(path))
	identity, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	b.cfg = client.Config{
		URL: server.URL(), Credentials: path, IntakeKey: identity.Recipient().String(), Pause: time.Millisecond,
		Slowed: func(error, time.Duration) { b.slowed.Add(1) },
	}
	return b
}

// clerk works until the test ends. tell says whether the n-th arrival of a claim is answered.
func (b *bench) clerk(tell func(id string, arrival int) bool) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			claim, err := b.inbox.Next(ctx)
			if err != nil {
				return
			}
			var m struct{ ID string }
			if err := json.Unmarshal(claim.Body, &m); err != nil {
				b.t.Errorf("claim: %v", err)
			}
			b.mu.Lock()
			b.arrived[m.ID]++
			arrival := b.arrived[m.ID]
			b.mu.Unlock()
			if err := claim.Ack(ctx); err != nil && ctx.Err() == nil {
				b.t.Errorf("ack: %v", err)
			}
			if tell(m.ID, arrival) {
				told := fmt.Sprintf(`{"type":"iris.claim.settled.v1","data":{"claim":%q,"outcome":"pending","proposalId":"p-%s","warnings":[]}}`, m.ID, m.ID)
				if err := b.core.Publish("iris.out.acme.notes", []byte(told)); err != nil && ctx.Err() == nil {
					b.t.Errorf("tell: %v", err)
				}
			}
		}
	}()
	b.t.Cleanup(func() { stop(); <-done })
}

func always(string, int) bool { return true }

func (b *bench) run(ctx context.Context, report, lines string, change func(*batch.Config)) (batch.Summary, error) {
	b.t.Helper()
	c, err := client.New(b.cfg)
	require.NoError(b.t, err)
	defer c.Close()
	outcomes, err := c.Outcomes(ctx)
	require.NoError(b.t, err)
	opened, err := batch.OpenReport(report)
	require.NoError(b.t, err)
	defer opened.Close()
	cfg := batch.Config{Producer: c, Outcomes: outcomes, Report: opened}
	if change != nil {
		change(&cfg)
	}
	return batch.Run(ctx, cfg, strings.NewReader(lines))
}

func line(id string) string {
	return fmt.Sprintf(`{"id":%q,"data":{"member":{"subject":"ada"},"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","body":"Prefers tea.","origin":"model-inferred"}}`, id) + "\n"
}

func file(n int) string {
	var all strings.Builder
	for i := range n {
		all.WriteString(line(fmt.Sprintf("c-%d", i)))
	}
	return all.String()
}

func entries(t *testing.T, report string) map[string]string {
	t.Helper()
	content, err := os.ReadFile(report)
	require.NoError(t, err)
	found := map[string]string{}
	for text := range bytes.Lines(content) {
		var e struct{ ID, Outcome string }
		require.NoError(t, json.Unmarshal(text, &e))
		require.NotContains(t, found, e.ID, "written twice")
		found[e.ID] = e.Outcome
	}
	return found
}

// Everything is settled through an inbox that holds only three; a second run has nothing to do.
func TestNothingIsLostInAFullInbox(t *testing.T) {
	t.Parallel()
	b := setup(t, 3)
	b.clerk(always)
	report := filepath.Join(t.TempDir(), "report")
	var last batch.Progress
	summary, err := b.run(t.Context(), report, file(300), func(c *batch.Config) { c.Moved = func(p batch.Progress) { last = p } })
	require.NoError(t, err)
	require.Equal(t, batch.Progress{Settled: 300}, summary.Progress)
	require.Equal(t, summary.Progress, last)
	require.Equal(t, map[string]int{"pending": 300}, summary.Outcomes)
	require.Positive(t, b.slowed.Load(), "the inbox was full, and it was said")
	require.Len(t, entries(t, report), 300)

	summary, err = b.run(t.Context(), report, file(301), nil)
	require.NoError(t, err)
	require.Equal(t, batch.Progress{Settled: 1, Skipped: 300}, summary.Progress)
	require.Len(t, b.arrived, 301)
}

func TestAnInterruptedRunGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.clerk(always)
	report := filepath.Join(t.TempDir(), "report")
	for round := 1; ; round++ {
		ctx, stop := context.WithCancel(t.Context())
		summary, err := b.run(ctx, report, file(200), func(c *batch.Config) {
			c.Moved = func(p batch.Progress) {
				if p.Settled == 60 {
					stop()
				}
			}
		})
		stop()
		if err == nil {
			require.Equal(t, 200, summary.Done())
			require.Greater(t, round, 1)
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		// Killed in the midst of a write.
		f, err := os.OpenFile(report, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(`{"line":7,"id":"c-`)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	require.Len(t, entries(t, report), 200)
}

// A claim whose outcome isn't heard is sent again under its id, and left open when nobody ever answers; the next run tries again.
func TestAClaimWithoutAnOutcomeIsSentAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	var talks atomic.Bool
	b.clerk(func(id string, arrival int) bool {
		return id == "c-0" || id == "c-1" && arrival == 2 || id == "c-2" && talks.Load()
	})
	report := filepath.Join(t.TempDir(), "report")
	hurried := func(c *batch.Config) { c.Wait, c.Sends = 3*time.Second, 2 } // far beyond what an outcome takes: c-0 is sent once
	summary, err := b.run(t.Context(), report, file(3), hurried)
	require.NoError(t, err)
	require.Equal(t, batch.Progress{Settled: 2, Open: 1}, summary.Progress)
	require.Equal(t, []string{"c-2"}, summary.OpenIDs)
	require.Equal(t, map[string]string{"c-0": "pending", "c-1": "pending"}, entries(t, report))
	b.mu.Lock()
	require.Equal(t, map[string]int{"c-0": 1, "c-1": 2, "c-2": 2}, b.arrived)
	b.mu.Unlock()
	talks.Store(true)
	summary, err = b.run(t.Context(), report, file(3), hurried)
	require.NoError(t, err)
	require.Equal(t, batch.Progress{Settled: 1, Skipped: 2}, summary.Progress)
}

func TestBadLinesAreToldByNumber(t *testing.T) {
	t.Parallel()
	b := setup(t, 1000)
	b.clerk(always)
	large := strings.Replace(line("large"), "Prefers tea.", strings.Repeat("a", 250<<10), 1) // as a line it passes, sealed it is too much
	lines := []string{
		"not json\n", line("c-1"), "\n", strings.Replace(line("c-2"), `"tier"`, `"mood":1,"tier"`, 1), line(""), `{"id":"c-3"}` + "\n", line("c-1"),
		strings.Replace(line("c-4"), `"individual"`, `7`, 1), line(strings.Repeat("a", 129)), strings.Repeat("x", 300<<10) + "\n",
		strings.Replace(line("c-5"), `{"id"`, `{"type":"iris.memory.invented.v1","id"`, 1), `{"id":"c-6","id":"c-7"}` + "\n", large, strings.TrimSpace(line("c-8")),
	}
	summary, err := b.run(t.Context(), filepath.Join(t.TempDir(), "report"), strings.Join(lines, ""), nil)
	require.NoError(t, err)
	require.Equal(t, 2, summary.Settled)
	require.ElementsMatch(t, []batch.BadLine{
		{1, "invalid_json"}, {4, "unknown_field"}, {5, "claim_invalid"}, {6, "claim_invalid"}, {7, "claim_repeated"}, {8, "wrong_type"},
		{9, "claim_invalid"}, {10, "body_too_large"}, {11, "claim_invalid"}, {12, "duplicate_key"}, {13, "inbox_refused"},
	}, summary.BadLines)
	require.Equal(t, 13, summary.Done())
	counted, err := batch.Count(strings.NewReader(strings.Join(lines, "")))
	require.NoError(t, err)
	require.Equal(t, 13, counted)
}

func TestAnotherFileIsNoReport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "letter.txt")
	const letter = "Dear Ada,\nhow are you\n"
	require.NoError(t, os.WriteFile(path, []byte(letter), 0o600))
	_, err := batch.OpenReport(path)
	require.ErrorContains(t, err, "line 1 is no outcome")
	require.NotContains(t, err.Error(), "Ada")
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, letter, string(content), "it is left as it was")
}

func FuzzLines(f *testing.F) {
	for _, seed := range []string{line("c-1"), "{", "\n\n", `{"id":"x","data":null}`, "\xff\x00"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, err := batch.Count(bytes.NewReader(text))
		require.NoError(t, err)
		claim, code := batch.Parse(bytes.TrimSpace(text))
		require.Equal(t, code == "", claim.ID != "")
	})
}
