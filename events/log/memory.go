package log

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"iris.example/iris/events"
)

// Memory is a Log for fast tests of other rooms. It keeps the same promises as JetStream, without a disk or a network; logtest
// runs on both. It has no inbox.
type Memory struct {
	// Now stamps stored messages. Set it before the first append.
	Now func() time.Time

	mu      sync.Mutex // guards what follows
	streams map[string]*memoryStream
}

type memoryStream struct {
	messages []Message         // the one at sequence n stands at n-1: nothing is ever removed
	heads    map[string]uint64 // by subject
	grown    chan struct{}     // closed and replaced by each append
}

// NewMemory makes an empty log, with the streams of the organisations named.
func NewMemory(orgs ...string) *Memory {
	m := &Memory{Now: time.Now, streams: map[string]*memoryStream{}}
	for _, org := range orgs {
		m.create(org)
	}
	return m
}

func (m *Memory) create(org string) {
	for _, name := range []string{events.StreamFor(org), events.AccessStreamFor(org)} {
		if m.streams[name] == nil {
			m.streams[name] = &memoryStream{heads: map[string]uint64{}, grown: make(chan struct{})}
		}
	}
}

func (m *Memory) CreateOrganisation(ctx context.Context, org string) error {
	if err := checkOrganisation(org); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.create(org)
	return nil
}

func (m *Memory) OpenOrganisation(ctx context.Context, org string) error {
	if err := checkOrganisation(org); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.stream(events.StreamFor(org))
	return err
}

// stream needs the lock.
func (m *Memory) stream(name string) (*memoryStream, error) {
	s := m.streams[name]
	if s == nil {
		return nil, fmt.Errorf("%w: %s", ErrMissingStream, name)
	}
	return s, nil
}

func (m *Memory) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return 0, err
	}
	return m.append(ctx, events.StreamFor(org), subject, &expectation{subject, expected}, body)
}

func (m *Memory) AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return 0, err
	}
	if err := checkFence(body); err != nil {
		return 0, err
	}
	return m.append(ctx, events.StreamFor(org), events.FenceSubject(org), &expectation{subject, head}, body)
}

// expectation is what the last sequence of a subject must be.
type expectation struct {
	subject string
	last    uint64
}

func (m *Memory) AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error) {
	if err := checkAccessSubject(org, subject); err != nil {
		return 0, err
	}
	return m.append(ctx, events.AccessStreamFor(org), subject, nil, body)
}

func (m *Memory) append(ctx context.Context, name, subject string, expected *expectation, body []byte) (uint64, error) {
	if err := checkBody(body); err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("append to %s: %w: %w", name, ErrUnavailable, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(name)
	if err != nil {
		return 0, err
	}
	if expected != nil {
		if err := s.expects(*expected); err != nil {
			return 0, fmt.Errorf("append to %s: %w", subject, err)
		}
	}
	defer s.grow()
	return s.store(subject, body, m.Now()), nil
}

func (m *Memory) AppendTogether(ctx context.Context, org string, parts []Part) ([]uint64, error) {
	subjects, err := checkParts(org, parts)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("append to %s: %w: %w", events.StreamFor(org), ErrUnavailable, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(events.StreamFor(org))
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if err := s.expects(expectation{subjects[i], p.Expected}); err != nil {
			return nil, fmt.Errorf("append to %s: %w", subjects[i], err)
		}
	}
	defer s.grow()
	sequences := make([]uint64, len(parts))
	for i, p := range parts {
		sequences[i] = s.store(subjects[i], p.Body, m.Now())
	}
	return sequences, nil
}

func (s *memoryStream) expects(e expectation) error {
	if s.heads[e.subject] != e.last {
		return fmt.Errorf("%w: expected sequence %d, is %d", ErrConflict, e.last, s.heads[e.subject])
	}
	return nil
}

func (s *memoryStream) store(subject string, body []byte, now time.Time) uint64 {
	sequence := uint64(len(s.messages)) + 1
	s.messages = append(s.messages, Message{subject, sequence, slices.Clone(body), now.UTC()})
	s.heads[subject] = sequence
	return sequence
}

// grow tells the followers.
func (s *memoryStream) grow() {
	close(s.grown)
	s.grown = make(chan struct{})
}

func (m *Memory) Head(ctx context.Context, org string, a events.Aggregate) (uint64, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(events.StreamFor(org))
	if err != nil {
		return 0, err
	}
	return s.heads[subject], ctx.Err()
}

func (m *Memory) Newest(ctx context.Context, org string, a events.Aggregate) (Message, error) {
	head, err := m.Head(ctx, org, a)
	if err != nil || head == 0 {
		return Message{}, err
	}
	return m.At(ctx, events.StreamFor(org), head)
}

func (m *Memory) Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]Message, error) {
	subject, err := subjectOf(org, a)
	if err != nil {
		return nil, err
	}
	if after >= upTo {
		return nil, nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(events.StreamFor(org))
	if err != nil {
		return nil, err
	}
	var found []Message
	for _, msg := range s.messages[min(after, uint64(len(s.messages))):min(upTo, uint64(len(s.messages)))] {
		if msg.Subject == subject {
			found = append(found, own(msg))
		}
	}
	if len(found) == 0 || found[len(found)-1].Sequence != upTo {
		return nil, shortLoad(subject, upTo)
	}
	return found, ctx.Err()
}

func (m *Memory) ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]Message, error) {
	from := after()
	head, err := m.Head(ctx, org, a)
	if err != nil {
		return nil, err
	}
	return m.Load(ctx, org, a, from, head)
}

