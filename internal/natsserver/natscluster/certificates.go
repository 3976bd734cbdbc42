package natscluster

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// certificates are files in PEM: one authority, and a pair for each node, good for an hour on loopback.
type certificates struct {
	authority string
	nodes     []pair
}

type pair struct{ certificate, key string }

func makeCertificates(dir string, nodes int) (certificates, error) {
	authority, err := newCertificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "iris test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		return certificates{}, err
	}
	made := certificates{authority: filepath.Join(dir, "authority.pem")}
	if err := writePEM(made.authority, "CERTIFICATE", authority.der); err != nil {
		return certificates{}, err
	}
	for i := range nodes {
		p := pair{filepath.Join(dir, "node-"+letter(i)+".pem"), filepath.Join(dir, "node-"+letter(i)+".key")}
		if err := authority.issue(p); err != nil {
			return certificates{}, err
		}
		made.nodes = append(made.nodes, p)
	}
	return made, nil
}

type signed struct {
	template *x509.Certificate
	der      []byte
	key      crypto.Signer
}

// issue writes a node's pair. Between nodes both sides show theirs, so it is good for a server and for a client.
func (s signed) issue(p pair) error {
	node, err := newCertificate(&x509.Certificate{
		Subject: pkix.Name{CommonName: "iris test node"}, KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, &s)
	if err != nil {
		return err
	}
	key, err := x509.MarshalPKCS8PrivateKey(node.key)
	if err != nil {
		return err
	}
	if err := writePEM(p.key, "PRIVATE KEY", key); err != nil {
		return err
	}
	return writePEM(p.certificate, "CERTIFICATE", node.der)
}

// newCertificate signs with the parent's key, or its own.
func newCertificate(template *x509.Certificate, parent *signed) (signed, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return signed{}, err
	}
	now := time.Now()
	template.NotBefore, template.NotAfter = now.Add(-time.Minute), now.Add(time.Hour)
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return signed{}, err
	}
	made := signed{template: template, key: key}
	if parent == nil {
		parent = &made
	}
	made.der, err = x509.CreateCertificate(rand.Reader, template, parent.template, key.Public(), parent.key)
	return made, err
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
