package natsserver_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/internal/natsserver"
	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const patience = time.Minute

func config(t *testing.T) natsserver.Config {
	t.Helper()
	dir := t.TempDir()
	return natsserver.Config{StoreDir: filepath.Join(dir, "nats"), KeyDir: filepath.Join(dir, "keys"), Port: natsserver.NoPort}
}

func start(t *testing.T, cfg natsserver.Config) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { stop(t, s) })
	require.NoError(t, s.Healthy())
	return s
}

func stop(t *testing.T, s *natsserver.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	require.NoError(t, s.Stop(ctx))
	require.Error(t, s.Healthy())
}

// client is a connection together with what it hears about itself.
type client struct {
	*nats.Conn
	errs   chan error
	closed chan struct{}
}

func (c *client) options() []nats.Option {
	c.errs, c.closed = make(chan error, 64), make(chan struct{})
	return []nats.Option{
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { c.errs <- err }),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
		nats.ReconnectWait(time.Millisecond),
		nats.ReconnectJitter(0, 0),
	}
}

// shut waits for the close, so that no goroutine outlives the test.
func (c *client) shut() {
	c.Close()
	<-c.closed
}

func core(t *testing.T, s *natsserver.Server) *client {
	t.Helper()
	c := &client{}
	var err error
	c.Conn, err = s.Connect(c.options()...)
	require.NoError(t, err)
	t.Cleanup(c.shut)
	return c
}

func stream(t *testing.T, c *client, cfg jetstream.StreamConfig) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(c.Conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), cfg)
	require.NoError(t, err)
	return js
}

var (
	inbox  = jetstream.StreamConfig{Name: "IRIS_INBOX", Subjects: []string{"iris.in.*.*.memory.proposed"}}
	ledger = jetstream.StreamConfig{Name: "IRIS_A", Subjects: []string{"iris.org.a.>"}}
)

func issue(t *testing.T, s *natsserver.Server, p natsserver.Producer) (natsserver.Credentials, string) {
	t.Helper()
	creds, err := s.Issue(p, time.Time{})
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "producer.creds")
	require.NoError(t, creds.Write(file))
	info, err := os.Stat(file)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	return creds, file
}

// dial connects as an outside client does: a URL, a file, a prefix.
func dial(t *testing.T, s *natsserver.Server, p natsserver.Producer, file string) *client {
	t.Helper()
	c := &client{}
	opts := append(c.options(), nats.UserCredentials(file), nats.CustomInboxPrefix(p.InboxPrefix()), nats.Name("Anna Musterfrau"))
	var err error
	c.Conn, err = nats.Connect(s.URL(), opts...)
	require.NoError(t, err)
	t.Cleanup(c.shut)
	return c
}

func (c *client) refused(t *testing.T, subject string) {
	t.Helper()
	select {
	case err := <-c.errs:
		require.ErrorIs(t, err, nats.ErrPermissionViolation)
		require.Contains(t, err.Error(), `"`+subject+`"`)
	case <-time.After(patience):
		require.FailNow(t, "the broker didn't refuse "+subject)
	}
}

func propose(t *testing.T, c *client, p natsserver.Producer) uint64 {
	t.Helper()
	js, err := jetstream.New(c.Conn)
	require.NoError(t, err)
	ack, err := js.Publish(t.Context(), p.Subject(), []byte("claim"))
	require.NoError(t, err)
	return ack.Sequence
}

var (
	anna = natsserver.Producer{Org: "a", Name: "crm"}
	bert = natsserver.Producer{Org: "b", Name: "crm"}
)

