package log

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	quick "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"iris.example/iris/events"
)

// JetStream is the Log of production. Share one: an in-process connection is faster than many (measured). Nothing here
// subscribes to a ledger subject; a core subscriber there would hide that no stream listens.
type JetStream struct {
	conn   *nats.Conn
	js     jetstream.JetStream
	config Config
	idle   chan *direct // inboxes for direct gets that nobody uses now
}

// New takes a connection that holds the core credential. It doesn't close it.
func New(conn *nats.Conn, config Config) (*JetStream, error) {
	config = config.WithDefaults()
	if err := config.Validate(); err != nil {
		return nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, fmt.Errorf("log: %w", err)
	}
	return &JetStream{conn, js, config, make(chan *direct, idleInboxes)}, nil
}

func (l *JetStream) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return 0, err
	}
	return l.publish(ctx, events.StreamFor(org), &nats.Msg{Subject: subject, Data: body, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader: {strconv.FormatUint(expected, 10)},
	}})
}

func (l *JetStream) AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error) {
	if err := checkAccessSubject(org, subject); err != nil {
		return 0, err
	}
	return l.publish(ctx, events.AccessStreamFor(org), &nats.Msg{Subject: subject, Data: body})
}

// AppendFence guards one literal subject and writes another. Both headers name literals, and every writer of the guarded subject
// names the same one, so the leader lets one at a time through (wildcards would be unsound: measured).
func (l *JetStream) AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return 0, err
	}
	if err := checkFence(body); err != nil {
		return 0, err
	}
	return l.publish(ctx, events.StreamFor(org), &nats.Msg{Subject: events.FenceSubject(org), Data: body, Header: nats.Header{
		jetstream.ExpectedLastSubjSeqHeader:     {strconv.FormatUint(head, 10)},
		jetstream.ExpectedLastSubjSeqSubjHeader: {subject},
	}})
}

// Replicated says whether streams have more than one replica. Then a cut-off leader may still answer reads, and what is answered
// from them needs a fence (spec 2.2).
func (l *JetStream) Replicated() bool { return l.config.Replicas > 1 }

// publish has one message taken once. A second try of what may have been taken is a decision: only who knows the commit's id can
// take it (spec 9.2).
func (l *JetStream) publish(ctx context.Context, stream string, msg *nats.Msg) (uint64, error) {
	if err := checkBody(msg.Data); err != nil {
		return 0, err
	}
	began := time.Now()
	sequence, err := l.send(ctx, stream, msg)
	l.config.Observe(Published{destinationOf(stream, msg.Subject), 1, time.Since(began), err})
	return sequence, err
}

// request asks again while nobody listens: the message reached no one, so that it is still sent once. A stream that is there
// listens as soon as it has a leader, which takes a moment where it was made, or lost its leader, just now.
func (l *JetStream) request(ctx context.Context, stream string, msg *nats.Msg) (*nats.Msg, error) {
	for {
		reply, err := l.conn.RequestMsgWithContext(ctx, msg)
		if err == nil {
			return reply, nil
		}
		if !errors.Is(err, nats.ErrNoResponders) {
			return nil, fmt.Errorf("%w: %w", ErrAmbiguous, err)
		}
		if _, err := l.info(ctx, stream); err != nil {
			return nil, err
		}
		select {
		case <-time.After(silence):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: it is there, but doesn't listen", ErrUnavailable)
		}
	}
}

// silence is how long a stream that doesn't listen is left alone.
const silence = 20 * time.Millisecond

// send gives a message to the broker until it is stored, or refused for good.
func (l *JetStream) send(ctx context.Context, stream string, msg *nats.Msg) (sequence uint64, err error) {
	err = settled(ctx, l.config.WriteTimeout, func(ctx context.Context) (err error) {
		sequence, err = l.sendOnce(ctx, stream, msg)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("append to %s: %w", stream, err)
	}
	return sequence, nil
}

func (l *JetStream) sendOnce(ctx context.Context, stream string, msg *nats.Msg) (uint64, error) {
	if err := l.ready(ctx); err != nil {
		return 0, err
	}
	reply, err := l.request(ctx, stream, msg)
	if err != nil {
		return 0, err
	}
	var ack struct {
		Stream   string    `json:"stream"`
		Sequence uint64    `json:"seq"`
		Error    *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply.Data, &ack); err != nil {
		return 0, fmt.Errorf("%w: read its answer: %w", ErrAmbiguous, err)
	}
	if ack.Error != nil {
		return 0, ack.Error.ofWrite()
	}
	if ack.Stream != stream || ack.Sequence == 0 {
		return 0, fmt.Errorf("%w: stream %q took it", ErrAmbiguous, ack.Stream)
	}
	return ack.Sequence, nil
}

// ready keeps a request from waiting in the client's buffer for a server that may come back: what isn't sent isn't ambiguous.
func (l *JetStream) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if status := l.conn.Status(); status != nats.CONNECTED {
		return fmt.Errorf("%w: connection is %s", ErrUnavailable, status)
	}
	return nil
}

func (l *JetStream) Head(ctx context.Context, org string, a events.Aggregate) (uint64, error) {
	msg, err := l.Newest(ctx, org, a)
	return msg.Sequence, err
}

// Newest asks the leader: a replica's direct get isn't read-after-write (spec 9.2).
func (l *JetStream) Newest(ctx context.Context, org string, a events.Aggregate) (Message, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return Message{}, err
	}
	msg, err := l.leaderGet(ctx, events.StreamFor(org), getRequest{LastFor: subject})
	if errors.Is(err, ErrNotFound) {
		return Message{}, nil
	}
	return msg, err
}

