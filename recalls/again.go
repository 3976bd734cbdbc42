package recalls

import (
	"sync"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

// Screen says whether a text must not be said to an assistant, by the rules of today (spec 1.7).
type Screen interface {
	Suspicious(text string) bool
}

// suspects screens what would leave, "again on injection" (spec 1.7, given): the rules may have grown since a text was let in. A hit
// is left out before the first stage and it is resolved anew, so that no room is left empty. A member's own data and an inspection
// leave for no assistant.
//
// What was left out stands in the envelope as verdicts of its own, because tomorrow's rules may find something else: Prove takes
// it from there (docs/decisions/screened-again.md).
func (s *Service) suspects(request recall.Request, entries []recall.Entry) (hits []events.ID) {
	if request.Purpose == policy.PurposeDSAR || request.Purpose == policy.PurposeInspection {
		return nil
	}
	for _, e := range entries {
		if s.checked.suspicious(s.Screen, e) {
			hits = append(hits, e.MemoryID)
		}
	}
	return hits
}

// suspectedOf is what an envelope says was left out.
func suspectedOf(found events.RecallFindings) (ids []events.ID) {
	for _, v := range found.Verdicts {
		if v.Stage == 0 && v.Reason == recall.ReasonInjectionSuspected {
			ids = append(ids, v.MemoryID)
		}
	}
	return ids
}

// checked remembers what the screening said of a revision, whose words never change. It holds no text.
type checked struct {
	mu    sync.Mutex
	known map[events.ID]bool
}

// mostChecked bounds the memory that it takes; then it begins anew.
const mostChecked = 1 << 16

func (c *checked) suspicious(screen Screen, e recall.Entry) bool {
	c.mu.Lock()
	hit, ok := c.known[e.RevisionID]
	c.mu.Unlock()
	if ok {
		return hit
	}
	hit = screen.Suspicious(e.Body) || screen.Suspicious(e.Subject) || e.MultiActor != nil && (screen.Suspicious(e.MultiActor.ActorHandle) || screen.Suspicious(e.MultiActor.RelationshipNote))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= mostChecked {
		c.known = map[events.ID]bool{}
	}
	c.known[e.RevisionID] = hit
	return hit
}
