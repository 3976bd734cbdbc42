// Package natscluster starts three NATS servers in this process from the configuration in deploy/nats, for tests only: whatever
// is promised of a cluster is proved on what is handed out (spec 9.2).
//
// Each server has a folder, a certificate and ports of its own on loopback; what is set otherwise than in the file is said at
// options. The servers share one machine and one disk: this shows how a cluster answers, not what a power loss does to it.
package natscluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"iris.example/iris/deploy"
	"iris.example/iris/internal/natsserver"
)

const (
	size     = 3
	patience = time.Minute // a hang becomes a failure
	turn     = 10 * time.Millisecond
	account  = "IRIS"
)

// Config is what a test may choose.
type Config struct {
	// Sync leaves sync_interval as it is in the file. Without it a test of ten thousand commits takes minutes.
	Sync bool
	// Producers get a user each.
	Producers []natsserver.Producer
}

// Cluster is three servers. Its methods end the test when something is wrong.
type Cluster struct {
	config    Config
	dir       string
	certs     certificates
	core      nkeys.KeyPair
	provision nkeys.KeyPair
	producers map[natsserver.Producer]nkeys.KeyPair
	values    map[string]string // of the variables that all nodes share

	listen [size]string     // of each node, for clients
	held   []net.PacketConn // one for each port

	mu    sync.Mutex // guards nodes
	nodes [size]node
}

type node struct {
	options *server.Options
	server  *server.Server // nil: stopped
}

// Start returns when the three have found each other and streams can be made. They are stopped when the test ends.
func Start(tb testing.TB, config Config) *Cluster {
	tb.Helper()
	c := &Cluster{config: config, dir: tb.TempDir(), producers: map[natsserver.Producer]nkeys.KeyPair{}}
	tb.Cleanup(func() {
		for i := range size {
			c.StopNode(i)
		}
		for _, h := range c.held {
			_ = h.Close()
		}
	})
	must(tb, c.prepare())
	for i := range size {
		options, err := c.options(i)
		must(tb, err)
		c.nodes[i].options = options
	}
	for i := range size {
		must(tb, c.start(i))
	}
	c.Settle(tb)
	return c
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatalf("natscluster: %v", err)
	}
}

// prepare makes keys, certificates and the values of the configuration's variables.
func (c *Cluster) prepare() (err error) {
	if c.certs, err = makeCertificates(c.dir, size); err != nil {
		return err
	}
	operator, err := nkeys.CreateUser()
	if err != nil {
		return err
	}
	if c.core, err = nkeys.CreateUser(); err != nil {
		return err
	}
	if c.provision, err = nkeys.CreateUser(); err != nil {
		return err
	}
	c.values = map[string]string{"IRIS_NATS_STORE_KEY": strings.Repeat("5eed", 16), "IRIS_NATS_CA": c.certs.authority}
	for name, key := range map[string]nkeys.KeyPair{"CORE": c.core, "PROVISIONER": c.provision, "OPERATOR": operator} {
		if c.values["IRIS_NATS_"+name], err = key.PublicKey(); err != nil {
			return err
		}
	}
	for i := range size {
		route, err := c.freeAddress()
		if err != nil {
			return err
		}
		c.values["IRIS_NATS_ROUTE_"+letter(i)] = "nats-route://" + route
		if c.listen[i], err = c.freeAddress(); err != nil {
			return err
		}
	}
	return nil
}

func letter(i int) string { return string(rune('A' + i)) }

// Ports below those that a system gives out by itself: each node must know the others before it starts, and comes back where it
// was. Had a port no owner meanwhile, any program that asks for none in particular could be given it.
const (
	firstPort = 20_000
	lastPort  = 32_767
)

