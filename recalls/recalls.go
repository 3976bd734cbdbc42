// Package recalls carries out what recall decides: it reads the heads, folds, resolves, records the envelope and only then
// answers. recall itself is pure and knows none of this.
//
// It guarantees: the state that a recall uses stands at the heads that the leader had after the request began, so a withdrawal
// or a forget that was acknowledged before is honoured (spec 2.2); a recall whose envelope isn't synced does not answer
// (spec 3.3); on replicated streams a fence is stored at the head used before it answers, and where one is refused it is decided
// again; what was answered can be computed again from the stream and proved by Prove.
package recalls

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
	"iris.example/iris/runner"
	"iris.example/iris/tracing"
)

// ErrStateUnknown: whether a consent still stands can't be known in time, so nothing is said (spec 2.2).
var ErrStateUnknown = errors.New("consent_state_unavailable")

// Access is where envelopes go.
type Access interface {
	AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error)
}

// Fence proves, on replicated streams, that the head that an answer rests on was still the head when the fence was stored: a
// cut-off leader may answer a read, but not store anything (spec 2.2).
type Fence interface {
	AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error)
}

// Service carries out recalls.
type Service struct {
	Members       *runner.Runner[*member.State, member.Command]
	Organisations *runner.Runner[*organisation.State, organisation.Command]
	Access        Access
	Fence         Fence // nil on one node: there the head read suffices
	Screen        Screen
	Codec         events.Codec
	Now           func() time.Time

	Observe func(Observation) // hears of every recall that was answered; nil: nobody
	Tracer  tracing.Tracer

	checked checked
}

// Observation is one recall seen from outside, for metrics: whose it was and what was asked is not in it.
type Observation struct {
	Surface  string
	Severity string
	Took     time.Duration
}

// Asker is who asks, from the credential.
type Asker struct {
	Organisation string
	Member       events.ID // whose memory
	Actor        events.Actor
	Trace        events.Trace
}

// Answer is what was resolved and recorded. Result holds texts: the caller shows what its surface may show.
type Answer struct {
	Envelope *events.RecallResolved
	Result   recall.Result
}

// Recall resolves an ask. Errors: *recall.Refusal before anything is read, *aggregates.Refusal for an unknown member,
// ErrStateUnknown when a head, the state or the envelope can't be had.
func (s *Service) Recall(ctx context.Context, who Asker, ask events.RecallAsk) (Answer, error) {
	began := time.Now()
	ctx, span := s.Tracer.Begin(ctx, tracing.Recall)
	who.Trace.Parent = tracing.Parent(ctx, who.Trace.Parent)
	answer, err := s.recall(ctx, who, ask)
	span.End(codeOf(err))
	if err == nil && s.Observe != nil {
		s.Observe(Observation{ask.Surface, answer.Envelope.Severity, time.Since(began)})
	}
	return answer, err
}

// codeOf is the stable part of an error, for traces.
func codeOf(err error) string {
	var refusal *recall.Refusal
	if ruled, is := aggregates.AsRefusal(err); is {
		return ruled.Code
	}
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	case errors.Is(err, ErrStateUnknown):
		return ErrStateUnknown.Error()
	}
	return "failed"
}

// attempts is how often a recall is resolved anew because others wrote to the member's book before its fence was stored.
const attempts = 5

func (s *Service) recall(ctx context.Context, who Asker, ask events.RecallAsk) (Answer, error) {
	for attempt := range attempts {
		if err := pause(ctx, attempt); err != nil {
			return Answer{}, fmt.Errorf("%w: %w", ErrStateUnknown, err)
		}
		answer, position, err := s.decide(ctx, who, ask)
		if err != nil {
			return Answer{}, err
		}
		_, appending := s.Tracer.Begin(ctx, tracing.Append)
		err = s.record(ctx, who, answer.Envelope, position)
		appending.End(codeOf(err))
		switch {
		case err == nil:
			return answer, nil
		case !errors.Is(err, eventlog.ErrConflict): // an envelope has no expectation: only a fence conflicts
			return Answer{}, fmt.Errorf("%w: %w", ErrStateUnknown, err)
		}
	}
	return Answer{}, fmt.Errorf("%w: the member's book changed %d times meanwhile", ErrStateUnknown, attempts)
}

