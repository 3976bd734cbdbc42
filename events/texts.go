package events

import (
	"context"
	"fmt"
)

// Texts opens the bodies that carry these commitments, in commits of one aggregate, and nothing else of them: what was erased
// beside them isn't touched. What isn't found is left out. It is for a state that knows where its texts stand without holding them.
func (c Codec) Texts(ctx context.Context, bodies []Stored, wanted map[string]bool) (map[string]string, error) {
	var placed []Placed
	var rows []ID
	var at Commit
	for _, b := range bodies {
		var err error
		if at, _, err = Read(b.Position, b.Body); err != nil {
			return nil, err
		}
		for _, e := range at.Events {
			if body, ok := e.Placed()["body"]; ok && wanted[body.Sealed.Commitment] {
				placed, rows = append(placed, body), append(rows, body.Key.Row)
			}
		}
	}
	if warmer, ok := c.Keys.(Warmer); ok && len(rows) > 1 {
		if err := warmer.Warm(ctx, at.Organisation, at.Aggregate.ID, rows); err != nil {
			return nil, fmt.Errorf("fetch %d keys: %w", len(rows), err)
		}
	}
	texts := make(map[string]string, len(placed))
	for _, p := range placed {
		text, err := Open[string](ctx, c.Keys, p)
		if err != nil {
			return nil, err
		}
		texts[p.Sealed.Commitment] = text
	}
	return texts, nil
}