func TestAProducerIsAcknowledgedInItsInboxAndHearsOutcomes(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	s := start(t, cfg)
	iris := core(t, s)
	js := stream(t, iris, inbox)
	_, file := issue(t, s, anna)
	p := dial(t, s, anna, file)

	outcomes, err := p.SubscribeSync(anna.Outcomes())
	require.NoError(t, err)
	require.NoError(t, p.Flush())
	require.Equal(t, uint64(1), propose(t, p, anna))
	in, err := js.Stream(t.Context(), inbox.Name)
	require.NoError(t, err)
	msg, err := in.GetMsg(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, "iris.in.a.crm.memory.proposed", msg.Subject)

	require.NoError(t, iris.Publish(bert.Outcomes(), []byte("not yours")))
	require.NoError(t, iris.Publish(anna.Outcomes(), []byte("yours")))
	heard, err := outcomes.NextMsg(patience)
	require.NoError(t, err)
	require.Equal(t, "yours", string(heard.Data))
}

func TestAProducerCanDoNothingElse(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	var log syncBuffer
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s := start(t, cfg)
	iris := core(t, s)
	stream(t, iris, inbox)
	stream(t, iris, ledger)
	_, file := issue(t, s, anna)
	p := dial(t, s, anna, file)

	for _, subject := range []string{
		"iris.in.b.crm.memory.proposed", "iris.in.a.other.memory.proposed", "iris.in.a.crm.memory.accepted", "iris.in.a.crm",
		"iris.out.a.crm", "iris.org.a.member.m1", "iris.access.a.recall",
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.IRIS_A", "$JS.API.STREAM.DELETE.IRIS_A", "$JS.API.STREAM.MSG.GET.IRIS_A",
		"$JS.API.DIRECT.GET.IRIS_A", "$JS.API.CONSUMER.CREATE.IRIS_A", "$JS.ACK.x", "$SYS.REQ.SERVER.PING", "secret.word",
		"_INBOX_b_crm.x", "_INBOX.x",
	} {
		require.NoError(t, p.Publish(subject, []byte("{}")), subject)
		p.refused(t, subject)
	}
	for _, subject := range []string{
		">", "*", "iris.>", "iris.in.a.crm.memory.proposed", "iris.in.*.*.memory.proposed", "iris.out.>", "iris.out.*.*", "iris.out.b.crm",
		"iris.org.a.member.m1", "_INBOX.>", "_INBOX_b_crm.>", "_INBOX_a_crm", "$JS.>", "$SYS.>", "*.*.a.crm",
	} {
		sub, err := p.SubscribeSync(subject)
		require.NoError(t, err, subject)
		p.refused(t, subject)
		_ = sub.Unsubscribe()
	}
	require.Equal(t, uint64(1), propose(t, p, anna), "a refused publish was stored")
	text := log.String()
	require.Contains(t, text, "Publish Violation")
	for _, word := range []string{"secret.word", "Anna", "Musterfrau", "iris.org.a.member"} {
		require.NotContains(t, text, word)
	}
}

// The broker sends an acknowledgement wherever the publisher's reply says. In a
// single account this wrote into the ledger.
func TestAReplySubjectWritesNowhere(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	s := start(t, cfg)
	iris := core(t, s)
	stream(t, iris, inbox)
	js := stream(t, iris, ledger)
	_, fileA := issue(t, s, anna)
	_, fileB := issue(t, s, bert)
	a, b := dial(t, s, anna, fileA), dial(t, s, bert, fileB)

	replies := []string{
		"iris.org.a.member.m1", bert.Subject(), anna.Subject(),
		"$JS.API.STREAM.PURGE.IRIS_A", "$JS.API.STREAM.DELETE.IRIS_A", "$JS.API.STREAM.CREATE.X", "$SYS.REQ.SERVER.PING",
	}
	for _, reply := range replies {
		require.NoError(t, a.PublishRequest(anna.Subject(), reply, []byte("{}")))
	}
	// Acknowledgements leave in order, so when this one is here the others have arrived.
	n := uint64(len(replies))
	require.Equal(t, n+1, propose(t, a, anna))
	require.Equal(t, n+2, propose(t, b, bert), "an acknowledgement became a claim")
	ack, err := js.Publish(t.Context(), "iris.org.a.member.m1", []byte("{}"))
	require.NoError(t, err)
	require.Equal(t, uint64(1), ack.Sequence, "an acknowledgement became a fact")
}

