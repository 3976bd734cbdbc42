package events

// TypeMemoryPromoted takes a memory from one program to the person (spec 1.5).
const TypeMemoryPromoted Type = "iris.memory.promoted.v1"

// MemoryPromoted begins a memory of tier person under a key of its own, and supersedes the one that it came from, so that the
// member sees one memory. Provenance is not copied: the new entry names the old one. Program is where it came from.
type MemoryPromoted struct {
	Entry
	From    Revised         `json:"from"`
	Body    Secret[string]  `json:"body"`
	Labels  Secret[Labels]  `json:"labels"`
	Details Secret[Details] `json:"details"`
}

func (*MemoryPromoted) EventType() Type { return TypeMemoryPromoted }

func (e *MemoryPromoted) slots(ref KeyRef) []slot {
	k := e.key(ref)
	return []slot{{"body", k, &e.Body}, {"labels", k, &e.Labels}, {"details", k, &e.Details}}
}
