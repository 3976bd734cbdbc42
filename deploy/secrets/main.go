// Command secrets makes what deploy/compose.yml needs that nobody may share: an authority and certificates, NKeys, the key of the
// streams' stores, and passwords, in a folder that only its owner can read:
//
//	go run ./deploy/secrets .secrets
//
// It replaces nothing: a folder that is there is refused. The authority's own key is not kept; new certificates take a new folder.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
)

// names are the hosts of the compose file that show a certificate.
func names() []string { return []string{"iris-a", "iris-b", "iris-c", "database", "serve"} }

const validFor = 398 * 24 * time.Hour

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./deploy/secrets DIR")
		os.Exit(2)
	}
	if err := makeAll(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "secrets:", err)
		os.Exit(1)
	}
}

func makeAll(dir string) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return fmt.Errorf("make %s: %w; nothing that is there is replaced", dir, err)
	}
	if err := makeCertificates(dir); err != nil {
		return err
	}
	env := []string{"IRIS_NATS_STORE_KEY=" + random(32)}
	for _, who := range []string{"core", "provisioner", "operator"} {
		user, err := nkeys.CreateUser()
		if err != nil {
			return err
		}
		public, err := user.PublicKey()
		if err != nil {
			return err
		}
		seed, err := user.Seed()
		if err != nil {
			return err
		}
		if err := write(dir, who+".nk", string(seed)+"\n"); err != nil {
			return err
		}
		env = append(env, "IRIS_NATS_"+strings.ToUpper(who)+"="+public)
	}
	if err := write(dir, "nats.env", strings.Join(env, "\n")+"\n"); err != nil {
		return err
	}
	admin := random(24)
	var passfile strings.Builder
	for _, role := range []string{"iris_vault", "iris_app", "iris_projector"} {
		fmt.Fprintf(&passfile, "database:5432:*:%s:%s\n", role, random(24))
	}
	fmt.Fprintf(&passfile, "database:5432:*:postgres:%s\n", admin)
	if err := write(dir, "passfile", passfile.String()); err != nil {
		return err
	}
	if err := write(dir, "postgres-password", admin); err != nil {
		return err
	}
	for _, state := range folders() {
		if err := os.MkdirAll(filepath.Join(dir, state), 0o700); err != nil {
			return err
		}
	}
	// Whoever made the secrets is who reads them in the containers.
	return write(dir, "compose.env", fmt.Sprintf("IRIS_USER=%d:%d\n", os.Getuid(), os.Getgid()))
}

// folders hold what outlives a container.
func folders() []string {
	return []string{
		"keys", "state/iris-a", "state/iris-b", "state/iris-c", "state/database",
		"state/serve", "state/intake", "state/projector", "state/streamguard",
	}
}

func random(bytes int) string {
	secret := make([]byte, bytes)
	_, _ = rand.Read(secret) // never fails (crypto/rand)
	return hex.EncodeToString(secret)
}

func write(dir, name, content string) error {
	return os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
}

// makeCertificates makes an authority, and a certificate for each name that is good for a server and for a client: between NATS nodes
// both sides show theirs.
func makeCertificates(dir string) error {
	authority := &x509.Certificate{Subject: pkix.Name{CommonName: "Iris deployment"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	key, err := sign(dir, "authority", authority, nil, nil)
	if err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(dir, "authority.key")); err != nil {
		return err
	}
	for _, name := range names() {
		node := &x509.Certificate{
			Subject: pkix.Name{CommonName: name}, DNSNames: []string{name, "localhost"}, KeyUsage: x509.KeyUsageDigitalSignature,
			ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}
		if _, err := sign(dir, name, node, authority, key); err != nil {
			return err
		}
	}
	return nil
}

func sign(dir, name string, template, parent *x509.Certificate, with *ecdsa.PrivateKey) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if parent == nil {
		parent, with = template, key
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(validFor)
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), with)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	if err := write(dir, name+".pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))); err != nil {
		return nil, err
	}
	return key, write(dir, name+".key", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})))
}
