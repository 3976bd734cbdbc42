package limits_test

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/limits"
)

// clock stands still until it is moved.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(0, c.at.Load()) }
func (c *clock) forward(d time.Duration) { c.at.Add(int64(d)) }
func small(c *clock) limits.Config {
	return limits.Config{
		Reads: limits.Rate{PerSecond: 2, Burst: 3}, Commands: limits.Rate{PerSecond: 0.1, Burst: 1}, Recalls: limits.Rate{PerSecond: 1, Burst: 1},
		Unauthenticated: limits.Rate{PerSecond: 1, Burst: 2}, Callers: 2, Now: c.now,
	}
}

func made(t *testing.T, cfg limits.Config) *limits.Limiter {
	t.Helper()
	l, err := limits.New(cfg)
	require.NoError(t, err)
	return l
}

func limited(t *testing.T, err error, kind limits.Kind, after time.Duration) {
	t.Helper()
	require.ErrorIs(t, err, limits.ErrLimited)
	var e *limits.Error
	require.True(t, errors.As(err, &e))
	require.Equal(t, limits.Error{Kind: kind, RetryAfter: after}, *e)
}

// A bucket is full at first, empty after its burst, and back by as much as time gives.
func TestABucketFillsAgain(t *testing.T) {
	t.Parallel()
	c := &clock{}
	l := made(t, small(c))
	read := func() error { return l.Principal(limits.Reads, "issuer", "ada", "pages") }
	for range 3 {
		require.NoError(t, read())
	}
	limited(t, read(), limits.Reads, time.Second)
	limited(t, read(), limits.Reads, time.Second)
	c.forward(499 * time.Millisecond)
	limited(t, read(), limits.Reads, time.Second)
	c.forward(time.Millisecond)
	require.NoError(t, read(), "a refusal costs nothing")
	limited(t, read(), limits.Reads, time.Second)

	require.NoError(t, l.Principal(limits.Commands, "issuer", "ada", "pages"))
	limited(t, l.Principal(limits.Commands, "issuer", "ada", "pages"), limits.Commands, 10*time.Second)
	c.forward(8500 * time.Millisecond)
	limited(t, l.Principal(limits.Commands, "issuer", "ada", "pages"), limits.Commands, 2*time.Second)
	c.forward(1500 * time.Millisecond)
	require.NoError(t, l.Principal(limits.Commands, "issuer", "ada", "pages"), "who waits as long as he is told is let in")
}

// Kinds, issuers, subjects and clients each have their own, and no parts run into each other.
func TestCallersAreKeptApart(t *testing.T) {
	t.Parallel()
	cfg := small(&clock{})
	cfg.Callers = 100
	l := made(t, cfg)
	for _, who := range [][3]string{{"i", "ada", "a"}, {"i", "ada", "b"}, {"i", "ben", "a"}, {"j", "ada", "a"}, {"ia", "da", "a"}, {"i", "adaa", ""}, {"", "iada", "a"}} {
		require.NoError(t, l.Principal(limits.Commands, who[0], who[1], who[2]), who)
		require.ErrorIs(t, l.Principal(limits.Commands, who[0], who[1], who[2]), limits.ErrLimited, who)
		require.NoError(t, l.Principal(limits.Recalls, who[0], who[1], who[2]), "another kind")
	}
}

// An address is one caller whatever its port, and an IPv6 network is one whatever its host.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for name, remotes := range map[string][3]string{
		"IPv4":              {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3"},
		"IPv4 in IPv6":      {"192.0.2.1:1", "[::ffff:192.0.2.1]:2", "[::ffff:c000:201]:3"},
		"IPv6 network":      {"[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8::ffff:1%eth0]:1"},
		"no address at all": {"@", "", "pipe"},
	} {
		l := made(t, small(&clock{}))
		require.NoError(t, l.Address(remotes[0]), name)
		require.NoError(t, l.Address(remotes[1]), name)
		limited(t, l.Address(remotes[2]), limits.Unauthenticated, time.Second)
		require.NoError(t, l.Address("[2001:db8:1::1]:1"), name)
	}
}

// What is kept is bounded: the caller that was away longest is forgotten, and strangers push out no principal.
func TestBounded(t *testing.T) {
	t.Parallel()
	l := made(t, small(&clock{}))
	command := func(subject string) error { return l.Principal(limits.Commands, "issuer", subject, "pages") }
	require.NoError(t, command("ada"))
	require.NoError(t, command("ben"))
	require.Error(t, command("ada"))
	require.NoError(t, command("cleo"), "the room of ben, who was away longer than ada")
	require.Error(t, command("ada"))
	require.NoError(t, command("ben"))
	for i := range 1000 {
		require.NoError(t, l.Address(fmt.Sprintf("192.0.2.%d:%d", i%250, i)), "two at a time from each")
		if i%250 == 249 {
			break
		}
	}
	require.Error(t, command("ben"))
}

// However many ask at once, a bucket gives what it holds.
func TestTogether(t *testing.T) {
	t.Parallel()
	cfg := small(&clock{})
	cfg.Reads.Burst = 50
	l := made(t, cfg)
	var let atomic.Int64
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if l.Principal(limits.Reads, "issuer", "ada", "pages") == nil {
				let.Add(1)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 50, let.Load())
}

// No limiter limits nobody; one that would answer nobody isn't made.
func TestConfig(t *testing.T) {
	t.Parallel()
	var none *limits.Limiter
	require.NoError(t, none.Principal(limits.Reads, "issuer", "ada", "pages"))
	require.NoError(t, none.Address("192.0.2.1:1"))
	require.NoError(t, limits.Config{}.WithDefaults().Validate())
	require.NoError(t, limits.Demonstration().WithDefaults().Validate())
	for _, bad := range []limits.Config{{Reads: limits.Rate{Burst: 1}}, {Commands: limits.Rate{PerSecond: 1}}, {Callers: -1}, {Recalls: limits.Rate{PerSecond: -1, Burst: 1}}} {
		_, err := limits.New(bad)
		require.Error(t, err)
	}
}
