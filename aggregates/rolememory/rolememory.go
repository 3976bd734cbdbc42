// Package rolememory decides about what everyone who holds a workbench role shares: candidates that members offered, and the
// versions that two people made of them (spec 1.5). A version is never edited: another of its kind supersedes it.
//
// It guarantees that nothing in it names who contributed: a contribution is a random id, and whose it is stands in the
// contributors' books alone (spec 1.8). It knows who accepted and who confirmed. That the confirmer holds the role, and that neither
// of the two contributed, is decided in their own books, in the same batch (spec 9.2).
//
// A role shares one version of each kind at a time: what is to be added to a version is offered as the whole text.
package rolememory

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// Stage is where a candidate stands.
type Stage string

const (
	StageSubmitted  Stage = "submitted"  // waits for a curator
	StageAccepted   Stage = "accepted"   // waits for a holder of the role to confirm it
	StagePublished  Stage = "published"  // its version stands
	StageSuperseded Stage = "superseded" // its version stood until another took its place
	StageReopened   Stage = "reopened"   // its version was retired, and curators decide anew
	StageRejected   Stage = "rejected"
	StageWithdrawn  Stage = "withdrawn" // nobody offers it any more
)

// Stages are all of them.
func Stages() []Stage {
	return []Stage{StageSubmitted, StageAccepted, StagePublished, StageSuperseded, StageReopened, StageRejected, StageWithdrawn}
}

// Open reports whether a candidate waits for somebody.
func (s Stage) Open() bool { return s == StageSubmitted || s == StageAccepted || s == StageReopened }

// shared reports whether the text is before somebody, or among the role's.
func (s Stage) shared() bool { return s.Open() || s == StagePublished }

// Candidate is a text that members offered. Once nobody may read it any more the state holds no text of it.
type Candidate struct {
	ID, KeyID              events.ID
	Kind                   events.MemoryKind
	Category               events.Category
	Findings               []events.ScrubFinding // what was taken out of the text, and where its name stands there
	Body                   string
	Stage                  Stage
	Contributions          []events.ID // that stand
	AcceptedBy             events.ID
	ConfirmedBy            events.ID
	VersionID              events.ID  // the newest that was made of it
	Supersedes             *events.ID // what that version took the place of
	SubmittedAt, ChangedAt events.Time
	Position               uint64 // of the commit that submitted it: its place in lists, for good
}

// Version is what the role shares, or did. It ends by supersession or by retirement.
type Version struct {
	ID, CandidateID         events.ID
	Kind                    events.MemoryKind
	Supersedes              *events.ID
	AcceptedBy, ConfirmedBy events.ID
	PublishedAt             events.Time
	Position                uint64 // of the commit that published it
	EndedAt                 *events.Time
	Retired                 bool // it ended because too few stood behind it
}

// State is one role's memory at a position. It has one owner; Evolve changes it in place and Decide never does.
type State struct {
	Organisation   string
	Role           string
	Candidates     map[events.ID]*Candidate
	Versions       []*Version                     // in the order of publication
	Published      map[events.MemoryKind]*Version // the one of each kind that stands
	ByContribution map[events.ID]events.ID        // contribution that stands → candidate
}

// Initial is a role's memory before its first event.
func Initial(org, role string) *State {
	return &State{
		Organisation: org, Role: role, Candidates: map[events.ID]*Candidate{}, Published: map[events.MemoryKind]*Version{},
		ByContribution: map[events.ID]events.ID{},
	}
}

// Same finds the candidate that has this text and kind and is before somebody, or published: who offers it again seconds it.
func (s *State) Same(kind events.MemoryKind, body string) *Candidate {
	for _, c := range s.Candidates {
		if c.Kind == kind && c.Stage.shared() && c.Body == body {
			return c
		}
	}
	return nil
}

// CodeCandidateChanged: an offer's Seconds is not what is so. Existing names the candidate that has the text; empty: none has it.
const CodeCandidateChanged = "candidate_changed"

// Command is what a role's memory can be asked. By is who asks; of a contributor it is compared and never recorded.
type Command interface{ KeysNeeded() int }

type (
	// Offer brings a text before the curators, or seconds the candidate that has it.
	Offer struct {
		CandidateID, ContributionID events.ID
		Seconds                     bool // the candidate is there already
		Kind                        events.MemoryKind
		Category                    events.Category
		Findings                    []events.ScrubFinding
		Body                        string
		By                          events.ID
	}
	// Accept is a curator's yes.
	Accept struct{ CandidateID, By events.ID }
	// Confirm is the second yes, by another person.
	Confirm struct{ CandidateID, VersionID, By events.ID }
	// Reject is a curator's no.
	Reject struct{ CandidateID events.ID }
	// TakeBack withdraws contributions, whatever became of them.
	TakeBack struct{ ContributionIDs []events.ID }
)

func (o Offer) KeysNeeded() int {
	if o.Seconds {
		return 0
	}
	return 1
}
func (Accept) KeysNeeded() int   { return 0 }
func (Confirm) KeysNeeded() int  { return 0 }
func (Reject) KeysNeeded() int   { return 0 }
func (TakeBack) KeysNeeded() int { return 0 }

