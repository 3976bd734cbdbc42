package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// item is one message of a batch.
type item struct {
	commit    events.Commit // of poison at least its Position
	aggregate string        // that waits for it, should it be parked
	fence     bool          // no commit: the cursor goes over it
	poison    error         // why it can't be applied; nil: not tried yet
}

// delivery is a batch on its way from the stream to the tables.
type delivery struct {
	items []item
	err   error
}

// ahead reads and opens the next batch while the one before is written. It ends with the first error, or with ctx.
func (l *Line) ahead(ctx context.Context, source Source) <-chan delivery {
	deliveries := make(chan delivery)
	go func() {
		defer close(deliveries)
		for {
			messages, err := source.Next(ctx, l.config.MaxBatch)
			select {
			case deliveries <- delivery{l.openAll(ctx, messages), err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return deliveries
}

// openAll ends after what the line can't pass.
func (l *Line) openAll(ctx context.Context, messages []log.Message) []item {
	items := l.openEach(ctx, messages)
	for n, i := range items {
		if i.poison != nil && !(l.config.Park && errors.Is(i.poison, ErrPoison)) {
			return items[:n+1]
		}
	}
	return items
}

// openEach opens all messages, in one trip to the vault.
func (l *Line) openEach(ctx context.Context, messages []log.Message) []item {
	return l.open(ctx, messages, readEach(l.config.Organisation, messages))
}

// reading is what messages hold before a line opens it: a commit each, but for fences.
type reading struct {
	read []events.Opened
	at   []int // of each, among the messages
}

func readEach(org string, messages []log.Message) reading {
	fence := events.FenceSubject(org)
	var r reading
	var bodies []events.Stored
	for n, message := range messages {
		if message.Subject != fence {
			bodies, r.at = append(bodies, events.Stored{Position: message.Sequence, Body: message.Body}), append(r.at, n)
		}
	}
	r.read = events.ReadEach(bodies)
	return r
}

// of is the reading of the first messages only: of two lines of one stream, one may be read less far.
func (r reading) of(messages []log.Message) reading {
	n, _ := slices.BinarySearch(r.at, len(messages))
	return reading{r.read[:n], r.at[:n]}
}

// open makes the line's items of messages, which were read with those that follow them. What is no commit is a fence.
func (l *Line) open(ctx context.Context, messages []log.Message, all reading) []item {
	r := all.of(messages)
	items := make([]item, len(messages))
	for n, message := range messages {
		items[n].fence, items[n].commit.Position = true, message.Sequence
	}
	for n, opened := range l.config.Decoder.OpenEach(ctx, r.read) {
		items[r.at[n]] = l.judge(messages[r.at[n]], opened.Commit, opened.Err)
	}
	return items
}

// passable are the items above position that can be applied or parked, up to one that the line can't pass yet, and how that one
// failed. What was delivered again is dropped.
func (l *Line) passable(position uint64, items []item) ([]item, error) {
	passable := items[:0]
	for _, i := range items {
		if i.commit.Position <= position {
			continue
		}
		if i.poison != nil && !(errors.Is(i.poison, ErrPoison) && l.exhausted(i.commit.Position)) {
			return passable, i.poison
		}
		passable = append(passable, i)
		position = i.commit.Position
	}
	return passable, nil
}

// judge says of a commit that was opened, or wasn't, whether the line can apply it.
func (l *Line) judge(message log.Message, commit events.Commit, err error) item {
	if err == nil && !l.belongs(message.Subject, commit) {
		err = ErrForeign
	}
	i := item{commit: commit, aggregate: aggregateOf(message, commit, err)}
	i.commit.Position = message.Sequence
	if err != nil {
		i.poison = fmt.Errorf("decode %s at %d: %w", l.config.Stream, message.Sequence, err)
	}
	if poisonous(err) {
		i.poison = fmt.Errorf("%w: %w", ErrPoison, i.poison)
	}
	return i
}

// belongs holds a commit to the subject that it came on: what is inside may not name another member or organisation.
func (l *Line) belongs(subject string, commit events.Commit) bool {
	org := l.config.Organisation
	if commit.Organisation != org {
		return false
	}
	if l.config.Stream == events.AccessStreamFor(org) {
		return strings.HasPrefix(subject, strings.TrimSuffix(events.AccessSubjects(org), ">"))
	}
	return subject == events.Subject(org, commit.Aggregate)
}

// aggregateOf is what the subject says, else what a commit says that could be read, else nobody's but its own.
func aggregateOf(message log.Message, commit events.Commit, err error) string {
	if _, a, parsed := events.ParseSubject(message.Subject); parsed == nil {
		return a.String()
	}
	if commit.Organisation != "" && !errors.Is(err, ErrForeign) {
		return commit.Aggregate.String()
	}
	return fmt.Sprintf("position.%d", message.Sequence)
}

// poisons are what a commit itself can be wrong with, the code that a parked one carries.
func poisons() []error {
	return []error{
		events.ErrMalformed, events.ErrUnknownType, events.ErrContract, events.ErrTampered, events.ErrKeyUnavailable, ErrForeign, ErrInconsistent,
	}
}

// poisonous tells what the commit itself is wrong with from keys that can't be asked just now. A key that isn't there stops the
// line too: what was erased is known by the erasure ledger, anything else is a loss (spec 5.3).
func poisonous(err error) bool { return codeOf(err) != "" }

func codeOf(err error) string {
	for _, cause := range poisons() {
		if errors.Is(err, cause) {
			return cause.Error()
		}
	}
	return ""
}
