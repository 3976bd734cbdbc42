package log

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"iris.example/iris/events"
)

// ledger is the configuration of a stream that nothing may leave (spec 9.2). Everything that isn't named here is off, and
// compare holds a server to that: message TTL, rollup, schedules, counters, mirrors, transforms, republishing.
func (l *JetStream) ledger(name, subjects string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: name, Subjects: []string{subjects},
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew, Storage: jetstream.FileStorage, Replicas: l.config.Replicas,
		MaxConsumers: -1, MaxMsgs: -1, MaxBytes: -1, MaxMsgsPerSubject: -1, MaxMsgSize: maxMessage,
		DenyDelete: true, DenyPurge: true, AllowDirect: true, AllowAtomicPublish: true,
		Duplicates: smallestWindow,
	}
}

// smallestWindow is the shortest duplicate window that the broker knows. Nothing of ours carries a message id, so what others
// might send with one is forgotten as soon as can be.
const smallestWindow = 100 * time.Millisecond

func (l *JetStream) organisationStream(org string) jetstream.StreamConfig {
	return l.ledger(events.StreamFor(org), events.StreamSubjects(org))
}

func (l *JetStream) accessStream(org string) jetstream.StreamConfig {
	config := l.ledger(events.AccessStreamFor(org), events.AccessSubjects(org))
	config.MaxAge = l.config.AccessMaxAge
	return config
}

// inboxStream answers an error when it is full, as a whole or for one producer: the producer keeps its claim (spec 9.2).
func (l *JetStream) inboxStream() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: events.InboxStream, Subjects: []string{events.InboxSubjects},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Replicas: l.config.Replicas,
		Discard: jetstream.DiscardNew, DiscardNewPerSubject: true,
		MaxAge: 24 * time.Hour, MaxBytes: l.config.InboxMaxBytes, MaxMsgsPerSubject: l.config.InboxMaxPerProducer, MaxMsgSize: maxMessage,
		MaxConsumers: -1, MaxMsgs: -1,
		Duplicates: smallestWindow,
	}
}

// CreateOrganisation makes both streams. It is for the founding of an organisation only; every later start opens.
func (l *JetStream) CreateOrganisation(ctx context.Context, org string) error {
	if err := checkOrganisation(org); err != nil {
		return err
	}
	if err := l.create(ctx, l.organisationStream(org)); err != nil {
		return err
	}
	return l.create(ctx, l.accessStream(org))
}

// OpenOrganisation compares both streams with what they must be. It never creates one: a stream that isn't there may be one
// that the server can't decrypt, or lost (spec 9.2). The stream guard calls it again and again.
func (l *JetStream) OpenOrganisation(ctx context.Context, org string) error {
	if err := checkOrganisation(org); err != nil {
		return err
	}
	if err := l.open(ctx, l.organisationStream(org)); err != nil {
		return err
	}
	return l.open(ctx, l.accessStream(org))
}

// CreateInbox makes the one inbox, or compares it. It holds nothing that isn't also with its producer.
func (l *JetStream) CreateInbox(ctx context.Context) error {
	return l.create(ctx, l.inboxStream())
}

// creating is how long a stream may take to be made. On several nodes the answer waits for its first leader, and an election that is
// lost on a busy machine takes up to nine seconds before the next.
const creating = 30 * time.Second

// create asks pedantically: the server may refuse, but not quietly make something else of it.
func (l *JetStream) create(ctx context.Context, want jetstream.StreamConfig) error {
	request := struct {
		jetstream.StreamConfig
		Pedantic bool `json:"pedantic"`
	}{want, true}
	var created streamInfo
	err := l.api(ctx, "STREAM.CREATE."+want.Name, request, &created)
	silent := errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
	if silent || code(err) == codeNoPeers {
		err := l.outlast(ctx, want, func(ctx context.Context) error { return l.api(ctx, "STREAM.CREATE."+want.Name, request, &created) })
		if err != nil {
			return fmt.Errorf("create stream %s: %w", want.Name, err)
		}
		return nil
	}
	if code(err) == codeStreamNameInUse { // with another configuration
		return l.open(ctx, want)
	}
	if err != nil {
		return fmt.Errorf("create stream %s: %w", want.Name, err)
	}
	return compare(want, created.Config)
}

