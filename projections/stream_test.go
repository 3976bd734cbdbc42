package projections_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
	"iris.example/iris/projections/engine"
)

var start = events.At(time.Date(2026, 11, 30, 8, 0, 0, 123456000, time.UTC))

// stream is a ledger in memory whose sequences may have holes.
type stream struct {
	org      string
	keys     *testKeys
	messages []log.Message
	commits  []events.Commit // as they decode, in order
	last     uint64
	clock    events.Time
	heads    map[string]head
	ids      int
}

type head struct {
	version, sequence uint64
	hash              string
}

func newStream(org string) *stream {
	return &stream{org: org, keys: &testKeys{gone: map[events.ID]bool{}}, heads: map[string]head{}, clock: start}
}

func (s *stream) codec() events.Codec { return events.Codec{Keys: s.keys, Contract: anyContract{}} }

// id makes a fresh, repeatable id. Streams of two organisations make the same ones, which nothing may confuse.
func (s *stream) id() events.ID {
	s.ids++
	return events.EntityID(start, "test", s.ids)
}

// commit appends one commit to a member's book and returns its command's id.
func (s *stream) commit(member events.ID, facts ...events.Event) events.ID {
	return s.append(events.Subject(s.org, events.Member(member)), events.Member(member), facts)
}

func (s *stream) recall(facts ...events.Event) events.ID {
	member := facts[0].(*events.RecallResolved).MemberID
	return s.append(events.RecallSubject(s.org), events.Member(member), facts)
}

func (s *stream) append(subject string, a events.Aggregate, facts []events.Event) events.ID {
	s.clock, s.last = s.clock.Plus(time.Minute), s.last+1
	before := s.heads[subject]
	c := events.Commit{
		Organisation: s.org, Aggregate: a, Command: s.id(), Version: before.version + 1, PreviousSequence: before.sequence,
		PreviousHash: before.hash,
	}
	for _, fact := range facts {
		c.Events = append(c.Events, events.Recorded{Event: fact, Meta: events.Meta{
			ID: s.id(), Time: s.clock.Plus(-time.Second), RecordedAt: s.clock, Actor: events.Actor{ID: string(a.ID), Kind: events.ActorMember},
			Policy: "1", Trace: events.Trace{Correlation: c.Command, Causation: c.Command},
		}})
	}
	body, err := s.codec().Encode(context.Background(), c)
	if err != nil {
		panic(err)
	}
	decoded, err := s.codec().Decode(context.Background(), s.last, body)
	if err != nil {
		panic(err)
	}
	s.heads[subject] = head{c.Version, s.last, events.Hash(body)}
	s.commits = append(s.commits, decoded)
	s.messages = append(s.messages, log.Message{Subject: subject, Sequence: s.last, Body: body, Stored: s.clock.Time})
	return c.Command
}

// skip leaves a hole of n sequences.
func (s *stream) skip(n int) { s.last += uint64(n) }

// source serves messages in batches of the given sizes, over and over the sizes, from wherever it likes, and then waits.
type source struct {
	messages []log.Message
	sizes    []int
	turn     int
}

func (s *source) Next(ctx context.Context, limit int) ([]log.Message, error) {
	if len(s.messages) == 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	n := limit
	if len(s.sizes) > 0 {
		n = min(limit, s.sizes[s.turn%len(s.sizes)])
		s.turn++
	}
	n = min(n, len(s.messages))
	batch := s.messages[:n]
	s.messages = s.messages[n:]
	return batch, nil
}

func (s *source) Close() {}

// follow serves what lies above the cursor.
func (s *stream) follow(sizes ...int) engine.Follow {
	return func(_ context.Context, _ string, after uint64) (engine.Source, error) {
		messages := s.messages
		for len(messages) > 0 && messages[0].Sequence <= after {
			messages = messages[1:]
		}
		return &source{messages: messages, sizes: sizes}, nil
	}
}

// followAgain serves everything times over, whatever the cursor says.
func (s *stream) followAgain(times int, sizes ...int) engine.Follow {
	return func(context.Context, string, uint64) (engine.Source, error) {
		var messages []log.Message
		for range times {
			messages = append(messages, s.messages...)
		}
		return &source{messages: messages, sizes: sizes}, nil
	}
}

// Facts.

func labels(category events.Category, scope events.Scope) events.Secret[events.Labels] {
	return events.Hide(events.Labels{
		Category: category, Subject: "secret-subject", Scope: scope, AdapterScope: events.DefaultAdapterScope(scope.Kind),
		Consents: []events.EntryConsent{},
	})
}

func details() events.Secret[events.Details] {
	return events.Hide(events.Details{
		MultiActor: &events.MultiActor{ActorHandle: "secret-handle"},
		SourceRefs: []events.SourceRef{{Kind: "conversation", Ref: "secret-ref", Turns: []int{}}},
	})
}

var profile = events.Scope{Kind: events.ScopeProfile}

func (s *stream) entry() events.Entry {
	return events.Entry{
		MemoryID: s.id(), RevisionID: s.id(), KeyID: s.id(), Tier: events.TierIndividual, Kind: events.KindPreference,
		Program: "atlas", Origin: events.OriginUserStated,
	}
}

func (s *stream) stated(body string) *events.MemoryStated {
	return &events.MemoryStated{Entry: s.entry(), Body: events.Hide(body), Labels: labels(events.CategoryPreference, profile), Details: details()}
}

