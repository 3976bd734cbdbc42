package streamguard_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/evidence"
	"iris.example/iris/workers/streamguard"
)

const patience = time.Minute // a hang becomes a failure

var person = events.Member("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")

// broker is a server without accounts: a test does to streams here what no process of Iris may.
type broker struct {
	options *server.Options

	mu      sync.Mutex // guards running
	running *server.Server
}

func (b *broker) start(t *testing.T) {
	options := *b.options
	running, err := server.NewServer(&options)
	require.NoError(t, err)
	running.Start()
	require.True(t, running.ReadyForConnections(patience))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running = running
}

func (b *broker) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running.Shutdown()
	b.running.WaitForShutdown()
}

// InProcessConn dials whichever server runs now.
func (b *broker) InProcessConn() (net.Conn, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.running.InProcessConn()
}

// bench is two organisations on a real server, guarded.
type bench struct {
	t        *testing.T
	ctx      context.Context
	broker   *broker
	conn     *nats.Conn
	log      *log.JetStream
	admin    jetstream.JetStream
	evidence string
	logs     *lines
}

func setup(t *testing.T) *bench {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // without a time: what runs side by side begins when it has its turn
	t.Cleanup(cancel)
	b := &bench{t: t, ctx: ctx, evidence: filepath.Join(t.TempDir(), "evidence"), logs: &lines{}, broker: &broker{options: &server.Options{
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 30, JetStreamMaxMemory: 1 << 20,
	}}}
	b.broker.start(t)
	t.Cleanup(b.broker.stop)
	var err error
	b.conn, err = nats.Connect("", nats.InProcessServer(b.broker), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	require.NoError(t, err)
	t.Cleanup(b.conn.Close)
	b.log, err = log.New(b.conn, log.Config{})
	require.NoError(t, err)
	b.admin, err = jetstream.New(b.conn)
	require.NoError(t, err)
	for _, org := range []string{"acme", "borealis"} {
		require.NoError(t, b.log.CreateOrganisation(ctx, org))
	}
	return b
}

// guard is a guard that runs, and the hands on its clock.
type guard struct {
	*streamguard.Guard
	log   *streamguard.Guarded
	store *evidence.Store
	all   chan time.Time
	soon  chan time.Time
	kept  chan struct{}
	stop  func()
}

func (g *guard) alarms() map[string]error {
	all := g.Health()
	for name, err := range all {
		if err == nil {
			delete(all, name)
		}
	}
	return all
}

// heads tells when something was kept.
type heads struct {
	*evidence.Store
	kept chan struct{}
}

func (h heads) Keep(news ...evidence.Head) error {
	err := h.Store.Keep(news...)
	select {
	case h.kept <- struct{}{}:
	default:
	}
	return err
}

func (b *bench) guard(every int) *guard {
	b.t.Helper()
	store, err := evidence.Open(b.evidence)
	require.NoError(b.t, err)
	g := &guard{store: store, all: make(chan time.Time), soon: make(chan time.Time), kept: make(chan struct{}, 1)}
	g.Guard, err = streamguard.New(streamguard.Config{
		Log: b.log, Heads: heads{store, g.kept}, All: g.all, Soon: g.soon, Every: every, Logger: slog.New(slog.NewTextHandler(b.logs, nil)),
	})
	require.NoError(b.t, err)
	g.log = g.Over(b.log)
	running, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() { defer close(done); g.Run(running) }()
	g.stop = sync.OnceFunc(func() {
		cancel()
		<-done
		store.Close()
	})
	b.t.Cleanup(g.stop)
	return g
}

// ticked returns when what the tick made the guard look at has been looked at.
func (g *guard) ticked(tick chan time.Time) {
	select {
	case <-g.kept:
	default:
	}
	tick <- time.Time{}
	<-g.kept
}

func (b *bench) write(g *guard, org string, n int) {
	b.t.Helper()
	for range n {
		head, err := b.log.Head(b.ctx, org, person)
		require.NoError(b.t, err)
		_, err = g.log.Append(b.ctx, org, person, head, fmt.Appendf(nil, "commit after %d", head))
		require.NoError(b.t, err)
		_, err = g.log.AppendAccess(b.ctx, org, events.RecallSubject(org), fmt.Appendf(nil, "recall at %d", head))
		require.NoError(b.t, err)
	}
}

func (b *bench) last(stream string) uint64 {
	b.t.Helper()
	last, err := b.log.Last(b.ctx, stream)
	require.NoError(b.t, err)
	return last
}

func (b *bench) update(stream string, change func(*jetstream.StreamConfig)) {
	b.t.Helper()
	s, err := b.admin.Stream(b.ctx, stream)
	require.NoError(b.t, err)
	config := s.CachedInfo().Config
	change(&config)
	_, err = b.admin.UpdateStream(b.ctx, config)
	require.NoError(b.t, err)
}

// replace puts another history in a stream's place: as many of its messages as said, through a change.
func (b *bench) replace(stream string, messages []log.Message, change func(*log.Message)) {
	b.t.Helper()
	b.remake(stream)
	for _, m := range messages {
		change(&m)
		_, err := b.admin.Publish(b.ctx, m.Subject, m.Body)
		require.NoError(b.t, err)
	}
}

// remake deletes a stream and makes it again, empty. The server may find old messages in a folder that it has just deleted
// (measured): then once more.
func (b *bench) remake(stream string) {
	b.t.Helper()
	for left := uint64(1); left > 0; left = b.last(stream) {
		require.NoError(b.t, b.admin.DeleteStream(b.ctx, stream))
		require.NoError(b.t, b.log.CreateOrganisation(b.ctx, "acme"))
		require.NoError(b.t, b.log.CreateOrganisation(b.ctx, "borealis"))
	}
}

func same(*log.Message) {}

func (b *bench) messages(stream string) (all []log.Message) {
	b.t.Helper()
	for n := range b.last(stream) {
		m, err := b.log.At(b.ctx, stream, n+1)
		require.NoError(b.t, err)
		all = append(all, m)
	}
	return all
}

// refuses: nothing of the organisation is written, by any way.
func (b *bench) refuses(g *guard, org string) error {
	b.t.Helper()
	_, commit := g.log.Append(b.ctx, org, person, 0, []byte("x"))
	_, envelope := g.log.AppendAccess(b.ctx, org, events.RecallSubject(org), []byte("x"))
	_, fence := g.log.AppendFence(b.ctx, org, person, 0, []byte("x"))
	for _, err := range []error{commit, envelope, fence, g.Allow(org)} {
		require.ErrorIs(b.t, err, streamguard.ErrGuarded)
		require.ErrorIs(b.t, err, log.ErrUnavailable)
		require.NotErrorIs(b.t, err, log.ErrDrift, "to the caller it is no more than a store that can't be written")
	}
	return commit
}

func TestNothingIsWrittenBeforeALook(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(0)
	require.ErrorContains(t, b.refuses(g, "acme"), "not looked at yet")
	require.Zero(t, b.last("IRIS_ACME"))
	require.NoError(t, g.Watch(b.ctx, "acme"))
	b.write(g, "acme", 1)
	b.refuses(g, "borealis")
	require.Empty(t, g.alarms())
}

func TestAlarms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil, heal func(b *bench, org, access []log.Message)
		alarm       error
		says        string
	}{
		"a setting changed": {
			spoil: func(b *bench, _, _ []log.Message) {
				b.update("IRIS_ACME", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour })
			},
			heal: func(b *bench, _, _ []log.Message) {
				b.update("IRIS_ACME", func(c *jetstream.StreamConfig) { c.MaxAge = 0 })
			},
			alarm: log.ErrDrift, says: "stream IRIS_ACME: log: stream drifted: max_age",
		},
		"a setting of the access stream changed": {
			spoil: func(b *bench, _, _ []log.Message) {
				b.update("IRIS_ACCESS_ACME", func(c *jetstream.StreamConfig) { c.MaxMsgs = 100 })
			},
			heal: func(b *bench, _, _ []log.Message) {
				b.update("IRIS_ACCESS_ACME", func(c *jetstream.StreamConfig) { c.MaxMsgs = -1 })
			},
			alarm: log.ErrDrift, says: "IRIS_ACCESS_ACME",
		},
		"gone": {
			spoil: func(b *bench, _, _ []log.Message) { require.NoError(b.t, b.admin.DeleteStream(b.ctx, "IRIS_ACME")) },
			heal: func(b *bench, org, _ []log.Message) {
				require.NoError(b.t, b.log.CreateOrganisation(b.ctx, "acme")) // as a restore would
				b.replace("IRIS_ACME", org, same)
			},
			alarm: log.ErrMissingStream, says: "IRIS_ACME",
		},
		"shortened": {
			spoil: func(b *bench, org, _ []log.Message) { b.replace("IRIS_ACME", org[:2], same) },
			heal:  func(b *bench, org, _ []log.Message) { b.replace("IRIS_ACME", org, same) },
			alarm: streamguard.ErrShortened, says: "stream IRIS_ACME: streamguard: stream shortened: it ends at 2, known is 5",
		},
		"empty": {
			spoil: func(b *bench, _, _ []log.Message) { b.replace("IRIS_ACCESS_ACME", nil, same) },
			heal:  func(b *bench, _, access []log.Message) { b.replace("IRIS_ACCESS_ACME", access, same) },
			alarm: streamguard.ErrShortened, says: "IRIS_ACCESS_ACME",
		},
		"another history": {
			spoil: func(b *bench, org, _ []log.Message) {
				b.replace("IRIS_ACME", append(org, org[4]), func(m *log.Message) { m.Body = append(m.Body, '!') })
			},
			heal:  func(b *bench, org, _ []log.Message) { b.replace("IRIS_ACME", org, same) },
			alarm: streamguard.ErrChanged, says: "another message stands at 5",
		},
		"its head deleted": {
			spoil: func(b *bench, org, _ []log.Message) {
				var s jetstream.Stream
				for left := uint64(1); left > 0; left = b.last("IRIS_ACME") {
					require.NoError(b.t, b.admin.DeleteStream(b.ctx, "IRIS_ACME"))
					var err error
					s, err = b.admin.CreateStream(b.ctx, jetstream.StreamConfig{Name: "IRIS_ACME", Subjects: []string{"iris.org.acme.>"}})
					require.NoError(b.t, err)
				}
				for _, m := range org {
					_, err := b.admin.Publish(b.ctx, m.Subject, m.Body)
					require.NoError(b.t, err)
				}
				require.NoError(b.t, s.DeleteMsg(b.ctx, 5))
				b.update("IRIS_ACME", asItMustBe)
			},
			heal:  func(b *bench, org, _ []log.Message) { b.replace("IRIS_ACME", org, same) },
			alarm: streamguard.ErrChanged, says: "nothing stands at 5",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			g := b.guard(0)
			for _, org := range []string{"acme", "borealis"} {
				require.NoError(t, g.Watch(b.ctx, org))
				b.write(g, org, 5)
			}
			g.ticked(g.all)
			require.Empty(t, g.alarms())
			org, access := b.messages("IRIS_ACME"), b.messages("IRIS_ACCESS_ACME")

			c.spoil(b, org, access)
			g.ticked(g.all)
			require.ErrorContains(t, b.refuses(g, "acme"), c.says)
			require.ErrorContains(t, g.Allow("acme"), "docs/operations.md", "what to do")
			require.Len(t, g.alarms(), 1)
			require.ErrorIs(t, g.alarms()["streams of acme"], c.alarm)
			require.ErrorContains(t, g.alarms()["streams of acme"], "ACME")
			b.write(g, "borealis", 1)
			if errors.Is(c.alarm, log.ErrMissingStream) {
				_, err := b.admin.Stream(b.ctx, "IRIS_ACME")
				require.ErrorIs(t, err, jetstream.ErrStreamNotFound, "it is never made anew")
			}
			known, _ := g.store.Known("IRIS_ACME")
			require.EqualValues(t, 5, known.Sequence, "what was known stays known")
			require.Equal(t, 1, b.logs.count("refuses writes"))

			c.heal(b, org, access)
			b.refuses(g, "acme")
			g.ticked(g.soon)
			require.NoError(t, g.Allow("acme"))
			require.Empty(t, g.alarms())
			require.Equal(t, 1, b.logs.count("allows writes again"))
			b.write(g, "acme", 1)
		})
	}
}

