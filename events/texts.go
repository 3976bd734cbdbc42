package events

import (
	"context"
	"fmt"
	"slices"
)

// Texts opens the bodies that carry these commitments, in commits of one aggregate, and nothing else of them: what was erased
// beside them isn't touched. What isn't found is left out. It is for a state that knows where its texts stand without holding them.
func (c Codec) Texts(ctx context.Context, bodies []Stored, wanted map[string]bool) (map[string]string, error) {
	found := make([][]Placed, len(bodies))
	err := spread(len(bodies), func(i int) error {
		commit, _, err := Read(bodies[i].Position, bodies[i].Body)
		for _, e := range commit.Events {
			if body, ok := e.Placed()["body"]; ok && wanted[body.Sealed.Commitment] {
				found[i] = append(found[i], body)
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	placed := slices.Concat(found...)
	if warmer, ok := c.Keys.(Warmer); ok && len(placed) > 1 {
		rows := make([]ID, len(placed))
		for i, p := range placed {
			rows[i] = p.Key.Row
		}
		if err := warmer.Warm(ctx, placed[0].Key.Organisation, placed[0].Aggregate.ID, rows); err != nil {
			return nil, fmt.Errorf("fetch %d keys: %w", len(rows), err)
		}
	}
	opened := make([]string, len(placed))
	err = spread(len(placed), func(i int) (err error) {
		opened[i], err = openPlaced[string](ctx, c.Keys, placed[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	texts := make(map[string]string, len(placed))
	for i, p := range placed {
		texts[p.Sealed.Commitment] = opened[i]
	}
	return texts, nil
}
