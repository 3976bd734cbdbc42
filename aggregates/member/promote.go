package member

import (
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
	"iris.example/iris/screening"
)

// Promote takes a memory of the program to the person: the only way into tier person (spec 1.5, given). Known is what the scrubber
// can't know of itself; what the book knows is added.
type Promote struct {
	MemoryID events.ID
	Program  string
	Known    screening.Known
}

func (Promote) KeysNeeded() int { return 1 }

// promote decides in the order in which the member can do something about it: may this be promoted at all, does the text hold what
// must not leave the program, which consents are missing, what stands in the way.
func promote(s *State, c Promote, env aggregates.Env) ([]events.Event, error) {
	e, err := s.promotable(c, env)
	if err != nil {
		return nil, err
	}
	if err := s.leaks(e.Details, e.Labels.Subject, e.Body, c.Known, env); err != nil {
		return nil, err
	}
	k := kept{body: &e.Body, labels: e.Labels, details: e.Details}
	if err := s.mayWrite(e.Program, k.labels, events.ProposedBy{}, env); err != nil {
		return nil, err
	}
	if err := s.consented(k, nil, env); err != nil {
		return nil, err
	}
	k.labels.Consents = s.entryConsents(required(k.labels, k.details, env), nil)
	k.details.SourceRefs = []events.SourceRef{} // provenance isn't copied: the new entry names the old (spec 1.2)

	event := &events.MemoryPromoted{
		Entry: events.Entry{
			MemoryID: env.NewID(0), RevisionID: env.NewID(1), KeyID: env.Keys[0], Tier: events.TierPerson, Kind: e.Kind, Program: e.Program,
			Origin: editedOrigin(e.Origin), OnBehalfOf: e.OnBehalfOf,
		},
		From: e.revise(env.NewID(2)),
		Body: events.Hide(e.Body), Labels: events.Hide(k.labels), Details: events.Hide(k.details),
	}
	asEntry := &Entry{MemoryID: event.MemoryID, Tier: events.TierPerson, Program: e.Program, Details: k.details}
	claim := recall.Claim{Origin: event.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(asEntry, k.labels, claim, env.Now)
	if winner != nil {
		return nil, &aggregates.Refusal{Code: "kept-existing", Rule: rule, Existing: winner.MemoryID}
	}
	return append([]events.Event{event}, s.supersede(superseded, event.MemoryID, rule, env, 3)...), nil
}

// promotable finds what may go to tier person: of that program, in use, of a kind and in a scope that tier person holds. What is
// paused is resumed first: promoted, it would be used again without having been asked for.
func (s *State) promotable(c Promote, env aggregates.Env) (*Entry, error) {
	e, err := s.ownIn(c.Program, c.MemoryID)
	if err != nil {
		return nil, err
	}
	row, _ := env.Policy.ScopeOf(e.Labels.Scope.Kind, e.Labels.AdapterScope)
	switch {
	case !e.Kept(env.Now) || e.Lifecycle == events.LifecyclePaused || e.Suppressed(env.Now) != nil:
		return nil, refuseMove()
	case !events.TierPerson.Admits(e.Kind):
		return nil, aggregates.Refuse("kind_not_promotable", "spec 1.5")
	case !row.HoldsTier(events.TierPerson):
		return nil, aggregates.Refuse("tier_not_admitted", "spec 1.3")
	case e.Body == "":
		return nil, fmt.Errorf("promote memory %s: %w", e.MemoryID, ErrNoText)
	}
	return e, nil
}

// ownIn finds the member's own tier 1 of a program; a draft is none yet. Another's, another program's and an unknown one are the same.
func (s *State) ownIn(program string, id events.ID) (*Entry, error) {
	e, ok := s.Entries[id]
	if !ok || e.Tier != events.TierIndividual || e.Program != program || e.Lifecycle == events.LifecycleDraft || e.Lifecycle == events.LifecycleTombstoned {
		return nil, aggregates.Refuse("memory_unknown", "spec 9.5")
	}
	return e, nil
}

// leaks refuses what must not stand in tier person, in the text and in everything that goes with it.
func (s *State) leaks(details events.Details, subject, body string, given screening.Known, env aggregates.Env) error {
	given = s.known(details, given)
	type field struct{ name, text string }
	texts := []field{{"", body}, {"subject", subject}}
	if actor := details.MultiActor; actor != nil {
		texts = append(texts, field{"multiActor.actorHandle", actor.ActorHandle}, field{"multiActor.relationshipNote", actor.RelationshipNote})
	}
	for _, t := range texts {
		if t.text == "" {
			continue
		}
		if leaks := env.Screen.Scrub(t.text, given); len(leaks) > 0 {
			return &aggregates.Refusal{Code: "scrub_findings", Rule: "spec 1.7", Leaks: leaks, Field: t.name}
		}
	}
	return nil
}

// known adds what the book itself knows.
func (s *State) known(details events.Details, given screening.Known) screening.Known {
	given.Organisations = append(slices.Clone(given.Organisations), s.Organisation)
	given.MemberIDs = append(slices.Clone(given.MemberIDs), string(s.ID))
	if details.Ref != "" {
		given.Refs = append(slices.Clone(given.Refs), details.Ref)
	}
	return given
}

// promoted: the member sees one memory, of tier person.
func (s *State) promoted(e *events.MemoryPromoted, r events.Recorded) {
	entry := s.begin(e.Entry, r, e.Body, e.Labels, e.Details.Plain)
	entry.Lifecycle, entry.PromotedFrom = events.LifecycleActive, e.From.MemoryID
	if from := s.revised(e.From, r); from != nil {
		from.Lifecycle, entry.ProposedBy = events.LifecycleSuperseded, from.ProposedBy
	}
}

// promotedFrom is the memory of a program that a memory of tier person was; nil: none. The member sees the two as one, so what ends
// the one ends the other.
func (s *State) promotedFrom(e *Entry) *Entry {
	if e.PromotedFrom == "" {
		return nil
	}
	return s.Entries[e.PromotedFrom]
}
