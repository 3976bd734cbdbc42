package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/client"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/testkit"
	"iris.example/iris/schemas"
)

// broker is a real one with an inbox, a producer's credentials and an intake key; nothing takes claims out unless a test does.
type broker struct {
	t        *testing.T
	server   *natsserver.Server
	core     *nats.Conn
	log      *eventlog.JetStream
	creds    string
	identity *age.X25519Identity
}

var notes = natsserver.Producer{Org: "acme", Name: "notes"}

func setup(t *testing.T, perProducer int64) *broker {
	t.Helper()
	b := &broker{t: t, server: testkit.NATS(t)}
	var err error
	b.core, err = b.server.Connect()
	require.NoError(t, err)
	t.Cleanup(b.core.Close)
	b.log, err = eventlog.New(b.core, eventlog.Config{InboxMaxPerProducer: perProducer})
	require.NoError(t, err)
	require.NoError(t, b.log.CreateInbox(t.Context()))
	credentials, err := b.server.Issue(notes, time.Time{})
	require.NoError(t, err)
	b.creds = filepath.Join(t.TempDir(), "notes.creds")
	require.NoError(t, credentials.Write(b.creds))
	b.identity, err = age.GenerateX25519Identity()
	require.NoError(t, err)
	return b
}

func (b *broker) config() client.Config {
	return client.Config{URL: b.server.URL(), Credentials: b.creds, IntakeKey: b.identity.Recipient().String(), Pause: time.Millisecond}
}

func (b *broker) client(change func(*client.Config)) *client.Client {
	b.t.Helper()
	cfg := b.config()
	if change != nil {
		change(&cfg)
	}
	c, err := client.New(cfg)
	require.NoError(b.t, err)
	b.t.Cleanup(c.Close)
	return c
}

// inbox takes claims as intake does.
func (b *broker) inbox() *eventlog.Inbox {
	b.t.Helper()
	inbox, err := b.log.Claims(b.t.Context(), "intake")
	require.NoError(b.t, err)
	b.t.Cleanup(inbox.Close)
	return inbox
}

func (b *broker) next(inbox *eventlog.Inbox) eventlog.Claim {
	b.t.Helper()
	claim, err := inbox.Next(b.t.Context())
	require.NoError(b.t, err)
	require.NoError(b.t, claim.Ack(b.t.Context()))
	return claim
}

func claim(id string) client.Claim {
	return client.Claim{
		ID: id, Member: client.Member{Subject: "ada@acme.example"}, Tier: "individual", Kind: "preference", Scope: client.Scope{Kind: "profile"},
		Category: "preference", Subject: "units", Body: "Prefers metric units.", Origin: "model-inferred",
		MultiActor: &client.MultiActor{ActorHandle: "mia", RelationshipNote: "A friend."},
		SourceRefs: []client.SourceRef{{Kind: "conversation", Ref: "c-19", Turns: []int{4, 6}}},
	}
}

// What is published fulfils the published contract, and its words are sealed.
func TestAClaimIsSealedByDefault(t *testing.T) {
	t.Parallel()
	b := setup(t, 10)
	c := b.client(nil)
	require.Equal(t, client.Producer{Organisation: "acme", Name: "notes"}, c.Producer())
	receipt, err := c.Propose(t.Context(), claim("c-1"))
	require.NoError(t, err)
	require.Equal(t, client.Receipt{ID: "c-1", Sequence: 1, Sent: 1}, receipt)

	body := b.next(b.inbox()).Body
	contract, err := schemas.Compile()
	require.NoError(t, err)
	require.NoError(t, contract.CheckClaimMessage(body))
	for _, word := range []string{"metric", "units", "mia", "friend"} {
		require.NotContains(t, string(body), word)
	}
	var message struct {
		ID   string
		Data struct{ Sealed, Tier string }
	}
	require.NoError(t, json.Unmarshal(body, &message))
	require.Equal(t, "c-1", message.ID)
	require.Equal(t, "individual", message.Data.Tier)
	plain, err := age.Decrypt(armor.NewReader(strings.NewReader(message.Data.Sealed)), b.identity)
	require.NoError(t, err)
	var words map[string]any
	require.NoError(t, json.NewDecoder(plain).Decode(&words))
	require.Equal(t, map[string]any{
		"body": "Prefers metric units.", "subject": "units", "multiActor": map[string]any{"actorHandle": "mia", "relationshipNote": "A friend."},
	}, words)
	rest, err := json.Marshal(words)
	require.NoError(t, err)
	require.NoError(t, contract.CheckSealed(rest))
}

func TestPlainIsSaidOutLoud(t *testing.T) {
	t.Parallel()
	b := setup(t, 10)
	c := b.client(func(cfg *client.Config) { cfg.IntakeKey, cfg.Plain = "", true })
	_, err := c.Propose(t.Context(), claim("c-1"))
	require.NoError(t, err)
	body := b.next(b.inbox()).Body
	require.Contains(t, string(body), "Prefers metric units.")
	contract, err := schemas.Compile()
	require.NoError(t, err)
	require.NoError(t, contract.CheckClaimMessage(body))
}

