package member

import (
	"errors"
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
	"iris.example/iris/screening"
)

type (
	// Edit changes what a kept memory says or is about. Nil fields stay; an empty subject takes the subject away. IfMatch is the
	// revision that the member saw.
	Edit struct {
		MemoryID events.ID
		IfMatch  events.ID
		Body     *string
		Category *events.Category
		Subject  *string
		Known    screening.Known // what the scrubber can't know of itself, for a memory of tier person
	}
	// Pause stops a memory from being used, until an instant or until it is resumed.
	Pause struct {
		MemoryID events.ID
		Until    *events.Time
	}
	// Resume ends a pause of either sort.
	Resume struct{ MemoryID events.ID }
	// Restore takes a forget back, before it is final.
	Restore struct{ MemoryID events.ID }
)

func (Edit) KeysNeeded() int    { return 0 }
func (Pause) KeysNeeded() int   { return 0 }
func (Resume) KeysNeeded() int  { return 0 }
func (Restore) KeysNeeded() int { return 0 }

// Forgotten reports whether the entry is softly forgotten, so that only a restore can reach it. From ForgetAt on it counts as
// destroyed, whether the sweep has come by or not (spec 2.1).
func (e *Entry) Forgotten(now events.Time) bool {
	return !e.Gone(now) && (e.ForgetAt != nil || e.left(now))
}

// Gone reports whether nothing brings the entry back.
func (e *Entry) Gone(now events.Time) bool {
	return e.Lifecycle == events.LifecycleTombstoned || e.ForgetAt.Passed(now) || e.EndsAt.Passed(now)
}

// outlived reports whether something newer has taken the entry's place, and its text is still there.
func (e *Entry) outlived(now events.Time) bool {
	return e.Lifecycle == events.LifecycleSuperseded && !e.Gone(now)
}

// Suppressed is the entry's own suppression as it stands at an instant; nil once its end is past (spec 2.1).
func (e *Entry) Suppressed(now events.Time) *events.Suppression {
	if e.Suppression == nil || e.Suppression.EndsAt.Passed(now) {
		return nil
	}
	return e.Suppression
}

// entry finds what a member may do something with. Whether it may be done in its state is for each act to say.
func (s *State) entry(id events.ID) (*Entry, error) {
	if e, ok := s.Entries[id]; ok {
		return e, nil
	}
	return nil, aggregates.Refuse("memory_unknown", "spec 10.3")
}

// kept finds a memory that can be edited, paused and resumed: active or paused, and not forgotten.
func (s *State) kept(id events.ID, now events.Time) (*Entry, error) {
	e, err := s.entry(id)
	if err != nil {
		return nil, err
	}
	if !e.Kept(now) {
		return nil, refuseMove()
	}
	return e, nil
}

// ErrNoText: the state doesn't hold the text that an edit of a label alone leaves as it is. Whoever decides didn't bring it in.
var ErrNoText = errors.New("memory_text_missing")

func refuseMove() error { return aggregates.Refuse("invalid_lifecycle_transition", "spec 1.2") }