func TestRevocationCutsOneOffForEver(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	s := start(t, cfg)
	iris := core(t, s)
	stream(t, iris, inbox)
	credsA, fileA := issue(t, s, anna)
	_, fileB := issue(t, s, bert)
	a, b := dial(t, s, anna, fileA), dial(t, s, bert, fileB)
	propose(t, a, anna)

	require.NoError(t, s.Revoke(credsA.PublicKey))
	require.NoError(t, s.Revoke(credsA.PublicKey))
	select {
	case <-a.closed: // the client gave up: it may not come back
	case <-time.After(patience):
		require.FailNow(t, "the revoked producer is still connected")
	}
	_, err := nats.Connect(s.URL(), nats.UserCredentials(fileA))
	require.ErrorIs(t, err, nats.ErrAuthorization)

	propose(t, b, bert)
	require.Zero(t, b.Stats().Reconnects, "a producer that isn't revoked was cut off")
	_, again := issue(t, s, anna)
	propose(t, dial(t, s, anna, again), anna)

	require.ErrorIs(t, s.Revoke("anna"), natsserver.ErrProducer)
	b.shut()
	iris.shut()
	stop(t, s)
	s = start(t, cfg)
	_, err = nats.Connect(s.URL(), nats.UserCredentials(fileA))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	propose(t, dial(t, s, bert, fileB), bert)
}

// TestARevocationMeetsARestart: whichever is first, the broker that runs afterwards lets nobody in who is revoked.
func TestARevocationMeetsARestart(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	s := start(t, cfg)
	for range 5 {
		var revoked []string
		var acts sync.WaitGroup
		restarted := make(chan error, 1)
		go func() { restarted <- s.Restart(context.Background()) }()
		for range 8 {
			creds, file := issue(t, s, anna)
			revoked = append(revoked, file)
			acts.Go(func() { assert.NoError(t, s.Revoke(creds.PublicKey)) })
		}
		acts.Wait()
		require.NoError(t, <-restarted)
		for _, file := range revoked {
			_, err := nats.Connect(s.URL(), nats.UserCredentials(file))
			require.ErrorIs(t, err, nats.ErrAuthorization)
		}
	}
}

func TestExpiredCredentialsAreRefused(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	cfg.Port = 0
	s := start(t, cfg)
	creds, err := s.Issue(anna, time.Now().Add(-time.Minute))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "old.creds")
	require.NoError(t, creds.Write(file))
	_, err = nats.Connect(s.URL(), nats.UserCredentials(file))
	require.ErrorIs(t, err, nats.ErrAuthorization)
	require.NotContains(t, creds.String(), "SEED")
	require.Error(t, natsserver.Credentials{}.Write(file))
}

func TestNothingButAnIdBecomesASubjectToken(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	for _, id := range []string{
		"", "*", ">", "a.b", "a b", "A", "acmé", "-a", "a_b", "{{tag(org)}}", "a\x00", "a\n", "a\u202e", "in", "out", "org", "sys", "access", "inbox", "fence",
		strings.Repeat("a", 64),
	} {
		_, err := s.Issue(natsserver.Producer{Org: id, Name: "crm"}, time.Time{})
		require.ErrorIs(t, err, natsserver.ErrProducer, "%q", id)
		_, err = s.Issue(natsserver.Producer{Org: "a", Name: id}, time.Time{})
		require.ErrorIs(t, err, natsserver.ErrProducer, "%q", id)
	}
	for _, id := range []string{"a", "0", "acme-2", strings.Repeat("a", 63), "0191e9d2-7a5c-7c3e-8d5e-6f1f2a3b4c5d"} {
		_, err := s.Issue(natsserver.Producer{Org: id, Name: id}, time.Time{})
		require.NoError(t, err, id)
	}
}

