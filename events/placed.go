package events

import (
	"context"
	"fmt"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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

// JSON is what a read model stores of p, written without a detour; nil of nothing.
func (p *Placed) JSON() []byte {
	if p == nil {
		return nil
	}
	b := make([]byte, 0, 512+len(p.Sealed.Box))
	for _, member := range [...]struct{ name, value string }{
		{`{"field":`, p.Field},
		{`,"key":{"organisation":`, p.Key.Organisation}, {`,"class":`, string(p.Key.Class)}, {`,"member":`, string(p.Key.Member)},
		{`,"tier":`, string(p.Key.Tier)}, {`,"row":`, string(p.Key.Row)}, {`,"entry":`, p.Key.Entry},
		{`},"aggregate":{"kind":`, string(p.Aggregate.Kind)}, {`,"id":`, string(p.Aggregate.ID)},
		{`},"event":`, string(p.Event)}, {`,"previous":`, strconv.FormatUint(p.Previous, 10)},
		{`,"sealed":{"box":`, p.Sealed.Box}, {`,"commitment":`, p.Sealed.Commitment}, {`,"key":`, p.Sealed.Key},
	} {
		b = append(b, member.name...)
		b, _ = jsontext.AppendQuote(b, member.value) // of invalid UTF-8, which no event has, it says so and writes a replacement
	}
	return append(b, `}}`...)
}
