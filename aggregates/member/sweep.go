package member

import (
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// ForgetMany forgets everything that Sweep means, and declines the drafts among it. It takes as many commits as it names entries by
// the thousand: Part counts them, SweepID is the command of the first. Most is how many one names; 0: events.MaxSwept.
type ForgetMany struct {
	Sweep   events.Sweep
	SweepID events.ID
	Part    int
	Most    int
}

func (ForgetMany) KeysNeeded() int { return 0 }

// forgetMany: the first part finds the entries, and the fold of it hides them all; later parts go on with what it left. So a crash
// between two parts leaves nothing in use, and whoever repeats the command finishes it.
func forgetMany(s *State, c ForgetMany, env aggregates.Env) ([]events.Event, error) {
	var ids []events.ID
	for id, e := range s.Entries {
		if c.Part == 0 && s.sweeps(c.Sweep, e, env.Now) || c.Part > 0 && e.SweptBy == c.SweepID && !e.erasedSince() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	slices.Sort(ids)
	event := &events.MemoriesForgotten{
		SweepID: c.SweepID, Part: c.Part, ForgetAt: plus(env.Now, env.Policy.ForgetGrace()), Sweep: events.Hide(c.Sweep),
		Memories: []events.Swept{}, Drafts: []events.Swept{},
	}
	most := c.Most
	if most == 0 {
		most = events.MaxSwept
	}
	if len(ids) > most {
		ids, event.More = ids[:most], true
	}
	for i, id := range ids {
		swept := events.Swept{MemoryID: id, RevisionID: env.NewID(i)}
		if e := s.Entries[id]; e.Lifecycle == events.LifecycleDraft || e.BeforeForget == events.LifecycleDraft {
			event.Drafts = append(event.Drafts, swept)
			continue
		}
		event.Memories = append(event.Memories, swept)
	}
	if c.Part > 0 {
		event.ForgetAt = *s.sweptUntil(c.SweepID, event.ForgetAt)
	}
	return []events.Event{event}, nil
}

// erasedSince: what was destroyed after the first part had hidden it needs no further word.
func (e *Entry) erasedSince() bool {
	return e.Lifecycle == events.LifecycleTombstoned && e.BeforeForget != events.LifecycleDraft
}

// sweptUntil is the instant that the first part has set; a restore in between may have left no memory that knows it.
func (s *State) sweptUntil(sweep events.ID, otherwise events.Time) *events.Time {
	for _, e := range s.Entries {
		if e.SweptBy == sweep && e.ForgetAt != nil {
			return e.ForgetAt
		}
	}
	return &otherwise
}

// sweeps reports whether an entry is meant and there is something to forget: a draft, or a memory that is there and not forgotten
// yet, in use or superseded. What was promoted has no source of its own, and goes with what it was.
func (s *State) sweeps(w events.Sweep, e *Entry, now events.Time) bool {
	if e.Lifecycle != events.LifecycleDraft && (e.Gone(now) || e.ForgetAt != nil) {
		return false
	}
	switch w.Kind {
	case events.SweepSource:
		return s.comesFrom(e, w.Source)
	case events.SweepScope:
		return w.Scope != nil && e.Labels.Scope == *w.Scope
	case events.SweepProgram:
		return e.Tier == events.TierIndividual && e.Program == w.Program
	}
	return false
}

func (s *State) comesFrom(e *Entry, source string) bool {
	if slices.ContainsFunc(e.Details.SourceRefs, func(ref events.SourceRef) bool { return ref.Ref == source || ref.Kind+":"+ref.Ref == source }) {
		return true
	}
	from := s.promotedFrom(e)
	return from != nil && s.comesFrom(from, source)
}

// sweep applies a part. The first hides everything that is meant, before any entry is named.
func (s *State) sweep(m *events.MemoriesForgotten, r events.Recorded) {
	if m.Part == 0 {
		meant := map[events.ID]*Entry{} // first all, then done: burying an entry takes away what it is known by
		for id, e := range s.Entries {
			if s.sweeps(m.Sweep.Plain, e, r.RecordedAt) {
				meant[id] = e
			}
		}
		for _, e := range meant {
			e.SweptBy = m.SweepID
			s.sweepAway(e, &m.ForgetAt)
		}
	}
	for _, swept := range slices.Concat(m.Memories, m.Drafts) {
		e, ok := s.Entries[swept.MemoryID]
		if !ok {
			continue
		}
		s.revised(events.Revised{MemoryID: swept.MemoryID, RevisionID: swept.RevisionID}, r)
		s.sweepAway(e, &m.ForgetAt)
		e.SweptBy = ""
	}
}

func (s *State) sweepAway(e *Entry, forgetAt *events.Time) {
	switch {
	case e.Lifecycle == events.LifecycleDraft:
		s.bury(e)
		e.BeforeForget = events.LifecycleDraft // for the part that will name it
	case e.Lifecycle != events.LifecycleTombstoned && e.ForgetAt == nil:
		hide(e, forgetAt)
	}
}

// hide is a soft forget.
func hide(e *Entry, forgetAt *events.Time) {
	e.BeforeForget, e.ForgetAt = e.Lifecycle, forgetAt
	if e.Lifecycle != events.LifecycleSuperseded { // nothing leads back from there (spec 1.2)
		e.Lifecycle = events.LifecyclePaused
	}
}