func TestAnyValidIdKeepsTheSubjectLiteral(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := natsserver.Producer{Org: rapid.String().Draw(t, "org"), Name: rapid.StringMatching(`[a-z0-9.*>_-]{0,70}`).Draw(t, "name")}
		if rapid.Bool().Draw(t, "sane") {
			p.Org = rapid.StringMatching(`[a-z0-9-]{1,63}`).Draw(t, "id")
		}
		if p.Validate() != nil {
			return
		}
		require.Len(t, strings.Split(p.Subject(), "."), 6)
		require.NotContains(t, p.InboxPrefix(), ".")
		require.False(t, strings.ContainsAny(p.Subject()+p.InboxPrefix()+p.Outcomes(), "*> \t\r\n"))
	})
}

func TestCoreCannotTakeBackWhatIsRecorded(t *testing.T) {
	t.Parallel()
	s := start(t, config(t))
	iris := core(t, s)
	js := stream(t, iris, ledger)
	_, err := js.Publish(t.Context(), "iris.org.a.organisation", []byte("{}"))
	require.NoError(t, err)
	provisioner := &client{}
	provisioner.Conn, err = s.ConnectProvisioner(provisioner.options()...)
	require.NoError(t, err)
	t.Cleanup(provisioner.shut)

	for _, c := range []*client{iris, provisioner} {
		for _, act := range []string{"DELETE", "PURGE", "MSG.DELETE", "RESTORE"} {
			require.NoError(t, c.Publish("$JS.API.STREAM."+act+".IRIS_A", []byte(`{"seq":1}`)))
			c.refused(t, "$JS.API.STREAM."+act+".IRIS_A")
		}
	}
	require.NoError(t, iris.Publish("$JS.API.STREAM.UPDATE.IRIS_A", []byte(`{}`)))
	iris.refused(t, "$JS.API.STREAM.UPDATE.IRIS_A")
	pjs, err := jetstream.New(provisioner.Conn)
	require.NoError(t, err)
	changed := ledger
	changed.Description = "changed"
	_, err = pjs.UpdateStream(t.Context(), changed)
	require.NoError(t, err)

	cons, err := js.OrderedConsumer(t.Context(), "IRIS_A", jetstream.OrderedConsumerConfig{})
	require.NoError(t, err)
	msg, err := cons.Next()
	require.NoError(t, err)
	require.Equal(t, "iris.org.a.organisation", msg.Subject())
}

const storeKey = "0123456789abcdef0123456789abcdef"

func TestARestartKeepsStreams(t *testing.T) {
	t.Parallel()
	for name, key := range map[string]string{"plain": "", "encrypted": storeKey} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			cfg.EncryptionKey = key
			s := start(t, cfg)
			c := core(t, s)
			js := stream(t, c, ledger)
			_, err := js.Publish(t.Context(), "iris.org.a.organisation", []byte("needle-in-the-store"))
			require.NoError(t, err)
			c.shut()
			stop(t, s)
			require.Equal(t, key == "", onDisk(t, cfg.StoreDir, "needle-in-the-store"))

			c = core(t, start(t, cfg))
			js, err = jetstream.New(c.Conn)
			require.NoError(t, err)
			st, err := js.Stream(t.Context(), "IRIS_A")
			require.NoError(t, err)
			msg, err := st.GetMsg(t.Context(), 1)
			require.NoError(t, err)
			require.Equal(t, "needle-in-the-store", string(msg.Data))
		})
	}
}

func onDisk(t *testing.T, dir, needle string) bool {
	t.Helper()
	found := false
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		found = found || bytes.Contains(raw, []byte(needle))
		return err
	}))
	return found
}

