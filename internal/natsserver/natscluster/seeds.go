package natscluster

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/nkeys"

	"iris.example/iris/internal/natsserver"
)

// CoreSeed is a file of Iris's own seed, for a process that reads it there.
func (c *Cluster) CoreSeed(tb testing.TB) string {
	tb.Helper()
	return c.seed(tb, "core.nk", c.core)
}

// ProvisionerSeed is a file of the provisioner's.
func (c *Cluster) ProvisionerSeed(tb testing.TB) string {
	tb.Helper()
	return c.seed(tb, "provisioner.nk", c.provision)
}

// ProducerKey is the public key of a producer, as it stands in the configuration.
func (c *Cluster) ProducerKey(tb testing.TB, p natsserver.Producer) string {
	tb.Helper()
	public, err := c.producers[p].PublicKey()
	must(tb, err)
	return public
}

func (c *Cluster) seed(tb testing.TB, name string, key nkeys.KeyPair) string {
	tb.Helper()
	seed, err := key.Seed()
	must(tb, err)
	path := filepath.Join(c.dir, name)
	must(tb, os.WriteFile(path, seed, 0o600))
	return path
}