// outlast looks for a stream whose making nobody answered, or for which not enough nodes had been heard of yet, and asks for it again
// while it isn't there. That such a repetition is told of success counts for nothing: the cluster may say so before the stream is there.
func (l *JetStream) outlast(ctx context.Context, want jetstream.StreamConfig, again func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, creating)
	defer cancel()
	var refused error
	for {
		err := l.open(ctx, want)
		if err == nil || errors.Is(err, ErrDrift) {
			return err
		}
		if ctx.Err() != nil {
			return errors.Join(err, refused)
		}
		if errors.Is(err, ErrMissingStream) {
			refused = again(ctx)
		}
		rest(ctx, silence)
	}
}

func (l *JetStream) open(ctx context.Context, want jetstream.StreamConfig) error {
	info, err := l.info(ctx, want.Name)
	if err != nil {
		return err
	}
	return compare(want, info.Config)
}

type streamInfo struct {
	Config json.RawMessage `json:"config"`
	State  struct {
		LastSequence uint64 `json:"last_seq"`
	} `json:"state"`
}

func (l *JetStream) info(ctx context.Context, stream string) (streamInfo, error) {
	var info streamInfo
	if err := l.api(ctx, "STREAM.INFO."+stream, nil, &info); err != nil {
		return streamInfo{}, fmt.Errorf("ask about stream %s: %w", stream, err)
	}
	return info, nil
}

// compare works on the server's own JSON, not on the client's struct: a setting that this client has never heard of is a
// difference too, unless it is off.
func compare(want jetstream.StreamConfig, got json.RawMessage) error {
	wanted, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("write the configuration of stream %s: %w", want.Name, err)
	}
	wantSet, err := settings(wanted)
	if err != nil {
		return fmt.Errorf("read the configuration of stream %s: %w", want.Name, err)
	}
	gotSet, err := settings(got)
	if err != nil {
		return fmt.Errorf("read the configuration of stream %s: %w: %w", want.Name, ErrUnavailable, err)
	}
	var different []string
	for key, value := range wantSet {
		if gotSet[key] != value {
			different = append(different, key)
		}
	}
	for key := range gotSet {
		if _, known := wantSet[key]; !known {
			different = append(different, key)
		}
	}
	if len(different) == 0 {
		return nil
	}
	slices.Sort(different)
	return fmt.Errorf("stream %s: %w: %s", want.Name, ErrDrift, strings.Join(different, ", "))
}

// settings reads what is switched on. Where a stream lives (placement) and what the server notes for itself (_nats. metadata)
// is no setting of ours.
func settings(config json.RawMessage) (map[string]string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(config, &fields); err != nil {
		return nil, err
	}
	set := make(map[string]string, len(fields))
	for key, value := range fields {
		if key == "metadata" {
			value = foreign(value)
		}
		if key != "placement" && !off(value) {
			var plain bytes.Buffer
			if err := json.Compact(&plain, value); err != nil {
				return nil, err
			}
			set[key] = plain.String()
		}
	}
	return set, nil
}

func off(value json.RawMessage) bool {
	switch string(value) {
	case "", "null", "false", "0", `""`, "{}", "[]":
		return true
	}
	return false
}

func foreign(metadata json.RawMessage) json.RawMessage {
	var fields map[string]string
	if err := json.Unmarshal(metadata, &fields); err != nil {
		return metadata
	}
	for key := range fields {
		if strings.HasPrefix(key, "_nats.") {
			delete(fields, key)
		}
	}
	left, err := json.Marshal(fields)
	if err != nil {
		return metadata
	}
	return left
}