// edit mints a revision with another text or label, under the rules of every durable write: screening (1.7), the consents of a
// changed category (2.2), conflicts (1.6). An edit of what another has changed meanwhile is refused, whatever it would change.
func edit(s *State, c Edit, env aggregates.Env) ([]events.Event, error) {
	e, err := s.kept(c.MemoryID, env.Now)
	if err != nil {
		return nil, err
	}
	if c.IfMatch != e.RevisionID {
		return nil, &aggregates.Refusal{Code: "revision_conflict", Rule: "spec 10.3", Existing: e.RevisionID}
	}
	k, err := editedAs(e, c, env)
	if err != nil {
		return nil, err
	}
	if k.body == nil && k.labels.Category == e.Labels.Category && k.labels.Subject == e.Labels.Subject {
		return nil, nil
	}
	if e.Tier == events.TierPerson {
		if err := s.leaks(k.details, k.labels.Subject, changed(k.body), c.Known, env); err != nil {
			return nil, err
		}
	}
	if known := s.livingText(k.details.Prints.Text, env.Now); k.body != nil && known != nil && known.MemoryID != e.MemoryID {
		return nil, &aggregates.Refusal{Code: "duplicate", Rule: "spec 1.8", Existing: known.MemoryID}
	}
	if k.labels.Category != e.Labels.Category {
		if err := s.mayWrite(e.Program, k.labels, events.ProposedBy{}, env); err != nil {
			return nil, err
		}
		if err := s.consented(k, nil, env); err != nil {
			return nil, err
		}
		k.labels.Consents = s.entryConsents(required(k.labels, k.details, env), nil)
	}
	text := e.Body
	if k.body != nil {
		text = *k.body
	}
	if text == "" { // no kept memory is empty: nobody brought it in
		return nil, fmt.Errorf("edit memory %s: %w", e.MemoryID, ErrNoText)
	}
	event := &events.MemoryRevised{
		Revised: e.revise(env.NewID(1)), Origin: editedOrigin(e.Origin), Body: events.Hide(text), Labels: events.Hide(k.labels),
		Details: events.Hide(k.details),
	}
	claim := recall.Claim{Origin: event.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(e, k.labels, claim, env.Now)
	if winner != nil {
		return nil, &aggregates.Refusal{Code: "kept-existing", Rule: rule, Existing: winner.MemoryID}
	}
	return append([]events.Event{event}, s.supersede(superseded, event.MemoryID, rule, env, 2)...), nil
}

func changed(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

func editedAs(e *Entry, c Edit, env aggregates.Env) (kept, error) {
	k := kept{labels: e.Labels, details: e.Details}
	text := e.Body
	if c.Body != nil {
		clean, err := env.Screen.Body(*c.Body)
		if err != nil {
			return kept{}, refusedText(err)
		}
		if clean != e.Body {
			text, k.body = clean, &clean
		}
	}
	if c.Category != nil {
		if !c.Category.Valid() {
			return kept{}, aggregates.Refuse("category_unknown", "spec 1.4")
		}
		k.labels.Category = *c.Category
	}
	if c.Subject != nil {
		subject, err := optional(*c.Subject, screening.MaxSubject, env)
		if err != nil {
			return kept{}, err
		}
		k.labels.Subject = subject
	}
	k.labels.Consents = slices.Clone(k.labels.Consents)
	k.details.Prints = prints(env, k.labels, text)
	return k, nil
}

// editedOrigin: an edit is the member's own act, so what was kept of an inference is confirmed by it.
func editedOrigin(before events.Origin) events.Origin {
	if before == events.OriginUserStated {
		return before
	}
	return keptOrigin(before)
}

// pause: with an end it suppresses and leaves the lifecycle, without one the lifecycle is paused (spec 1.2). Asked with an end of
// what is paused without, the end is what the member wants now.
func pause(s *State, c Pause, env aggregates.Env) ([]events.Event, error) {
	e, err := s.kept(c.MemoryID, env.Now)
	if err != nil {
		return nil, err
	}
	if c.Until == nil && e.Lifecycle == events.LifecyclePaused {
		return nil, nil
	}
	if c.Until.Passed(env.Now) {
		return nil, aggregates.Refuse("pause_end_in_the_past", "spec 1.2")
	}
	if standing := e.Suppressed(env.Now); c.Until != nil && standing != nil && *standing.EndsAt == *c.Until {
		return nil, nil
	}
	return []events.Event{&events.MemoryPaused{Revised: e.revise(env.NewID(0)), Until: c.Until}}, nil
}

// resume lifts the member's own pause, and nothing that follows from consent (spec 1.2). A softly forgotten memory is restored,
// not resumed.
func resume(s *State, c Resume, env aggregates.Env) ([]events.Event, error) {
	e, err := s.kept(c.MemoryID, env.Now)
	if err != nil {
		return nil, err
	}
	if e.Lifecycle == events.LifecycleActive && e.Suppressed(env.Now) == nil {
		return nil, nil
	}
	return []events.Event{&events.MemoryResumed{Revised: e.revise(env.NewID(0))}}, nil
}

// restore returns a softly forgotten memory to the lifecycle it had. One that isn't forgotten is restored already.
func restore(s *State, c Restore, env aggregates.Env) ([]events.Event, error) {
	e, err := s.entry(c.MemoryID)
	switch {
	case err != nil:
		return nil, err
	case e.Kept(env.Now):
		return nil, nil
	case !e.Forgotten(env.Now):
		return nil, refuseMove()
	case e.left(env.Now) && !s.In(e.Program):
		return nil, aggregates.Refuse("not_in_program", "spec 1.1")
	}
	before := e.BeforeForget
	if before == "" {
		before = e.Lifecycle // the program was left: nobody forgot this one
	}
	decided := []events.Event{&events.MemoryRestored{Revised: e.revise(env.NewID(0)), Lifecycle: before}}
	if from := s.promotedFrom(e); from != nil && from.ForgetAt != nil && !from.Gone(env.Now) {
		decided = append(decided, &events.MemoryRestored{Revised: from.revise(env.NewID(1)), Lifecycle: from.BeforeForget})
	}
	return decided, nil
}

func (s *State) reviseText(e *Entry, r *events.MemoryRevised, in events.Recorded) {
	e.Origin, e.AutoKept = r.Origin, false // an edit is a yes
	e.say(r.Body, in)
	e.Labels, e.LabelsCommitment = r.Labels.Plain, r.Labels.Sealed.Commitment
	e.Details = r.Details.Plain
	s.index(e, false)
}

// pauseEntry: the suppressions of other reasons are set by nothing yet; when they are, this slot is no longer the pause's alone.
func pauseEntry(e *Entry, until *events.Time, at events.Time) {
	if until == nil {
		e.Lifecycle, e.Suppression = events.LifecyclePaused, nil
		return
	}
	e.Lifecycle = events.LifecycleActive
	e.Suppression = &events.Suppression{Reason: events.SuppressedUserPause, StartedAt: at, EndsAt: until}
}
