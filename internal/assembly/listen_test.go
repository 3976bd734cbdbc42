package assembly_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/internal/assembly"
	"iris.example/iris/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m) }

const patience = time.Minute // a hang becomes a failure

// listening serves until end is called, which returns once nothing more is logged.
func listening(t *testing.T, handler http.HandlerFunc, logger *slog.Logger, pair ...tls.Certificate) (address string, end func(context.Context) error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server, served := assembly.Server(handler, logger), make(chan error, 1)
	go func() {
		if pair != nil {
			server.TLSConfig = &tls.Config{Certificates: pair, MinVersion: tls.VersionTLS12}
			served <- server.ServeTLS(listener, "", "")
			return
		}
		served <- server.Serve(listener)
	}()
	return listener.Addr().String(), func(ctx context.Context) error {
		defer func() { require.ErrorIs(t, <-served, http.ErrServerClosed) }()
		return assembly.End(ctx, server)
	}
}

// said hands over each line as it is logged.
type said chan string

func (s said) Write(line []byte) (int, error) {
	s <- string(line)
	return len(line), nil
}

func (s said) next(t *testing.T) string {
	t.Helper()
	select {
	case line := <-s:
		return line
	case <-time.After(patience):
		require.Fail(t, "nothing was logged")
		return ""
	}
}

func TestWhatTheServerComplainsAboutIsLoggedWithoutWhatWasSent(t *testing.T) {
	t.Parallel()
	lines := make(said, 16)
	logger := slog.New(slog.NewJSONHandler(lines, &slog.HandlerOptions{Level: slog.LevelDebug}))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	t.Run("a handler panics", func(t *testing.T) {
		address, end := listening(t, func(_ http.ResponseWriter, r *http.Request) { panic(r.URL.Query().Get("q")) }, logger)
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /?q=my-secret HTTP/1.1\r\nHost: iris\r\n\r\n")
		require.NoError(t, err)
		line := lines.next(t)
		require.Contains(t, line, `"level":"ERROR"`)
		require.Contains(t, line, `"kind":"panic"`)
		require.NotContains(t, line, "my-secret")
		require.NotContains(t, line, "127.0.0.1")
		require.NoError(t, end(ctx))
	})
	t.Run("a client speaks no TLS", func(t *testing.T) {
		lent := httptest.NewTLSServer(nil) // for its certificate
		defer lent.Close()
		address, end := listening(t, nil, logger, lent.TLS.Certificates...)
		conn, err := net.Dial("tcp", address)
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "GET /my-secret HTTP/1.1\r\n\r\n")
		require.NoError(t, err)
		line := lines.next(t)
		require.Contains(t, line, `"level":"DEBUG"`)
		require.Contains(t, line, `"kind":"tls_handshake"`)
		require.NotContains(t, line, "127.0.0.1")
		require.NoError(t, end(ctx))
	})
	require.Empty(t, lines)
}

// What outlasts a stop's patience is told that nobody waits for it, before the stores below it are closed.
func TestEndCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	address, end := listening(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	}, slog.New(slog.NewJSONHandler(&bytes.Buffer{}, nil)))
	conn, err := net.Dial("tcp", address)
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: iris\r\n\r\n")
	require.NoError(t, err)
	<-began
	now, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, end(now), context.Canceled)
	select {
	case <-ended:
	case <-time.After(patience):
		require.Fail(t, "a request goes on after the end")
	}
}
