package embedded_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/client"
	"iris.example/iris/events"
	"iris.example/iris/internal/embedded"
)

// proposes claims something about ada with the client package, sealed.
func (i *iris) proposes(c client.Claim) {
	i.t.Helper()
	producer, err := client.New(client.Config{URL: i.ready.NATS.URL, Credentials: i.ready.NATS.Creds, IntakeKey: i.ready.NATS.IntakeKey})
	require.NoError(i.t, err)
	defer producer.Close()
	c.Member, c.Tier, c.Kind, c.Origin = client.Member{Subject: "ada@acme.example"}, "individual", "preference", "model-inferred"
	c.Scope, c.Category = client.Scope{Kind: "profile"}, "preference"
	_, err = producer.Propose(context.Background(), c)
	require.NoError(i.t, err)
}

// A sealed claim is the same claim: asked, known again however it is sealed, refused when it doesn't open.
func TestSealedClaims(t *testing.T) {
	t.Parallel()
	i, _ := start(t, func(c *embedded.Config) { c.NoDemo = true })
	p := i.producer()
	i.proposes(client.Claim{ID: "c-1", Subject: "tea", Body: "Prefers green tea."})
	heard := p.hears()
	require.Equal(t, "pending", heard["outcome"])
	pending := i.ask("member", "GET", "/v1/me/proposals?state=pending", "", "Iris-Wait", heard["position"].(string)).items()
	require.Equal(t, "Prefers green tea.", pending[0]["body"])

	i.proposes(client.Claim{ID: "c-1", Subject: "tea", Body: "Prefers green tea."})
	again := p.hears()
	require.Equal(t, "duplicate", again["outcome"], "sealed anew, it is the same claim")
	require.Equal(t, heard["proposalId"], again["proposalId"])
	i.proposes(client.Claim{ID: "c-1", Subject: "tea", Body: "Prefers black tea."})
	require.Equal(t, "idempotency_key_reused", p.hears()["reason"])

	i.proposes(client.Claim{ID: "c-2", Sealed: "open sesame"})
	refused := p.hears()
	require.Equal(t, "rejected", refused["outcome"])
	require.Equal(t, "sealed_unreadable", refused["reason"])
	require.Equal(t, "c-2", refused["claim"])
	parked := i.ask("admin", "GET", "/v1/admin/parked", "").items()
	require.Len(t, parked, 1)
	require.Equal(t, "sealed_unreadable", parked[0]["code"])
}

// What can't be read is parked once, listed without its content, and taken in again only when somebody says so.
func TestMalformedClaimsAreParked(t *testing.T) {
	t.Parallel()
	i, _ := start(t, func(c *embedded.Config) { c.NoDemo = true })
	p := i.producer()
	listed := func() []map[string]any { return i.ask("admin", "GET", "/v1/admin/parked", "").items() }
	for _, malformed := range []string{`{`, strings.Replace(claim("c-1", "Prefers tea."), `"tier"`, `"mood":"good","tier"`, 1)} {
		p.publish(malformed)
		require.Equal(t, "rejected", p.hears()["outcome"])
	}
	p.publish(strings.Replace(claim("c-2", "Prefers tea."), "ada@acme", "eve@acme", 1))
	require.Equal(t, "not_found", p.hears()["reason"])
	parked := listed()
	require.Len(t, parked, 2, "what can be read and is refused is told, not parked")
	require.Equal(t, "schema_violation", parked[0]["code"])
	require.Equal(t, "invalid_json", parked[1]["code"])
	require.Equal(t, 403, i.ask("member", "GET", "/v1/admin/parked", "").status)

	path := func(item map[string]any) string { return fmt.Sprintf("/v1/admin/parked/%s", item["parkedId"]) }
	require.Equal(t, 202, i.ask("admin", "POST", path(parked[0])+"/retry", "").status)
	again := p.hears()
	require.Equal(t, "schema_violation", again["reason"])
	require.Equal(t, "c-1", again["claim"])
	after := listed()
	require.Len(t, after, 2)
	require.NotEqual(t, parked[0]["parkedId"], after[0]["parkedId"], "parked anew")
	for _, item := range after {
		require.Equal(t, 200, i.ask("admin", "POST", path(item)+"/discard", "").status)
	}
	require.Empty(t, listed())
}

// A producer that was added at run time claims; revoked, it is cut off, what it left in the inbox is refused, and no start lets it
// or the one of the ready file in again.
func TestARevokedProducerStaysOut(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(directory(t), "iris")
	cfg := embedded.Config{DataDir: dir, HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", UnsafeNoSync: true, NoDemo: true}
	instance, err := embedded.Start(context.Background(), cfg)
	require.NoError(t, err)
	i := &iris{t, instance.Ready, dir}
	added := i.ask("admin", "POST", "/v1/admin/producers", `{"producer":"notes","consumer":"assistant"}`)
	require.Equal(t, 201, added.status, added.body)
	creds := filepath.Join(t.TempDir(), "notes.creds")
	require.NoError(t, os.WriteFile(creds, []byte(added.body["credentials"].(string)), 0o600))
	config := client.Config{URL: i.ready.NATS.URL, Credentials: creds, IntakeKey: added.body["intakeKey"].(string), Patience: patience}
	notes, err := client.New(config)
	require.NoError(t, err)
	defer notes.Close()
	outcomes, err := notes.Outcomes(context.Background())
	require.NoError(t, err)
	_, err = notes.Propose(context.Background(), client.Claim{
		ID: "n-1", Member: client.Member{Subject: "ada@acme.example"}, Tier: "individual", Kind: "preference", Scope: client.Scope{Kind: "profile"},
		Category: "preference", Body: "Prefers tea.", Origin: "model-inferred",
	})
	require.NoError(t, err)
	hearing, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	outcome, err := outcomes.Next(hearing)
	require.NoError(t, err)
	require.Equal(t, "pending", outcome.Outcome)

	for _, name := range []string{"notes", "conversations"} {
		require.Equal(t, http.StatusOK, i.ask("admin", "DELETE", "/v1/admin/producers/"+name, "").status)
	}
	_, err = client.New(config)
	require.ErrorIs(t, err, nats.ErrAuthorization)
	// A claim that was in the inbox when its producer was revoked: the outcome says so, to whoever may listen there.
	core, err := instance.NATS.Connect()
	require.NoError(t, err)
	told, err := core.SubscribeSync(events.OutcomeSubject("acme", "notes"))
	require.NoError(t, err)
	require.NoError(t, core.Flush())
	require.NoError(t, instance.Log.Resubmit(context.Background(), "acme", "notes", []byte(claim("n-2", "Prefers milk."))))
	message, err := told.NextMsg(patience)
	require.NoError(t, err)
	require.Contains(t, string(message.Data), `"reason":"producer_revoked"`)
	core.Close()
	require.NoError(t, instance.Stop(context.Background()))

	// The broker's list of revocations is lost with its keys restored from an older backup: the record has it.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nats-keys", "nats-revoked.json"), []byte("[]"), 0o600))
	instance, err = embedded.Start(context.Background(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, instance.Stop(context.Background())) })
	for _, path := range []string{creds, instance.Ready.NATS.Creds} {
		config.URL, config.Credentials = instance.Ready.NATS.URL, path
		_, err = client.New(config)
		require.ErrorIs(t, err, nats.ErrAuthorization, path)
	}
}