func asItMustBe(c *jetstream.StreamConfig) {
	c.Discard, c.MaxMsgSize, c.DenyDelete, c.DenyPurge = jetstream.DiscardNew, 256<<10, true, true
	c.AllowDirect, c.AllowAtomicPublish, c.Duplicates = true, true, 100*time.Millisecond
}

// What was acknowledged is known at the next start, however the broker comes back.
func TestKnownHeadsOutliveTheProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first := b.guard(0)
	require.NoError(t, first.Watch(b.ctx, "acme"))
	b.write(first, "acme", 5)
	first.stop()
	org := b.messages("IRIS_ACME")

	b.replace("IRIS_ACME", org[:4], same)
	second := b.guard(0)
	require.NoError(t, second.Watch(b.ctx, "acme"))
	require.ErrorContains(t, b.refuses(second, "acme"), "ends at 4, known is 5")
	second.stop()

	b.replace("IRIS_ACME", org, same)
	third := b.guard(0)
	require.NoError(t, third.Watch(b.ctx, "acme"))
	b.write(third, "acme", 1)
}

// Heads are kept every so many commits, whatever the clock does, and then without one when it ticks.
func TestHeadsAreKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(4)
	require.NoError(t, g.Watch(b.ctx, "acme"))
	b.write(g, "acme", 2) // two commits, two envelopes
	<-g.kept
	known, _ := g.store.Known("IRIS_ACME")
	require.EqualValues(t, 2, known.Sequence)
	m, err := b.log.At(b.ctx, "IRIS_ACME", 2)
	require.NoError(t, err)
	require.Equal(t, evidence.Head{Stream: "IRIS_ACME", Sequence: 2, SHA256: events.Hash(m.Body), Stored: m.Stored}, known)

	b.write(g, "acme", 1)
	known, _ = g.store.Known("IRIS_ACME")
	require.EqualValues(t, 2, known.Sequence)
	g.ticked(g.soon)
	known, _ = g.store.Known("IRIS_ACCESS_ACME")
	require.EqualValues(t, 3, known.Sequence)
}

