package events

// TypeMemoriesForgotten is a forget of everything that has something in common (spec 1.2, 9.2, 10.9).
const TypeMemoriesForgotten Type = "iris.memories.forgotten.v1"

// MaxSwept is how many entries one event names (spec 9.2).
const MaxSwept = 1000

// SweepKind says what the entries of a sweep have in common.
type SweepKind string

const (
	SweepSource  SweepKind = "source"  // a source ref: "forget everything from this source"
	SweepScope   SweepKind = "scope"   // a scope: the end of a notebook
	SweepProgram SweepKind = "program" // the member's own tier 1 of a program
)

// Sweep says which entries are meant. The fields of the other kinds are empty. All of it is sealed: refs and scope ids are personal.
type Sweep struct {
	Kind    SweepKind `json:"kind"`
	Source  string    `json:"source"`
	Scope   *Scope    `json:"scope"`
	Program string    `json:"program"`
}

// Swept is one entry that a sweep ends and the revision that it makes.
type Swept struct {
	MemoryID   ID `json:"memoryId"`
	RevisionID ID `json:"revisionId"`
}

// MemoriesForgotten is one part of a sweep. The first part hides at once everything that Sweep means, whether it is named there or
// in a later part: it is what is honoured. The parts name the entries one by one, for those who can't open Sweep's labels. SweepID
// is the same in all parts; More says that another follows. Memories are softly forgotten, drafts are over.
type MemoriesForgotten struct {
	SweepID  ID            `json:"sweepId"`
	Part     int           `json:"part"`
	More     bool          `json:"more"`
	ForgetAt Time          `json:"forgetAt"`
	Sweep    Secret[Sweep] `json:"sweep"`
	Memories []Swept       `json:"memories"`
	Drafts   []Swept       `json:"drafts"`
}

func (*MemoriesForgotten) EventType() Type { return TypeMemoriesForgotten }

func (e *MemoriesForgotten) slots(ref KeyRef) []slot {
	ref.Class = KeyCase
	return []slot{{"sweep", ref, &e.Sweep}}
}
