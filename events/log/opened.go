package log

import (
	"context"
	"errors"
	"fmt"

	"iris.example/iris/events"
)

// OpenInbox compares the inbox with what it must be. Like OpenOrganisation it never creates: a process of a deployment has no right
// to, and one that isn't there was never made, or lost.
func (l *JetStream) OpenInbox(ctx context.Context) error {
	return l.open(ctx, l.inboxStream())
}

// LastCommit is the newest commit on an organisation's stream, whatever fences stand behind it; ErrNotFound when there is none.
func (l *JetStream) LastCommit(ctx context.Context, org string) (last Message, err error) {
	if err := checkOrganisation(org); err != nil {
		return Message{}, err
	}
	found := false
	for _, subject := range []string{events.Subject(org, events.Organisation()), "iris.org." + org + ".*.*"} {
		m, err := l.leaderGet(ctx, events.StreamFor(org), getRequest{LastFor: subject})
		if errors.Is(err, ErrNotFound) {
			continue
		}
		if err != nil {
			return Message{}, err
		}
		found = true
		if m.Sequence > last.Sequence {
			last = m
		}
	}
	if !found {
		return Message{}, fmt.Errorf("read the last commit of %s: %w", org, ErrNotFound)
	}
	return last, nil
}
