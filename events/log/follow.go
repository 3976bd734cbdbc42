package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const (
	// followWait is how long an idle follower waits before it compares itself with the stream (consumers have stopped silently
	// after a change of leader: nats-server 4736, 5679, 7664).
	followWait      = 30 * time.Second
	followHeartbeat = 5 * time.Second
	// followForgotten: the server drops a consumer that nobody asked for so long. It is only a cursor; the position is ours.
	followForgotten = 5 * time.Minute
	// followBytes bounds one answer.
	followBytes = 16 << 20

	shortestPause = 20 * time.Millisecond
	longestPause  = 2 * time.Second
)

// Follow starts after a sequence that the caller has processed. It fails at once if the stream is missing or ends before that:
// whoever waited there would wait for ever (nats-server 5412).
func (l *JetStream) Follow(ctx context.Context, stream string, after uint64) (*Follower, error) {
	if err := checkLedger(stream); err != nil {
		return nil, err
	}
	f := &jetStreamFeed{log: l, stream: stream, last: after, status: l.conn.StatusChanged(nats.CONNECTED, nats.CLOSED)}
	f.life, f.end = context.WithCancel(context.Background())
	if err := f.attach(ctx); err != nil {
		f.close()
		return nil, err
	}
	return &Follower{f}, nil
}

// jetStreamFeed is an ordered consumer: unfiltered, unacknowledged, in memory, made again whenever anything is doubtful, from
// the last message returned. It asks (pull) instead of being sent, so that nothing lies in a buffer when the server goes.
type jetStreamFeed struct {
	log    *JetStream
	stream string
	status chan nats.Status // any event: the consumer of before may be gone
	life   context.Context  // until close
	end    context.CancelFunc

	mu        sync.Mutex // guards what follows; next holds it, close waits for it
	last      uint64     // the last sequence returned
	consumer  string     // empty: none
	sub       *nats.Subscription
	inbox     chan *nats.Msg
	delivered uint64 // the consumer's own count, which has no gaps
}

// next returns an error for good reasons only: the context, Close, a closed connection, a stream that is gone or shortened. It
// sits out the rest.
func (f *jetStreamFeed) next(ctx context.Context, limit int) ([]Message, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.life, cancel)()
	for pause := shortestPause; ; {
		if err := f.ended(ctx); err != nil {
			return nil, err
		}
		if err := f.attach(ctx); err != nil && lost(err) {
			return nil, err
		} else if err == nil {
			got, err := f.read(ctx, limit)
			if err != nil || len(got) > 0 {
				return got, err
			}
		}
		if f.consumer != "" { // idle, and all is well
			pause = shortestPause
			continue
		}
		f.rest(ctx, pause)
		pause = min(2*pause, longestPause)
	}
}

// read is one round: what is pending; if nothing is, one message whenever it comes, and what is pending behind it.
func (f *jetStreamFeed) read(ctx context.Context, limit int) ([]Message, error) {
	pending := pullRequest{Batch: limit, MaxBytes: followBytes, NoWait: true}
	got, sound := f.pull(ctx, pending)
	if len(got) > 0 || !sound {
		return got, nil
	}
	got, sound = f.pull(ctx, pullRequest{Batch: 1, Expires: followWait, Heartbeat: followHeartbeat})
	if !sound {
		return got, nil
	}
	if len(got) == 0 {
		return nil, f.check(ctx)
	}
	if limit > 1 {
		pending.Batch = limit - 1
		behind, _ := f.pull(ctx, pending)
		got = append(got, behind...)
	}
	return got, nil
}

func (f *jetStreamFeed) ended(ctx context.Context) error {
	if f.life.Err() != nil {
		return fmt.Errorf("follow %s: %w: closed", f.stream, ErrUnavailable)
	}
	if f.log.conn.IsClosed() {
		return fmt.Errorf("follow %s: %w: %w", f.stream, ErrUnavailable, nats.ErrConnectionClosed)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("follow %s: %w", f.stream, err)
	}
	return nil
}

// lost is true of what doesn't heal by waiting.
func lost(err error) bool {
	return errors.Is(err, ErrMissingStream) || errors.Is(err, ErrDrift) || errors.Is(err, ErrRefused)
}

// rest waits a little, less if the connection comes back.
func (f *jetStreamFeed) rest(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-f.status:
	case <-ctx.Done():
	}
}

