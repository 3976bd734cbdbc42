package engine

// Place numbers the events of a commit as they come. A commit is never split between transactions, so that each transaction begins
// with a new one.
type Place struct {
	position uint64
	ordinal  int
}

// Next is the place among the events of its commit of the next event, which stands at position; the first is 0.
func (p *Place) Next(position uint64) (ordinal int) {
	if p.ordinal++; position != p.position {
		p.position, p.ordinal = position, 0
	}
	return p.ordinal
}
