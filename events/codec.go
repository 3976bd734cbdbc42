package events

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	strict "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Contract checks the data of an event against its published schema.
type Contract interface {
	Check(t Type, data []byte) error
}

// Codec is the one way between a commit and its bytes. Aggregates, projectors, replay and export all decode here.
type Codec struct {
	Keys     Keys
	Contract Contract
	// Only names the sealed fields that decoding opens; nil: all of them, and the request's digest. What stays sealed is not
	// verified either: that is for who keeps text as it came and needs a label of it.
	Only []string
	// Keep makes every sealed field ready to be kept, once for all that keep it.
	Keep bool
}

// Opening is the same codec for a reader that needs these fields only.
func (c Codec) Opening(fields ...string) Codec {
	c.Only = append([]string{}, fields...)
	return c
}

func (c Codec) opens(s slot) bool { return c.Only == nil || slices.Contains(c.Only, s.field) }

// wire is a CloudEvents 1.0 event in the JSON format. Extension names are lower-case letters and digits; numbers that may pass
// 2^53 are strings.
type wire struct {
	SpecVersion     string          `json:"specversion"`
	ID              ID              `json:"id"`
	Source          string          `json:"source"`
	Type            Type            `json:"type"`
	Subject         string          `json:"subject"`
	Time            Time            `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	RecordedTime    Time            `json:"recordedtime"`
	CorrelationID   ID              `json:"correlationid"`
	CausationID     ID              `json:"causationid"`
	ActorID         string          `json:"irisactor"`
	ActorKind       ActorKind       `json:"irisactorkind"`
	Policy          string          `json:"irispolicy"`
	Commit          ID              `json:"iriscommit"`
	Version         string          `json:"irisversion,omitempty"`
	PrevSeq         string          `json:"irisprevseq,omitempty"`
	PrevHash        string          `json:"irisprevhash,omitempty"`
	Request         string          `json:"irisrequest,omitempty"` // on a commit's first event
	TraceParent     string          `json:"traceparent,omitempty"`
	Data            json.RawMessage `json:"data"`
}

func source(org string) string { return "/organisations/" + org }

// Hash is the link of the chain: SHA-256 of a stored body, hex.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Encode seals every secret, checks every event against its schema and writes the canonical bytes of the batch. Sealing binds
// each box to the event and to the position of the commit before: a box moved elsewhere doesn't open.
func (c Codec) Encode(ctx context.Context, commit Commit) ([]byte, error) {
	b := []byte{'['}
	for i, e := range commit.Events {
		w, err := c.encodeEvent(ctx, commit, e)
		if err != nil {
			return nil, err
		}
		b = slices.Grow(b, len(w.Data)+envelopeSize)
		if i == 0 && commit.RequestDigest != "" {
			if w.Request, err = c.sealRequest(ctx, commit, w.ID); err != nil {
				return nil, err
			}
		}
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = w.append(b); err != nil {
			return nil, fmt.Errorf("write commit %s: %w", commit.Command, err)
		}
	}
	return append(b, ']'), nil
}

// envelopeSize is about what an event takes beside its data.
const envelopeSize = 1200

// append writes the event as RFC 8785 does: the keys in their order, data as it is canonical already, and the rest strings.
func (w wire) append(b []byte) ([]byte, error) {
	fields := [...]struct {
		name, value string
		optional    bool
	}{
		{"causationid", string(w.CausationID), false}, {"correlationid", string(w.CorrelationID), false}, {"data", "", false},
		{"datacontenttype", w.DataContentType, false}, {"id", string(w.ID), false},
		{"irisactor", w.ActorID, false}, {"irisactorkind", string(w.ActorKind), false}, {"iriscommit", string(w.Commit), false},
		{"irispolicy", w.Policy, false}, {"irisprevhash", w.PrevHash, true}, {"irisprevseq", w.PrevSeq, true}, {"irisrequest", w.Request, true},
		{"irisversion", w.Version, true}, {"recordedtime", w.RecordedTime.String(), false}, {"source", w.Source, false},
		{"specversion", w.SpecVersion, false}, {"subject", w.Subject, false}, {"time", w.Time.String(), false},
		{"traceparent", w.TraceParent, true}, {"type", string(w.Type), false},
	}
	b = append(b, '{')
	for i, f := range fields {
		if f.optional && f.value == "" {
			continue
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.name...), '"', ':')
		if f.name == "data" {
			b = append(b, w.Data...)
			continue
		}
		var err error
		if b, err = jsontext.AppendQuote(b, f.value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
	}
	return append(b, '}'), nil
}

func (c Codec) encodeEvent(ctx context.Context, commit Commit, e Recorded) (wire, error) {
	ref := memberRef(commit.Organisation, commit.Aggregate)
	for _, s := range e.Event.slots(ref) {
		if err := seal(ctx, c.Keys, s, aad(commit.Organisation, commit.Aggregate, e.ID, s, commit.PreviousSequence)); err != nil {
			return wire{}, fmt.Errorf("event %s of commit %s: %w", e.Event.EventType(), commit.Command, err)
		}
	}
	data, err := Canonical(e.Event)
	if err != nil {
		return wire{}, fmt.Errorf("write event %s: %w", e.Event.EventType(), err)
	}
	if err := c.Contract.Check(e.Event.EventType(), data); err != nil {
		return wire{}, fmt.Errorf("event %s of commit %s: %w: %w", e.Event.EventType(), commit.Command, ErrContract, err)
	}
	w := wire{
		SpecVersion: "1.0", ID: e.ID, Source: source(commit.Organisation), Type: e.Event.EventType(), Subject: commit.Aggregate.String(),
		Time: e.Time, DataContentType: "application/json", RecordedTime: e.RecordedAt,
		CorrelationID: e.Trace.Correlation, CausationID: e.Trace.Causation, TraceParent: e.Trace.Parent,
		ActorID: e.Actor.ID, ActorKind: e.Actor.Kind, Policy: e.Policy, Commit: commit.Command, Data: data,
	}
	if commit.Version > 0 {
		w.Version = strconv.FormatUint(commit.Version, 10)
		w.PrevSeq = strconv.FormatUint(commit.PreviousSequence, 10)
		w.PrevHash = commit.PreviousHash
	}
	return w, nil
}

// Stored is a commit's body and the position at which it stands.
type Stored struct {
	Position uint64
	Body     []byte
}

// Warmer is a Keys that can fetch many rows in one trip, ahead of many opens.
type Warmer interface {
	Warm(ctx context.Context, org string, member ID, rows []ID) error
}

// DecodeAll decodes commits of one aggregate, and fetches their keys in one trip where the vault can.
func (c Codec) DecodeAll(ctx context.Context, bodies []Stored) ([]Commit, error) {
	commits, requests, rows := make([]Commit, len(bodies)), make([]string, len(bodies)), []ID{}
	err := spread(len(bodies), func(i int) (err error) {
		commits[i], requests[i], err = Read(bodies[i].Position, bodies[i].Body)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, commit := range commits {
		rows = append(rows, c.rowsOf(commit)...)
	}
	if warmer, ok := c.Keys.(Warmer); ok && len(rows) > 1 && commits[0].Aggregate.Kind != AggregateRole {
		if err := warmer.Warm(ctx, commits[0].Organisation, ownerOf(commits[0]), rows); err != nil {
			return nil, fmt.Errorf("fetch %d keys: %w", len(rows), err)
		}
	}
	err = spread(len(commits), func(i int) error { return c.open(ctx, &commits[i], requests[i]) })
	if err != nil {
		return nil, err
	}
	return commits, nil
}

// Opened is what came of one stored body.
type Opened struct {
	Commit  Commit
	Err     error
	request string // sealed
}

// ManyWarmer is a Keys that can fetch what commits of many members need in one trip.
type ManyWarmer interface {
	WarmAll(ctx context.Context, org string, members, rows []ID) error
}

// ReadEach reads commits as Read does, for one or more readers to open.
func ReadEach(bodies []Stored) []Opened {
	read := make([]Opened, len(bodies))
	for i, b := range bodies {
		o := &read[i]
		o.Commit, o.request, o.Err = Read(b.Position, b.Body)
	}
	return read
}

// OpenEach opens what was read, of whatever aggregates of an organisation, and returns what came of it to this reader. Keys are
// fetched in one trip where the vault can; what can't be fetched together is asked for one by one, and says there what is wrong with
// it. Readers of the same commits come one after another: they share the events, in which a field stands open for all once it is;
// what one of them couldn't open is nothing to another that doesn't need it.
func (c Codec) OpenEach(ctx context.Context, read []Opened) []Opened {
	c.warm(ctx, read)
	opened := slices.Clone(read)
	for i := range opened {
		if o := &opened[i]; o.Err == nil {
			c.keep(o.Commit)
			o.Err = c.open(ctx, &o.Commit, o.request)
		}
	}
	return opened
}

func (c Codec) keep(commit Commit) {
	for i := range commit.Events {
		if e := &commit.Events[i]; c.Keep && e.kept == nil {
			e.kept = e.keep()
		}
	}
}

func (c Codec) warm(ctx context.Context, read []Opened) {
	warmer, ok := c.Keys.(ManyWarmer)
	if !ok {
		return
	}
	var members, rows []ID
	org := ""
	for _, o := range read {
		if o.Err != nil {
			continue
		}
		org = o.Commit.Organisation
		if o.Commit.Aggregate.Kind == AggregateMember {
			members = append(members, o.Commit.Aggregate.ID)
		}
		rows = append(rows, c.rowsOf(o.Commit)...)
	}
	if len(rows) > 1 {
		_ = warmer.WarmAll(ctx, org, members, rows)
	}
}

func (c Codec) rowsOf(commit Commit) []ID {
	var rows []ID
	ref := memberRef(commit.Organisation, commit.Aggregate)
	for _, e := range commit.Events {
		for _, s := range e.Event.slots(ref) {
			if s.key.Row != "" && c.opens(s) && !s.isOpen() && (len(rows) == 0 || rows[len(rows)-1] != s.key.Row) {
				rows = append(rows, s.key.Row)
			}
		}
	}
	return rows
}

// Decode reads a commit back and opens its secrets. position is the stream sequence at which the body stands.
func (c Codec) Decode(ctx context.Context, position uint64, body []byte) (Commit, error) {
	commit, request, err := Read(position, body)
	if err != nil {
		return Commit{}, err
	}
	return commit, c.open(ctx, &commit, request)
}

func (c Codec) open(ctx context.Context, commit *Commit, request string) error {
	ref := memberRef(commit.Organisation, commit.Aggregate)
	for _, e := range commit.Events {
		for _, s := range e.Event.slots(ref) {
			if !c.opens(s) || s.isOpen() {
				continue
			}
			if err := open(ctx, c.Keys, s, aad(commit.Organisation, commit.Aggregate, e.ID, s, commit.PreviousSequence)); err != nil {
				return fmt.Errorf("event %s at %d: %w", e.Type, commit.Position, err)
			}
		}
	}
	if request == "" || c.Only != nil {
		return nil
	}
	var err error
	commit.RequestDigest, err = c.openRequest(ctx, *commit, commit.Events[0].ID, request)
	return err
}

// Read reads a commit without opening anything: secrets stay sealed. For whoever needs no text.
func Read(position uint64, body []byte) (commit Commit, sealedRequest string, err error) {
	if batch, is := canonicalBatch(body); is {
		if commit, sealedRequest, err = readBatch(position, batch); err == nil {
			return commit, sealedRequest, nil
		}
	}
	return readAny(position, body) // and says what is wrong
}

// readAny reads a commit of any form that JSON allows.
func readAny(position uint64, body []byte) (Commit, string, error) {
	var batch []wire
	if err := strict.Unmarshal(body, &batch, strict.RejectUnknownMembers(true)); err != nil {
		return Commit{}, "", fmt.Errorf("commit at %d: %w: %w", position, ErrMalformed, err)
	}
	return readBatch(position, batch)
}

func readBatch(position uint64, batch []wire) (commit Commit, sealedRequest string, err error) {
	if len(batch) == 0 {
		return Commit{}, "", fmt.Errorf("commit at %d: %w: an empty batch", position, ErrMalformed)
	}
	for i, w := range batch {
		e, err := w.read(position)
		if err != nil {
			return Commit{}, "", fmt.Errorf("commit at %d: %w", position, err)
		}
		if i == 0 {
			commit = Commit{
				Organisation: e.Organisation, Aggregate: e.Aggregate, Command: e.Commit, Version: e.Version,
				PreviousSequence: e.PreviousSequence, PreviousHash: e.PreviousHash, Position: position,
			}
			sealedRequest = w.Request
		}
		if e.Commit != commit.Command || e.Aggregate != commit.Aggregate || e.Organisation != commit.Organisation {
			return Commit{}, "", fmt.Errorf("commit at %d: %w: events of two commits", position, ErrMalformed)
		}
		commit.Events = append(commit.Events, e)
	}
	return commit, sealedRequest, nil
}

func (w wire) read(position uint64) (Recorded, error) {
	event, err := New(w.Type)
	if err != nil {
		return Recorded{}, err
	}
	if err := strict.Unmarshal(w.Data, event, strict.RejectUnknownMembers(true)); err != nil {
		return Recorded{}, fmt.Errorf("event %s: %w: %w", w.Type, ErrMalformed, err)
	}
	if len(w.Source) <= len(source("")) || w.Source[:len(source(""))] != source("") {
		return Recorded{}, fmt.Errorf("event %s: %w: its source", w.Type, ErrMalformed)
	}
	org := w.Source[len(source("")):]
	_, aggregate, err := ParseSubject("iris.org." + org + "." + w.Subject)
	if err != nil {
		return Recorded{}, err
	}
	version, err1 := optionalUint(w.Version)
	prevSeq, err2 := optionalUint(w.PrevSeq)
	if err1 != nil || err2 != nil {
		return Recorded{}, fmt.Errorf("event %s: %w: its chain fields", w.Type, ErrMalformed)
	}
	return Recorded{Event: event, Meta: Meta{
		ID: w.ID, Type: w.Type, Organisation: org, Aggregate: aggregate, Time: w.Time, RecordedAt: w.RecordedTime,
		Actor: Actor{w.ActorID, w.ActorKind}, Policy: w.Policy, Trace: Trace{w.CorrelationID, w.CausationID, w.TraceParent},
		Commit: w.Commit, Version: version, PreviousSequence: prevSeq, PreviousHash: w.PrevHash, Position: position,
	}}, nil
}

func optionalUint(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	return strconv.ParseUint(s, 10, 64)
}

// memberRef is the key reference that an aggregate's slots start from.
func memberRef(org string, a Aggregate) KeyRef {
	ref := KeyRef{Organisation: org}
	if a.Kind == AggregateMember {
		ref.Member = a.ID
	}
	return ref
}

// ownerOf is the member whose keys a commit is sealed with; empty for an aggregate without one.
func ownerOf(commit Commit) ID { return requestRef(commit).Member }

// requestRef is the key under which a commit's request digest is sealed (spec 9.2). A session's goes with its session: what it
// was asked can't be guessed at any more once the session is shredded.
func requestRef(commit Commit) KeyRef {
	ref := memberRef(commit.Organisation, commit.Aggregate)
	if own, ok := commit.Events[0].Event.(interface{ sealing(KeyRef) KeyRef }); ok {
		return own.sealing(ref)
	}
	ref.Class = KeyRegister
	if ref.Member == "" {
		ref.Class = KeyOrganisation
	}
	return ref
}

func (c Codec) sealRequest(ctx context.Context, commit Commit, event ID) (string, error) {
	s := slot{field: "request", key: requestRef(commit)}
	box, err := c.Keys.Seal(ctx, s.key, aad(commit.Organisation, commit.Aggregate, event, s, commit.PreviousSequence), []byte(commit.RequestDigest))
	if err != nil {
		return "", fmt.Errorf("seal the request of commit %s: %w", commit.Command, err)
	}
	return base64.RawURLEncoding.EncodeToString(box), nil
}

func (c Codec) openRequest(ctx context.Context, commit Commit, event ID, sealed string) (string, error) {
	s := slot{field: "request", key: requestRef(commit)}
	box, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return "", fmt.Errorf("open the request of commit %s: %w", commit.Command, ErrTampered)
	}
	digest, err := c.Keys.Open(ctx, s.key, aad(commit.Organisation, commit.Aggregate, event, s, commit.PreviousSequence), box)
	if err != nil {
		return "", fmt.Errorf("open the request of commit %s: %w", commit.Command, err)
	}
	return string(digest), nil
}

// aad binds a box to where it stands (spec 5.3, 9.3).
func aad(org string, a Aggregate, event ID, s slot, previous uint64) []byte {
	b := make([]byte, 0, 384)
	for _, part := range [...]string{"iris/sealed/v1", org, a.String(), string(event), s.field, s.key.String(), strconv.FormatUint(previous, 10)} {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(part))), part...)
	}
	return b
}
