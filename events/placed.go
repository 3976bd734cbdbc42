package events

import (
	"context"
	"fmt"
)

// Placed is a sealed field together with all that it takes to open it away from its event. It is what a read model keeps of a
// text: nothing in it is personal.
type Placed struct {
	Field     string    `json:"field"`
	Key       KeyRef    `json:"key"`
	Aggregate Aggregate `json:"aggregate"`
	Event     ID        `json:"event"`
	Previous  uint64    `json:"previous,string"` // the position that the box is bound to
	Sealed    Sealed    `json:"sealed"`
}

// Placed returns the event's sealed fields by name.
func (r Recorded) Placed() map[string]Placed {
	ref := memberRef(r.Organisation, r.Aggregate)
	placed := map[string]Placed{}
	for _, s := range r.Event.slots(ref) {
		sealed, _ := s.value.sealed()
		placed[s.field] = Placed{s.field, s.key, r.Aggregate, r.ID, r.PreviousSequence, *sealed}
	}
	return placed
}

// Open opens a placed field of type T.
func Open[T any](ctx context.Context, keys Keys, p Placed) (T, error) {
	secret := Secret[T]{Sealed: p.Sealed}
	s := slot{p.Field, p.Key, &secret}
	if err := open(ctx, keys, s, aad(p.Key.Organisation, p.Aggregate, p.Event, s, p.Previous)); err != nil {
		return secret.Plain, fmt.Errorf("event %s: %w", p.Event, err)
	}
	return secret.Plain, nil
}
