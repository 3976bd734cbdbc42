package natsserver

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
)

// logger brings the broker's log into ours. A line about a client carries its
// address, its name and subjects it asked for, all chosen by the client: only
// the connection's number and a known phrase pass.
type logger struct {
	to *slog.Logger
	// fatal gets the first line after which the broker gives up.
	fatal chan string
}

func newLogger(to *slog.Logger) *logger {
	return &logger{to: to, fatal: make(chan string, 1)}
}

func (l *logger) Noticef(format string, v ...any) { l.to.Info("nats: " + line(format, v)) }
func (l *logger) Warnf(format string, v ...any)   { l.to.Warn("nats: " + line(format, v)) }
func (l *logger) Errorf(format string, v ...any)  { l.to.Error("nats: " + line(format, v)) }
func (l *logger) Debugf(string, ...any)           {}
func (l *logger) Tracef(string, ...any)           {} // would hold payloads

func (l *logger) Fatalf(format string, v ...any) {
	text := line(format, v)
	l.to.Error("nats: " + text)
	select {
	case l.fatal <- text:
	default:
	}
}

var (
	clientLine = regexp.MustCompile(`\bcid:(\d+)\b`)
	phrases    = [...]string{
		"Publish Violation", "Subscription Violation", "authentication error", "Authorization", "Authentication Timeout",
		"Authentication Expired", "Credentials Revoked", "maximum subscriptions exceeded", "maximum connections exceeded",
		"maximum payload", "Slow Consumer", "TLS handshake error", "Stale Client", "Protocol Violation",
	}
)

func line(format string, v []any) string {
	text := fmt.Sprintf(format, v...)
	client := clientLine.FindStringSubmatch(text)
	if client == nil {
		return text
	}
	for _, phrase := range phrases {
		if strings.Contains(strings.ToLower(text), strings.ToLower(phrase)) {
			return "client " + client[1] + ": " + phrase
		}
	}
	return "client " + client[1] + ": error"
}
