package reader

import "iris.example/iris/events"

// Below reports whether k lies behind other in a list that is newest first.
func (k Key) Below(other Key) bool {
	return k.Position < other.Position || k.Position == other.Position && k.ID < other.ID
}

// Of is the page of a list that somebody has whole, newest first by its keys, and where the next page begins. A key that never
// changes shows each item on one page, whatever is added meanwhile.
func Of[T any](p Page, newestFirst []T, key func(T) Key) ([]T, *Key) {
	start, from := p.Start(), 0
	for from < len(newestFirst) && !key(newestFirst[from]).Below(start) {
		from++
	}
	rest := newestFirst[from:]
	return Cut(p, rest[:min(len(rest), p.Ask())], key)
}

// KeyOf places what has a name in place of an id.
func KeyOf(position uint64, name string) Key { return Key{position, events.ID(name)} }