// freeAddress is nobody's, and no other cluster's, of whatever process, until this one ends: who wants a port holds its namesake of UDP.
func (c *Cluster) freeAddress() (string, error) {
	var last error
	for range 1000 {
		address := fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(lastPort-firstPort+1))
		held, err := net.ListenPacket("udp", address)
		if err != nil {
			last = err
			continue
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			_, last = held.Close(), err
			continue
		}
		c.held = append(c.held, held)
		return address, listener.Close()
	}
	return "", fmt.Errorf("no free port from %d to %d: %w", firstPort, lastPort, last)
}

// options reads the configuration as a node would. The variables stand before it instead of in the environment, which the three
// share; signals and the log are the process's; sync_interval gives way unless the test is about it.
func (c *Cluster) options(i int) (*server.Options, error) {
	dir := filepath.Join(c.dir, "node-"+letter(i))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var text strings.Builder
	set := func(name, value string) { fmt.Fprintf(&text, "%s: %q\n", name, value) }
	for name, value := range c.values {
		set(name, value)
	}
	set("IRIS_NATS_NAME", "iris-"+strings.ToLower(letter(i)))
	set("IRIS_NATS_LISTEN", c.listen[i])
	set("IRIS_NATS_CLUSTER_LISTEN", strings.TrimPrefix(c.values["IRIS_NATS_ROUTE_"+letter(i)], "nats-route://"))
	set("IRIS_NATS_STORE", filepath.Join(dir, "store"))
	set("IRIS_NATS_CERT", c.certs.nodes[i].certificate)
	set("IRIS_NATS_KEY", c.certs.nodes[i].key)
	text.WriteString(deploy.ClusterConf())
	producers, err := c.producersConf()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "cluster.conf")
	for file, content := range map[string]string{path: text.String(), filepath.Join(dir, "producers.conf"): producers} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			return nil, err
		}
	}
	options, err := server.ProcessConfigFile(path)
	if err != nil {
		return nil, err
	}
	options.NoSigs, options.NoLog = true, true
	options.SyncAlways = c.config.Sync
	return options, nil
}

// producersConf is the list as deploy/nats/producers.conf shows it.
func (c *Cluster) producersConf() (string, error) {
	if len(c.config.Producers) == 0 {
		return deploy.ProducersConf(), nil
	}
	var text strings.Builder
	text.WriteString("users: [\n")
	for _, p := range c.config.Producers {
		if err := p.Validate(); err != nil {
			return "", err
		}
		if c.producers[p] == nil {
			key, err := nkeys.CreateUser()
			if err != nil {
				return "", err
			}
			c.producers[p] = key
		}
		public, err := c.producers[p].PublicKey()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "{ nkey: %s, allowed_connection_types: [ STANDARD ], permissions { publish: %q, subscribe: [ %q, %q ] } }\n",
			public, p.Subject(), p.InboxPrefix()+".>", p.Outcomes())
	}
	text.WriteString("]\n")
	return text.String(), nil
}

func (c *Cluster) start(i int) error {
	options := *c.nodes[i].options
	s, err := server.NewServer(&options)
	if err != nil {
		return err
	}
	go s.Start()
	c.mu.Lock()
	c.nodes[i].server = s
	c.mu.Unlock()
	return nil
}

// Settle waits until every node that runs answers, and their leader knows them all: before that it places no replicas.
func (c *Cluster) Settle(tb testing.TB) {
	tb.Helper()
	c.await(tb, "the nodes to find each other", func() bool {
		running := c.running()
		led := false
		for i := range size {
			s := c.Node(i)
			if s == nil {
				continue
			}
			if !s.ReadyForConnections(turn) || !s.JetStreamIsCurrent() {
				return false
			}
			if s.JetStreamIsLeader() {
				led = len(s.JetStreamClusterPeers()) >= running
			}
		}
		return led
	})
}

func (c *Cluster) running() (n int) {
	for i := range size {
		if c.Node(i) != nil {
			n++
		}
	}
	return n
}

func (c *Cluster) await(tb testing.TB, what string, is func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ticker := time.NewTicker(turn)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			tb.Fatalf("natscluster: waited in vain for %s", what)
		}
	}
}

