package member

import (
	"cmp"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
)

// accept is the member's yes: the draft becomes revision 2, active, under consents that are granted before or in the same
// commit. Without them nothing changes (spec 1.5, 2.2).
func accept(s *State, c Accept, env aggregates.Env) ([]events.Event, error) {
	draft, err := s.pending(c.ProposalID, env.Now)
	if err != nil {
		return nil, err
	}
	if !s.In(draft.Program) {
		return nil, aggregates.Refuse("not_in_program", "spec 1.1")
	}
	kept, err := keptAs(draft, c, env)
	if err != nil {
		return nil, err
	}
	if err := s.mayWrite(draft.Program, kept.labels, draft.ProposedBy, env); err != nil {
		return nil, err
	}
	grants, err := grantAll(s, c.Consents, env)
	if err != nil {
		return nil, err
	}
	if err := s.consented(kept, grants, env); err != nil {
		return nil, err
	}
	kept.labels.Consents = s.entryConsents(required(kept.labels, kept.details, env), grants)

	event := &events.MemoryKept{
		Revised: draft.revise(env.NewID(1)), Origin: keptOrigin(draft.Origin), Edited: kept.body != nil, Labels: events.Hide(kept.labels),
	}
	if kept.body != nil {
		body := events.Hide(*kept.body)
		event.Body = &body
	}
	if kept.details.Prints != draft.Details.Prints {
		details := events.Hide(kept.details)
		event.Details = &details
	}
	claim := recall.Claim{Origin: event.Origin, At: env.Now, RevisionID: event.RevisionID}
	superseded, winner, rule := s.conflict(draft, kept.labels, claim, env.Now)
	if winner != nil {
		return append(grants, keptExisting(draft, winner, rule)), nil
	}
	return append(append(grants, event), s.supersede(superseded, event.MemoryID, rule, env, 2)...), nil
}

// kept is a draft as the member's answer makes it. body is nil where the text stays as it was proposed.
type kept struct {
	body    *string
	labels  events.Labels
	details events.Details
}

func keptAs(draft *Entry, c Accept, env aggregates.Env) (kept, error) {
	k := kept{labels: keptScope(draft.Labels), details: draft.Details}
	if c.Scope != nil && *c.Scope != k.labels.Scope {
		if *c.Scope != draft.Labels.Scope {
			return kept{}, aggregates.Refuse("scope_invalid", "spec 1.5")
		}
		k.labels.Scope, k.labels.AdapterScope = draft.Labels.Scope, draft.Labels.AdapterScope
	}
	if c.Category != nil {
		if !c.Category.Valid() {
			return kept{}, aggregates.Refuse("category_unknown", "spec 1.4")
		}
		k.labels.Category = *c.Category
	}
	text := draft.Body
	if c.Body != nil {
		clean, err := env.Screen.Body(*c.Body)
		if err != nil {
			return kept{}, refusedText(err)
		}
		if clean != draft.Body {
			text, k.body = clean, &clean
		}
	}
	if k.body != nil || k.labels.Category != draft.Labels.Category {
		k.details.Prints = prints(env, k.labels, text)
	}
	return k, nil
}

// keptScope: what was proposed in a session is kept in the profile unless the member says otherwise (spec 1.5).
func keptScope(labels events.Labels) events.Labels {
	if labels.Scope.Kind == events.ScopeSession {
		labels.Scope = events.Scope{Kind: events.ScopeProfile}
		labels.AdapterScope = events.AdapterAssistantProfile
	}
	return labels
}

// keptOrigin: what a member accepts becomes user-confirmed; an import stays imported (spec 1.2).
func keptOrigin(proposed events.Origin) events.Origin {
	if proposed == events.OriginImported {
		return proposed
	}
	return events.OriginUserConfirmed
}

func (s *State) consented(k kept, grants []events.Event, env aggregates.Env) error {
	missing := s.Missing(required(k.labels, k.details, env), env.Now)
	missing = slices.DeleteFunc(missing, func(key events.ConsentKey) bool { return granted(grants, key) != nil })
	if len(missing) > 0 {
		return &aggregates.Refusal{Code: "consent_required", Rule: "spec 2.2", Missing: missing}
	}
	return nil
}

