package api_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/identity/devissuer"
	"iris.example/iris/internal/natsserver"
)

// broker is acts.Credentials on the test's server.
type broker struct{ server *natsserver.Server }

func (b broker) Issue(_ context.Context, org, producer string) (string, []byte, error) {
	credentials, err := b.server.Issue(natsserver.Producer{Org: org, Name: producer}, time.Time{})
	return credentials.PublicKey, credentials.Contents(), err
}

func (b broker) Revoke(_ context.Context, key string) error { return b.server.Revoke(key) }

func (b *bundle) admin(org string) string {
	return b.mint(devissuer.Claims{Subject: "ingrid", Client: pages, Organisation: org, Permissions: []identity.Permission{identity.Admin}})
}

// park keeps a claim as intake does.
func (b *bundle) park(org, body, code string) (id string) {
	b.t.Helper()
	b.parked++
	unread := acts.Unread{Organisation: org, Producer: "notes", Sequence: b.parked, Received: b.now(), Code: code, Body: []byte(body)}
	require.NoError(b.t, b.acts.Park(context.Background(), unread))
	items := into[parkedList](b, b.ok(get("/v1/admin/parked", b.admin(org)))).Items
	require.NotEmpty(b.t, items)
	return items[0].ParkedID
}

type parkedClaim struct {
	ParkedID      string  `json:"parkedId"`
	Producer      string  `json:"producer"`
	Code          string  `json:"code"`
	ParkedAt      string  `json:"parkedAt"`
	ExpiresAt     string  `json:"expiresAt"`
	Content       *string `json:"content"`
	ContentBase64 *string `json:"contentBase64"`
}

type parkedList struct {
	Items []parkedClaim `json:"items"`
	Next  *string       `json:"next"`
}

// A producer's life: added, its credentials let it in, revoked, they don't, added again with others.
func TestProducerIsAddedAndRevoked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	add := post("/v1/admin/producers", admin, `{"producer":"notes","consumer":"assistant"}`)
	added := into[map[string]string](b, b.ok(add.with("Idempotency-Key", "once")))
	require.Equal(t, "iris.in.acme.notes.memory.proposed", added["subject"])
	require.Equal(t, "iris.out.acme.notes", added["outcomes"])
	require.Equal(t, into[map[string]string](b, b.ok(get("/v1/intake-key", b.member(acme, "ada"))))["recipient"], added["intakeKey"])
	b.refused(add, http.StatusConflict, "producer_exists")
	b.refused(add.with("Idempotency-Key", "once"), http.StatusConflict, "producer_exists")
	b.refused(post("/v1/admin/producers", admin, `{"producer":"notes","consumer":"anyone"}`), http.StatusBadRequest, "schema_violation")

	connect := func(credentials string) (*nats.Conn, error) {
		path := filepath.Join(t.TempDir(), "notes.creds")
		require.NoError(t, os.WriteFile(path, []byte(credentials), 0o600))
		return nats.Connect(b.nats.URL(), nats.UserCredentials(path), nats.CustomInboxPrefix(added["inboxPrefix"]))
	}
	conn, err := connect(added["credentials"])
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	closed := make(chan struct{})
	conn.SetClosedHandler(func(*nats.Conn) { close(closed) })

	b.refused(request{method: http.MethodDelete, path: "/v1/admin/producers/nobody", token: admin}, http.StatusNotFound, "not_found")
	b.refused(request{method: http.MethodDelete, path: "/v1/admin/producers/a.b", token: admin}, http.StatusBadRequest, "invalid_id")
	revoke := request{method: http.MethodDelete, path: "/v1/admin/producers/notes", token: admin}
	got := b.ok(revoke)
	require.JSONEq(t, `{"producer":"notes","state":"revoked","credential":"cut_off"}`, string(got.body))
	require.NotEmpty(t, got.position)
	b.ok(revoke)
	<-closed
	_, err = connect(added["credentials"])
	require.ErrorIs(t, err, nats.ErrAuthorization)

	again := into[map[string]string](b, b.ok(add))
	require.NotEqual(t, added["publicKey"], again["publicKey"])
	conn, err = connect(again["credentials"])
	require.NoError(t, err)
	conn.Close()
	// What stands on the stream holds no secret of it.
	require.NotContains(t, b.stream(acme), "SEED")
}

// stream is all bodies of the organisation's stream.
func (b *bundle) stream(org string) string {
	var all strings.Builder
	last, err := b.log.Last(context.Background(), events.StreamFor(org))
	require.NoError(b.t, err)
	for n := range last {
		m, err := b.log.At(context.Background(), events.StreamFor(org), n+1)
		require.NoError(b.t, err)
		all.Write(m.Body)
	}
	return all.String()
}

