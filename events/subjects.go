package events

import (
	"fmt"
	"strings"
)

// AggregateKind is one of the kinds that have a subject of their own on an organisation's stream (spec 9.2).
type AggregateKind string

const (
	AggregateMember       AggregateKind = "member"
	AggregateOrganisation AggregateKind = "organisation"
	AggregateRole         AggregateKind = "role"
	AggregateSession      AggregateKind = "session"
)

// Aggregate names what decides together. Organisation has no id: there is one on each stream. A member's is a UUID, a role's its key.
type Aggregate struct {
	Kind AggregateKind `json:"kind"`
	ID   ID            `json:"id"`
}

// Member is the aggregate of a member's book.
func Member(id ID) Aggregate { return Aggregate{AggregateMember, id} }

// Role is the aggregate of what everyone who holds a workbench role shares. Its id is the role's key, a slug.
func Role(key string) Aggregate { return Aggregate{AggregateRole, ID(key)} }

// Organisation is the aggregate of an organisation's definitions.
func Organisation() Aggregate { return Aggregate{Kind: AggregateOrganisation} }

// Session is the aggregate of one session of a member's assistant.
func Session(id ID) Aggregate { return Aggregate{AggregateSession, id} }

// String is the CloudEvents subject: member.<id>, or organisation.
func (a Aggregate) String() string {
	if a.ID == "" {
		return string(a.Kind)
	}
	return string(a.Kind) + "." + string(a.ID)
}

// StreamFor is where an organisation's facts live. It is the one place that knows (spec 9.2).
func StreamFor(org string) string { return "IRIS_" + strings.ToUpper(org) }

// AccessStreamFor is where an organisation's recall and brief envelopes live.
func AccessStreamFor(org string) string { return "IRIS_ACCESS_" + strings.ToUpper(org) }

// InboxStream holds what producers claim, of every organisation. It is a work queue and no part of the record.
const InboxStream = "IRIS_INBOX"

// Subject is the one literal subject of an aggregate. Callers check org and id before: nothing here escapes.
func Subject(org string, a Aggregate) string { return "iris.org." + org + "." + a.String() }

// StreamSubjects matches everything on an organisation's stream.
func StreamSubjects(org string) string { return "iris.org." + org + ".>" }

// FenceSubject carries the fences of an organisation's replicated stream. They are no commits: whoever reads the whole stream
// passes them by (spec 2.2, 9.2).
func FenceSubject(org string) string { return "iris.org." + org + ".fence" }

// RecallSubject carries the recall envelopes of an organisation.
func RecallSubject(org string) string { return "iris.access." + org + ".recall" }

// AccessSubjects matches everything on an organisation's access stream.
func AccessSubjects(org string) string { return "iris.access." + org + ".>" }

// ProposedSubject is the one subject that a producer may publish to.
func ProposedSubject(org, producer string) string {
	return "iris.in." + org + "." + producer + ".memory.proposed"
}

// InboxSubjects matches every producer's claims.
const InboxSubjects = "iris.in.*.*.memory.proposed"

// OutcomeSubject is where a producer hears what became of its claims. Core NATS, never stored.
func OutcomeSubject(org, producer string) string { return "iris.out." + org + "." + producer }

// InboxPrefix is the reply prefix of a producer's connection.
func InboxPrefix(org, producer string) string { return "_INBOX_" + org + "_" + producer }

// ParseSubject reads the organisation and aggregate back from a commit's subject.
func ParseSubject(subject string) (org string, a Aggregate, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) < 4 || parts[0] != "iris" || parts[1] != "org" {
		return "", Aggregate{}, fmt.Errorf("%w: a commit's subject", ErrMalformed)
	}
	a.Kind = AggregateKind(parts[3])
	switch {
	case a.Kind == AggregateOrganisation && len(parts) == 4:
	case (a.Kind == AggregateMember || a.Kind == AggregateRole || a.Kind == AggregateSession) && len(parts) == 5:
		a.ID = ID(parts[4])
	default:
		return "", Aggregate{}, fmt.Errorf("%w: a commit's subject", ErrMalformed)
	}
	return parts[2], a, nil
}

// ParseProposedSubject reads organisation and producer back from a claim's subject.
func ParseProposedSubject(subject string) (org, producer string, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 6 || ProposedSubject(parts[2], parts[3]) != subject {
		return "", "", fmt.Errorf("%w: a claim's subject", ErrMalformed)
	}
	return parts[2], parts[3], nil
}
