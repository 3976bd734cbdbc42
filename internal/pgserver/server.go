//go:build unix

package pgserver

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"iris.example/iris/internal/dirlock"
)

const (
	pollEvery    = 5 * time.Millisecond
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
	// A server that lived this long was healthy: its next crash starts a new count.
	healthyAfter = time.Minute
	maxCrashes   = 10
	// After SIGQUIT nothing is left to write; longer means it hangs.
	quitTimeout = 5 * time.Second
)

// Server is one running private PostgreSQL.
type Server struct {
	// Set by Start, read-only after.
	cfg    Config
	bin    binaries
	who    owner
	lock   *dirlock.Lock
	socket socketPlace
	log    *serverLog

	// Closed once, by Stop and by the supervisor's end.
	stopping chan struct{}
	done     chan struct{}
	stopOnce sync.Once

	mu      sync.Mutex // guards what follows
	current *child     // nil between two runs
	err     error      // why done is closed; nil after Stop
}

// Start makes the data directory if it is missing, starts the server and
// returns when it answers. ctx bounds the start only; Stop ends the server.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cfg.StartTimeout)
	defer cancel()

	s := &Server{cfg: cfg, stopping: make(chan struct{}), done: make(chan struct{})}
	if err := s.prepare(ctx); err != nil {
		s.release()
		return nil, err
	}
	c, err := s.launch(ctx)
	if err != nil {
		s.release()
		return nil, err
	}
	go s.supervise(c)
	return s, nil
}

// prepare does everything that comes before the first process.
func (s *Server) prepare(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.cfg.DataDir), 0o711); err != nil {
		return &Error{Code: ErrUnreachable, Act: "make the parent of", Input: s.cfg.DataDir, Cause: err}
	}
	if real, err := filepath.EvalSymlinks(s.cfg.DataDir); err == nil {
		s.cfg.DataDir = real // one lock, however the directory is named
	}
	var err error
	if s.lock, err = takeLock(s.cfg.DataDir + ".lock"); err != nil {
		return err
	}
	major, err := dataMajor(s.cfg.DataDir)
	if err != nil {
		return err
	}
	if s.bin, err = findBinaries(s.cfg.BinDir, major); err != nil {
		return err
	}
	if err = checkMajor(s.cfg.DataDir, major, s.bin); err != nil {
		return err
	}
	if s.who, err = ownerOf(s.cfg); err != nil {
		return err
	}
	if err = s.who.own(s.cfg.DataDir + ".lock"); err != nil {
		return &Error{Code: ErrUnreachable, Act: "hand over", Input: s.cfg.DataDir + ".lock", Cause: err}
	}
	if err = errors.Join(s.who.checkWay(s.cfg.DataDir), s.who.checkWay(s.bin.postgres())); err != nil {
		return err
	}
	for _, left := range unfinishedDirs(s.cfg.DataDir) {
		s.cfg.Logger.Warn("an interrupted first start left a directory; it holds no data and may be removed", "path", left)
	}
	if major == 0 {
		if err = create(ctx, s.cfg, s.bin, s.who); err != nil {
			return err
		}
	}
	if s.socket, err = placeSocket(s.cfg, s.who); err != nil {
		return err
	}
	s.log, err = openLog(s.cfg.DataDir, s.who)
	return err
}

func takeLock(path string) (*dirlock.Lock, error) {
	lock, err := dirlock.Take(path)
	switch {
	case errors.Is(err, dirlock.ErrHeld):
		return nil, &Error{Code: ErrInUse, Act: "lock", Input: path,
			Hint: "another process runs this data directory: stop it or choose another", Cause: err}
	case err != nil:
		return nil, &Error{Code: ErrUnreachable, Act: "lock", Input: path, Cause: err}
	}
	return lock, nil
}

// launch starts the server and waits for its first answer. While a predecessor
// is going down it tries again until ctx ends.
func (s *Server) launch(ctx context.Context) (*child, error) {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		mark := s.log.mark()
		c, err := s.spawn()
		if err != nil {
			return nil, err
		}
		err = s.awaitAnswer(ctx, c)
		if err == nil {
			return c, nil
		}
		s.end(c)
		tail := s.log.since(mark)
		err = &Error{Code: ErrStart, Act: "start PostgreSQL on", Input: s.cfg.DataDir,
			Hint: "its log is " + s.log.path, Cause: fmt.Errorf("%w: %s", err, complaint(tail))}
		if !predecessorAlive(tail) || !s.pause(ctx, backoff) {
			return nil, err
		}
		s.cfg.Logger.Info("the previous PostgreSQL is still going down; trying again", "path", s.cfg.DataDir)
	}
}

var errStopping = errors.New("the server is being stopped")

// spawn starts one postmaster, unless Stop was called: the lock makes sure that
// Stop sees either no child or this one.
func (s *Server) spawn() (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.stopping:
		return nil, errStopping
	default:
	}
	cmd := command(s.bin.postgres(), s.cfg.serverArgs(s.socket.dir), s.cfg.DataDir, s.who, s.log.file)
	// If we die it stops cleanly; the next start waits for it.
	c, err := startTied(cmd, stopFast)
	if err != nil {
		return nil, &Error{Code: ErrStart, Act: "run", Input: s.bin.postgres(), Cause: err}
	}
	s.current = c
	return c, nil
}

