package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"iris.example/iris/events"
)

const (
	statusHeader  = "Status"
	pendingHeader = "Nats-Num-Pending"   // of an end: how many more there are
	lastHeader    = "Nats-Last-Sequence" // of an end: where what was sent stops
	idleInboxes   = 16                   // are kept for the next load
	// maxBatchBytes keeps what one request sends under what a subscription holds.
	maxBatchBytes = 8 << 20
)

// Load reads by direct get, in batches: nats.go has no call for them. A replica that lags answers with less than was asked for,
// never with a hole, so what is missing at the end is read from the leader, one by one. A hole (a damaged block reads as
// ordinary deletes) shows in the chain of hashes, which the caller checks.
func (l *JetStream) Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]Message, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return nil, err
	}
	if after >= upTo {
		return nil, nil
	}
	loaded, err := l.loadDirect(ctx, events.StreamFor(org), subject, after, upTo)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", subject, err)
	}
	if loaded, err = l.loadLeader(ctx, events.StreamFor(org), subject, loaded, after, upTo); err != nil {
		return nil, fmt.Errorf("load %s: %w", subject, err)
	}
	if reached(loaded, after) != upTo {
		return nil, shortLoad(subject, upTo)
	}
	return loaded, nil
}

// reached is the sequence up to which is loaded.
func reached(loaded []Message, after uint64) uint64 {
	if len(loaded) == 0 {
		return after
	}
	return loaded[len(loaded)-1].Sequence
}

// ToHead asks the leader for the head, beside whatever after waits for, and loads what is missing up to it. On a single node it is one
// batch: what answers there is the leader, and the newest message by a leader's way takes as long as ten of a batch (measured).
func (l *JetStream) ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]Message, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return nil, err
	}
	if l.onOneNode() {
		from := after()
		loaded, whole, err := l.directToHead(ctx, events.StreamFor(org), subject, from)
		if err != nil {
			return nil, fmt.Errorf("load %s: %w", subject, err)
		}
		if whole && l.onOneNode() {
			return loaded, nil
		}
		after = func() uint64 { return from }
	}
	var from uint64
	var asked sync.WaitGroup
	asked.Go(func() { from = after() })
	newest, err := l.Newest(ctx, org, a)
	asked.Wait()
	if err != nil {
		return nil, err
	}
	if newest.Sequence == from+1 {
		return []Message{newest}, nil
	}
	return l.Load(ctx, org, a, from, newest.Sequence)
}

// onOneNode says whether no replica can answer a direct get: we were told of none, and the server belongs to no cluster and has JetStream
// itself, so that nobody can have given a stream more since. It can't join one without starting anew, which the client hears of.
func (l *JetStream) onOneNode() bool {
	has, _ := l.conn.ConnectedServerJetStream()
	return !l.Replicated() && has && l.conn.ConnectedClusterName() == ""
}

// toHeadAtOnce is how much one batch to the head brings: more than is written between two snapshots.
const toHeadAtOnce = 300

// directToHead loads one batch, and says whether it ends at the head: the stream itself has answered (a mirror of it may, and be behind),
// nothing more was there to send, and all that was sent has come.
func (l *JetStream) directToHead(ctx context.Context, stream, subject string, after uint64) (loaded []Message, whole bool, err error) {
	d, err := l.listen(ctx)
	if err != nil {
		return nil, false, err
	}
	defer func() { d.close(err) }()
	request := getRequest{Sequence: after + 1, NextFor: subject, Batch: toHeadAtOnce, MaxBytes: maxBatchBytes}
	loaded, end, err := d.batch(ctx, stream, request, math.MaxUint64, nil)
	if err != nil || len(loaded) == 0 {
		return nil, false, err
	}
	last := strconv.FormatUint(reached(loaded, after), 10)
	whole = !d.mirror && end.Get(statusHeader) == "204" && end.Get(pendingHeader) == "0" && end.Get(lastHeader) == last
	return loaded, whole, nil
}

