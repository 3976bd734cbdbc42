package natsserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"iris.example/iris/internal/dirlock"
)

const readyTurn = 50 * time.Millisecond

// Server is one running embedded NATS server.
type Server struct {
	// Set by Start, read-only after, but for keys.revoked.
	cfg  Config
	keys *keys
	lock *dirlock.Lock
	done chan struct{} // closed when the server is down and nothing of ours is in its store

	mu   sync.RWMutex   // guards nats
	nats *server.Server // as it runs now: a restart puts another in its place

	restarting sync.Mutex // one restart at a time, and none after Stop; guards stopping
	stopping   bool
	down       chan struct{}  // closed when the broker has ended for good
	mending    sync.WaitGroup // awaitEnd's
	unwritable atomic.Bool    // a stream has refused writes since the last restart

	revoking sync.Mutex // guards keys.revoked and the order of pushes, and of them and a restart's broker
}

// Start returns when clients may connect. ctx bounds the start only.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cfg.StoreDir, 0o700); err != nil {
		return nil, &Error{Code: ErrStart, Act: "make the store directory", Input: cfg.StoreDir, Cause: err}
	}
	lock, err := takeLock(filepath.Join(cfg.StoreDir, "iris.lock"))
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, lock: lock, down: make(chan struct{}), done: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		lock.Release()
		return nil, err
	}
	s.mending.Go(s.mend)
	go s.awaitEnd()
	return s, nil
}

// broker is the server as it runs now.
func (s *Server) broker() *server.Server {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.nats
}

// InProcessConn makes Server what our own connections dial: after a restart they find the broker that runs then.
func (s *Server) InProcessConn() (net.Conn, error) { return s.broker().InProcessConn() }

func takeLock(path string) (*dirlock.Lock, error) {
	lock, err := dirlock.Take(path)
	switch {
	case errors.Is(err, dirlock.ErrHeld):
		return nil, &Error{Code: ErrInUse, Act: "lock", Input: path,
			Hint: "another process runs this store: stop it or choose another", Cause: err}
	case err != nil:
		return nil, &Error{Code: ErrStart, Act: "lock", Input: path, Cause: err}
	}
	return lock, nil
}

func (s *Server) start(ctx context.Context) error {
	var err error
	if s.keys, err = openKeys(s.cfg); err != nil {
		return err
	}
	return s.run(ctx, s.cfg)
}

// run puts a broker on the store.
func (s *Server) run(ctx context.Context, cfg Config) error {
	broker, err := s.configure(cfg)
	if err != nil {
		return err
	}
	log := newLogger(s.cfg.Logger)
	broker.SetLoggerV2(log, false, false, false)
	go broker.Start()
	if err := s.awaitReady(ctx, log); err != nil {
		broker.Shutdown()
		broker.WaitForShutdown()
		hint := ""
		if strings.Contains(err.Error(), "address already in use") { // the broker says why in words alone
			hint = "another program has the port; choose one with --nats"
		}
		return &Error{Code: ErrStart, Act: "start NATS on", Input: s.address(), Hint: hint, Cause: err}
	}
	return nil
}

// configure makes a broker of whoever is revoked by now, in the place of the one before. A revocation comes before both or after
// both: between them it would be pushed to a broker that ends, and not be known to the next.
func (s *Server) configure(cfg Config) (*server.Server, error) {
	s.revoking.Lock()
	defer s.revoking.Unlock()
	opts, err := cfg.options(s.keys)
	if err != nil {
		return nil, err
	}
	broker, err := server.NewServer(opts)
	if err != nil {
		return nil, &Error{Code: ErrStart, Act: "configure NATS on", Input: s.cfg.StoreDir, Cause: err}
	}
	s.mu.Lock()
	s.nats = broker
	s.mu.Unlock()
	return broker, nil
}

func (s *Server) address() string {
	if s.cfg.Port == NoPort {
		return s.cfg.StoreDir
	}
	return fmt.Sprintf("%s:%d", s.cfg.Host, s.cfg.Port)
}

