package api

import (
	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/proposals"
)

func (a *API) pending(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.PendingProposalsBy(c.ctx, c.caller, proposals.Filter{
		Program: c.query.Get("program"), Category: events.Category(c.query.Get("category")), By: c.query.Get("proposedBy"),
	}, page)
	return answer{body: list[acts.Pending]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) accept(c *call) (answer, error) {
	var in acts.Acceptance
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	kept, err := a.cfg.Acts.Accept(c.ctx, c.caller, c.request, c.id, in)
	return answer{position: kept.Position, body: keptOf(kept)}, err
}

func (a *API) decline(c *call) (answer, error) {
	var in acts.Refusal
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Decline(c.ctx, c.caller, c.request, c.id, in)
	return answer{position: done.Position, body: declinedAnswer{c.id, "declined"}}, err
}

func (a *API) memories(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.Memories(c.ctx, c.caller, memories.Filter{
		Tier: events.Tier(c.query.Get("tier")), Program: c.query.Get("program"), Category: events.Category(c.query.Get("category")),
		Lifecycle: events.Lifecycle(c.query.Get("lifecycle")), Forgotten: c.query.Get("forgotten") == "true", AutoKept: c.query.Get("autoKept") == "true",
	}, c.query.Get("q"), page)
	return answer{body: list[acts.Memory]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) memory(c *call) (answer, error) {
	found, err := a.cfg.Acts.Memory(c.ctx, c.caller, c.id)
	return answer{revision: found.RevisionID, body: found}, err
}

// remember answers Unchanged where the words added nothing: what stands already is no error to the member (spec 1.6, 1.8).
func (a *API) remember(c *call) (answer, error) {
	var in acts.Words
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	kept, err := a.cfg.Acts.Remember(c.ctx, c.caller, c.request, in)
	done := answer{position: kept.Position, body: keptOf(kept)}
	if kept.Outcome != events.OutcomeKept {
		done.status = c.route.Unchanged
	}
	return done, err
}

func keptOf(kept acts.Kept) keptAnswer {
	body := keptAnswer{MemoryID: kept.MemoryID, Outcome: kept.Outcome, Reason: kept.Reason}
	if kept.RevisionID != "" {
		body.RevisionID = &kept.RevisionID
	}
	return body
}

// forget refuses a hard delete rather than do less than was asked for.
func (a *API) forget(c *call) (answer, error) {
	if c.query.Get("mode") == "hard" {
		return answer{}, problems.Refuse("hard_delete_unavailable")
	}
	done, err := a.cfg.Acts.Forget(c.ctx, c.caller, c.request, c.id, c.query.Get("dontAskAgain") == "true")
	return answer{position: done.Position, body: forgottenAnswer{c.id, "forgotten"}}, err
}

func (a *API) consents(c *call) (answer, error) {
	all, err := a.cfg.Acts.Consents(c.ctx, c.caller)
	return answer{body: list[acts.Consent]{Items: all}}, err
}

func (a *API) decide(c *call) (answer, error) {
	var in acts.Decision
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Decide(c.ctx, c.caller, c.request, in)
	return consentAnswerOf(done), err
}

func (a *API) withdraw(c *call) (answer, error) {
	done, err := a.cfg.Acts.Withdraw(c.ctx, c.caller, c.request, c.id)
	return consentAnswerOf(done), err
}

func consentAnswerOf(done acts.ConsentDone) answer {
	r := done.Consent.Record.Plain
	return answer{position: done.Position, body: consentAnswer{
		EventID: done.EventID, Key: r.Key, State: done.State, At: r.At, ExpiresAt: r.ExpiresAt, Fingerprint: r.Fingerprint, SHA256: r.SHA256,
		Terms: termsRef{r.TermsID, r.TermsVersion}, Receipt: done.Receipt,
	}}
}

func (a *API) receipt(c *call) (answer, error) {
	receipt, err := a.cfg.Acts.Receipt(c.ctx, c.caller, c.id)
	return answer{body: receipt}, err
}
