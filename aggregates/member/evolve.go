package member

import (
	"slices"

	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// Evolve applies an event to the book, in place. It never refuses: what is on the stream happened.
func Evolve(s *State, r events.Recorded) *State {
	switch e := r.Event.(type) {
	case *events.MemberRegistered:
		s.Registered = true
	case *events.ProposalRecorded:
		entry := s.begin(e.Entry, r, e.Body, e.Labels, e.Details.Plain)
		entry.Lifecycle = events.LifecycleDraft
		entry.ProposedBy, entry.ExpiresAt = e.ProposedBy, &e.ExpiresAt
	case *events.MemoryStated:
		s.begin(e.Entry, r, e.Body, e.Labels, e.Details.Plain).Lifecycle = events.LifecycleActive
	case *events.ProposalRefused:
		// Only a draft that lost its conflict has an entry; every other refusal leaves nothing.
		if entry, ok := s.Entries[e.ProposalID]; ok {
			s.bury(entry)
		}
	case *events.ProposalDeclined:
		s.declineFact(e.Print.Plain, e.MemoryID, HowDeclined, r)
		if entry := s.revised(e.Revised, r); entry != nil {
			s.bury(entry)
		}
	case *events.MemoryKept:
		if entry := s.revised(e.Revised, r); entry != nil {
			s.keep(entry, e, r)
		}
	case *events.MemoryForgotten:
		s.declineFact(e.Print.Plain, e.MemoryID, HowForgotten, r)
		if entry := s.revised(e.Revised, r); entry != nil {
			hide(entry, &e.ForgetAt)
		}
	case *events.MemoryRevised:
		if entry := s.revised(e.Revised, r); entry != nil {
			s.reviseText(entry, e, r)
		}
	case *events.MemoryPaused:
		if entry := s.revised(e.Revised, r); entry != nil {
			pauseEntry(entry, e.Until, r.RecordedAt)
		}
	case *events.MemoryResumed:
		if entry := s.revised(e.Revised, r); entry != nil {
			entry.Lifecycle, entry.Suppression = events.LifecycleActive, nil
		}
	case *events.MemoryRestored:
		if entry := s.revised(e.Revised, r); entry != nil {
			entry.Lifecycle, entry.ForgetAt, entry.BeforeForget = e.Lifecycle, nil, ""
			entry.SweptBy = ""
			if entry.left(r.RecordedAt) {
				entry.LeavesAt = nil
			}
		}
	case *events.MemorySuperseded:
		if entry := s.revised(e.Revised, r); entry != nil {
			entry.Lifecycle = events.LifecycleSuperseded
		}
	case *events.MemoryAutoKept:
		if entry := s.revised(e.Revised, r); entry != nil {
			s.keepAhead(entry, e)
		}
	case *events.MemoryPromoted:
		s.promoted(e, r)
	case *events.MemoryReferenced:
		s.referenced(e)
	case *events.MemoriesForgotten:
		s.sweep(e, r)
	case *events.SettingsChanged:
		s.set(e)
	case *events.OptOutsChanged:
		s.OptOuts = e.OptOuts.Plain
	case *events.DeclinedLifted:
		delete(s.Declined, e.Print.Plain)
	case *events.ConsentGranted:
		s.answer(events.StateGranted, e.Consent, r)
	case *events.ConsentWithdrawn:
		s.answer(events.StateWithdrawn, e.Consent, r)
	case *events.ConsentDenied:
		s.answer(events.StateDenied, e.Consent, r)
	default:
		s.belongs(r)
		s.shares(r)
		s.ended(r)
	}
	return s
}

func (s *State) begin(e events.Entry, r events.Recorded, body events.Secret[string], labels events.Secret[events.Labels], details events.Details) *Entry {
	entry := &Entry{
		MemoryID: e.MemoryID, RevisionID: e.RevisionID, KeyID: e.KeyID, Revision: 1, Tier: e.Tier, Kind: e.Kind, Program: e.Program,
		Origin: e.Origin, OnBehalfOf: e.OnBehalfOf, Labels: labels.Plain, Details: details, LabelsCommitment: labels.Sealed.Commitment,
		CreatedAt: r.RecordedAt, UpdatedAt: r.RecordedAt, Provenance: []Provenance{provenance(r)},
	}
	entry.say(body, r)
	_, known := s.Entries[e.MemoryID] // which only a stream that was changed can bring about
	s.Entries[e.MemoryID] = entry
	s.index(entry, !known)
	s.endsWithSession(entry)
	return entry
}

// index notes where to look for an entry, once. It is never taken out again: whoever looks checks what is so. What is new can't stand
// there yet, and isn't looked for: thousands may be about one thing.
func (s *State) index(e *Entry, isNew bool) {
	if text := e.Details.Prints.Text; text != "" {
		note(s.ByText, text, e.MemoryID, isNew)
	}
	if about := e.about(); about != "" {
		note(s.ByAbout, about, e.MemoryID, isNew)
	}
}

func note(index map[string][]events.ID, key string, id events.ID, isNew bool) {
	if isNew || !slices.Contains(index[key], id) {
		index[key] = append(index[key], id)
	}
}

// about is the entry's conflict key; empty: it conflicts with nothing (spec 1.6).
func (e *Entry) about() string {
	return recall.ConflictKey(e.Labels.Category, e.actorHandle(), e.Labels.Subject)
}

// revised mints the next revision of an entry; nil when the book has none of that id, which only a stream that was changed can
// bring about.
func (s *State) revised(e events.Revised, r events.Recorded) *Entry {
	entry, ok := s.Entries[e.MemoryID]
	if !ok {
		return nil
	}
	entry.PreviousRevisionID, entry.RevisionID = entry.RevisionID, e.RevisionID
	entry.Revision++
	entry.UpdatedAt = r.RecordedAt
	entry.Provenance = append(entry.Provenance, provenance(r))
	return entry
}

func (s *State) keep(e *Entry, k *events.MemoryKept, r events.Recorded) {
	e.Lifecycle, e.ExpiresAt, e.Origin = events.LifecycleActive, nil, k.Origin
	e.Labels, e.LabelsCommitment = k.Labels.Plain, k.Labels.Sealed.Commitment
	s.endsWithSession(e)
	if k.Body != nil {
		e.say(*k.Body, r)
	}
	if k.Details != nil {
		e.Details = k.Details.Plain
	}
	s.index(e, false)
}

func (s *State) keepAhead(e *Entry, k *events.MemoryAutoKept) {
	e.Lifecycle, e.ExpiresAt, e.AutoKept = events.LifecycleActive, nil, true
	e.Labels, e.LabelsCommitment = k.Labels.Plain, k.Labels.Sealed.Commitment
	s.endsWithSession(e)
}

// bury ends an entry that never was memory: nothing of its text stays in the book.
func (s *State) bury(e *Entry) {
	e.Lifecycle, e.ExpiresAt, e.Body, e.BodyAt = events.LifecycleTombstoned, nil, "", 0
	e.Labels, e.Details = events.Labels{}, events.Details{}
}

func (s *State) answer(state events.ConsentState, c events.Consent, r events.Recorded) {
	s.Consents[c.Record.Plain.Key] = &Consent{EventID: r.ID, State: state, KeyID: c.KeyID, Record: c.Record.Plain}
}

func provenance(r events.Recorded) Provenance {
	return Provenance{EventID: r.ID, Type: r.Type, ActorKind: r.Actor.Kind, At: r.RecordedAt}
}
