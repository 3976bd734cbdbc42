package assembly

import (
	"context"
	"errors"
	"log"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// Server is an HTTP server with the bounds that every one of ours has.
func Server(handler http.Handler, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
		ErrorLog: log.New(complaints{logger}, "", 0),
	}
}

// End takes nothing more in and waits for what is being answered, until ctx ends. What isn't answered then is cut off: its request's
// context ends with its connection, so that it doesn't go on in stores that are closed next.
func End(ctx context.Context, server *http.Server) error {
	err := server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, server.Close())
	}
	return err
}

// complaints is where net/http says what it can tell no caller. Its lines hold addresses, what a client sent, or what a handler
// panicked with, so that only their kind is logged.
type complaints struct{ logger *slog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	level, kind := complaint(string(line))
	c.logger.Log(context.Background(), level, "http server", "kind", kind)
	return len(line), nil
}

// complaint tells by the line's beginning, which is net/http's own. Anybody can fail to shake hands; a balancer's probe does so all
// day.
func complaint(line string) (level slog.Level, kind string) {
	begins := func(with string) bool { return strings.HasPrefix(line, with) }
	switch {
	case begins("http: panic"), begins("http2: panic"):
		return slog.LevelError, "panic"
	case begins("http: Accept error"):
		return slog.LevelError, "accept"
	case begins("http: TLS handshake error"):
		return slog.LevelDebug, "tls_handshake"
	case begins("http2: server c"): // connection error, closing client connection
		return slog.LevelDebug, "connection"
	}
	return slog.LevelWarn, "other"
}
