package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"iris.example/iris/events"
	"iris.example/iris/events/log"
)

// decode opens the messages above position, in order. It returns those before the first that fails, and how that one failed.
// What was delivered again is dropped.
func (l *Line) decode(ctx context.Context, position uint64, messages []log.Message) ([]events.Commit, error) {
	commits := make([]events.Commit, 0, len(messages))
	for _, message := range messages {
		if message.Sequence <= position {
			continue
		}
		commit, err := l.decodeOne(ctx, message)
		if err != nil {
			return commits, err
		}
		commits = append(commits, commit)
		position = message.Sequence
	}
	return commits, nil
}

func (l *Line) decodeOne(ctx context.Context, message log.Message) (events.Commit, error) {
	commit, err := l.config.Decoder.Decode(ctx, message.Sequence, message.Body)
	if err == nil && !l.belongs(message.Subject, commit) {
		err = ErrForeign
	}
	if err == nil {
		return commit, nil
	}
	err = fmt.Errorf("decode %s at %d: %w", l.config.Stream, message.Sequence, err)
	if poisonous(err) {
		err = fmt.Errorf("%w: %w", ErrPoison, err)
	}
	return events.Commit{}, err
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

// poisonous tells what the commit itself is wrong with from keys that can't be asked just now. A key that isn't there stops the
// line too: what was erased is known by the erasure ledger, anything else is a loss (spec 5.3).
func poisonous(err error) bool {
	for _, cause := range []error{
		events.ErrMalformed, events.ErrUnknownType, events.ErrContract, events.ErrTampered, events.ErrKeyUnavailable, ErrForeign,
	} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}
