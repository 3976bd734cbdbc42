package natsserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
)

const (
	keysFile    = "nats-keys.json"
	revokedFile = "nats-revoked.json"
)

// keyFile is what the first start writes and nobody changes. One file, so that
// an interrupted start leaves all of it or nothing.
type keyFile struct {
	Operator  string `json:"operator"`
	System    string `json:"system"`
	Iris      string `json:"iris"`
	Producers string `json:"producers"`
	// StoreKeyCheck is "" for a store that isn't encrypted, else a MAC that
	// tells a wrong key from the right one.
	StoreKeyCheck string `json:"storeKeyCheck"`
}

type pair struct {
	nkeys.KeyPair
	public string
}

// keys are the identities of one embedded server.
type keys struct {
	operator, system, iris, producers pair
	revoked                           *revocations
}

// openKeys reads the keys, or makes them when the store is as new as they are.
func openKeys(c Config) (*keys, error) {
	if err := os.MkdirAll(c.KeyDir, 0o700); err != nil {
		return nil, &Error{Code: ErrKeys, Act: "make the key directory", Input: c.KeyDir, Cause: err}
	}
	path := filepath.Join(c.KeyDir, keysFile)
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return makeKeys(c, path)
	}
	if err != nil {
		return nil, &Error{Code: ErrKeys, Act: "read", Input: path, Cause: err}
	}
	var f keyFile
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, &Error{Code: ErrKeys, Act: "read", Input: path, Hint: "restore it from a backup", Cause: err}
	}
	if !hmac.Equal([]byte(f.StoreKeyCheck), []byte(storeKeyCheck(c.EncryptionKey))) {
		return nil, &Error{Code: ErrStoreKey, Act: "open the store", Input: c.StoreDir,
			Hint: "it was made with another encryption key, or without one; nothing was touched: start with the key it was made with"}
	}
	revoked, err := readRevocations(filepath.Join(c.KeyDir, revokedFile))
	if err != nil {
		return nil, err
	}
	return f.parse(path, revoked)
}

func makeKeys(c Config, path string) (*keys, error) {
	if entries, err := os.ReadDir(c.StoreDir); err == nil && holdsStreams(entries) {
		return nil, &Error{Code: ErrKeys, Act: "open the store without", Input: path,
			Hint: "new keys would hide its streams: restore the key directory from a backup"}
	}
	f := keyFile{StoreKeyCheck: storeKeyCheck(c.EncryptionKey)}
	for _, k := range []struct {
		seed *string
		make func() (nkeys.KeyPair, error)
	}{
		{&f.Operator, nkeys.CreateOperator}, {&f.System, nkeys.CreateAccount},
		{&f.Iris, nkeys.CreateAccount}, {&f.Producers, nkeys.CreateAccount},
	} {
		seed, err := newSeed(k.make)
		if err != nil {
			return nil, &Error{Code: ErrKeys, Act: "make", Input: path, Cause: err}
		}
		*k.seed = seed
	}
	raw, err := json.Marshal(f)
	if err != nil {
		return nil, &Error{Code: ErrKeys, Act: "encode", Input: path, Cause: err}
	}
	// The revocations come first: a key file without them is refused for ever.
	revoked := &revocations{path: filepath.Join(c.KeyDir, revokedFile), keys: map[string]bool{}}
	if err := revoked.save(); err != nil {
		return nil, err
	}
	if err := writeSecret(path, raw); err != nil {
		return nil, &Error{Code: ErrKeys, Act: "write", Input: path, Cause: err}
	}
	return f.parse(path, revoked)
}

func holdsStreams(entries []fs.DirEntry) bool {
	for _, e := range entries {
		if e.Name() == server.JetStreamStoreDir {
			return true
		}
	}
	return false
}

func newSeed(create func() (nkeys.KeyPair, error)) (string, error) {
	kp, err := create()
	if err != nil {
		return "", err
	}
	seed, err := kp.Seed()
	return string(seed), err
}

func (f keyFile) parse(path string, revoked *revocations) (*keys, error) {
	k := &keys{revoked: revoked}
	for _, p := range []struct {
		to     *pair
		seed   string
		prefix nkeys.PrefixByte
	}{
		{&k.operator, f.Operator, nkeys.PrefixByteOperator}, {&k.system, f.System, nkeys.PrefixByteAccount},
		{&k.iris, f.Iris, nkeys.PrefixByteAccount}, {&k.producers, f.Producers, nkeys.PrefixByteAccount},
	} {
		var err error
		if *p.to, err = parsePair(p.seed, p.prefix); err != nil {
			return nil, &Error{Code: ErrKeys, Act: "read a seed of", Input: path, Hint: "restore it from a backup", Cause: err}
		}
	}
	return k, nil
}

func parsePair(seed string, want nkeys.PrefixByte) (pair, error) {
	prefix, _, err := nkeys.DecodeSeed([]byte(seed))
	if err != nil {
		return pair{}, err
	}
	if prefix != want {
		return pair{}, fmt.Errorf("a seed of another kind stands in its place")
	}
	kp, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return pair{}, err
	}
	public, err := kp.PublicKey()
	return pair{KeyPair: kp, public: public}, err
}

func storeKeyCheck(key string) string {
	if key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte("iris natsserver store key check v1"))
	return hex.EncodeToString(mac.Sum(nil))
}

// claims are the documents the server trusts. They are signed anew at each
// start; only the keys are the identity.
func (k *keys) claims() ([]*jwt.OperatorClaims, server.AccountResolver, error) {
	operator := jwt.NewOperatorClaims(k.operator.public)
	operator.Name, operator.SystemAccount = "iris", k.system.public
	resolver := &server.MemAccResolver{}
	for _, claims := range []*jwt.AccountClaims{k.systemClaims(), k.irisClaims(), k.producerClaims()} {
		token, err := k.sign(claims)
		if err != nil {
			return nil, nil, err
		}
		if err := resolver.Store(claims.Subject, token); err != nil {
			return nil, nil, &Error{Code: ErrKeys, Act: "store the account", Input: claims.Name, Cause: err}
		}
	}
	token, err := operator.Encode(k.operator)
	if err == nil {
		operator, err = jwt.DecodeOperatorClaims(token)
	}
	if err != nil {
		return nil, nil, &Error{Code: ErrKeys, Act: "sign the operator", Input: operator.Name, Cause: err}
	}
	return []*jwt.OperatorClaims{operator}, resolver, nil
}

// sign refuses claims that the server would read in another way than we wrote.
func (k *keys) sign(claims *jwt.AccountClaims) (string, error) {
	var found jwt.ValidationResults
	claims.Validate(&found)
	if errs := found.Errors(); len(errs) > 0 {
		return "", &Error{Code: ErrKeys, Act: "check the account", Input: claims.Name, Cause: errors.Join(errs...)}
	}
	token, err := claims.Encode(k.operator)
	if err != nil {
		return "", &Error{Code: ErrKeys, Act: "sign the account", Input: claims.Name, Cause: err}
	}
	return token, nil
}
