package log_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events/log"
)

const patience = time.Minute // a hang becomes a failure

// broker is a server without accounts: tests here must be able to do what no process of Iris may (change and delete streams),
// and to stop it and start it again under a connection that lives on.
type broker struct {
	options *server.Options

	mu      sync.Mutex // guards what follows
	running *server.Server
}

func startBroker(tb testing.TB, sync bool) *broker {
	b := &broker{options: &server.Options{
		DontListen: true, NoSigs: true, NoLog: true, JetStream: true, StoreDir: tb.TempDir(), SyncAlways: sync,
		JetStreamMaxStore: 8 << 30, JetStreamMaxMemory: 64 << 20,
	}}
	b.start(tb)
	tb.Cleanup(b.stop)
	return b
}

func (b *broker) start(tb testing.TB) {
	options := *b.options
	running, err := server.NewServer(&options)
	require.NoError(tb, err)
	running.Start()
	require.True(tb, running.ReadyForConnections(patience))
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

func (b *broker) connect(tb testing.TB) *nats.Conn {
	conn, err := nats.Connect("", nats.InProcessServer(b), nats.MaxReconnects(-1), nats.ReconnectWait(5*time.Millisecond),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // a restart is no news here
	)
	require.NoError(tb, err)
	tb.Cleanup(conn.Close)
	return conn
}

// restart returns when conn is connected again.
func (b *broker) restart(tb testing.TB, conn *nats.Conn) {
	status := conn.StatusChanged(nats.RECONNECTING, nats.CONNECTED)
	defer conn.RemoveStatusListener(status)
	b.stop()
	await(tb, status, nats.RECONNECTING)
	b.start(tb)
	await(tb, status, nats.CONNECTED)
}

func await(tb testing.TB, status <-chan nats.Status, want nats.Status) {
	deadline := time.After(patience)
	for {
		select {
		case got := <-status:
			if got == want {
				return
			}
		case <-deadline:
			require.Fail(tb, "connection never "+want.String())
		}
	}
}

// bench is a log on a broker of its own, and the right to do anything to it.
type bench struct {
	broker *broker
	conn   *nats.Conn
	log    *log.JetStream
	admin  jetstream.JetStream
	ctx    context.Context
}

func setup(tb testing.TB, config log.Config) *bench {
	return setupOn(tb, startBroker(tb, false), config)
}

func setupOn(tb testing.TB, b *broker, config log.Config) *bench {
	conn := b.connect(tb)
	l, err := log.New(conn, config)
	require.NoError(tb, err)
	admin, err := jetstream.New(conn)
	require.NoError(tb, err)
	ctx, cancel := context.WithCancel(context.Background()) // without a time: what runs side by side begins when it has its turn
	tb.Cleanup(cancel)
	return &bench{b, conn, l, admin, ctx}
}
