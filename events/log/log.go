package log

import (
	"context"
	"time"

	"iris.example/iris/events"
)

const (
	// maxMessage is what a stream takes in one message, header included (spec 9.2).
	maxMessage = 256 << 10
	// MaxBody is the largest body: what a message holds, less room for the one header that we send.
	MaxBody = maxMessage - 128
	// MaxFence is the largest fence: a few ids, never a text.
	MaxFence = 1 << 10
)

// Message is one stored message. Body belongs to the receiver.
type Message struct {
	Subject  string
	Sequence uint64
	Body     []byte
	Stored   time.Time
}

// Part is one aggregate's commit among several that are stored together.
type Part struct {
	Aggregate events.Aggregate
	Expected  uint64
	Body      []byte
}

// Log is what JetStream and Memory both do; logtest holds them to it. Rooms that need less declare less.
type Log interface {
	// CreateOrganisation makes both streams of a new organisation. One that exists is compared: equal is fine, else ErrDrift.
	CreateOrganisation(ctx context.Context, org string) error
	// OpenOrganisation compares both streams and changes nothing. A missing one is ErrMissingStream.
	OpenOrganisation(ctx context.Context, org string) error
	// Append stores a commit if the aggregate's last sequence is expected (0: none yet).
	Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (sequence uint64, err error)
	// AppendTogether stores one commit of each of several aggregates, all of them or none, each under its own expectation on its own
	// literal subject: the guard on a second aggregate (spec 9.2). They follow each other on the stream in the order given; sequences
	// are theirs. It costs a batch (measured: ten single appends on one node) and is for what is rare.
	AppendTogether(ctx context.Context, org string, parts []Part) (sequences []uint64, err error)
	// AppendAccess stores a recall or brief envelope. It has no expectation, so a retry may store it twice.
	AppendAccess(ctx context.Context, org, subject string, body []byte) (sequence uint64, err error)
	// AppendFence stores a fence if the aggregate's last sequence is head, at the leader that a majority knows. It proves that no
	// commit of the aggregate lay between head and the sequence returned; it doesn't move the aggregate's head (spec 2.2).
	AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (sequence uint64, err error)
	// Head is the aggregate's last sequence, from the leader; 0 when it has none.
	Head(ctx context.Context, org string, a events.Aggregate) (uint64, error)
	// Newest is the aggregate's last message, from the leader; its sequence is 0 when it has none.
	Newest(ctx context.Context, org string, a events.Aggregate) (Message, error)
	// Load reads the aggregate's messages with after < sequence ≤ upTo, in order. The last stands at upTo (a head), or it fails.
	Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]Message, error)
	// ToHead reads the aggregate's messages with after < sequence, in order, up to the head that the leader has once the call began. after
	// is asked when it is needed, and may take its time: what doesn't depend on it is under way meanwhile.
	ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]Message, error)
	// At reads one message of a stream by its sequence.
	At(ctx context.Context, stream string, sequence uint64) (Message, error)
	// Last is the last sequence of a stream, 0 when it is empty.
	Last(ctx context.Context, stream string) (uint64, error)
	// Follow reads everything on a stream from after+1 on, for as long as the caller asks.
	Follow(ctx context.Context, stream string, after uint64) (*Follower, error)
}

// Follower reads a stream in order. It is for one goroutine; Close may come from another.
type Follower struct {
	feed feed
}

// feed is how one kind of log delivers to a Follower.
type feed interface {
	next(ctx context.Context, limit int) ([]Message, error)
	close()
}

// Next waits for at least one message and returns what is pending, up to limit, without waiting for more. It lives through
// restarts of the server: it goes on after the last message that it returned. Sequences may have gaps; they never go back.
func (f *Follower) Next(ctx context.Context, limit int) ([]Message, error) {
	return f.feed.next(ctx, min(maxBatch, max(limit, 1)))
}

// Close ends the following, and a Next that waits. Next fails with ErrUnavailable from then on.
func (f *Follower) Close() { f.feed.close() }

// maxBatch bounds the messages of one request to the broker.
const maxBatch = 1000