// Node is a server, nil while it is stopped.
func (c *Cluster) Node(i int) *server.Server {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[i].server
}

// StopNode ends a server; its folder stays.
func (c *Cluster) StopNode(i int) {
	c.mu.Lock()
	s := c.nodes[i].server
	c.nodes[i].server = nil
	c.mu.Unlock()
	if s != nil {
		s.Shutdown()
		s.WaitForShutdown()
	}
}

// StartNode starts a stopped server again and waits until it has caught up with the cluster.
func (c *Cluster) StartNode(tb testing.TB, i int) {
	tb.Helper()
	must(tb, c.start(i))
	c.Settle(tb)
}

// StartAll starts every stopped server at once: one alone of three would wait for a majority.
func (c *Cluster) StartAll(tb testing.TB) {
	tb.Helper()
	for i := range size {
		if c.Node(i) == nil {
			must(tb, c.start(i))
		}
	}
	c.Settle(tb)
}

// Leader waits until a stream has a leader and says which node it is.
func (c *Cluster) Leader(tb testing.TB, stream string) int {
	tb.Helper()
	leader := -1
	c.await(tb, "a leader of "+stream, func() bool {
		for i := range size {
			if s := c.Node(i); s != nil && s.JetStreamIsStreamLeader(account, stream) {
				leader = i
			}
		}
		return leader >= 0
	})
	return leader
}

// Current waits until every node that runs has all of a stream.
func (c *Cluster) Current(tb testing.TB, stream string) {
	tb.Helper()
	c.await(tb, "every replica of "+stream, func() bool {
		for i := range size {
			if s := c.Node(i); s != nil && !s.JetStreamIsStreamCurrent(account, stream) {
				return false
			}
		}
		return true
	})
}

// Connect is Iris's own connection: over TLS, to whichever node answers.
func (c *Cluster) Connect(tb testing.TB, more ...nats.Option) *nats.Conn {
	tb.Helper()
	return c.connect(tb, c.core, more)
}

// ConnectTo is Connect, to one node as long as it is there.
func (c *Cluster) ConnectTo(tb testing.TB, node int, more ...nats.Option) *nats.Conn {
	tb.Helper()
	first := func(o *nats.Options) error {
		o.NoRandomize, o.Url = true, strings.Split(c.URLs(), ",")[node] // Url is tried first
		return nil
	}
	return c.connect(tb, c.core, append([]nats.Option{first}, more...))
}

// ConnectProvisioner may also change the configuration of a stream.
func (c *Cluster) ConnectProvisioner(tb testing.TB, more ...nats.Option) *nats.Conn {
	tb.Helper()
	return c.connect(tb, c.provision, more)
}

// ConnectProducer is an outside program's connection.
func (c *Cluster) ConnectProducer(tb testing.TB, p natsserver.Producer, more ...nats.Option) *nats.Conn {
	tb.Helper()
	return c.connect(tb, c.producers[p], append([]nats.Option{nats.CustomInboxPrefix(p.InboxPrefix())}, more...))
}

func (c *Cluster) connect(tb testing.TB, key nkeys.KeyPair, more []nats.Option) *nats.Conn {
	tb.Helper()
	public, err := key.PublicKey()
	must(tb, err)
	conn, err := nats.Connect(c.URLs(), append([]nats.Option{
		nats.Nkey(public, key.Sign), nats.RootCAs(c.certs.authority), nats.MaxReconnects(-1), nats.ReconnectWait(turn),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // a node that goes is no news here
	}, more...)...)
	must(tb, err)
	tb.Cleanup(conn.Close)
	return conn
}

// URLs addresses all three nodes.
func (c *Cluster) URLs() string {
	return "tls://" + strings.Join(c.listen[:], ",tls://")
}

// Authority is the file of the certificate that vouches for the nodes.
func (c *Cluster) Authority() string { return c.certs.authority }