func (m *Memory) At(ctx context.Context, stream string, sequence uint64) (Message, error) {
	if err := checkStream(stream); err != nil {
		return Message{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(stream)
	if err != nil {
		return Message{}, err
	}
	if sequence == 0 || sequence > uint64(len(s.messages)) {
		return Message{}, fmt.Errorf("read %s at %d: %w", stream, sequence, ErrNotFound)
	}
	return own(s.messages[sequence-1]), ctx.Err()
}

func (m *Memory) Last(ctx context.Context, stream string) (uint64, error) {
	if err := checkStream(stream); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.stream(stream)
	if err != nil {
		return 0, err
	}
	return uint64(len(s.messages)), ctx.Err()
}

func (m *Memory) Follow(ctx context.Context, stream string, after uint64) (*Follower, error) {
	if err := checkLedger(stream); err != nil {
		return nil, err
	}
	last, err := m.Last(ctx, stream)
	if err != nil {
		return nil, err
	}
	if last < after {
		return nil, shortened(stream, last, after)
	}
	return &Follower{&memoryFeed{memory: m, stream: stream, last: after, closed: make(chan struct{})}}, nil
}

type memoryFeed struct {
	memory *Memory
	stream string
	last   uint64 // the last sequence returned
	closed chan struct{}
	once   sync.Once
}

func (f *memoryFeed) next(ctx context.Context, limit int) ([]Message, error) {
	for {
		pending, grown := f.pending(limit)
		select {
		case <-f.closed:
			return nil, fmt.Errorf("follow %s: %w: closed", f.stream, ErrUnavailable)
		default:
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(pending) > 0 {
			f.last = pending[len(pending)-1].Sequence
			return pending, nil
		}
		select {
		case <-grown:
		case <-f.closed:
		case <-ctx.Done():
		}
	}
}

func (f *memoryFeed) pending(limit int) ([]Message, <-chan struct{}) {
	f.memory.mu.Lock()
	defer f.memory.mu.Unlock()
	s := f.memory.streams[f.stream]
	var pending []Message
	for _, msg := range s.messages[f.last:min(f.last+uint64(limit), uint64(len(s.messages)))] {
		pending = append(pending, own(msg))
	}
	return pending, s.grown
}

func (f *memoryFeed) close() { f.once.Do(func() { close(f.closed) }) }

func own(m Message) Message {
	m.Body = slices.Clone(m.Body)
	return m
}

func shortLoad(subject string, upTo uint64) error {
	return fmt.Errorf("load %s: %w: nothing of it at %d", subject, ErrUnavailable, upTo)
}

func shortened(stream string, last, known uint64) error {
	return fmt.Errorf("follow %s: %w: it ends at %d, but %d was read from it", stream, ErrDrift, last, known)
}
