package devissuer

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// keyFile is the one file of the directory: written whole, never in place.
type keyFile struct {
	Current  jose.JSONWebKey `json:"current"` // with its private half
	Previous []retired       `json:"previous"`
}

type retired struct {
	Key       jose.JSONWebKey `json:"key"` // public half only
	RetiredAt time.Time       `json:"retiredAt"`
}

func (f keyFile) public(now time.Time) []jose.JSONWebKey {
	keys := []jose.JSONWebKey{f.Current.Public()}
	for _, old := range f.Previous {
		if old.alive(now) {
			keys = append(keys, old.Key)
		}
	}
	return keys
}

// alive: a token signed just before the rotation may still be good.
func (r retired) alive(now time.Time) bool { return now.Before(r.RetiredAt.Add(MaxTTL)) }

// Rotate signs with a new key from now on. Of two processes that rotate at the
// same time one key is lost, and tokens minted with it in between.
func (i *Issuer) Rotate() error {
	if err := i.reload(); err != nil {
		return err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.config.Now().UTC()
	next, err := newKeyFile()
	if err != nil {
		return fmt.Errorf("%w: make key: %w", ErrIssuer, err)
	}
	next.Previous = []retired{{Key: i.set.Current.Public(), RetiredAt: now}}
	for _, old := range i.set.Previous {
		if old.alive(now) {
			next.Previous = append(next.Previous, old)
		}
	}
	if err := i.write(next, os.Rename); err != nil {
		return fmt.Errorf("%w: rotate key: %w", ErrIssuer, err)
	}
	return i.load()
}

func newKeyFile() (keyFile, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return keyFile{}, err
	}
	key := jose.JSONWebKey{Key: private, Algorithm: string(jose.EdDSA), Use: "sig"}
	thumbprint, err := key.Thumbprint(crypto.SHA256)
	key.KeyID = base64.RawURLEncoding.EncodeToString(thumbprint)
	return keyFile{Current: key}, err
}

func (i *Issuer) path() string { return filepath.Join(i.config.Dir, "dev-issuer.json") }

// createOnce never replaces a file: of several processes that start at once, the
// first to link its key in wins.
func (i *Issuer) createOnce() error {
	if _, err := os.Lstat(i.path()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(i.config.Dir, 0o700); err != nil {
		return err
	}
	first, err := newKeyFile()
	if err != nil {
		return err
	}
	if err := i.write(first, os.Link); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// write makes the file under another name, syncs it and puts it in place.
func (i *Issuer) write(f keyFile, place func(from, to string) error) error {
	body, err := json.Marshal(f)
	if err != nil {
		return err
	}
	temporary, err := os.CreateTemp(i.config.Dir, ".dev-issuer-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) // gone already after a rename
	_, err = temporary.Write(body)
	if err = errors.Join(err, temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	if err := place(temporary.Name(), i.path()); err != nil {
		return err
	}
	return syncDir(i.config.Dir)
}

func syncDir(dir string) error {
	opened, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(opened.Sync(), opened.Close())
}

// reload reads the file if it is another than the one we know.
func (i *Issuer) reload() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.load()
}

func (i *Issuer) load() error {
	info, err := os.Lstat(i.path())
	if err != nil {
		return fmt.Errorf("%w: look at key file: %w", ErrIssuer, err)
	}
	if i.read != nil && os.SameFile(i.read, info) && i.read.ModTime().Equal(info.ModTime()) {
		return nil
	}
	if !info.Mode().IsRegular() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%w: read key file: it must be a regular file that only its owner can read (0600)", ErrIssuer)
	}
	body, err := os.ReadFile(i.path())
	if err != nil {
		return fmt.Errorf("%w: read key file: %w", ErrIssuer, err)
	}
	set, err := parse(body)
	if err != nil {
		return fmt.Errorf("%w: read key file: %w", ErrIssuer, err)
	}
	i.set, i.read = set, info
	return nil
}

// parse leaves the cause out: the decoder's text may quote the key.
func parse(body []byte) (keyFile, error) {
	var set keyFile
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&set); err != nil {
		return keyFile{}, errors.New("it doesn't parse")
	}
	if _, private := set.Current.Key.(ed25519.PrivateKey); !private || !set.Current.Valid() || set.Current.KeyID == "" {
		return keyFile{}, errors.New("its current key is not a private Ed25519 key with an id")
	}
	for _, old := range set.Previous {
		if !old.Key.IsPublic() || !old.Key.Valid() {
			return keyFile{}, errors.New("a previous key is not a public key")
		}
	}
	return set, nil
}