// check compares an idle follower with its stream. Messages behind it mean that the consumer sleeps.
func (f *jetStreamFeed) check(ctx context.Context) error {
	last, err := f.log.Last(ctx, f.stream)
	switch {
	case err != nil && lost(err):
		return err
	case err != nil || last > f.last:
		f.detach()
	case last < f.last:
		return shortened(f.stream, last, f.last)
	}
	return nil
}

// attach makes the consumer, if there is none. The stream's last sequence is compared first: a consumer beyond it waits in silence.
func (f *jetStreamFeed) attach(ctx context.Context) error {
	if f.consumer != "" {
		return nil
	}
	last, err := f.log.Last(ctx, f.stream)
	if err != nil {
		return err
	}
	if last < f.last {
		return shortened(f.stream, last, f.last)
	}
	f.inbox = make(chan *nats.Msg, 2*maxBatch) // one request at a time, its messages and its heartbeats
	if f.sub, err = f.log.conn.ChanSubscribe(f.log.conn.NewInbox(), f.inbox); err != nil {
		return fmt.Errorf("follow %s: %w: %w", f.stream, ErrUnavailable, err)
	}
	name := "follow-" + nuid.Next()
	limited, cancel := context.WithTimeout(ctx, f.log.config.ReadTimeout)
	defer cancel()
	_, err = f.log.js.CreateConsumer(limited, f.stream, jetstream.ConsumerConfig{
		Name: name, DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: f.last + 1,
		AckPolicy: jetstream.AckNonePolicy, Replicas: 1, MemoryStorage: true, InactiveThreshold: followForgotten,
	})
	if err != nil {
		f.detach()
		return fmt.Errorf("follow %s: %w: %w", f.stream, ErrUnavailable, err)
	}
	f.consumer, f.delivered = name, 0
	return nil
}

// detach gives the consumer up; what it had sent and we hadn't read comes again from the next one.
func (f *jetStreamFeed) detach() {
	if f.sub != nil {
		_ = f.sub.Unsubscribe()
		f.sub = nil
	}
	if f.consumer != "" {
		_ = f.log.conn.PublishRequest(jetstream.DefaultAPIPrefix+"CONSUMER.DELETE."+f.stream+"."+f.consumer, f.log.conn.NewInbox(), nil)
		f.consumer = ""
	}
}

// close wakes whoever waits in next, and waits for it.
func (f *jetStreamFeed) close() {
	f.end()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.detach()
	f.log.conn.RemoveStatusListener(f.status)
}

type pullRequest struct {
	Batch     int           `json:"batch"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	Expires   time.Duration `json:"expires,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
}

// pull returns what one request brings. Unless the server ended the request itself, messages may be under way that this
// consumer will not send again: then it isn't sound, and the consumer is given up.
func (f *jetStreamFeed) pull(ctx context.Context, request pullRequest) (got []Message, sound bool) {
	defer func() {
		if !sound {
			f.detach()
		}
	}()
	data, err := json.Marshal(request)
	if err != nil {
		return nil, false
	}
	if err := f.log.conn.PublishRequest(jetstream.DefaultAPIPrefix+"CONSUMER.MSG.NEXT."+f.stream+"."+f.consumer, f.sub.Subject, data); err != nil {
		return nil, false
	}
	silence := f.log.config.ReadTimeout
	if request.Heartbeat > 0 {
		silence = 2 * request.Heartbeat
	}
	timer := time.NewTimer(silence)
	defer timer.Stop()
	for len(got) < request.Batch {
		select {
		case msg := <-f.inbox:
			timer.Reset(silence)
			switch statusOf(msg) {
			case "":
				read, ok := f.accept(msg)
				if !ok {
					return got, false
				}
				got = append(got, read)
			case "100": // a heartbeat
			case "404", "408":
				return got, true
			case "409": // full by bytes is an ordinary end; a consumer deleted, a server stopping or a new leader isn't
				return got, len(got) > 0 && request.MaxBytes > 0
			default:
				return got, false
			}
		case <-timer.C:
			return got, false
		case <-f.status:
			return got, false
		case <-ctx.Done():
			return got, false
		}
	}
	return got, true
}

// accept takes a message if it is the consumer's next one.
func (f *jetStreamFeed) accept(msg *nats.Msg) (Message, bool) {
	meta, err := msg.Metadata()
	if err != nil || meta.Sequence.Consumer != f.delivered+1 || meta.Sequence.Stream <= f.last {
		return Message{}, false
	}
	f.delivered, f.last = meta.Sequence.Consumer, meta.Sequence.Stream
	return Message{msg.Subject, meta.Sequence.Stream, msg.Data, meta.Timestamp.UTC()}, true
}