func (l *JetStream) At(ctx context.Context, stream string, sequence uint64) (Message, error) {
	if err := checkStream(stream); err != nil {
		return Message{}, err
	}
	if sequence == 0 {
		return Message{}, fmt.Errorf("read %s at 0: %w", stream, ErrNotFound)
	}
	return l.leaderGet(ctx, stream, getRequest{Sequence: sequence})
}

func (l *JetStream) Last(ctx context.Context, stream string) (uint64, error) {
	if err := checkStream(stream); err != nil {
		return 0, err
	}
	info, err := l.info(ctx, stream)
	return info.State.LastSequence, err
}

// getRequest is one message from the leader, or a batch from whichever replica answers (direct).
type getRequest struct {
	Sequence uint64 `json:"seq,omitempty"`
	LastFor  string `json:"last_by_subj,omitempty"`
	NextFor  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`     // direct only
	MaxBytes int    `json:"max_bytes,omitempty"` // direct only
}

func (l *JetStream) leaderGet(ctx context.Context, stream string, request getRequest) (Message, error) {
	reply, err := l.ask(ctx, "STREAM.MSG.GET."+stream, request)
	if err != nil {
		return Message{}, fmt.Errorf("read %s: %w", stream, err)
	}
	var answer struct {
		Error   *apiError `json:"error"`
		Message struct {
			Subject  string    `json:"subject"`
			Sequence uint64    `json:"seq"`
			Data     []byte    `json:"data"`
			Time     time.Time `json:"time"`
		} `json:"message"`
	}
	if err := quick.Unmarshal(reply, &answer); err != nil { // once: encoding/json, as api does it, takes half of the trip (measured)
		return Message{}, fmt.Errorf("read %s: %w: read an answer: %w", stream, ErrUnavailable, err)
	}
	if answer.Error != nil {
		return Message{}, fmt.Errorf("read %s: %w", stream, answer.Error.ofRead())
	}
	m := answer.Message
	return Message{m.Subject, m.Sequence, m.Data, m.Time.UTC()}, nil
}

// api asks JetStream's leader one thing. Its errors read; code tells what the server said.
func (l *JetStream) api(ctx context.Context, subject string, request, answer any) error {
	reply, err := l.ask(ctx, subject, request)
	if err != nil {
		return err
	}
	var failed struct {
		Error *apiError `json:"error"`
	}
	if err := json.Unmarshal(reply, &failed); err != nil {
		return fmt.Errorf("%w: read an answer: %w", ErrUnavailable, err)
	}
	if failed.Error != nil {
		return failed.Error.ofRead()
	}
	if err := json.Unmarshal(reply, answer); err != nil {
		return fmt.Errorf("%w: read an answer: %w", ErrUnavailable, err)
	}
	return nil
}

func (l *JetStream) ask(ctx context.Context, subject string, request any) ([]byte, error) {
	if err := l.ready(ctx); err != nil {
		return nil, err
	}
	var data []byte
	if request != nil {
		var err error
		if data, err = json.Marshal(request); err != nil {
			return nil, fmt.Errorf("write a request: %w", err)
		}
	}
	limited, cancel := context.WithTimeout(ctx, l.config.ReadTimeout)
	defer cancel()
	reply, err := l.conn.RequestWithContext(limited, jetstream.DefaultAPIPrefix+subject, data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	return reply.Data, nil
}

// The server's codes that mean something here; each one is measured or read in its source.
const (
	codeNoPeers              = 10005 // in a cluster: too few nodes are known, as right after its start
	codeNotEnabledForAccount = 10039
	codeNoMessage            = 10037
	codeTooLarge             = 10054
	codeStreamNameInUse      = 10058
	codeNoStream             = 10059
	codeWrongSequence        = 10071
	codeNotEnabled           = 10076
	codeWrongSequenceR3      = 10164
	codeDuplicateInBatch     = 10201
)

type apiError struct {
	Status      int    `json:"code"`
	Code        int    `json:"err_code"`
	Description string `json:"description"`
}

// Error leaves out the description: the server may quote a subject or a message id in it.
func (e *apiError) Error() string { return fmt.Sprintf("server code %d (%d)", e.Code, e.Status) }

func (e *apiError) ofWrite() error { return fmt.Errorf("%w: %w", e.writeKind(), e) }

// writeKind: a refusal (4xx) wrote nothing. Of a failure (5xx) nobody can be sure.
func (e *apiError) writeKind() error {
	switch e.Code {
	case codeWrongSequence, codeWrongSequenceR3, codeDuplicateInBatch:
		return ErrConflict
	case codeTooLarge:
		return ErrTooLarge
	case codeNoStream:
		return ErrMissingStream
	case codeNotEnabled, codeNotEnabledForAccount:
		return ErrUnavailable
	}
	if e.Status >= 400 && e.Status < 500 {
		return ErrUnavailable
	}
	return ErrAmbiguous
}

func (e *apiError) ofRead() error {
	switch e.Code {
	case codeNoStream:
		return fmt.Errorf("%w: %w", ErrMissingStream, e)
	case codeNoMessage:
		return fmt.Errorf("%w: %w", ErrNotFound, e)
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, e)
}

// code is what the server answered, 0 if it is no answer of the server.
func code(err error) int {
	var said *apiError
	if errors.As(err, &said) {
		return said.Code
	}
	return 0
}