func granted(grants []events.Event, key events.ConsentKey) *events.ConsentRecord {
	for _, g := range grants {
		if grant, ok := g.(*events.ConsentGranted); ok && grant.Record.Plain.Key == key {
			return &grant.Record.Plain
		}
	}
	return nil
}

// entryConsents are the consents that the revision rests on, as they stand now.
func (s *State) entryConsents(keys []events.ConsentKey, grants []events.Event) []events.EntryConsent {
	consents := []events.EntryConsent{}
	for _, key := range keys {
		record := granted(grants, key)
		if record == nil {
			record = &s.Consents[key].Record
		}
		consents = append(consents, events.EntryConsent{Key: key, GrantedAt: record.At, Source: record.Source})
	}
	return consents
}

// conflict finds the kept entries with the claim's conflict key and lets the rules of spec 1.6 decide. Either the claim loses
// to winner, or it supersedes all of losers; rule is the one that decided.
func (s *State) conflict(draft *Entry, labels events.Labels, claim recall.Claim, now events.Time) (losers []*Entry, winner *Entry, rule string) {
	if labels.Subject == "" {
		return nil, nil, ""
	}
	about := recall.ConflictKey(labels.Category, draft.actorHandle(), labels.Subject)
	for _, id := range s.ByAbout[about] {
		e := s.Entries[id]
		if id == draft.MemoryID || !e.Kept(now) || !sameNamespace(e, draft) || e.Labels.Scope != labels.Scope || e.about() != about {
			continue
		}
		won, by := recall.Conflict(claim, recall.Claim{Origin: e.Origin, At: e.UpdatedAt, RevisionID: e.RevisionID})
		if rule = by; won != 0 {
			return nil, e, by
		}
		losers = append(losers, e)
	}
	slices.SortFunc(losers, func(a, b *Entry) int { return cmp.Compare(a.MemoryID, b.MemoryID) })
	return losers, nil, rule
}

// sameNamespace: within one book that is the tier, and the program where the tier is the program's (spec 1.2).
func sameNamespace(a, b *Entry) bool {
	return a.Tier == b.Tier && (a.Tier == events.TierPerson || a.Program == b.Program)
}

func (s *State) supersede(losers []*Entry, winner events.ID, rule string, env aggregates.Env, firstID int) []events.Event {
	var all []events.Event
	for i, e := range losers {
		all = append(all, &events.MemorySuperseded{Revised: e.revise(env.NewID(firstID + i)), Rule: rule, Winner: winner})
	}
	return all
}

// keptExisting: a write that loses is no error (spec 1.6). The draft ends; what stood stays.
func keptExisting(draft, winner *Entry, rule string) events.Event {
	return &events.ProposalRefused{
		ProposalID: draft.MemoryID, Outcome: events.OutcomeKeptExisting, Reason: rule, ProposedBy: draft.ProposedBy,
		Notes: events.Hide(filled(events.RefusalNotes{Category: draft.Labels.Category, Existing: winner.MemoryID})),
	}
}

func decline(s *State, c Decline, env aggregates.Env) ([]events.Event, error) {
	draft, err := s.pending(c.ProposalID, env.Now)
	if err != nil {
		return nil, err
	}
	event := &events.ProposalDeclined{Revised: draft.revise(env.NewID(1)), AskAgain: c.AskAgain}
	if !c.AskAgain {
		event.Print = events.Hide(draft.Details.Prints.Fact)
	}
	return []events.Event{event}, nil
}

// pending finds a draft that can still be answered.
func (s *State) pending(id events.ID, now events.Time) (*Entry, error) {
	e, ok := s.Entries[id]
	switch {
	case !ok:
		return nil, aggregates.Refuse("proposal_unknown", "spec 10.2")
	case e.Lifecycle != events.LifecycleDraft:
		return nil, aggregates.Refuse("proposal_answered", "spec 1.5")
	case !e.Living(now):
		return nil, aggregates.Refuse("proposal_lapsed", "spec 1.5")
	}
	return e, nil
}

func (e *Entry) revise(revision events.ID) events.Revised {
	return events.Revised{
		MemoryID: e.MemoryID, RevisionID: revision, PreviousRevisionID: e.RevisionID, KeyID: e.KeyID, Tier: e.Tier,
	}
}
