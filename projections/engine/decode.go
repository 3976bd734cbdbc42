package engine

import (
	"context"
	"errors"
	"fmt"
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

// decode opens the messages above position, in order. It returns those before the first that fails, and how that one failed.
// What was delivered again is dropped.
func (l *Line) decode(ctx context.Context, position uint64, messages []log.Message) ([]item, error) {
	items := make([]item, 0, len(messages))
	for _, message := range messages {
		if message.Sequence <= position {
			continue
		}
		next, err := l.decodeOne(ctx, message)
		if err != nil {
			return items, err
		}
		items = append(items, next)
		position = message.Sequence
	}
	return items, nil
}

// decodeOne fails on poison unless the line parks, and this was tried often enough.
func (l *Line) decodeOne(ctx context.Context, message log.Message) (item, error) {
	i := l.open(ctx, message)
	switch {
	case i.poison == nil:
		return i, nil
	case !errors.Is(i.poison, ErrPoison), !l.exhausted(message.Sequence):
		return i, i.poison
	}
	return i, nil
}

func (l *Line) open(ctx context.Context, message log.Message) item {
	i := item{fence: message.Subject == events.FenceSubject(l.config.Organisation)}
	if i.fence {
		i.commit.Position = message.Sequence
		return i
	}
	commit, err := l.config.Decoder.Decode(ctx, message.Sequence, message.Body)
	if err == nil && !l.belongs(message.Subject, commit) {
		err = ErrForeign
	}
	i.commit, i.aggregate = commit, aggregateOf(message, commit, err)
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