// Decide says what follows from a command. What is so already yields no event and no error.
func Decide(s *State, c Command, env aggregates.Env) ([]events.Event, error) {
	if err := env.Readable(); err != nil && !narrows(c) {
		return nil, err
	}
	switch c := c.(type) {
	case Offer:
		return offer(s, c, env)
	case Accept:
		return accept(s, c)
	case Confirm:
		return confirm(s, c, env)
	case Reject:
		return reject(s, c)
	case TakeBack:
		return takeBack(s, c, env), nil
	}
	return nil, aggregates.Refuse("command_unknown", "spec 9.2")
}

// narrows reports whether a command only takes something from what the role shares. Such a command is decided also while nobody can
// read the policy in force, under the closed one: a member's withdrawal climbs at any time (spec 1.8, docs/decisions/closed-policy.md).
func narrows(c Command) bool {
	switch c.(type) {
	case TakeBack, Reject:
		return true
	}
	return false
}

// offer: who offers says whether the candidate is there already. Where that isn't so, or no longer, the refusal names the one that is,
// and the caller asks again.
func offer(s *State, c Offer, env aggregates.Env) ([]events.Event, error) {
	if !events.TierRole.Admits(c.Kind) {
		return nil, aggregates.Refuse("kind_not_admitted", "spec 1.5")
	}
	same := s.Same(c.Kind, c.Body)
	if c.Seconds != (same != nil) || same != nil && same.ID != c.CandidateID {
		refusal := &aggregates.Refusal{Code: CodeCandidateChanged, Rule: "spec 1.5"}
		if same != nil {
			refusal.Existing = same.ID
		}
		return nil, refusal
	}
	if same == nil {
		return []events.Event{&events.CandidateSubmitted{
			CandidateID: c.CandidateID, KeyID: env.Keys[0], Kind: c.Kind, ContributionID: c.ContributionID,
			Body: events.Hide(c.Body), Labels: events.Hide(events.CandidateLabels{Category: c.Category, Findings: c.Findings}),
		}}, nil
	}
	if c.By == same.AcceptedBy || c.By == same.ConfirmedBy { // who curates contributes nothing to it (spec 1.5)
		return nil, refuseSamePerson()
	}
	return []events.Event{&events.CandidateSeconded{CandidateID: same.ID, ContributionID: c.ContributionID}}, nil
}

func accept(s *State, c Accept) ([]events.Event, error) {
	candidate, err := s.candidate(c.CandidateID, StageSubmitted, StageReopened)
	if err != nil {
		return nil, err
	}
	return []events.Event{&events.CandidateAccepted{CandidateID: candidate.ID}}, nil
}

// confirm publishes. Fewer contributors than the policy asks for would retire the version at the next withdrawal, so it isn't made.
func confirm(s *State, c Confirm, env aggregates.Env) ([]events.Event, error) {
	candidate, err := s.candidate(c.CandidateID, StageAccepted)
	switch {
	case err != nil:
		return nil, err
	case candidate.AcceptedBy == c.By:
		return nil, refuseSamePerson()
	case len(candidate.Contributions) < env.Policy.Role.MinContributors:
		return nil, aggregates.Refuse("contributors_missing", "spec 1.8")
	}
	event := &events.VersionPublished{
		VersionID: c.VersionID, CandidateID: candidate.ID, Kind: candidate.Kind, ContributionIDs: append([]events.ID{}, candidate.Contributions...),
	}
	if standing := s.Published[candidate.Kind]; standing != nil {
		event.Supersedes = &standing.ID
	}
	return []events.Event{event}, nil
}

func reject(s *State, c Reject) ([]events.Event, error) {
	candidate, err := s.candidate(c.CandidateID, StageSubmitted, StageAccepted, StageReopened)
	if err != nil {
		return nil, err
	}
	return []events.Event{&events.CandidateRejected{CandidateID: candidate.ID}}, nil
}

// takeBack lets no version stand with fewer than the policy's contributors (spec 1.8): it is retired, and its candidate is before
// the curators again. It never refuses: a member's withdrawal doesn't depend on what became of the text.
func takeBack(s *State, c TakeBack, env aggregates.Env) []events.Event {
	var all []events.Event
	var touched []*Candidate
	gone := map[events.ID][]events.ID{} // candidate → its contributions
	for _, id := range c.ContributionIDs {
		candidate := s.Candidates[s.ByContribution[id]]
		if candidate == nil {
			continue
		}
		if gone[candidate.ID] == nil {
			touched = append(touched, candidate)
		}
		gone[candidate.ID] = append(gone[candidate.ID], id)
	}
	for _, candidate := range touched {
		all = append(all, &events.ContributionWithdrawn{CandidateID: candidate.ID, ContributionIDs: gone[candidate.ID]})
		left := len(candidate.Contributions) - len(gone[candidate.ID])
		if candidate.Stage == StagePublished && left < env.Policy.Role.MinContributors {
			all = append(all, &events.VersionRetired{VersionID: candidate.VersionID, CandidateID: candidate.ID},
				&events.CandidateReopened{CandidateID: candidate.ID})
		}
	}
	return all
}

// candidate finds one at one of the stages.
func (s *State) candidate(id events.ID, stages ...Stage) (*Candidate, error) {
	c, ok := s.Candidates[id]
	if !ok {
		return nil, aggregates.Refuse("candidate_unknown", "spec 10.9")
	}
	for _, stage := range stages {
		if c.Stage == stage {
			return c, nil
		}
	}
	return nil, aggregates.Refuse("candidate_moved", "spec 1.5")
}

func refuseSamePerson() error { return aggregates.Refuse("curation_needs_another_person", "spec 1.5") }
