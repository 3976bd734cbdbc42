package reader

import (
	"math"

	"iris.example/iris/events"
)

// Key is a row's place in a list, newest first: by position, then id.
type Key struct {
	Position uint64
	ID       events.ID
}

// Page asks for up to Limit rows below Before; nil: from the newest on.
type Page struct {
	Before *Key
	Limit  int
}

// Bounds of a page's size (spec 9.6).
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

const lastID = events.ID("ffffffff-ffff-ffff-ffff-ffffffffffff")

// Size is how many rows the page holds.
func (p Page) Size() int {
	if p.Limit < 1 {
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

// Start is the key that every row of the page lies below.
func (p Page) Start() Key {
	if p.Before == nil {
		return Key{math.MaxInt64, lastID}
	}
	return *p.Before
}

// Ask is how many rows a query fetches: one more than it shows, to know whether there is a next page.
func (p Page) Ask() int { return p.Size() + 1 }

// Cut shortens what Ask fetched to the page and says where the next one begins; nil: there is none.
func Cut[T any](p Page, rows []T, key func(T) Key) ([]T, *Key) {
	if len(rows) <= p.Size() {
		return rows, nil
	}
	rows = rows[:p.Size()]
	next := key(rows[len(rows)-1])
	return rows, &next
}
