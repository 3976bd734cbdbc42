package api

import (
	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recalls"
)

func (a *API) propose(c *call) (answer, error) {
	var in acts.Proposal
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	return a.proposed(c, in)
}

// proposed answers a recorded refusal as a problem with its position; a suppressed claim is no error, it has its warnings.
func (a *API) proposed(c *call, p acts.Proposal) (answer, error) {
	claim, err := a.cfg.Acts.Propose(c.ctx, c.caller, c.request, p)
	if err != nil {
		return answer{}, err
	}
	if claim.Outcome == events.OutcomeRejected {
		return answer{}, &rejected{aggregates.Refuse(claim.Reason, "spec 10.1"), claim.Position, claim.ProposalID}
	}
	return claimOf(claim), nil
}

func (a *API) claimOutcome(c *call) (answer, error) {
	claim, err := a.cfg.Acts.ClaimOutcome(c.ctx, c.caller, c.id)
	return claimOf(claim), err
}

func (a *API) claimOutcomeByID(c *call) (answer, error) {
	claim, err := a.cfg.Acts.ClaimOutcomeByID(c.ctx, c.caller, c.query.Get("claim"))
	return claimOf(claim), err
}

func claimOf(claim acts.ClaimAnswer) answer {
	return answer{position: claim.Position, body: claimAnswer{claim.ProposalID, claim.Outcome, claim.Reason, claim.Warnings}}
}

func (a *API) recall(c *call) (answer, error) {
	var in acts.Question
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.Recall(c.ctx, c.caller, c.request, in)
	if err != nil {
		return answer{}, err
	}
	return answer{body: recallOf(found)}, nil
}

// usedAnswer says how many the report counted: each once per recall.
type usedAnswer struct {
	RecallID events.ID `json:"recallId"`
	Counted  int       `json:"counted"`
}

func (a *API) used(c *call) (answer, error) {
	var in acts.UsedMemories
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Used(c.ctx, c.caller, c.request, c.id, in)
	return answer{position: done.Position, body: usedAnswer{c.id, done.Counted}}, err
}

func recallOf(found recalls.Answer) recallAnswer {
	envelope, result := found.Envelope, found.Result
	body := recallAnswer{
		RecallID: envelope.RecallID, AsOf: envelope.AsOf, Heads: envelope.Heads, Engine: envelope.Engine, Policy: policyOf(envelope),
		Entries: []recallEntry{}, ResultSHA256: envelope.ResultSHA256,
		Audit: recallAudit{envelope.Ask.Plain.ScopeKey, result.ReturnedIDs, result.EvaluatedCount, result.SuppressionCounts},
	}
	for _, e := range result.Entries {
		entry := recallEntry{
			MemoryID: e.MemoryID, RevisionID: e.RevisionID, Body: e.Body, Category: e.Category, ScopeKey: e.ScopeKey, Tier: e.Tier,
			ProvenanceChain: e.ProvenanceChain,
		}
		if result.RationaleVisible {
			entry.Score, entry.Factors, entry.SurfaceRationale = e.Score, &e.Factors, e.SurfaceRationale
		}
		body.Entries = append(body.Entries, entry)
	}
	return body
}

func policyOf(envelope *events.RecallResolved) policyRef {
	return policyRef{policy.ID, envelope.PolicyVersion, envelope.PolicySHA256}
}

func (a *API) replay(c *call) (answer, error) {
	proof, err := a.cfg.Acts.ProveRecall(c.ctx, c.caller, c.id)
	if err != nil {
		return answer{}, err
	}
	recorded := proof.Recorded
	body := replayAnswer{
		RecallID: recorded.RecallID, Result: proof.Result, Matches: proof.Result == recalls.Verified, Recorded: recorded.ResultSHA256,
		Recomputed: proof.Recomputed, Erased: []events.ID{}, Heads: recorded.Heads, AsOf: recorded.AsOf, Engine: recorded.Engine,
		Policy: policyOf(recorded),
	}
	if proof.Reason != "" {
		body.Reason = &proof.Reason
	}
	return answer{body: body}, nil
}