// awaitReady asks in short turns: the broker's own wait can't be interrupted.
func (s *Server) awaitReady(ctx context.Context, log *logger) error {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.StartTimeout)
	defer cancel()
	for !s.broker().ReadyForConnections(readyTurn) {
		select {
		case why := <-log.fatal:
			return errors.New(why)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
	if !s.broker().JetStreamEnabled() {
		return errors.New("JetStream is off: the store can't be used, see the log")
	}
	return nil
}

// awaitEnd is the life of the server: whoever waits for done waits for it, and it waits for mend, which writes into the store.
func (s *Server) awaitEnd() {
	for ended := s.broker(); ; {
		ended.WaitForShutdown()
		s.restarting.Lock() // a restart that is under way ends first, and none comes after the last broker
		next := s.broker()
		s.stopping = s.stopping || next == ended
		s.restarting.Unlock()
		if next == ended {
			break
		}
		ended = next
	}
	close(s.down)
	s.mending.Wait()
	s.lock.Release()
	close(s.done)
}

// Done is closed when the server is down, whoever stopped it.
func (s *Server) Done() <-chan struct{} { return s.done }

// Healthy is nil while the server runs and its store can be written.
func (s *Server) Healthy() error {
	if !s.broker().Running() {
		return &Error{Code: ErrStart, Act: "look at", Input: s.address(), Cause: errors.New("NATS is down")}
	}
	if !s.broker().JetStreamEnabled() {
		return &Error{Code: ErrStart, Act: "look at", Input: s.cfg.StoreDir, Cause: errors.New("JetStream is off")}
	}
	if s.unwritable.Load() {
		return &Error{Code: ErrStart, Act: "write to", Input: s.cfg.StoreDir, Hint: "make room on the disk; writing goes on by itself then",
			Cause: errors.New("a stream couldn't be written")}
	}
	return nil
}

// Stop ends the server: about 11 ms for each stream. Connections are the
// caller's to close before. When ctx ends first the server goes on stopping.
func (s *Server) Stop(ctx context.Context) error {
	go func() {
		s.restarting.Lock()
		s.stopping = true
		s.restarting.Unlock()
		s.broker().Shutdown()
	}()
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return &Error{Code: ErrStop, Act: "stop NATS on", Input: s.address(), Cause: ctx.Err()}
	}
}

// URL is where producers connect; empty when the server listens nowhere.
func (s *Server) URL() string {
	if s.cfg.Port == NoPort {
		return ""
	}
	return s.broker().ClientURL()
}

// Connect is Iris's own connection, inside the process: all of IRIS but what
// takes away or changes what is recorded.
func (s *Server) Connect(opts ...nats.Option) (*nats.Conn, error) {
	return s.connect("iris-core", opts, streamUpdate)
}

// ConnectProvisioner may also change the configuration of a stream. Keep it for
// the act, not for the life of the process.
func (s *Server) ConnectProvisioner(opts ...nats.Option) (*nats.Conn, error) {
	return s.connect("iris-provisioner", opts)
}

// connect makes a key for this one connection; it is never written anywhere.
func (s *Server) connect(name string, opts []nats.Option, denied ...string) (*nats.Conn, error) {
	user, err := nkeys.CreateUser()
	if err != nil {
		return nil, &Error{Code: ErrConnect, Act: "make a key for", Input: name, Cause: err}
	}
	public, err := user.PublicKey()
	if err != nil {
		return nil, &Error{Code: ErrConnect, Act: "make a key for", Input: name, Cause: err}
	}
	claims := coreClaims(public, denied...)
	claims.Name = name
	signed, err := signUser(claims, s.keys.iris)
	if err != nil {
		return nil, err
	}
	conn, err := nats.Connect("", append(s.ourOptions(name, signed, user), opts...)...)
	if err != nil {
		return nil, &Error{Code: ErrConnect, Act: "connect", Input: name, Cause: err}
	}
	return conn, nil
}

const reconnectWait = 50 * time.Millisecond

func (s *Server) ourOptions(name, signed string, user nkeys.KeyPair) []nats.Option {
	return []nats.Option{
		nats.InProcessServer(s),
		nats.Name(name),
		nats.UserJWT(
			func() (string, error) { return signed, nil },
			func(nonce []byte) ([]byte, error) { return user.Sign(nonce) },
		),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
	}
}