// decide finds what is answered, at the head that it returns. Nothing of it may be shown before it is recorded.
func (s *Service) decide(ctx context.Context, who Asker, ask events.RecallAsk) (Answer, uint64, error) {
	id, err := events.RandomID()
	if err != nil {
		return Answer{}, 0, fmt.Errorf("name a recall: %w", err)
	}
	defined, definedAt, err := s.definitions(ctx, who.Organisation)
	if err != nil {
		return Answer{}, 0, err
	}
	inForce := defined.Policy
	request := requestOf(who, ask)
	if err := recall.Admit(request, inForce); err != nil {
		return Answer{}, 0, err
	}
	ask.ScopeKey = ask.Scope.Key(who.Member)

	envelope := &events.RecallResolved{
		Action: events.ActionRecallResolved, PolicyID: events.RecallPolicyID, RecallID: id, MemberID: who.Member,
		Engine: recall.Engine, PolicyVersion: inForce.Version, PolicySHA256: defined.PolicySHA256, Ask: events.Hide(ask),
	}
	var result recall.Result
	var head uint64
	for { // every round but the last finds at least one more entry that must not be said
		if result, head, err = s.read(ctx, who, envelope, request, defined, definedAt); err != nil {
			return Answer{}, 0, err
		}
		hits := s.suspects(request, result.Entries)
		if len(hits) == 0 {
			break
		}
		request.Suspected = append(request.Suspected, hits...)
	}
	if result.ForeignOrganisation > 0 {
		return Answer{}, 0, fmt.Errorf("%w: entries of another organisation in a book", runner.ErrBroken)
	}
	describe(envelope, result)
	if envelope.ResultSHA256, err = digest(envelope, result); err != nil {
		return Answer{}, 0, err
	}
	return Answer{envelope, result}, head, nil
}

// read resolves at the head that it returns, and writes into the envelope when that was and what stood there.
func (s *Service) read(ctx context.Context, who Asker, envelope *events.RecallResolved, request recall.Request, defined *organisation.State, definedAt uint64) (result recall.Result, head uint64, err error) {
	var refused error
	envelope.At = events.Time{}
	// The texts that it needs are found out and brought in at the instant at which it decides: a text can't come into question between.
	need := func(book *member.State) []events.ID {
		envelope.At = events.At(s.Now())
		return textsOf(book, request, defined.Policy, envelope.At)
	}
	err = s.Members.Read(ctx, who.Organisation, events.Member(who.Member), need, func(book *member.State, position uint64) error {
		head = position
		if envelope.At.IsZero() { // all texts are there
			envelope.At = events.At(s.Now())
		}
		envelope.Heads = heads(who.Member, position, definedAt)
		envelope.AsOf = strconv.FormatUint(max(position, definedAt), 10)
		if refused = admits(book, request); refused == nil {
			result = resolve(book, request, defined, envelope.At)
		}
		return nil
	})
	if err != nil {
		return result, head, fmt.Errorf("%w: %w", ErrStateUnknown, err)
	}
	return result, head, refused
}

func (s *Service) definitions(ctx context.Context, org string) (defined *organisation.State, position uint64, err error) {
	err = s.Organisations.View(ctx, org, events.Organisation(), func(state *organisation.State, at uint64) error {
		defined, position = state, at
		return nil
	})
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrStateUnknown, err)
	}
	return defined, position, defined.Readable()
}

// admits: a book that was closed says nothing, and a program that the member left asks nothing (spec 1.1). Inspections and
// requests of the member's own rights go by other rules.
func admits(book *member.State, request recall.Request) error {
	asks := request.Purpose != policy.PurposeInspection && request.Purpose != policy.PurposeDSAR
	switch {
	case !book.Registered || book.Removed:
		return aggregates.Refuse("member_unknown", "spec 9.5")
	case asks && !book.In(request.Program):
		return aggregates.Refuse("not_in_program", "spec 1.1")
	}
	return nil
}

// resolve is the whole of a recall between two pure rooms: what the book says, what the organisation says of tenants, what may be
// said.
func resolve(book *member.State, request recall.Request, defined *organisation.State, at events.Time) recall.Result {
	request.Consents = book.ConsentStates(at)
	candidates := book.Candidates(at)
	for i := range candidates {
		if shut := defined.Suppression(candidates[i].TenantID); shut != "" {
			candidates[i].Derived = shut
		}
	}
	return recall.Resolve(candidates, request, defined.Policy, at)
}

// textsOf names the memories whose texts resolve needs: who can't be reached stays closed.
func textsOf(book *member.State, request recall.Request, inForce *policy.Document, at events.Time) []events.ID {
	request.Consents = book.ConsentStates(at)
	return recall.Texts(book.Candidates(at), request, inForce, at)
}

func requestOf(who Asker, ask events.RecallAsk) recall.Request {
	contexts := make([]policy.Context, 0, len(ask.Contexts))
	for _, c := range ask.Contexts {
		contexts = append(contexts, policy.Context(c))
	}
	return recall.Request{
		Organisation: who.Organisation, Member: who.Member, Surface: ask.Surface, Consumer: ask.Consumer,
		Purpose: policy.Purpose(ask.Purpose), Scope: ask.Scope, AdapterScope: ask.AdapterScope, Program: ask.Program,
		TenantID: ask.TenantID, Query: ask.Query, CrisisFrame: ask.CrisisFrame,
		SafetyCriticalContext: ask.SafetyCriticalContext, Contexts: contexts, ConsentedCategories: slices.Clone(ask.ConsentedCategories),
	}
}

func heads(member events.ID, position, definedAt uint64) []events.Head {
	return []events.Head{
		{Aggregate: events.Member(member).String(), Sequence: strconv.FormatUint(position, 10)},
		{Aggregate: events.Organisation().String(), Sequence: strconv.FormatUint(definedAt, 10)},
	}
}

