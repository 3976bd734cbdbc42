package natsserver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nkeys"

	"iris.example/iris/boundary"
)

// Producer is an outside program that may propose memories to one organisation.
type Producer struct {
	Org  string
	Name string
}

// Validate stands before every use of an id in a subject: the broker itself
// accepts "*" and ">" as ids.
func (p Producer) Validate() error {
	for _, id := range []string{p.Org, p.Name} {
		if err := boundary.Slug("the id", id); err != nil {
			return &Error{Code: ErrProducer, Act: "check the id", Input: fmt.Sprintf("%.80q", id), Cause: err}
		}
	}
	return nil
}

// Subject is the one that the producer may publish.
func (p Producer) Subject() string { return "iris.in." + p.Org + "." + p.Name + ".memory.proposed" }

// InboxPrefix is for nats.CustomInboxPrefix. An underscore can't stand in an id,
// so no two producers share one.
func (p Producer) InboxPrefix() string { return "_INBOX_" + p.Org + "_" + p.Name }

// Outcomes is the subject on which the producer hears what became of its claims.
func (p Producer) Outcomes() string { return "iris.out." + p.Org + "." + p.Name }

// Credentials let a producer in. They are secret: print only PublicKey.
type Credentials struct {
	Producer  Producer
	PublicKey string // names them for Revoke
	file      []byte
}

func (c Credentials) String() string { return "credentials " + c.PublicKey }

// Contents is a .creds file: for nats.UserCredentials or `nats --creds FILE`.
func (c Credentials) Contents() []byte { return slices.Clone(c.file) }

// Write puts them in a file of mode 0600.
func (c Credentials) Write(path string) error {
	if len(c.file) == 0 {
		return &Error{Code: ErrCredential, Act: "write", Input: path, Cause: errors.New("empty credentials")}
	}
	if err := writeSecret(path, c.file); err != nil {
		return &Error{Code: ErrCredential, Act: "write", Input: path, Cause: err}
	}
	return nil
}

const (
	maxClaimBytes    = 256 << 10 // what a stream takes (spec 9.2)
	maxSubscriptions = 32
)

// producerUser never uses a JWT template: {{tag()}} expands to wildcards.
func producerUser(p Producer, user string, expires time.Time) *jwt.UserClaims {
	c := jwt.NewUserClaims(user)
	c.Name = p.Org + "_" + p.Name
	if !expires.IsZero() {
		c.Expires = expires.Unix()
	}
	c.AllowedConnectionTypes.Add(jwt.ConnectionTypeStandard)
	c.Limits.Payload = maxClaimBytes
	c.Limits.Subs = maxSubscriptions
	c.Pub.Allow.Add(p.Subject())
	c.Sub.Allow.Add(p.InboxPrefix()+".>", p.Outcomes())
	return c
}

// Issue makes new credentials; it needs no word with the server and cuts nobody
// off. A zero time never expires.
func (s *Server) Issue(p Producer, expires time.Time) (Credentials, error) {
	if err := p.Validate(); err != nil {
		return Credentials{}, err
	}
	user, err := nkeys.CreateUser()
	if err != nil {
		return Credentials{}, &Error{Code: ErrCredential, Act: "make a key for", Input: p.Subject(), Cause: err}
	}
	defer user.Wipe()
	public, err := user.PublicKey()
	if err != nil {
		return Credentials{}, &Error{Code: ErrCredential, Act: "make a key for", Input: p.Subject(), Cause: err}
	}
	file, err := credsFile(producerUser(p, public, expires), user, s.keys.producers)
	if err != nil {
		return Credentials{}, err
	}
	return Credentials{Producer: p, PublicKey: public, file: file}, nil
}

func credsFile(claims *jwt.UserClaims, user nkeys.KeyPair, account pair) ([]byte, error) {
	signed, err := signUser(claims, account)
	if err != nil {
		return nil, err
	}
	seed, err := user.Seed()
	if err != nil {
		return nil, &Error{Code: ErrCredential, Act: "write credentials for", Input: claims.Subject, Cause: err}
	}
	file, err := jwt.FormatUserConfig(signed, seed)
	if err != nil {
		return nil, &Error{Code: ErrCredential, Act: "write credentials for", Input: claims.Subject, Cause: err}
	}
	return file, nil
}

func signUser(claims *jwt.UserClaims, account pair) (string, error) {
	var found jwt.ValidationResults
	claims.Validate(&found)
	if errs := found.Errors(); len(errs) > 0 {
		return "", &Error{Code: ErrCredential, Act: "check the user", Input: claims.Subject, Cause: errors.Join(errs...)}
	}
	signed, err := claims.Encode(account)
	if err != nil {
		return "", &Error{Code: ErrCredential, Act: "sign the user", Input: claims.Subject, Cause: err}
	}
	return signed, nil
}

// Revoke cuts these credentials off, now and for ever. It is on the disk before
// anybody is cut off; repeating it changes nothing.
func (s *Server) Revoke(publicKey string) error {
	if !nkeys.IsValidPublicUserKey(publicKey) {
		return &Error{Code: ErrProducer, Act: "revoke", Input: fmt.Sprintf("%.80q", publicKey), Hint: "the public key of the credentials is needed"}
	}
	s.revoking.Lock()
	defer s.revoking.Unlock()
	known := s.keys.revoked.keys[publicKey]
	s.keys.revoked.keys[publicKey] = true
	if err := s.keys.revoked.save(); err != nil {
		if !known {
			delete(s.keys.revoked.keys, publicKey)
		}
		return err
	}
	return s.pushProducers()
}

// pushProducers makes the running server read the account again. Connections of
// producers that aren't revoked stay.
func (s *Server) pushProducers() error {
	claims := s.keys.producerClaims()
	signed, err := s.keys.sign(claims)
	if err != nil {
		return err
	}
	if err := s.broker().AccountResolver().Store(claims.Subject, signed); err != nil {
		return &Error{Code: ErrCredential, Act: "store the account", Input: claims.Name, Cause: err}
	}
	account, err := s.broker().LookupAccount(claims.Subject)
	if err != nil {
		return &Error{Code: ErrCredential, Act: "find the account", Input: claims.Name, Cause: err}
	}
	s.broker().UpdateAccountClaims(account, claims)
	return nil
}