func (l *JetStream) loadDirect(ctx context.Context, stream, subject string, after, upTo uint64) (loaded []Message, err error) {
	d, err := l.listen(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { d.close(err) }()
	for more := true; more && reached(loaded, after) < upTo; {
		next := reached(loaded, after)
		request := getRequest{
			Sequence: next + 1, NextFor: subject,
			Batch: int(min(maxBatch, upTo-next)), MaxBytes: maxBatchBytes, // no more than that many can lie between
		}
		if loaded, _, err = d.batch(ctx, stream, request, upTo, loaded); err != nil {
			return nil, err
		}
		more = reached(loaded, after) > next
	}
	return loaded, nil
}

// direct is where the answers to direct gets arrive: one request at a time, under a subject of its own, so that nothing that comes late is
// taken for an answer to the next. It is used again: to subscribe and take it back takes as long as a short load (measured).
type direct struct {
	log     *JetStream
	sub     *nats.Subscription
	inbox   string
	asked   uint64
	answers chan *nats.Msg
	mirror  bool // a message of the last request came from another stream than the one that was asked for
}

// listen takes an inbox that nobody uses, or a new one, with room for as much as one request brings, with its end. (A subscription that the
// client makes room for takes half a megabyte.)
func (l *JetStream) listen(ctx context.Context) (*direct, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	select {
	case d := <-l.idle:
		return d, nil
	default:
	}
	d := &direct{log: l, inbox: l.conn.NewInbox() + ".", answers: make(chan *nats.Msg, maxBatch+1)}
	var err error
	if d.sub, err = l.conn.ChanSubscribe(d.inbox+"*", d.answers); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return d, nil
}

// close gives an inbox back. After a request without an end nobody takes it again.
func (d *direct) close(err error) {
	if err == nil {
		select {
		case d.log.idle <- d:
			return
		default:
		}
	}
	_ = d.sub.Unsubscribe()
}

// batch adds the answer to one request. Its end is a message with a status: 204 after what there was, 404 when there was
// nothing, 503 when no replica offers direct reads (then the leader is asked).
func (d *direct) batch(ctx context.Context, stream string, request getRequest, upTo uint64, loaded []Message) ([]Message, nats.Header, error) {
	data, err := json.Marshal(request)
	if err != nil {
		return nil, nil, fmt.Errorf("write a request: %w", err)
	}
	d.asked, d.mirror = d.asked+1, false
	reply := d.inbox + strconv.FormatUint(d.asked, 10)
	if err := d.log.conn.PublishRequest("$JS.API.DIRECT.GET."+stream, reply, data); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	limited, cancel := context.WithTimeout(ctx, d.log.config.ReadTimeout)
	defer cancel()
	for {
		var msg *nats.Msg
		select {
		case msg = <-d.answers:
		case <-limited.Done():
			return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, limited.Err())
		}
		if msg.Subject != reply {
			continue
		}
		switch status := statusOf(msg); status {
		case "":
		case "204", "404", "503":
			return loaded, msg.Header, nil
		default:
			return nil, nil, fmt.Errorf("%w: server status %s", ErrUnavailable, status)
		}
		read, err := directMessage(msg)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		d.mirror = d.mirror || msg.Header.Get(jetstream.StreamHeader) != stream
		if read.Sequence <= upTo { // what was appended since is not asked for
			loaded = append(loaded, read)
		}
	}
}

// loadLeader reads what the replica didn't have.
func (l *JetStream) loadLeader(ctx context.Context, stream, subject string, loaded []Message, after, upTo uint64) ([]Message, error) {
	for reached(loaded, after) < upTo {
		msg, err := l.leaderGet(ctx, stream, getRequest{Sequence: reached(loaded, after) + 1, NextFor: subject})
		if errors.Is(err, ErrNotFound) || err == nil && msg.Sequence > upTo {
			return loaded, nil
		}
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, msg)
	}
	return loaded, nil
}

// statusOf is a message's status, empty for a stored one: those always have a body.
func statusOf(msg *nats.Msg) string {
	if len(msg.Data) > 0 {
		return ""
	}
	return msg.Header.Get(statusHeader)
}

func directMessage(msg *nats.Msg) (Message, error) {
	sequence, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return Message{}, fmt.Errorf("read a direct message's sequence: %w", err)
	}
	stored, err := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return Message{}, fmt.Errorf("read a direct message's time: %w", err)
	}
	return Message{msg.Header.Get(jetstream.SubjectHeader), sequence, msg.Data, stored.UTC()}, nil
}
