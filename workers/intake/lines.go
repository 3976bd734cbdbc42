package intake

import (
	"context"
	"strconv"
	"sync"
)

// lines keep one member's claims behind each other and let everybody else's pass: who is slow, or has many claims, stands in
// nobody's way but for the places that they take. The places are what bounds memory.
type lines struct {
	places chan struct{}

	mu      sync.Mutex          // guards waiting
	waiting map[string][]inHand // a line is there as long as somebody works on it
}

func newLines(places int) *lines {
	return &lines{places: make(chan struct{}, places), waiting: map[string][]inHand{}}
}

// lineOf is the member's, as the claim names them. A claim that names nobody follows on nothing.
func lineOf(c inHand) string {
	m := c.message.Data.Member
	if m == nil {
		return "claim/" + strconv.FormatUint(c.claim.Sequence, 10)
	}
	return c.claim.Organisation + "/" + string(m.ID) + "/" + m.Subject
}

// wait waits for a place, and says whether one was had before the stop. Whoever had it joins, once, and leaves after it.
func (l *lines) wait(ctx context.Context) bool {
	select {
	case l.places <- struct{}{}:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// join stands at the end of a line. begins: nobody works on that line, so whoever joined has to.
func (l *lines) join(of string, next inHand) (begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, worked := l.waiting[of]
	l.waiting[of] = append(waiting, next)
	return !worked
}

// first takes who stands first. Where nobody does the line ends, and the next who joins begins it again.
func (l *lines) first(of string) (next inHand, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting := l.waiting[of]
	if len(waiting) == 0 {
		delete(l.waiting, of)
		return inHand{}, false
	}
	next, waiting[0] = waiting[0], inHand{} // nothing keeps its body
	l.waiting[of] = waiting[1:]
	return next, true
}

func (l *lines) leave() { <-l.places }