func sealed(t *testing.T, key, words string) string {
	t.Helper()
	recipient, err := age.ParseX25519Recipient(key)
	require.NoError(t, err)
	var out bytes.Buffer
	armored := armor.NewWriter(&out)
	w, err := age.Encrypt(armored, recipient)
	require.NoError(t, err)
	_, err = w.Write([]byte(words))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.NoError(t, armored.Close())
	return out.String()
}

func sealedProposal(seal string) string {
	return fmt.Sprintf(`{"tier":"individual","kind":"preference","scope":{"kind":"profile"},"category":"preference","origin":"model-inferred","sealed":%s}`, quoted(seal))
}

func TestASealedProposalIsOpenedHere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := func(org string) string {
		return into[map[string]string](b, b.ok(get("/v1/intake-key", b.assistant(org, "ada"))))["recipient"]
	}
	assistant := b.assistant(acme, "ada")
	words := `{"body":"Likes sealed letters.","subject":"letters","multiActor":{"actorHandle":"mia"}}`
	propose := func(seal string) request {
		return post("/v1/proposals", assistant, sealedProposal(seal)).with("Idempotency-Key", "k-1")
	}
	got := b.ok(propose(sealed(t, key(acme), words)))
	again := b.ok(propose(sealed(t, key(acme), words)))
	require.Equal(t, string(got.body), string(again.body), "sealed twice, it is the same request")
	pending := into[listed](b, b.ok(get("/v1/me/proposals", b.member(acme, "ada")).waiting(got.position))).Items
	require.Len(t, pending, 1)
	require.Equal(t, "Likes sealed letters.", pending[0]["body"])
	b.refused(propose(sealed(t, key(acme), strings.Replace(words, "sealed", "other", 1))), http.StatusUnprocessableEntity, "idempotency_key_reused")

	before := b.lasts()
	for name, seal := range map[string]string{
		"not age": "open sesame", "another organisation's key": sealed(t, key(borealis), words), "no JSON": sealed(t, key(acme), "Likes letters."),
		"no body": sealed(t, key(acme), `{"subject":"letters"}`), "more than words": sealed(t, key(acme), `{"body":"x","member":{"subject":"ben"}}`),
		"a key twice": sealed(t, key(acme), `{"body":"x","body":"y"}`), "NUL": sealed(t, key(acme), "{\"body\":\"\x00\"}"),
	} {
		p := b.refused(post("/v1/proposals", assistant, sealedProposal(seal)), http.StatusUnprocessableEntity, "sealed_unreadable")
		require.Empty(t, p.Errors, name)
	}
	b.refused(post("/v1/proposals", assistant, proposal("sealed", `"x"`)), http.StatusBadRequest, "schema_violation")
	require.Equal(t, before, b.lasts())
}