func (s *stream) proposed(body string) *events.ProposalRecorded {
	entry := s.entry()
	entry.Origin = events.OriginModelInferred
	return &events.ProposalRecorded{
		Entry: entry, ProposedBy: events.ProposedBy{Producer: "notes", Consumer: events.ConsumerAssistant},
		ExpiresAt: s.clock.Plus(14 * 24 * time.Hour), Body: events.Hide(body),
		Labels: labels(events.CategoryFact, events.Scope{Kind: events.ScopeSession, SessionID: "s-81"}), Details: details(),
	}
}

func (s *stream) revise(e events.Entry, previous events.ID) events.Revised {
	return events.Revised{MemoryID: e.MemoryID, RevisionID: s.id(), PreviousRevisionID: previous, KeyID: e.KeyID, Tier: e.Tier}
}

func (s *stream) kept(e events.Entry, body string) *events.MemoryKept {
	kept := &events.MemoryKept{
		Revised: s.revise(e, e.RevisionID), Origin: events.OriginUserConfirmed, Edited: body != "",
		Labels: labels(events.CategoryGoal, profile),
	}
	if body != "" {
		text, more := events.Hide(body), details()
		kept.Body, kept.Details = &text, &more
	}
	return kept
}

func (s *stream) autoKept(e events.Entry) *events.MemoryAutoKept {
	return &events.MemoryAutoKept{Revised: s.revise(e, e.RevisionID), Labels: labels(events.CategoryGoal, profile)}
}

func (s *stream) promoted(e events.Entry, previous events.ID) *events.MemoryPromoted {
	entry := s.entry()
	entry.Tier = events.TierPerson
	return &events.MemoryPromoted{
		Entry: entry, From: s.revise(e, previous), Body: events.Hide("promoted"), Labels: labels(events.CategoryGoal, profile), Details: details(),
	}
}

func (s *stream) swept(memories, drafts []events.ID) *events.MemoriesForgotten {
	name := func(ids []events.ID) []events.Swept {
		all := []events.Swept{}
		for _, id := range ids {
			all = append(all, events.Swept{MemoryID: id, RevisionID: s.id()})
		}
		return all
	}
	return &events.MemoriesForgotten{
		SweepID: s.id(), ForgetAt: s.clock.Plus(30 * 24 * time.Hour), Sweep: events.Hide(events.Sweep{Kind: events.SweepSource, Source: "secret-ref"}),
		Memories: name(memories), Drafts: name(drafts),
	}
}

func (s *stream) declined(e events.Entry) *events.ProposalDeclined {
	return &events.ProposalDeclined{Revised: s.revise(e, e.RevisionID), Print: events.Hide("print")}
}

func (s *stream) refused(proposal events.ID, outcome events.ClaimOutcome, reason string) *events.ProposalRefused {
	return &events.ProposalRefused{
		ProposalID: proposal, Outcome: outcome, Reason: reason, ProposedBy: events.ProposedBy{Producer: "notes", Consumer: events.ConsumerAssistant},
		Notes: events.Hide(events.RefusalNotes{Category: events.CategoryMedical, Missing: []events.ConsentKey{}, Patterns: []string{}}),
	}
}

func (s *stream) forgotten(e events.Entry, previous events.ID) *events.MemoryForgotten {
	return &events.MemoryForgotten{Revised: s.revise(e, previous), ForgetAt: s.clock.Plus(30 * 24 * time.Hour), Print: events.Hide("")}
}

func (s *stream) superseded(e events.Entry, previous, winner events.ID) *events.MemorySuperseded {
	return &events.MemorySuperseded{Revised: s.revise(e, previous), Rule: "most-recent-wins", Winner: winner}
}

func (s *stream) edited(e events.Entry, previous events.ID, body string) *events.MemoryRevised {
	return &events.MemoryRevised{
		Revised: s.revise(e, previous), Origin: events.OriginUserConfirmed, Body: events.Hide(body),
		Labels: labels(events.CategoryWork, profile), Details: details(),
	}
}

func (s *stream) paused(e events.Entry, previous events.ID, until *events.Time) *events.MemoryPaused {
	return &events.MemoryPaused{Revised: s.revise(e, previous), Until: until}
}

func (s *stream) resumed(e events.Entry, previous events.ID) *events.MemoryResumed {
	return &events.MemoryResumed{Revised: s.revise(e, previous)}
}

func (s *stream) restored(e events.Entry, previous events.ID) *events.MemoryRestored {
	return &events.MemoryRestored{Revised: s.revise(e, previous), Lifecycle: events.LifecycleActive}
}

func (s *stream) consent(key events.ConsentKey, expires *events.Time, supersedes events.ID) events.Consent {
	return events.Consent{RecordVersion: 1, KeyID: s.id(), Supersedes: supersedes, Record: events.Hide(events.ConsentRecord{
		Key: key, At: s.clock, ExpiresAt: expires, TermsID: "memory", TermsVersion: "2026-11", Source: events.SourceInlinePrompt,
		Locale: "en", Shown: "secret-words", Fingerprint: "fnv1a64:0000000000000000", SHA256: strings.Repeat("0", 64),
	})}
}

func (s *stream) resolved(member events.ID, returned ...events.ID) *events.RecallResolved {
	return &events.RecallResolved{
		Action: events.ActionRecallResolved, PolicyID: events.RecallPolicyID, Severity: "info", RecallID: s.id(), MemberID: member,
		At: s.clock, Engine: "recall/1", AsOf: strconv.FormatUint(s.last, 10), EvaluatedCount: len(returned) + 1,
		ReturnedIDs: append([]events.ID{}, returned...), ResultSHA256: fmt.Sprintf("%064d", s.last),
		Ask:      events.Hide(events.RecallAsk{Surface: "assistant", Consumer: events.ConsumerAssistant, Purpose: "assist", Query: "secret-query"}),
		Findings: events.Hide(events.RecallFindings{}),
	}
}
