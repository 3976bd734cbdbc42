package natsserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
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
	nats *server.Server
	lock *dirlock.Lock
	done chan struct{} // closed when the server is down

	revoking sync.Mutex // guards keys.revoked and the order of pushes
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
	s := &Server{cfg: cfg, lock: lock, done: make(chan struct{})}
	if err := s.start(ctx); err != nil {
		lock.Release()
		return nil, err
	}
	go s.awaitEnd()
	return s, nil
}

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
	opts, err := s.cfg.options(s.keys)
	if err != nil {
		return err
	}
	if s.nats, err = server.NewServer(opts); err != nil {
		return &Error{Code: ErrStart, Act: "configure NATS on", Input: s.cfg.StoreDir, Cause: err}
	}
	log := newLogger(s.cfg.Logger)
	s.nats.SetLoggerV2(log, false, false, false)
	go s.nats.Start()
	if err := s.awaitReady(ctx, log); err != nil {
		s.nats.Shutdown()
		s.nats.WaitForShutdown()
		return &Error{Code: ErrStart, Act: "start NATS on", Input: s.address(), Cause: err}
	}
	return nil
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
	for !s.nats.ReadyForConnections(readyTurn) {
		select {
		case why := <-log.fatal:
			return errors.New(why)
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
	}
	if !s.nats.JetStreamEnabled() {
		return errors.New("JetStream is off: the store can't be used, see the log")
	}
	return nil
}

func (s *Server) awaitEnd() {
	s.nats.WaitForShutdown()
	s.lock.Release()
	close(s.done)
}

// Done is closed when the server is down, whoever stopped it.
func (s *Server) Done() <-chan struct{} { return s.done }

// Healthy is nil while the server runs and its store can be written.
func (s *Server) Healthy() error {
	if !s.nats.Running() {
		return &Error{Code: ErrStart, Act: "look at", Input: s.address(), Cause: errors.New("NATS is down")}
	}
	if !s.nats.JetStreamEnabled() {
		return &Error{Code: ErrStart, Act: "look at", Input: s.cfg.StoreDir, Cause: errors.New("JetStream is off")}
	}
	return nil
}

// Stop ends the server: about 11 ms for each stream. Connections are the
// caller's to close before. When ctx ends first the server goes on stopping.
func (s *Server) Stop(ctx context.Context) error {
	go s.nats.Shutdown()
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
	return s.nats.ClientURL()
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
		nats.InProcessServer(s.nats),
		nats.Name(name),
		nats.UserJWT(
			func() (string, error) { return signed, nil },
			func(nonce []byte) ([]byte, error) { return user.Sign(nonce) },
		),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait),
	}
}