// A stream that loses its end between two looks gives itself away by the next sequence.
func TestALossBetweenTwoLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(0)
	require.NoError(t, g.Watch(b.ctx, "acme"))
	b.write(g, "acme", 5)
	g.ticked(g.soon)
	b.replace("IRIS_ACME", b.messages("IRIS_ACME")[:2], same)
	_, err := g.log.Append(b.ctx, "acme", person, 2, []byte("x"))
	require.ErrorIs(t, err, log.ErrAmbiguous, "it is stored on a stream that can't be trusted")
	b.refuses(g, "acme")
	g.ticked(g.soon)
	require.ErrorContains(t, b.refuses(g, "acme"), "ends at 3, known is 5")

	require.NoError(t, g.Watch(b.ctx, "borealis"))
	require.NoError(t, b.admin.DeleteStream(b.ctx, "IRIS_BOREALIS"))
	_, err = g.log.Append(b.ctx, "borealis", person, 0, []byte("x"))
	require.ErrorIs(t, err, log.ErrMissingStream)
	b.refuses(g, "borealis")
}

// A broker that is away is no alarm, and one that is away at the start opens nothing.
func TestABrokerThatIsAway(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(0)
	require.NoError(t, g.Watch(b.ctx, "acme"))
	b.write(g, "acme", 2)
	status := b.conn.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	b.broker.stop()
	require.Equal(t, nats.RECONNECTING, <-status)
	g.ticked(g.all)
	require.NoError(t, g.Allow("acme"))
	_, err := g.log.Append(b.ctx, "acme", person, 2, []byte("x"))
	require.ErrorIs(t, err, log.ErrUnavailable)
	require.NotErrorIs(t, err, streamguard.ErrGuarded)
	require.ErrorIs(t, g.Watch(b.ctx, "borealis"), log.ErrUnavailable)
	b.refuses(g, "borealis")
	require.ErrorIs(t, g.alarms()["streams of borealis"], streamguard.ErrUnseen)

	b.broker.start(t)
	require.Equal(t, nats.CONNECTED, <-status)
	g.ticked(g.soon)
	require.Empty(t, g.alarms())
	b.write(g, "acme", 1)
	b.write(g, "borealis", 1)
}