// awaitAnswer returns when a connection succeeds, the child exits or ctx ends.
func (s *Server) awaitAnswer(ctx context.Context, c *child) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	last := errors.New("no answer yet")
	for {
		select {
		case <-c.exited:
			return fmt.Errorf("it exited: %w", exitCause(c.err))
		case <-ctx.Done():
			return fmt.Errorf("%w, last answer: %w", ctx.Err(), last)
		case <-tick.C:
		}
		if !s.isServedBy(c) {
			continue
		}
		if last = s.Ping(ctx); last == nil {
			return nil
		}
	}
}

// isServedBy reports whether c holds the data directory. Without this a
// predecessor that still listens would answer in its place.
func (s *Server) isServedBy(c *child) bool {
	raw, err := os.ReadFile(filepath.Join(s.cfg.DataDir, "postmaster.pid"))
	pid, _, _ := strings.Cut(string(raw), "\n")
	return err == nil && pid == strconv.Itoa(c.cmd.Process.Pid)
}

func exitCause(err error) error {
	if err == nil {
		return errors.New("without an error")
	}
	return err
}

// Ping connects once; nil means the server answers now.
func (s *Server) Ping(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.URL("postgres", s.cfg.Superuser))
	if err != nil {
		return fmt.Errorf("connect to the private PostgreSQL: %w", err)
	}
	return conn.Close(ctx)
}

// URL is a connection string for a database and a role, over the unix socket.
func (s *Server) URL(database, role string) string {
	u := url.URL{Scheme: "postgres", User: url.User(role), Path: "/" + database}
	u.RawQuery = url.Values{"host": {s.socket.dir}, "port": {socketPort}, "sslmode": {"disable"}}.Encode()
	return u.String()
}

// Superuser is the role that initdb made.
func (s *Server) Superuser() string { return s.cfg.Superuser }

// Done is closed when the server is down for good; Err then says why.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err is nil while the server runs and after Stop.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// supervise starts the server again whenever it exits on its own.
func (s *Server) supervise(c *child) {
	err := s.keepRunning(c)
	s.mu.Lock()
	s.current, s.err = nil, err
	s.mu.Unlock()
	s.release()
	close(s.done)
}

func (s *Server) keepRunning(c *child) error {
	crashes := 0
	for {
		since := time.Now()
		<-c.exited
		if s.isStopping() {
			return nil
		}
		if time.Since(since) > healthyAfter {
			crashes = 0
		}
		s.cfg.Logger.Error("PostgreSQL exited on its own; starting it again", "path", s.cfg.DataDir, "cause", exitCause(c.err).Error())
		next, err := s.restart(&crashes)
		if s.isStopping() {
			return nil
		}
		if err != nil {
			s.cfg.Logger.Error("PostgreSQL is lost", "path", s.cfg.DataDir, "cause", err.Error())
			return &Error{Code: ErrLost, Act: "keep running", Input: s.cfg.DataDir, Hint: "see " + s.log.path, Cause: err}
		}
		s.cfg.Logger.Info("PostgreSQL answers again", "path", s.cfg.DataDir, "crashes", crashes)
		c = next
	}
}

// restart tries until the server answers, Stop is called or the crashes are too many.
func (s *Server) restart(crashes *int) (*child, error) {
	ctx, cancel := s.untilStop()
	defer cancel()
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		*crashes++
		attempt, done := context.WithTimeout(ctx, s.cfg.StartTimeout)
		c, err := s.launch(attempt)
		done()
		if err == nil || *crashes >= maxCrashes || !s.pause(ctx, backoff) {
			return c, err
		}
		s.cfg.Logger.Error("PostgreSQL didn't come back; trying again", "path", s.cfg.DataDir, "cause", err.Error())
	}
}

func (s *Server) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// untilStop is a context that ends with Stop.
func (s *Server) untilStop() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		select {
		case <-s.stopping:
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pause reports whether it waited to its end.
func (s *Server) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// Stop ends the server: clients are disconnected, data is written. When ctx
// ends first it is cut off, which loses nothing: the next start recovers.
func (s *Server) Stop(ctx context.Context) error {
	s.stopOnce.Do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.stopping)
		s.signal(stopFast)
	})
	select {
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
	}
	s.mu.Lock()
	s.signal(stopImmediate)
	s.mu.Unlock()
	t := time.NewTimer(quitTimeout)
	defer t.Stop()
	select {
	case <-s.done:
	case <-t.C:
		return &Error{Code: ErrStop, Act: "stop PostgreSQL on", Input: s.cfg.DataDir, Cause: ctx.Err()}
	}
	return &Error{Code: ErrStop, Act: "stop in order", Input: s.cfg.DataDir,
		Hint: "it was cut off and recovers at the next start", Cause: ctx.Err()}
}

// signal needs s.mu. A child that is gone already is not an error.
func (s *Server) signal(sig syscall.Signal) {
	if s.current != nil {
		_ = s.current.cmd.Process.Signal(sig)
	}
}

// end makes sure that a child that never answered is gone.
func (s *Server) end(c *child) {
	_ = c.cmd.Process.Signal(stopImmediate)
	t := time.NewTimer(quitTimeout)
	defer t.Stop()
	select {
	case <-c.exited:
	case <-t.C:
		_ = c.cmd.Process.Kill()
		<-c.exited
	}
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
}

// release gives back what prepare took. Nothing of the data.
func (s *Server) release() {
	s.socket.remove()
	if s.log != nil {
		_ = s.log.file.Close()
	}
	s.lock.Release()
}
