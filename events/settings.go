package events

// What a member says once for everything that comes after: settings, opt-outs, and that a declined fact may be proposed again
// (spec 1.5, 1.8, 10.9).

const (
	TypeSettingsChanged Type = "iris.settings.changed.v1"
	TypeOptOutsChanged  Type = "iris.opt-outs.changed.v1"
	TypeDeclinedLifted  Type = "iris.declined.lifted.v1"
)

// SettingsChanged is all of the settings as they stand after it. AutoKeep lists the programs in which claims are kept without
// asking, in order; a program that isn't there asks.
type SettingsChanged struct {
	AutoKeep          []string `json:"autoKeep"`
	ImplicitPromotion bool     `json:"implicitPromotion"`
}

// OptOutKind says what an opt-out switches off.
type OptOutKind string

const (
	OptOutCategory OptOutKind = "category"
	OptOutProducer OptOutKind = "producer" // a producer's slug, or the client that claims over HTTP
	OptOutProgram  OptOutKind = "program"
)

// OptOut is one thing of which nothing is remembered any more.
type OptOut struct {
	Kind OptOutKind `json:"kind"`
	Key  string     `json:"key"`
}

// OptOutsChanged is all of the opt-outs as they stand after it, in order. They are sealed as a whole, kinds and number included,
// under the case key: a delete of everything destroys the register, and an opt-out is meant to outlive that.
type OptOutsChanged struct {
	OptOuts Secret[[]OptOut] `json:"optOuts"`
}

// DeclinedLifted takes a fact out of the register: it may be proposed again. MemoryID names the entry that was declined or
// forgotten.
type DeclinedLifted struct {
	MemoryID ID             `json:"memoryId"`
	Print    Secret[string] `json:"print"`
}

func (*SettingsChanged) EventType() Type { return TypeSettingsChanged }
func (*OptOutsChanged) EventType() Type  { return TypeOptOutsChanged }
func (*DeclinedLifted) EventType() Type  { return TypeDeclinedLifted }

func (*SettingsChanged) slots(KeyRef) []slot { return nil }

func (e *OptOutsChanged) slots(ref KeyRef) []slot {
	ref.Class = KeyCase
	return []slot{{"optOuts", ref, &e.OptOuts}}
}

func (e *DeclinedLifted) slots(ref KeyRef) []slot {
	ref.Class = KeyRegister
	return []slot{{"print", ref, &e.Print}}
}
