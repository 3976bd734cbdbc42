package member

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

// propose decides about a claim. A refusal that is about what was claimed is recorded, without the body; one that only says
// that the claim is malformed is an error to whoever waits for the answer, and recorded when nobody does.
func propose(s *State, c Propose, env aggregates.Env) ([]events.Event, error) {
	draft, err := admitClaim(s, c, env)
	if err != nil {
		return refuseClaim(c, recalledLast(s, c, err, env), env)
	}
	if err := claimIsNews(s, c, draft, env); err != nil {
		return refuseClaim(c, err, env)
	}
	if err := claimMayBeAsked(s, draft, env); err != nil {
		return refuseClaim(c, err, env)
	}
	proposal := &events.ProposalRecorded{
		Entry: events.Entry{
			MemoryID: env.NewID(0), RevisionID: env.NewID(1), KeyID: env.Keys[0], Tier: c.Tier, Kind: c.Kind, Program: c.Program,
			Origin: c.Origin, OnBehalfOf: c.OnBehalfOf,
		},
		ProposedBy: c.ProposedBy, ExpiresAt: lapse(env), PromotionCandidate: c.PromotionCandidate,
		Body: events.Hide(draft.body), Labels: events.Hide(draft.labels), Details: events.Hide(draft.details),
	}
	if kept := keptAhead(s, proposal, env); kept != nil {
		return kept, nil
	}
	return []events.Event{proposal}, nil
}

// recalledLast: the screening knows a recalled block by its prefix before anything else is looked at, but a claim that is opted out is
// told that first (spec 1.8). A block can't have been declined: it never became a proposal.
func recalledLast(s *State, c Propose, err error, env aggregates.Env) error {
	if refusal, ok := aggregates.AsRefusal(err); !ok || refusal.Code != "recalled_text" {
		return err
	}
	labels := events.Labels{Category: c.Category, Scope: c.Scope, AdapterScope: adapterScope(c.Draft)}
	if out := s.mayWrite(c.Program, labels, c.ProposedBy, env); out != nil {
		return out
	}
	return err
}

func admitClaim(s *State, c Propose, env aggregates.Env) (admitted, error) {
	if _, in := s.Programs[c.Program]; !in {
		return admitted{}, aggregates.Refuse("not_in_program", "spec 1.1")
	}
	if !originAdmitted(c.Origin, c.ProposedBy.Consumer) {
		return admitted{}, aggregates.Refuse("origin_not_admitted", "spec 1.2")
	}
	draft, err := admit(c.Draft, env)
	if err != nil {
		return admitted{}, err
	}
	row, ok := env.Policy.ScopeOf(draft.labels.Scope.Kind, draft.labels.AdapterScope)
	if !ok || !row.Allows(c.ProposedBy.Consumer) {
		return admitted{}, aggregates.Refuse("consumer_not_allowed", "spec 1.3")
	}
	return draft, nil
}

// originAdmitted: user-* comes only from the member's own act (spec 1.2).
func originAdmitted(o events.Origin, consumer events.Consumer) bool {
	switch o {
	case events.OriginModelInferred, events.OriginSummarizedFromSession, events.OriginImported:
		return true
	case events.OriginOperatorCopilot:
		return consumer == events.ConsumerAdmin || consumer == events.ConsumerSupport
	}
	return false
}

// claimIsNews tests in the order of spec 1.8, of which the claim's id is the runner's part: opted out, declined before, recalled
// text. A claim can't be user-stated, so a text that the book holds already is always recalled text.
func claimIsNews(s *State, c Propose, draft admitted, env aggregates.Env) error {
	if err := s.mayWrite(c.Program, draft.labels, c.ProposedBy, env); err != nil {
		return err
	}
	if _, declined := s.Declined[draft.details.Prints.Fact]; declined {
		return aggregates.Refuse("declined_before", "spec 1.8")
	}
	if known := s.livingText(draft.details.Prints.Text, env.Now); known != nil {
		return &aggregates.Refusal{Code: "recalled_text", Rule: "spec 1.8", Existing: known.MemoryID}
	}
	return nil
}

// livingText finds the oldest living entry with a text.
func (s *State) livingText(print string, now events.Time) *Entry {
	for _, id := range s.ByText[print] {
		if e := s.Entries[id]; e.Details.Prints.Text == print && e.Living(now) {
			return e
		}
	}
	return nil
}

// claimMayBeAsked: a proposal needs no grant, only that none of its keys was taken back (spec 2.2).
func claimMayBeAsked(s *State, draft admitted, env aggregates.Env) error {
	revoked := s.Revoked(required(draft.labels, draft.details, env), env.Now)
	if len(revoked) == 0 {
		revoked = s.Revoked([]events.ConsentKey{events.ConsentKey(draft.labels.Category)}, env.Now)
	}
	if len(revoked) > 0 {
		return &aggregates.Refusal{Code: "consent_revoked", Rule: "spec 2.2", Missing: revoked}
	}
	return nil
}

// refuseClaim turns a refusal into the record of it, where there is to be one.
func refuseClaim(c Propose, err error, env aggregates.Env) ([]events.Event, error) {
	refusal, ok := aggregates.AsRefusal(err)
	if !ok {
		return nil, err
	}
	outcome := events.OutcomeRejected
	switch refusal.Code {
	case "consent_revoked":
		outcome = events.OutcomeSuppressed
	case "opted_out":
		if len(refusal.Missing) > 0 { // a category is a key of the claim; a producer or program is none (spec 2.2)
			outcome = events.OutcomeSuppressed
		}
	case "injection_suspected", "recalled_text", "declined_before":
	default:
		if !c.ByMessage {
			return nil, err
		}
	}
	notes := events.RefusalNotes{Missing: refusal.Missing, Patterns: refusal.Patterns, Existing: refusal.Existing}
	if c.Category.Valid() {
		notes.Category = c.Category
	}
	return []events.Event{&events.ProposalRefused{
		ProposalID: env.NewID(0), Outcome: outcome, Reason: refusal.Code, ProposedBy: c.ProposedBy, Notes: events.Hide(filled(notes)),
	}}, nil
}

// filled gives empty lists in place of absent ones: one meaning, one form.
func filled(n events.RefusalNotes) events.RefusalNotes {
	if n.Missing == nil {
		n.Missing = []events.ConsentKey{}
	}
	if n.Patterns == nil {
		n.Patterns = []string{}
	}
	return n
}

// Prompt is what a page has to say beside a pending proposal: the consents that a plain yes still needs, the scope it would be
// kept in, and the memory it would replace (spec 1.8, 10.2).
type Prompt struct {
	Missing  []events.ConsentKey
	Scope    events.Scope
	Replaces events.ID
}

// PromptFor looks at a draft as the member would answer it now. False: it can't be answered any more.
func (s *State) PromptFor(id events.ID, p *policy.Document, now events.Time) (Prompt, bool) {
	draft, err := s.pending(id, now)
	if err != nil {
		return Prompt{}, false
	}
	labels := keptScope(draft.Labels)
	prompt := Prompt{
		Missing: s.Missing(p.RequiredConsents(labels.AdapterScope, labels.Category, draft.sensitiveInteraction()), now),
		Scope:   labels.Scope,
	}
	claim := recall.Claim{Origin: keptOrigin(draft.Origin), At: now, RevisionID: draft.RevisionID}
	if losers, _, _ := s.conflict(draft, labels, claim, now); len(losers) > 0 {
		prompt.Replaces = losers[0].MemoryID
	}
	return prompt, true
}
