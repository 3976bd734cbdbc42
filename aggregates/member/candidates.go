package member

import (
	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// Candidates are the book's entries as recall sees them at an instant (spec 3.1). Which of them may be considered at all is
// recall's to say; drafts and what is buried never leave the book.
func (s *State) Candidates(now events.Time) []recall.Candidate {
	candidates := make([]recall.Candidate, 0, len(s.Entries))
	for _, e := range s.Entries {
		if e.Lifecycle == events.LifecycleDraft || e.Lifecycle == events.LifecycleTombstoned || e.EndsAt.Passed(now) {
			continue
		}
		candidates = append(candidates, s.candidate(e, now))
	}
	return candidates
}

func (s *State) candidate(e *Entry, now events.Time) recall.Candidate {
	chain := make([]recall.Provenance, 0, len(e.Provenance))
	for _, p := range e.Provenance {
		chain = append(chain, recall.Provenance{EventID: string(p.EventID), Type: p.Type, ActorKind: p.ActorKind, Time: p.At})
	}
	return recall.Candidate{
		MemoryID: e.MemoryID, RevisionID: e.RevisionID,
		Organisation: s.Organisation, TenantID: e.Labels.TenantID, Tier: e.Tier, Program: e.Program, MemoryKind: e.Kind,
		Scope: e.Labels.Scope, ScopeKey: e.Labels.Scope.Key(s.ID), AdapterScope: e.Labels.AdapterScope,
		Category: e.Labels.Category, Subject: e.Labels.Subject, Body: e.Body, Origin: e.Origin,
		Lifecycle: e.Lifecycle, ForgetAt: e.forgottenFrom(now), Suppression: e.Suppression, Derived: s.DerivedSuppression(e, now),
		MultiActor: e.Details.MultiActor, ReferenceCount: e.ReferenceCount, UpdatedAt: e.UpdatedAt,
		BodyCommitment: e.BodyCommitment, LabelsCommitment: e.LabelsCommitment, ProvenanceChain: chain,
	}
}

// ConsentStates are the ledger's states at an instant, of every key that was ever answered.
func (s *State) ConsentStates(now events.Time) map[events.ConsentKey]events.ConsentState {
	states := make(map[events.ConsentKey]events.ConsentState, len(s.Consents))
	for key := range s.Consents {
		states[key] = s.Consent(key, now)
	}
	return states
}