func TestParkedClaims(t *testing.T) {
	t.Parallel()
	b := setup(t)
	admin := b.admin(acme)
	first := b.park(acme, `{"secret":"ada's words"`, "invalid_json")
	second := b.park(acme, "\xff\xfe", "invalid_text")
	list := b.ok(get("/v1/admin/parked?limit=1", admin))
	page := into[parkedList](b, list)
	require.Equal(t, second, page.Items[0].ParkedID)
	require.Equal(t, "invalid_text", page.Items[0].Code)
	require.Equal(t, "notes", page.Items[0].Producer)
	require.NotNil(t, page.Next)
	next := into[parkedList](b, b.ok(get("/v1/admin/parked?limit=1&cursor="+*page.Next, admin)))
	require.Equal(t, first, next.Items[0].ParkedID)
	require.Nil(t, next.Next)

	// Without a reference nobody reads it, and with one it is written down.
	hidden := b.ok(get("/v1/admin/parked/"+first, admin))
	require.NotContains(t, string(hidden.body), "ada's words")
	b.refused(get("/v1/admin/parked/"+first+"?reveal=true", admin), http.StatusBadRequest, "reference_required")
	b.refused(get("/v1/admin/parked/"+first+"?reveal=true&reference=a%20sentence", admin), http.StatusBadRequest, "invalid_id")
	require.NotContains(t, b.logged.String(), "revealed")
	shown := into[parkedClaim](b, b.ok(get("/v1/admin/parked/"+first+"?reveal=true&reference=INC-7", admin)))
	require.Equal(t, `{"secret":"ada's words"`, *shown.Content)
	require.Contains(t, b.logged.String(), `"msg":"parked claim revealed"`)
	require.Contains(t, b.logged.String(), `"reference":"INC-7"`)
	require.NotContains(t, b.logged.String(), "ada's words")
	bytes := into[parkedClaim](b, b.ok(get("/v1/admin/parked/"+second+"?reveal=true&reference=INC-7", admin)))
	require.Nil(t, bytes.Content)
	require.Equal(t, "//4=", *bytes.ContentBase64)

	// Retried, it is where its producer would have put it; discarded, it is gone.
	inbox, err := b.log.Claims(context.Background(), "intake")
	require.NoError(t, err)
	t.Cleanup(inbox.Close)
	retry := post("/v1/admin/parked/"+first+"/retry", admin, "").with("Idempotency-Key", "r-1")
	retried := b.ok(retry)
	claim, err := inbox.Next(context.Background())
	require.NoError(t, err)
	require.Equal(t, `{"secret":"ada's words"`, string(claim.Body))
	require.Equal(t, "notes", claim.Producer)
	require.NoError(t, claim.Ack(context.Background()))
	b.refused(post("/v1/admin/parked/"+first+"/retry", admin, ""), http.StatusNotFound, "not_found")
	discard := post("/v1/admin/parked/"+second+"/discard", admin, "").with("Idempotency-Key", "d-1")
	discarded := b.ok(discard)
	require.Empty(t, into[parkedList](b, b.ok(get("/v1/admin/parked", admin))).Items)
	// Repeated under its key, each answers as it did, wherever the organisation stands now, and nothing more is done (spec 9.2).
	b.own(b.member(acme, "ada"))
	for call, answered := range map[*request]response{&retry: retried, &discard: discarded} {
		again := b.ok(*call)
		require.Equal(t, string(answered.body), string(again.body))
		require.Equal(t, answered.position, again.position)
	}
	_, waiting, err := b.log.OldestClaim(context.Background())
	require.NoError(t, err)
	require.False(t, waiting, "it isn't taken in twice")
	for _, path := range []string{first + "/discard", second + "/retry"} { // another command under the same key
		b.refused(post("/v1/admin/parked/"+path, admin, "").with("Idempotency-Key", "r-1"), http.StatusNotFound, "not_found")
	}
	b.refused(post("/v1/admin/parked/"+first+"/retry", b.admin(borealis), "").with("Idempotency-Key", "r-1"), http.StatusNotFound, "not_found")

	// After fourteen days it is gone on read, although nothing swept.
	third := b.park(acme, "{", "invalid_json")
	b.offset.Store(int64(14*24*time.Hour + time.Second))
	late := b.admin(acme)
	require.Empty(t, into[parkedList](b, b.ok(get("/v1/admin/parked", late))).Items)
	b.refused(get("/v1/admin/parked/"+third, late), http.StatusNotFound, "not_found")
	dropped, err := b.acts.SweepParked(context.Background())
	require.NoError(t, err)
	require.Equal(t, 1, dropped)
}

// An erasure takes what may concern the member: what names it and what names nobody; what names another stays.
func TestParkedClaimsAreErasedWithTheMember(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ada, ben := b.memberID(acme, "ada"), b.memberID(acme, "ben")
	stays := map[string]string{
		"ben by subject": `{"data":{"member":{"subject":"ben"},"body":7}}`, "ben by id": `{"data":{"member":{"id":"` + string(ben) + `"},"mood":"x"}}`,
	}
	goes := map[string]string{
		"ada by subject": `{"data":{"member":{"subject":"ada"},"body":7}}`, "ada by id": `{"data":{"member":{"id":"` + string(ada) + `"},"mood":"x"}}`,
		"nobody": `{"data":{}}`, "a stranger": `{"data":{"member":{"subject":"eve"}}}`, "unreadable": `{"data":{"member":{"subject":"ben"}`,
		"twice": `{"data":{"member":{"subject":"ada","subject":"ben"}}}`,
	}
	for _, body := range stays {
		b.park(acme, body, "schema_violation")
	}
	for _, body := range goes {
		b.park(acme, body, "schema_violation")
	}
	elsewhere := b.park(borealis, "{", "invalid_json")
	erased, err := b.acts.EraseParked(context.Background(), acme, ada)
	require.NoError(t, err)
	require.Equal(t, len(goes), erased)
	left := into[parkedList](b, b.ok(get("/v1/admin/parked", b.admin(acme)))).Items
	require.Len(t, left, len(stays))
	b.ok(get("/v1/admin/parked/"+elsewhere, b.admin(borealis)))
}