// describe writes what the engine found into the envelope.
func describe(envelope *events.RecallResolved, result recall.Result) {
	envelope.Severity = result.Severity()
	envelope.EvaluatedCount = result.EvaluatedCount
	envelope.ReturnedIDs = result.ReturnedIDs
	envelope.Entries = recalled(result)
	found := findings(result)
	found.Verdicts = fewer(found.Verdicts, mostVerdicts-verdictsOfEntry*len(result.Entries))
	envelope.Findings = events.Hide(found)
}

// An envelope is one message. Beside its question it holds so many verdicts of the longest reason, less what each entry takes.
const (
	mostVerdicts    = 1200
	verdictsOfEntry = 10
)

// fewer leaves verdicts out of a record that would not fit, in the order of the ids from some point on: a replay finds them again.
// What was said, and what the screening of that day left out, stays.
func fewer(all []events.RecallVerdict, most int) []events.RecallVerdict {
	if len(all) <= most {
		return all
	}
	stays := func(v events.RecallVerdict) bool { return v.Returned || v.Reason == recall.ReasonInjectionSuspected }
	for _, v := range all {
		if stays(v) {
			most--
		}
	}
	kept := []events.RecallVerdict{}
	for _, v := range all {
		switch {
		case stays(v):
			kept = append(kept, v)
		case most > 0:
			kept, most = append(kept, v), most-1
		}
	}
	return kept
}

func recalled(result recall.Result) []events.RecalledEntry {
	entries := make([]events.RecalledEntry, 0, len(result.Entries))
	for _, e := range result.Entries {
		entries = append(entries, events.RecalledEntry{
			MemoryID: e.MemoryID, RevisionID: e.RevisionID, Body: e.BodyCommitment, Labels: e.LabelsCommitment,
			Score: string(e.Score), Recency: string(e.Factors.Recency), Semantic: string(e.Factors.Semantic),
			References: string(e.Factors.References), Origin: string(e.Factors.Origin),
		})
	}
	return entries
}

func findings(result recall.Result) events.RecallFindings {
	f := events.RecallFindings{SuppressionCounts: result.SuppressionCounts, Verdicts: []events.RecallVerdict{}, Rationales: []string{}}
	for _, v := range result.Verdicts {
		f.Verdicts = append(f.Verdicts, events.RecallVerdict{MemoryID: v.MemoryID, Returned: v.Returned(), Stage: v.Stage, Reason: v.Reason})
	}
	for _, e := range result.Entries {
		f.Rationales = append(f.Rationales, e.SurfaceRationale)
	}
	return f
}

// record fences the head, where streams are replicated, and appends the envelope. A fence without its envelope says only that
// somebody looked: the other way round, an envelope would stand for an answer that was never given.
func (s *Service) record(ctx context.Context, who Asker, envelope *events.RecallResolved, head uint64) error {
	body, err := s.encode(ctx, who, envelope)
	if err != nil {
		return err
	}
	if s.Fence != nil {
		if err := s.fence(ctx, who, head, body); err != nil {
			return err
		}
	}
	_, err = s.Access.AppendAccess(ctx, who.Organisation, events.RecallSubject(who.Organisation), body)
	return err
}

// fenced is a fence's body: the member's expectation and the envelope's commitment, no more (spec 9.2).
type fenced struct {
	Aggregate string `json:"aggregate"`
	Expected  string `json:"expected"`
	Envelope  string `json:"envelope"` // SHA-256 of the envelope's stored body, hex
}

func (s *Service) fence(ctx context.Context, who Asker, head uint64, envelope []byte) error {
	book := events.Member(who.Member)
	body, err := events.Canonical(fenced{book.String(), strconv.FormatUint(head, 10), events.Hash(envelope)})
	if err != nil {
		return fmt.Errorf("write a fence: %w", err)
	}
	if _, err := s.Fence.AppendFence(ctx, who.Organisation, book, head, body); err != nil {
		return fmt.Errorf("fence at %d: %w", head, err)
	}
	return nil
}

func (s *Service) encode(ctx context.Context, who Asker, envelope *events.RecallResolved) ([]byte, error) {
	commit := events.Commit{Organisation: who.Organisation, Aggregate: events.Member(who.Member), Command: envelope.RecallID}
	trace := who.Trace
	if trace.Correlation == "" {
		trace.Correlation, trace.Causation = envelope.RecallID, envelope.RecallID
	}
	commit.Events = []events.Recorded{{Event: envelope, Meta: events.Meta{
		ID: envelope.RecallID, Type: envelope.EventType(), Organisation: who.Organisation, Aggregate: commit.Aggregate,
		Time: envelope.At, RecordedAt: envelope.At, Actor: who.Actor, Policy: envelope.PolicyVersion, Trace: trace, Commit: envelope.RecallID,
	}}}
	return s.Codec.Encode(ctx, commit)
}

// pause lets whoever writes to the book get on; the first attempt doesn't wait.
func pause(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(attempt) * time.Duration(1+rand.IntN(10)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
