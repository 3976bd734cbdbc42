package session

import (
	"iris.example/iris/events"
	"iris.example/iris/screening"
)

// ReasonInjection counts what the screening drops whenever text leaves for an assistant (spec 1.7).
const ReasonInjection = "injection-suspected"

// Context is what an assistant goes on with: history and items, as far as they may leave now.
type Context struct {
	History  []Said
	Items    []Item
	Withheld map[string]int // how much was held back, by reason
}

// Said is a turn with its number.
type Said struct {
	Number int
	Turn
}

// Hydrate screens all of it once more, with the patterns of now: what was let in before a pattern was known doesn't leave after it
// (spec 1.7). withholds says what the member's book holds back; empty: nothing.
func (s *State) Hydrate(screen *screening.Screen, withholds func(events.Category) string) Context {
	c := Context{History: []Said{}, Items: []Item{}, Withheld: map[string]int{}}
	for i, turn := range s.Turns {
		if _, found := screen.Text(turn.Text); len(found) > 0 || len(turn.Patterns) > 0 {
			c.Withheld[ReasonInjection]++
			continue
		}
		c.History = append(c.History, Said{i + 1, turn})
	}
	for _, item := range s.Items {
		if why := heldBack(item, screen, withholds); why != "" {
			c.Withheld[why]++
			continue
		}
		c.Items = append(c.Items, item)
	}
	return c
}

func heldBack(item Item, screen *screening.Screen, withholds func(events.Category) string) string {
	if why := withholds(item.Category); why != "" {
		return why
	}
	for _, text := range []string{item.Body, item.Subject} {
		if _, found := screen.Text(text); len(found) > 0 {
			return ReasonInjection
		}
	}
	return ""
}

// Withhold is a context of which nothing may leave, for one reason.
func (s *State) Withhold(reason string) Context {
	c := Context{History: []Said{}, Items: []Item{}, Withheld: map[string]int{}}
	if n := len(s.Turns) + len(s.Items); n > 0 {
		c.Withheld[reason] = n
	}
	return c
}