// Evidence that can't be written is told; the streams are well, so writing goes on.
func TestEvidenceThatCantBeWritten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(0)
	require.NoError(t, g.Watch(b.ctx, "acme"))
	inTheWay := filepath.Join(b.evidence, "heads.json.new")
	require.NoError(t, os.Mkdir(inTheWay, 0o700))
	b.write(g, "acme", 1)
	require.ErrorIs(t, g.Look(b.ctx), evidence.ErrWrite)
	require.ErrorIs(t, g.alarms()["evidence"], evidence.ErrWrite)
	b.write(g, "acme", 1)
	require.NoError(t, os.Remove(inTheWay))
	require.NoError(t, g.Look(b.ctx))
	require.Empty(t, g.alarms())
	known, _ := g.store.Known("IRIS_ACME")
	require.EqualValues(t, 2, known.Sequence)
}

// What others write is no surprise, and becomes known.
func TestOthersWriteToo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	g := b.guard(0)
	require.NoError(t, g.Watch(b.ctx, "acme"))
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			for n := range 50 {
				who := b.log.Append
				if (i+n)%2 == 0 {
					who = g.log.Append
				}
				head, err := b.log.Head(b.ctx, "acme", person)
				if err == nil {
					_, err = who(b.ctx, "acme", person, head, []byte("x"))
				}
				if err != nil && !errors.Is(err, log.ErrConflict) {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	for range 5 {
		g.ticked(g.all)
	}
	group.Wait()
	g.ticked(g.all)
	require.Empty(t, g.alarms())
	known, _ := g.store.Known("IRIS_ACME")
	require.Equal(t, b.last("IRIS_ACME"), known.Sequence)
}

// expired is a log whose access stream has let its messages go.
type expired struct{ *log.Memory }

func (e expired) At(ctx context.Context, stream string, sequence uint64) (log.Message, error) {
	if stream == "IRIS_ACCESS_ACME" {
		return log.Message{}, log.ErrNotFound
	}
	return e.Memory.At(ctx, stream, sequence)
}

func TestEnvelopesMayExpire(t *testing.T) {
	t.Parallel()
	memory := log.NewMemory("acme")
	_, err := memory.AppendAccess(t.Context(), "acme", events.RecallSubject("acme"), []byte("x"))
	require.NoError(t, err)
	for maxAge, alarm := range map[time.Duration]error{0: streamguard.ErrChanged, 200 * 24 * time.Hour: nil} {
		store, err := evidence.Open(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(store.Close)
		for range 2 { // not known yet, and known
			g, err := streamguard.New(streamguard.Config{
				Log: expired{memory}, Heads: store, All: make(chan time.Time), Soon: make(chan time.Time), Logger: slog.New(slog.DiscardHandler), AccessMaxAge: maxAge,
			})
			require.NoError(t, err)
			require.NoError(t, g.Watch(t.Context(), "acme"))
			require.ErrorIs(t, g.Health()["streams of acme"], alarm)
			require.NoError(t, store.Keep(evidence.Head{Stream: "IRIS_ACCESS_ACME", Sequence: 1, SHA256: events.Hash([]byte("x")), Stored: time.Now()}))
		}
	}
}

func TestAGuardThatWouldNeverLookIsRefused(t *testing.T) {
	t.Parallel()
	store, err := evidence.Open(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(store.Close)
	good := streamguard.Config{Log: log.NewMemory(), Heads: store, Logger: slog.Default(), All: make(chan time.Time), Soon: make(chan time.Time)}
	require.NoError(t, good.WithDefaults().Validate())
	for name, spoil := range map[string]func(*streamguard.Config){
		"no log": func(c *streamguard.Config) { c.Log = nil }, "no evidence": func(c *streamguard.Config) { c.Heads = nil },
		"no minute": func(c *streamguard.Config) { c.All = nil }, "no soon": func(c *streamguard.Config) { c.Soon = nil },
		"no logger": func(c *streamguard.Config) { c.Logger = nil }, "never kept": func(c *streamguard.Config) { c.Every = -1 },
	} {
		bad := good
		spoil(&bad)
		_, err := streamguard.New(bad)
		require.Error(t, err, name)
	}
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}
