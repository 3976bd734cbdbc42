// Package limits keeps any one caller from taking what all share: so many reads, commands and recalls a second for a principal,
// and so many requests without a credential for an address ("Identity": rate limits per principal with Retry-After).
//
// It guarantees: callers are kept apart by a digest, so that no name is held here, logged or shown; what is kept is bounded, and
// whoever fills it with strangers pushes out strangers, never principals. It fails open only in one way: a caller who was
// forgotten for want of room begins anew with a full bucket.
//
// Each process counts for itself: with n processes behind one address a caller has up to n times as much.
package limits

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// ErrLimited is every refusal of this package.
var ErrLimited = errors.New("rate_limited")

// Error says when to come back. It names nobody.
type Error struct {
	Kind       Kind
	RetryAfter time.Duration // at least a second, in whole seconds
}

func (e *Error) Error() string { return fmt.Sprintf("too many %s: %v", e.Kind, ErrLimited) }

func (e *Error) Unwrap() error { return ErrLimited }

// Kind is what is counted together.
type Kind string

const (
	Reads           Kind = "reads"
	Commands        Kind = "commands"
	Recalls         Kind = "recalls"
	Unauthenticated Kind = "unauthenticated"
)

// Rate is a bucket: how many at once, and how many a second come back.
type Rate struct {
	PerSecond float64
	Burst     int
}

// Config says who may do how much.
type Config struct {
	Reads           Rate // for a principal
	Commands        Rate
	Recalls         Rate
	Unauthenticated Rate // for an address (IPv6: a /64)
	Callers         int  // of one kind that are remembered; default 10,000
	Now             func() time.Time
}

// WithDefaults fills what was left out: what people and assistants need, with room.
func (c Config) WithDefaults() Config {
	c.Reads = c.Reads.or(Rate{50, 200})
	c.Commands = c.Commands.or(Rate{20, 100})
	c.Recalls = c.Recalls.or(Rate{50, 200})
	c.Unauthenticated = c.Unauthenticated.or(Rate{10, 100})
	if c.Callers == 0 {
		c.Callers = 10_000
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Demonstration is generous: on loopback one address is everybody, and whoever tries Iris out tries how fast it is.
func Demonstration() Config {
	return Config{
		Reads: Rate{5_000, 20_000}, Commands: Rate{2_000, 10_000}, Recalls: Rate{2_000, 10_000}, Unauthenticated: Rate{1_000, 5_000},
	}
}

func (r Rate) or(other Rate) Rate {
	if r == (Rate{}) {
		return other
	}
	return r
}

// Validate refuses a limit that lets nobody in.
func (c Config) Validate() error {
	for kind, r := range c.rates() {
		if r.PerSecond <= 0 || r.Burst < 1 {
			return fmt.Errorf("limits: config: %s: %v a second and %d at once would answer nobody", kind, r.PerSecond, r.Burst)
		}
	}
	if c.Callers < 1 {
		return fmt.Errorf("limits: config: %d callers", c.Callers)
	}
	return nil
}

func (c Config) rates() map[Kind]Rate {
	return map[Kind]Rate{Reads: c.Reads, Commands: c.Commands, Recalls: c.Recalls, Unauthenticated: c.Unauthenticated}
}

// Limiter counts. It is safe for concurrent use; a nil one lets everybody in.
type Limiter struct {
	now   func() time.Time
	kinds map[Kind]*buckets
}

// New makes a limiter.
func New(cfg Config) (*Limiter, error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	l := &Limiter{now: cfg.Now, kinds: map[Kind]*buckets{}}
	for kind, r := range cfg.rates() {
		l.kinds[kind] = &buckets{rate: r, room: cfg.Callers, byKey: map[key]*list.Element{}, recent: list.New()}
	}
	return l, nil
}

// Principal takes one from a principal's bucket. Errors: *Error.
func (l *Limiter) Principal(kind Kind, issuer, subject, client string) error {
	if l == nil {
		return nil
	}
	return l.take(kind, digest(issuer, subject, client))
}

// Address takes one from the bucket of whoever shows no credential. remote is host:port, as net/http has it; one that isn't is a
// caller of its own. A header that says who sent a request is not believed: anybody can write one.
func (l *Limiter) Address(remote string) error {
	if l == nil {
		return nil
	}
	return l.take(Unauthenticated, digest(network(remote)))
}

func (l *Limiter) take(kind Kind, k key) error {
	now := l.now()
	wait := l.kinds[kind].take(k, now)
	if wait == 0 {
		return nil
	}
	return &Error{Kind: kind, RetryAfter: max(time.Second, (wait + time.Second - 1).Truncate(time.Second))}
}

// network is what one caller can't choose freely within: an IPv4 address, or a /64.
func network(remote string) string {
	at, err := netip.ParseAddrPort(remote)
	if err != nil {
		return ""
	}
	address := at.Addr().Unmap().WithZone("")
	if address.Is4() {
		return address.String()
	}
	prefix, err := address.Prefix(64)
	if err != nil {
		return ""
	}
	return prefix.String()
}

type key [16]byte

// digest keeps parts apart by their length.
func digest(parts ...string) key {
	h := sha256.New()
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return key(h.Sum(nil)[:16])
}

// buckets are of one kind. mu guards all.
type buckets struct {
	rate Rate
	room int

	mu     sync.Mutex
	byKey  map[key]*list.Element
	recent *list.List // of *bucket, the one used last in front
}

type bucket struct {
	key     key
	limiter *rate.Limiter
}

// take says how long to wait; 0: go on.
func (b *buckets) take(k key, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	limiter := b.of(k)
	if limiter.AllowN(now, 1) {
		return 0
	}
	missing := 1 - limiter.TokensAt(now)
	return max(1, time.Duration(missing/b.rate.PerSecond*float64(time.Second)))
}

func (b *buckets) of(k key) *rate.Limiter {
	if found, ok := b.byKey[k]; ok {
		b.recent.MoveToFront(found)
		return found.Value.(*bucket).limiter
	}
	if b.recent.Len() >= b.room {
		oldest := b.recent.Back()
		delete(b.byKey, b.recent.Remove(oldest).(*bucket).key)
	}
	made := &bucket{k, rate.NewLimiter(rate.Limit(b.rate.PerSecond), b.rate.Burst)}
	b.byKey[k] = b.recent.PushFront(made)
	return made.limiter
}
