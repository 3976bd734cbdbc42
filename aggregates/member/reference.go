package member

import (
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// Reference is an assistant's report that it used what a recall returned. Returned is what the recall's envelope says.
type Reference struct {
	RecallID  events.ID
	MemoryIDs []events.ID
	Returned  []events.ID
}

func (Reference) KeysNeeded() int { return 0 }

// reference counts each memory once per recall (spec 1.2). A report that names something else than the recall returned is refused as a
// whole: who reports that has lost track.
func reference(s *State, c Reference) ([]events.Event, error) {
	event := &events.MemoryReferenced{RecallID: c.RecallID, MemoryIDs: []events.ID{}}
	for _, id := range c.MemoryIDs {
		if !slices.Contains(c.Returned, id) {
			return nil, aggregates.Refuse("not_recalled", "spec 10.5")
		}
		if s.Entries[id] != nil && !slices.Contains(s.Used[c.RecallID], id) && !slices.Contains(event.MemoryIDs, id) {
			event.MemoryIDs = append(event.MemoryIDs, id)
		}
	}
	if len(event.MemoryIDs) == 0 {
		return nil, nil
	}
	return []events.Event{event}, nil
}

// referenced counts; it is no revision, and updatedAt stays (spec 1.2).
func (s *State) referenced(e *events.MemoryReferenced) {
	s.Used[e.RecallID] = append(s.Used[e.RecallID], e.MemoryIDs...)
	for _, id := range e.MemoryIDs {
		if entry, ok := s.Entries[id]; ok {
			entry.ReferenceCount++
		}
	}
}
