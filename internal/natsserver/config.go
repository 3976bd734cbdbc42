package natsserver

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Config is what Start needs. StoreDir and KeyDir are a must.
type Config struct {
	// StoreDir holds the streams, KeyDir the account seeds and revocations.
	// KeyDir is made with mode 0700 and must not lie inside StoreDir, so that a
	// copy of the streams carries no keys.
	StoreDir, KeyDir string
	// Host is a literal address. Anything but loopback needs TLS.
	Host string
	// Port 0 picks a free one, NoPort listens nowhere: in-process only.
	Port int
	TLS  *tls.Config
	// EncryptionKey encrypts the store at rest. It can't change later.
	EncryptionKey string
	// MaxStore bounds the store in bytes; 0: three quarters of the free disk.
	MaxStore     int64
	StartTimeout time.Duration
	Logger       *slog.Logger

	// UnsafeNoSync lets the broker acknowledge before the disk has the message.
	// For tests only.
	UnsafeNoSync bool
}

// NoPort is the Port of a server that only this process reaches.
const NoPort = -1

const (
	defaultHost         = "127.0.0.1"
	defaultStartTimeout = time.Minute // a million messages recover in about a second
	maxPayload          = 1 << 20
	maxMemory           = 256 << 20 // no stream of ours is in memory; ordered consumers are
	minEncryptionKey    = 32
)

// WithDefaults fills what is empty.
func (c Config) WithDefaults() Config {
	if c.Host == "" {
		c.Host = defaultHost
	}
	if c.StartTimeout == 0 {
		c.StartTimeout = defaultStartTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}

// Validate is called after WithDefaults and touches no file.
func (c Config) Validate() error {
	ip := net.ParseIP(c.Host)
	switch {
	case c.StoreDir == "":
		return invalid("StoreDir", "", "missing")
	case c.KeyDir == "":
		return invalid("KeyDir", "", "missing")
	case inside(c.StoreDir, c.KeyDir):
		return invalid("KeyDir", c.KeyDir, "lies inside StoreDir")
	case ip == nil:
		return invalid("Host", fmt.Sprintf("%q", c.Host), "an address is needed, not a name")
	case c.Port < NoPort || c.Port > 65535:
		return invalid("Port", fmt.Sprint(c.Port), "not a port")
	case c.Port != NoPort && !ip.IsLoopback() && c.TLS == nil:
		return invalid("Host", c.Host, "off loopback TLS is needed")
	case c.EncryptionKey != "" && len(c.EncryptionKey) < minEncryptionKey:
		return invalid("EncryptionKey", "(secret)", fmt.Sprintf("shorter than %d characters", minEncryptionKey))
	case c.MaxStore < 0:
		return invalid("MaxStore", fmt.Sprint(c.MaxStore), "negative")
	case c.StartTimeout < 0:
		return invalid("StartTimeout", c.StartTimeout.String(), "negative")
	}
	return nil
}

func invalid(field, value, why string) error {
	return &Error{Code: ErrConfig, Act: "check " + field, Input: value, Cause: errors.New(why)}
}

func inside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// options never holds a user or a password: everybody comes with a JWT.
func (c Config) options(k *keys) (*server.Options, error) {
	operator, resolver, err := k.claims()
	if err != nil {
		return nil, err
	}
	o := &server.Options{
		ServerName:         "iris",
		Host:               c.Host,
		Port:               c.Port,
		DontListen:         c.Port == NoPort,
		NoSigs:             true, // signals belong to the process, not to a part of it
		MaxPayload:         maxPayload,
		JetStream:          true,
		StoreDir:           c.StoreDir,
		JetStreamMaxMemory: maxMemory,
		JetStreamMaxStore:  c.MaxStore,
		SyncAlways:         !c.UnsafeNoSync,
		TrustedOperators:   operator,
		AccountResolver:    resolver,
		SystemAccount:      k.system.public,
	}
	if c.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if c.TLS != nil {
		o.TLSConfig, o.TLSTimeout = c.TLS, 5
	}
	if c.EncryptionKey != "" {
		o.JetStreamKey, o.JetStreamCipher = c.EncryptionKey, server.AES
	}
	return o, nil
}
