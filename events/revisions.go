package events

// What a member does to a memory that is kept: each of these mints a further revision, none of them is final (spec 1.2).

const (
	TypeMemoryRevised  Type = "iris.memory.revised.v1"
	TypeMemoryPaused   Type = "iris.memory.paused.v1"
	TypeMemoryResumed  Type = "iris.memory.resumed.v1"
	TypeMemoryRestored Type = "iris.memory.restored.v1"
)

// MemoryRevised is the member's edit. All of the text stands anew, whatever part changed, so that a reader of this event alone
// knows what the memory says.
type MemoryRevised struct {
	Revised
	Origin  Origin          `json:"origin"` // an edit is the member's own act: never an inferred one
	Body    Secret[string]  `json:"body"`
	Labels  Secret[Labels]  `json:"labels"`
	Details Secret[Details] `json:"details"`
}

// MemoryPaused stops a memory from being used. With Until it is suppressed till then and stays active; without, its lifecycle is
// paused until the member resumes it.
type MemoryPaused struct {
	Revised
	Until *Time `json:"until"`
}

// MemoryResumed ends a pause of either sort.
type MemoryResumed struct{ Revised }

// MemoryRestored takes a forget back. Lifecycle is the one that the memory had before it.
type MemoryRestored struct {
	Revised
	Lifecycle Lifecycle `json:"lifecycle"`
}

func (*MemoryRevised) EventType() Type  { return TypeMemoryRevised }
func (*MemoryPaused) EventType() Type   { return TypeMemoryPaused }
func (*MemoryResumed) EventType() Type  { return TypeMemoryResumed }
func (*MemoryRestored) EventType() Type { return TypeMemoryRestored }

func (*MemoryPaused) slots(KeyRef) []slot   { return nil }
func (*MemoryResumed) slots(KeyRef) []slot  { return nil }
func (*MemoryRestored) slots(KeyRef) []slot { return nil }

func (e *MemoryRevised) slots(ref KeyRef) []slot {
	k := e.key(ref)
	return []slot{{"body", k, &e.Body}, {"labels", k, &e.Labels}, {"details", k, &e.Details}}
}
