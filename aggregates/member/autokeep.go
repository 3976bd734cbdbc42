package member

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// keptAhead decides whether a claim is kept without asking (spec 1.5), and what follows: the events of the commit, or nil where it
// waits for the member's answer like every other. The member opts in per program; never kept ahead are a sensitive category, a
// memory with a third person, what staff noted or what is imported (1.2, 1.8: both wait for an answer), what lacks a consent of a
// durable write (2.2), and a fact that the member took back before. What the screening flagged was refused already.
func keptAhead(s *State, p *events.ProposalRecorded, env aggregates.Env) []events.Event {
	labels, details := keptScope(p.Labels.Plain), p.Details.Plain
	if !s.Settings.AutoKeep[p.Program] || labels.Category.Sensitive() || details.MultiActor != nil || !inferred(p.Origin) ||
		s.tookBack(details.Prints) || s.mayWrite(p.Program, labels, p.ProposedBy, env) != nil ||
		s.consented(kept{labels: labels, details: details}, nil, env) != nil {
		return nil
	}
	labels.Consents = s.entryConsents(required(labels, details, env), nil)
	draft := &Entry{
		MemoryID: p.MemoryID, RevisionID: p.RevisionID, KeyID: p.KeyID, Tier: p.Tier, Program: p.Program, ProposedBy: p.ProposedBy,
		Labels: labels, Details: details,
	}
	event := &events.MemoryAutoKept{Revised: draft.revise(env.NewID(2)), Labels: events.Hide(labels)}
	claim := recall.Claim{Origin: p.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(draft, labels, claim, env.Now)
	if winner != nil {
		return []events.Event{keptExisting(draft, winner, rule)}
	}
	return append([]events.Event{p, event}, s.supersede(superseded, p.MemoryID, rule, env, 3)...)
}

func inferred(o events.Origin) bool {
	return o == events.OriginModelInferred || o == events.OriginSummarizedFromSession
}

// tookBack reports whether the member forgot the same fact and the forget isn't final yet. Kept ahead again, an undo would undo
// nothing: it is asked instead.
func (s *State) tookBack(prints events.Prints) bool {
	for _, id := range s.ByText[prints.Text] {
		if e := s.Entries[id]; e.Details.Prints.Fact == prints.Fact && e.ForgetAt != nil {
			return true
		}
	}
	return false
}
