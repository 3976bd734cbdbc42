package member

import (
	"cmp"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// DeclinedFact is one line of the register: a fact that must not be proposed again (spec 1.8). Category is empty where the
// entry's key is destroyed.
type DeclinedFact struct {
	MemoryID   events.ID // the entry that was declined or forgotten
	How        How
	At         events.Time
	Position   uint64
	ProposedBy events.ProposedBy // empty for own words
	Program    string
	Kind       events.MemoryKind
	Category   events.Category
}

// How a fact came into the register.
type How string

const (
	HowDeclined  How = "declined"  // a proposal that the member said no to
	HowForgotten How = "forgotten" // a memory that the member forgot and doesn't want to be asked about
)

// declineFact keeps a fact from being proposed again. It must see the entry before that is buried. A fact that stands already is
// told as it came in last.
func (s *State) declineFact(print string, memory events.ID, how How, r events.Recorded) {
	if print == "" {
		return
	}
	fact := DeclinedFact{MemoryID: memory, How: how, At: r.RecordedAt, Position: r.Position}
	if e, ok := s.Entries[memory]; ok {
		fact.ProposedBy, fact.Program, fact.Kind, fact.Category = e.ProposedBy, e.Program, e.Kind, e.Labels.Category
	}
	s.Declined[print] = fact
}

// DeclinedFacts lists the register, newest first.
func (s *State) DeclinedFacts() []DeclinedFact {
	facts := make([]DeclinedFact, 0, len(s.Declined))
	for _, fact := range s.Declined {
		facts = append(facts, fact)
	}
	slices.SortFunc(facts, func(a, b DeclinedFact) int {
		return cmp.Or(cmp.Compare(b.Position, a.Position), cmp.Compare(b.MemoryID, a.MemoryID))
	})
	return facts
}

// liftDeclined finds the fact by the entry that it came from.
func liftDeclined(s *State, c LiftDeclined) ([]events.Event, error) {
	for print, fact := range s.Declined {
		if fact.MemoryID == c.MemoryID {
			return []events.Event{&events.DeclinedLifted{MemoryID: c.MemoryID, Print: events.Hide(print)}}, nil
		}
	}
	return nil, aggregates.Refuse("declined_unknown", "spec 1.8")
}
