package member

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// stateWords keeps the member's own words at once: they are the answer that a proposal waits for (spec 1.5, 10.3).
func stateWords(s *State, c StateWords, env aggregates.Env) ([]events.Event, error) {
	if _, in := s.Programs[c.Program]; !in {
		return nil, aggregates.Refuse("not_in_program", "spec 1.1")
	}
	draft, err := admit(c.Draft, env)
	if err != nil {
		return nil, err
	}
	if err := s.mayWrite(c.Program, draft.labels, events.ProposedBy{}, env); err != nil {
		return nil, err
	}
	if known := s.livingText(draft.details.Prints.Text, env.Now); known != nil {
		return nil, &aggregates.Refusal{Code: "duplicate", Rule: "spec 1.8", Existing: known.MemoryID}
	}
	k := kept{body: &draft.body, labels: draft.labels, details: draft.details}
	if err := s.consented(k, nil, env); err != nil {
		return nil, err
	}
	draft.labels.Consents = s.entryConsents(required(draft.labels, draft.details, env), nil)

	event := &events.MemoryStated{
		Entry: events.Entry{
			MemoryID: env.NewID(0), RevisionID: env.NewID(1), KeyID: env.Keys[0], Tier: c.Tier, Kind: c.Kind, Program: c.Program,
			Origin: events.OriginUserStated, OnBehalfOf: c.OnBehalfOf,
		},
		Body: events.Hide(draft.body), Labels: events.Hide(draft.labels), Details: events.Hide(draft.details),
	}
	asEntry := &Entry{MemoryID: event.MemoryID, Tier: c.Tier, Program: c.Program, Details: draft.details}
	claim := recall.Claim{Origin: event.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(asEntry, draft.labels, claim, env.Now)
	if winner != nil {
		return nil, &aggregates.Refusal{Code: "kept-existing", Rule: rule, Existing: winner.MemoryID}
	}
	return append([]events.Event{event}, s.supersede(superseded, event.MemoryID, rule, env, 2)...), nil
}

// forget hides an entry at once and sets the instant at which it is shredded (spec 1.2). Forgetting what is forgotten is no
// error: the member sees that it is so. What something newer has taken the place of is still the member's text, and can be
// forgotten like the rest; it stays superseded.
func forget(s *State, c Forget, env aggregates.Env) ([]events.Event, error) {
	e, err := s.entry(c.MemoryID)
	if err == nil && c.Program != "" {
		e, err = s.ownIn(c.Program, c.MemoryID)
	}
	switch {
	case err != nil:
		return nil, err
	case e.Forgotten(env.Now):
		return nil, nil
	case !e.Kept(env.Now) && !e.outlived(env.Now):
		return nil, refuseMove()
	}
	forgetAt := plus(env.Now, env.Policy.ForgetGrace())
	event := &events.MemoryForgotten{Revised: e.revise(env.NewID(0)), ForgetAt: forgetAt}
	if c.DontAskAgain {
		event.Print = events.Hide(e.Details.Prints.Fact)
	}
	decided := []events.Event{event}
	if from := s.promotedFrom(e); from != nil && from.outlived(env.Now) && !from.Forgotten(env.Now) {
		decided = append(decided, &events.MemoryForgotten{Revised: from.revise(env.NewID(1)), ForgetAt: forgetAt})
	}
	return decided, nil
}
