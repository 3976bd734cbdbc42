package natsserver

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	lookEvery = 2 * time.Second
	room      = 4 << 20 // that must be there again before the store is read anew
)

// mend looks for streams that a full disk has stopped. The broker gives such a stream up until it reads its store again: it answers
// no publish, although reading goes on. When there is room it is restarted here, which takes what an operator would do.
func (s *Server) mend() {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-s.down:
			return
		}
		health := s.broker().Healthz(&server.HealthzOptions{Details: true})
		s.unwritable.Store(stopped(health))
		if !s.unwritable.Load() || !roomy(s.cfg.StoreDir) {
			continue
		}
		s.cfg.Logger.Warn("nats: a stream couldn't be written; there is room again, so the broker is restarted")
		if err := s.Restart(context.Background()); err != nil {
			s.cfg.Logger.Error("nats: not restarted", "error", err)
		}
	}
}

// stopped says whether a stream has given writing up.
func stopped(h *server.HealthStatus) bool {
	for _, e := range h.Errors {
		if e.Type == server.HealthzErrorStream && strings.Contains(e.Error, "write error") {
			return true
		}
	}
	return false
}

// roomy says whether the disk takes what it must, by writing it.
func roomy(dir string) bool {
	path := filepath.Join(dir, ".iris-room")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return false
	}
	_, err = f.Write(make([]byte, room))
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(path)) == nil
}

// Restart stops the broker and starts it on the same store and port. Connections, ours and producers', come back by themselves; what
// is under way meanwhile is refused or ambiguous.
func (s *Server) Restart(ctx context.Context) error {
	s.restarting.Lock()
	defer s.restarting.Unlock()
	if s.stopping {
		return nil
	}
	cfg, old := s.cfg, s.broker()
	if address, ok := old.Addr().(*net.TCPAddr); ok && cfg.Port != NoPort {
		cfg.Port = address.Port
	}
	old.Shutdown()
	old.WaitForShutdown()
	if err := s.run(ctx, cfg); err != nil {
		return err
	}
	s.unwritable.Store(false)
	return nil
}
