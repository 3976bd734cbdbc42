package testkit

import (
	"context"
	"path/filepath"
	"testing"

	"iris.example/iris/internal/natsserver"
)

// NATS starts an embedded server for this test: synced, on a free port of the
// loopback, in a directory of its own. It stops after the cleanups that were
// registered later, so close connections there.
func NATS(t testing.TB) *natsserver.Server {
	t.Helper()
	dir := t.TempDir()
	s, err := natsserver.Start(context.Background(), natsserver.Config{
		StoreDir: filepath.Join(dir, "nats"),
		KeyDir:   filepath.Join(dir, "keys"),
	})
	if err != nil {
		t.Fatalf("testkit: start NATS: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Errorf("testkit: %v", err)
		}
	})
	return s
}
