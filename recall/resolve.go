package recall

import (
	"cmp"
	"slices"

	"iris.example/iris/events"
	"iris.example/iris/policy"
)

// Resolve is the pipeline, in the given order (spec 3.1). Candidates may come in any order.
func Resolve(candidates []Candidate, request Request, p *policy.Document, now events.Time) Result {
	r := begin(Select(candidates, request), request, p, now)
	r.gates()
	r.rank()           // 6
	r.dedupe()         // 7: conflict and freshness
	r.cut()            // 8: the surface's budget
	return r.surface() // 9: redaction and audit
}

// gates are the stages that look at labels alone.
func (r *run) gates() {
	r.gate(0, r.admits)       // who may ask at all, under which purposes (spec 1.3)
	r.gate(0, r.unsuspected)  // what the screening found again (spec 1.7)
	r.gate(1, r.withinTenant) // tenant boundary
	r.gate(2, r.reachable)    // scope reachability
	r.gate(3, r.crisisGate)
	r.gate(4, r.unsuppressed) // suppression and lifecycle
	r.gate(5, r.sensitiveGate)
}

// Texts names the candidates whose bodies Resolve reads or says back: what passes the gates, and of a request without a query, which
// ranks by no text, only what is returned. Their bodies may be missing here; those of all others may be missing there.
func Texts(candidates []Candidate, request Request, p *policy.Document, now events.Time) []events.ID {
	if request.Query == "" {
		return Resolve(candidates, request, p, now).ReturnedIDs
	}
	r := begin(Select(candidates, request), request, p, now)
	r.gates()
	ids := make([]events.ID, len(r.alive))
	for i, e := range r.alive {
		ids[i] = e.MemoryID
	}
	return ids
}

// Select keeps what a recall may consider at all, ordered by id (spec 3.1): no drafts, nothing superseded, tombstoned or softly
// forgotten, tier individual of the request's program only, tier role for briefs only. What it leaves out is not counted.
func Select(candidates []Candidate, request Request) []Candidate {
	selected := make([]Candidate, 0, len(candidates))
	for i := range candidates {
		if selectable(&candidates[i], &request) {
			selected = append(selected, candidates[i])
		}
	}
	slices.SortFunc(selected, func(a, b Candidate) int {
		return cmp.Or(cmp.Compare(a.MemoryID, b.MemoryID), cmp.Compare(a.RevisionID, b.RevisionID))
	})
	return selected
}

func selectable(c *Candidate, request *Request) bool {
	if c.ForgetAt != nil || (c.Lifecycle != events.LifecycleActive && c.Lifecycle != events.LifecyclePaused) {
		return false
	}
	switch c.Tier {
	case events.TierIndividual:
		return programOf(c.Program) == programOf(request.Program)
	case events.TierPerson:
		return true
	case events.TierRole:
		return request.Purpose == policy.PurposeBrief
	}
	return false
}

// run is one recall on its way through the stages.
type run struct {
	request  *Request
	policy   *policy.Document
	now      events.Time
	contexts []policy.Context // the request's, with those that its frames add

	all    []ranked  // by id
	alive  []*ranked // what no stage has dropped yet: by id, from stage 6 on by rank
	result Result
}

// ranked is a candidate with what stage 6 gives it, in billionths, and what became of it.
type ranked struct {
	*Candidate
	recency, semantic, references, origin, score int64
	verdict                                      Verdict
}

func begin(selected []Candidate, request Request, p *policy.Document, now events.Time) *run {
	r := &run{
		request: &request, policy: p, now: now, contexts: slices.Clone(request.Contexts),
		all:    make([]ranked, len(selected)),
		alive:  make([]*ranked, len(selected)),
		result: Result{EvaluatedCount: len(selected), SuppressionCounts: map[string]int{}},
	}
	if request.CrisisFrame {
		r.contexts = append(r.contexts, policy.ContextCrisis)
	}
	if request.SafetyCriticalContext {
		r.contexts = append(r.contexts, policy.ContextSafety)
	}
	for i := range selected {
		r.all[i].Candidate = &selected[i]
		r.alive[i] = &r.all[i]
		if selected[i].Organisation != request.Organisation {
			r.result.ForeignOrganisation++
		}
	}
	return r
}

// gate drops and counts every candidate for which reason has an answer.
func (r *run) gate(stage int, reason func(*Candidate) string) {
	r.keep(func(e *ranked) bool {
		why := reason(e.Candidate)
		if why == "" {
			return true
		}
		r.result.SuppressionCounts[why]++
		r.drop(stage, why, e)
		return false
	})
}

func (r *run) keep(stays func(*ranked) bool) {
	alive := r.alive[:0]
	for _, e := range r.alive {
		if stays(e) {
			alive = append(alive, e)
		}
	}
	r.alive = alive
}

func (r *run) drop(stage int, reason string, e *ranked) {
	e.verdict = Verdict{MemoryID: e.MemoryID, Stage: stage, Reason: reason}
}
