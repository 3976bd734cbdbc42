package log

import (
	"fmt"
	"strings"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

// subjectOf is the aggregate's literal subject, once organisation and id are fit to stand in it (spec 9.2).
func subjectOf(org string, a events.Aggregate) (string, error) {
	if err := checkOrganisation(org); err != nil {
		return "", err
	}
	subject := events.Subject(org, a)
	_, parsed, err := events.ParseSubject(subject)
	if err != nil || parsed != a {
		return "", fmt.Errorf("%w: no aggregate's subject", ErrRefused)
	}
	switch a.Kind {
	case events.AggregateMember, events.AggregateSession:
		err = boundary.UUID("aggregate", string(a.ID))
	case events.AggregateRole:
		err = boundary.Slug("aggregate", string(a.ID))
	}
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return subject, nil
}

func checkOrganisation(org string) error {
	if err := boundary.Slug("organisation", org); err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return nil
}

func checkAccessSubject(org, subject string) error {
	if err := checkOrganisation(org); err != nil {
		return err
	}
	switch subject {
	case events.RecallSubject(org), briefSubject(org):
		return nil
	}
	return fmt.Errorf("%w: no access subject of organisation %s", ErrRefused, org)
}

func briefSubject(org string) string { return "iris.access." + org + ".brief" }

// checkStream accepts the streams that this package creates. An organisation "access" or "inbox" can't exist, and a slug holds
// no underscore, so the three forms never meet.
func checkStream(stream string) error {
	if stream == events.InboxStream {
		return nil
	}
	org, ok := strings.CutPrefix(stream, "IRIS_ACCESS_")
	if !ok {
		org, ok = strings.CutPrefix(stream, "IRIS_")
	}
	if !ok || org != strings.ToUpper(org) || boundary.Slug("stream", strings.ToLower(org)) != nil {
		return fmt.Errorf("%w: no stream of Iris", ErrRefused)
	}
	return nil
}

// checkLedger accepts what can be followed. The inbox is a work queue: following it would be reading past its consumer.
func checkLedger(stream string) error {
	if stream == events.InboxStream {
		return fmt.Errorf("%w: the inbox is no ledger", ErrRefused)
	}
	return checkStream(stream)
}

func checkFence(body []byte) error {
	if len(body) > MaxFence {
		return fmt.Errorf("%w: a fence of %d bytes, at most %d", ErrTooLarge, len(body), MaxFence)
	}
	return checkBody(body)
}

func checkBody(body []byte) error {
	if len(body) > MaxBody {
		return fmt.Errorf("%w: %d bytes of at most %d", ErrTooLarge, len(body), MaxBody)
	}
	if len(body) == 0 {
		return fmt.Errorf("%w: an empty body", ErrRefused)
	}
	return nil
}
