package recall

import (
	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Result is what a recall answers and what its envelope records. Of the counts, only the gates' are suppressions: what lost
// a conflict or found no room was not withheld for the member's sake (spec 3.3).
type Result struct {
	Entries           []Entry        `json:"entries"`
	ReturnedIDs       []events.ID    `json:"returnedIds"` // in the order of Entries
	EvaluatedCount    int            `json:"evaluatedCount"`
	SuppressionCounts map[string]int `json:"suppressionCounts"`
	Verdicts          []Verdict      `json:"verdicts"` // one for each candidate evaluated, by id
	RationaleVisible  bool           `json:"rationaleVisible"`
	MultiActorRemoved int            `json:"multiActorRemoved"` // entries that stage 9 took a third person out of
	// ForeignOrganisation counts entries of another organisation among the candidates, whichever stage dropped them. It is zero,
	// or a critical alarm (spec 3.1).
	ForeignOrganisation int `json:"foreignOrganisation"`
}

// Entry is a candidate that is said back.
type Entry struct {
	Candidate
	Score            policy.Decimal `json:"score"`
	Factors          Factors        `json:"factors"`
	SurfaceRationale string         `json:"surfaceRationale"`
}

// Factors are the four that the score is made from, each with nine fractional digits (spec 3.2).
type Factors struct {
	Recency    policy.Decimal `json:"recency"`
	Semantic   policy.Decimal `json:"semantic"`
	References policy.Decimal `json:"references"`
	Origin     policy.Decimal `json:"origin"`
}

// Verdict says what became of a candidate. Stage 0 lies before the nine (spec 1.3).
type Verdict struct {
	MemoryID events.ID `json:"memoryId"`
	Stage    int       `json:"stage"`
	Reason   string    `json:"reason"`
}

// Reasons of verdicts that are no suppression; one that lost a conflict has the rule for its reason.
const (
	ReasonReturned   = "returned" // by stage 9
	ReasonOverBudget = "over-budget"
)

// Returned reports whether the candidate was said back.
func (v Verdict) Returned() bool { return v.Stage == 9 }

// Dropped are the verdicts of what was not returned, by memory: the answer to why (spec 3.3).
func (r Result) Dropped() map[events.ID]Verdict {
	dropped := make(map[events.ID]Verdict)
	for _, v := range r.Verdicts {
		if !v.Returned() {
			dropped[v.MemoryID] = v
		}
	}
	return dropped
}

// Severity of the audit record: warning when anything was suppressed (spec 3.3, given).
func (r Result) Severity() string {
	if len(r.SuppressionCounts) > 0 {
		return "warning"
	}
	return "info"
}

// budget of the request: a ritual resume gets shell's, wherever it is asked (spec 3.1).
func (r *run) budget() policy.Budget {
	if r.request.Purpose == policy.PurposeResume {
		return r.policy.Budget(policy.SurfaceShell)
	}
	return r.policy.Budget(r.request.Surface)
}

// cut is stage 8.
func (r *run) cut() {
	room := r.budget().MaxEntries
	r.keep(func(e *ranked) bool {
		room--
		if room < 0 {
			r.drop(8, ReasonOverBudget, e)
		}
		return room >= 0
	})
}

// surface is stage 9: what leaves is redacted, explained and recorded.
func (r *run) surface() Result {
	r.result.Entries = make([]Entry, 0, len(r.alive))
	r.result.ReturnedIDs = make([]events.ID, 0, len(r.alive))
	r.result.RationaleVisible = r.budget().RationaleVisible
	for _, e := range r.alive {
		r.result.Entries = append(r.result.Entries, r.entry(e))
		r.result.ReturnedIDs = append(r.result.ReturnedIDs, e.MemoryID)
		r.drop(9, ReasonReturned, e)
	}
	r.result.Verdicts = make([]Verdict, len(r.all))
	for i := range r.all {
		r.result.Verdicts[i] = r.all[i].verdict
	}
	return r.result
}

func (r *run) entry(e *ranked) Entry {
	entry := Entry{
		Candidate: *e.Candidate,
		Score:     policy.FromUnits(e.score),
		Factors: Factors{
			Recency: policy.FromUnits(e.recency), Semantic: policy.FromUnits(e.semantic),
			References: policy.FromUnits(e.references), Origin: policy.FromUnits(e.origin),
		},
		SurfaceRationale: r.rationale(e),
	}
	entry.ProvenanceChain = append([]Provenance{}, e.ProvenanceChain...)
	if e.MultiActor != nil && r.request.Surface == policy.SurfaceAdmin && r.request.Purpose != policy.PurposeDSAR {
		entry.MultiActor = nil
		r.result.MultiActorRemoved++
	}
	return entry
}