func TestAStoreIsRefusedWithoutItsKeys(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		harm func(t *testing.T, cfg *natsserver.Config)
		want error
	}{
		"another encryption key": {func(_ *testing.T, cfg *natsserver.Config) { cfg.EncryptionKey = strings.Repeat("x", 32) }, natsserver.ErrStoreKey},
		"no encryption key":      {func(_ *testing.T, cfg *natsserver.Config) { cfg.EncryptionKey = "" }, natsserver.ErrStoreKey},
		"no keys":                {func(t *testing.T, cfg *natsserver.Config) { require.NoError(t, os.RemoveAll(cfg.KeyDir)) }, natsserver.ErrKeys},
		"no revocations": {func(t *testing.T, cfg *natsserver.Config) {
			require.NoError(t, os.Remove(filepath.Join(cfg.KeyDir, "nats-revoked.json")))
		}, natsserver.ErrKeys},
		"broken revocations": {func(t *testing.T, cfg *natsserver.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(cfg.KeyDir, "nats-revoked.json"), []byte(`["x"]`), 0o600))
		}, natsserver.ErrKeys},
		"broken keys": {func(t *testing.T, cfg *natsserver.Config) {
			require.NoError(t, os.WriteFile(filepath.Join(cfg.KeyDir, "nats-keys.json"), []byte(`{`), 0o600))
		}, natsserver.ErrKeys},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := config(t)
			cfg.EncryptionKey = storeKey
			s := start(t, cfg)
			c := core(t, s)
			stream(t, c, ledger)
			c.shut()
			stop(t, s)

			tc.harm(t, &cfg)
			_, err := natsserver.Start(t.Context(), cfg)
			require.ErrorIs(t, err, tc.want)
		})
	}
}

func TestWithTLSTheFileAndTheInsideStillWork(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(nil) // for its certificate of 127.0.0.1
	defer web.Close()
	cfg := config(t)
	cfg.Port = 0
	cfg.TLS = &tls.Config{Certificates: web.TLS.Certificates, MinVersion: tls.VersionTLS12}
	s := start(t, cfg)
	stream(t, core(t, s), inbox)
	_, file := issue(t, s, anna)
	roots := x509.NewCertPool()
	roots.AddCert(web.Certificate())

	c := &client{}
	opts := append(c.options(), nats.UserCredentials(file), nats.CustomInboxPrefix(anna.InboxPrefix()), nats.Secure(&tls.Config{RootCAs: roots}))
	var err error
	c.Conn, err = nats.Connect(s.URL(), opts...)
	require.NoError(t, err)
	t.Cleanup(c.shut)
	require.True(t, c.TLSRequired())
	propose(t, c, anna)
	_, err = nats.Connect(s.URL(), nats.UserCredentials(file))
	require.Error(t, err, "an unknown certificate was taken")
}

func TestOneProcessOwnsAStore(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	s := start(t, cfg)
	require.Empty(t, s.URL())
	_, err := natsserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, natsserver.ErrInUse)
}

func TestAPortInUseIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	cfg := config(t)
	cfg.Port = l.Addr().(*net.TCPAddr).Port
	_, err = natsserver.Start(t.Context(), cfg)
	require.ErrorIs(t, err, natsserver.ErrStart)
	require.ErrorContains(t, err, "address already in use")
	cfg.Port = natsserver.NoPort
	start(t, cfg) // the failed start holds nothing
}

func TestConfigIsCheckedBeforeAnyFileIsTouched(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(*natsserver.Config){
		"no store":       func(c *natsserver.Config) { c.StoreDir = "" },
		"no keys":        func(c *natsserver.Config) { c.KeyDir = "" },
		"keys in store":  func(c *natsserver.Config) { c.KeyDir = filepath.Join(c.StoreDir, "keys") },
		"name as host":   func(c *natsserver.Config) { c.Host = "localhost" },
		"open to all":    func(c *natsserver.Config) { c.Host, c.Port = "0.0.0.0", 0 },
		"bad port":       func(c *natsserver.Config) { c.Port = 65536 },
		"weak key":       func(c *natsserver.Config) { c.EncryptionKey = "short" },
		"negative bound": func(c *natsserver.Config) { c.MaxStore = -1 },
		"negative time":  func(c *natsserver.Config) { c.StartTimeout = -1 },
	} {
		cfg := config(t)
		store := cfg.StoreDir
		bad(&cfg)
		_, err := natsserver.Start(t.Context(), cfg)
		require.ErrorIs(t, err, natsserver.ErrConfig, name)
		require.NoDirExists(t, store, name)
	}
}

// syncBuffer takes the broker's log from many goroutines.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
