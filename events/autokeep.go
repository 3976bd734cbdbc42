package events

// TypeMemoryAutoKept is a yes that the member gave ahead, for a program (spec 1.5).
const TypeMemoryAutoKept Type = "iris.memory.auto-kept.v1"

// MemoryAutoKept follows the proposal in the same commit: revision 2, active. The origin stays what was claimed, because the
// member has not seen the text. Labels stand anew: the scope may change as with every yes, and they name the consents.
type MemoryAutoKept struct {
	Revised
	Labels Secret[Labels] `json:"labels"`
}

func (*MemoryAutoKept) EventType() Type { return TypeMemoryAutoKept }

func (e *MemoryAutoKept) slots(ref KeyRef) []slot {
	return []slot{{"labels", e.key(ref), &e.Labels}}
}
