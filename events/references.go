package events

// TypeMemoryReferenced says that an assistant used what it recalled (spec 1.2, 10.5).
const TypeMemoryReferenced Type = "iris.memory.referenced.v1"

// MemoryReferenced is one report of an assistant. It names only those memories that it counts: each once per recall. It is no
// revision.
type MemoryReferenced struct {
	RecallID  ID   `json:"recallId"`
	MemoryIDs []ID `json:"memoryIds"`
}

func (*MemoryReferenced) EventType() Type     { return TypeMemoryReferenced }
func (*MemoryReferenced) slots(KeyRef) []slot { return nil }