// A full inbox answers an error; nothing is dropped, and the claim is in once there is room.
func TestAFullInboxIsWaitedOut(t *testing.T) {
	t.Parallel()
	b := setup(t, 2)
	once := b.client(func(cfg *client.Config) { cfg.Attempts = 1 })
	for _, id := range []string{"c-1", "c-2"} {
		_, err := once.Propose(t.Context(), claim(id))
		require.NoError(t, err)
	}
	_, err := once.Propose(t.Context(), claim("c-3"))
	require.ErrorIs(t, err, client.ErrInboxFull)
	require.NotContains(t, err.Error(), "metric")

	inbox := b.inbox()
	var slowed atomic.Int32
	full := make(chan struct{})
	patient := b.client(func(cfg *client.Config) {
		cfg.Slowed = func(cause error, pause time.Duration) {
			if slowed.Add(1) == 3 {
				close(full)
			}
			if !errors.Is(cause, client.ErrInboxFull) || pause <= 0 {
				t.Errorf("slowed by %v for %s", cause, pause)
			}
		}
	})
	got := make(chan client.Receipt, 1)
	go func() {
		receipt, err := patient.Propose(t.Context(), claim("c-3"))
		if err != nil {
			t.Errorf("propose: %v", err)
		}
		got <- receipt
	}()
	<-full
	for _, id := range []string{"c-1", "c-2", "c-3"} {
		require.Contains(t, string(b.next(inbox).Body), `"id":"`+id+`"`)
	}
	receipt := <-got
	require.GreaterOrEqual(t, receipt.Sent, 4)

	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = patient.Propose(stopped, claim("c-4"))
	require.ErrorIs(t, err, client.ErrUnknown)
}

// Without an inbox there is no answer: the caller keeps the claim and is told so.
func TestNoAnswerIsNoReceipt(t *testing.T) {
	t.Parallel()
	server := testkit.NATS(t)
	credentials, err := server.Issue(notes, time.Time{})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "notes.creds")
	require.NoError(t, credentials.Write(path))
	c, err := client.New(client.Config{URL: server.URL(), Credentials: path, Plain: true, Attempts: 2, Patience: 50 * time.Millisecond, Pause: time.Millisecond})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	_, err = c.Propose(t.Context(), claim("c-1"))
	require.ErrorIs(t, err, client.ErrUnknown)

	large := claim("c-2")
	large.Body = strings.Repeat("a", 300<<10)
	_, err = c.Propose(t.Context(), large)
	require.ErrorIs(t, err, client.ErrRefused)
	for _, id := range []string{"", strings.Repeat("a", 129), "a\u202eb", "a\nb"} {
		_, err = c.Propose(t.Context(), claim(id))
		require.ErrorIs(t, err, client.ErrClaim)
	}
}

func TestOutcomesAreHeard(t *testing.T) {
	t.Parallel()
	b := setup(t, 10)
	c := b.client(nil)
	outcomes, err := c.Outcomes(t.Context())
	require.NoError(t, err)
	t.Cleanup(outcomes.Close)
	for _, told := range []string{
		`not JSON`, `{"type":"iris.claim.settled.v9","data":{"claim":"c-0"}}`,
		`{"type":"iris.claim.settled.v1","data":{"claim":"c-1","proposalId":"p","outcome":"suppressed","reason":"consent_revoked","warnings":[{"code":"consent_revoked","keys":["medical"]}],"position":"7"}}`,
	} {
		require.NoError(t, b.core.Publish("iris.out.acme.notes", []byte(told)))
	}
	heard, err := outcomes.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, client.Outcome{
		Claim: "c-1", ProposalID: "p", Outcome: "suppressed", Reason: "consent_revoked", Position: "7",
		Warnings: []client.Warning{{Code: "consent_revoked", Keys: []string{"medical"}}},
	}, heard)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = outcomes.Next(stopped)
	require.ErrorIs(t, err, context.Canceled)
}

func TestHalfAConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, 10)
	other := filepath.Join(t.TempDir(), "other.creds")
	require.NoError(t, os.WriteFile(other, []byte("not credentials"), 0o600))
	for name, spoil := range map[string]func(*client.Config){
		"no address":        func(c *client.Config) { c.URL = "" },
		"no credentials":    func(c *client.Config) { c.Credentials = "" },
		"nothing to seal":   func(c *client.Config) { c.IntakeKey = "" },
		"both":              func(c *client.Config) { c.Plain = true },
		"not an age key":    func(c *client.Config) { c.IntakeKey = "age1abc" },
		"a private key":     func(c *client.Config) { c.IntakeKey = b.identity.String() },
		"other file":        func(c *client.Config) { c.Credentials = other },
		"negative patience": func(c *client.Config) { c.Patience = -1 },
	} {
		cfg := b.config()
		spoil(&cfg)
		_, err := client.New(cfg)
		require.ErrorIs(t, err, client.ErrConfig, name)
		require.NotContains(t, err.Error(), "SECRET", name)
	}
}
