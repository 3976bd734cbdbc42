package serving

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"iris.example/iris/internal/keyfile"
	"iris.example/iris/vault"
)

const (
	masterKeyFile = "master.key"
	cursorKeyFile = "cursor.key"

	// A connection that is cut without a word is missed after two of these.
	pingEvery     = 5 * time.Second
	reconnectWait = 500 * time.Millisecond
)

// connect dials any of the nodes, and goes on to another whenever one goes. What is published while none is there is refused rather
// than kept: nobody knows whether it would still be right.
func (n NATS) connect(name string) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name("iris-" + name), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1),
		nats.IgnoreDiscoveredServers(), // the addresses that were named are those that the certificates are good for
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2), nats.Timeout(5 * time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // whoever asked hears of it; a node that goes is told by /readyz
	}
	if n.CA != "" {
		options = append(options, nats.RootCAs(n.CA))
	}
	if n.Cert != "" {
		options = append(options, nats.ClientCert(n.Cert, n.Key))
	}
	if n.Credentials != "" {
		options = append(options, nats.UserCredentials(n.Credentials))
	} else {
		seed, err := nats.NkeyOptionFromSeed(n.Seed)
		if err != nil {
			return nil, fmt.Errorf("read the NKey's seed in %s: %w", n.Seed, err)
		}
		options = append(options, seed)
	}
	conn, err := nats.Connect(strings.Join(n.URLs, ","), options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w; see that a node runs there and knows this process's key", strings.Join(n.URLs, ", "), err)
	}
	return conn, nil
}

// openMaster opens the key that migrate made. Making another one here would open nothing.
func openMaster(dir string) (vault.Master, error) {
	path := filepath.Join(dir, masterKeyFile)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is not there: run `iris migrate --keys %s` once, and give every process the same folder", path, dir)
	}
	return vault.OpenMasterKey(path)
}

func readCursorKey(dir string) ([]byte, error) {
	key, err := keyfile.Read(filepath.Join(dir, cursorKeyFile))
	if err != nil {
		return nil, fmt.Errorf("%w; run `iris migrate --keys %s` once, and give every process the same folder", err, dir)
	}
	return key, nil
}

// within keeps a look at the stores short.
func within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, 5*time.Second)
}
