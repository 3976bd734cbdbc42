package recall

import (
	"cmp"
	"strings"

	"iris.example/iris/events"
)

// Claim is one side of a conflict, at write time and in recall alike (spec 1.6).
type Claim struct {
	Origin     events.Origin
	At         events.Time // the entry's updatedAt, or the instant of the write
	RevisionID events.ID
}

// The rules of a conflict, in the order in which they are asked (spec 1.6, given).
const (
	RuleAdminCopilotNeverTrumps  = "admin-copilot-never-trumps-consumer-stated"
	RuleExplicitTrumpsInferred   = "explicit-user-trumps-inferred"
	RuleConfirmedTrumpsInferred  = "user-confirmed-trumps-inferred"
	RuleMostRecentWins           = "most-recent-wins"
	conflictKeySeparator         = "::"
	conflictKeyEscapedCharacters = `\:`
)

// Source is the tier of a claim's source (spec 1.6).
type Source string

const (
	SourceExplicitUser         Source = "explicit_user"
	SourceUserConfirmed        Source = "user_confirmed"
	SourceModelInferred        Source = "model_inferred"
	SourceAdminCopilotInferred Source = "admin_copilot_inferred"
)

// SourceOf classifies an origin. One that nobody knows gets the source that trumps least.
func SourceOf(origin events.Origin) Source {
	switch origin {
	case events.OriginUserStated, events.OriginImported:
		return SourceExplicitUser
	case events.OriginUserConfirmed:
		return SourceUserConfirmed
	case events.OriginModelInferred, events.OriginSummarizedFromSession:
		return SourceModelInferred
	}
	return SourceAdminCopilotInferred
}

func (s Source) inferred() bool { return s == SourceModelInferred || s == SourceAdminCopilotInferred }

// ConflictKey is what two entries of one namespace and scopeKey have to share to be in conflict. It is empty for an entry
// without a subject, which conflicts with nothing.
func ConflictKey(category events.Category, actorHandle, subject string) string {
	if subject == "" {
		return ""
	}
	return string(category) + conflictKeySeparator + escaped(actorHandle) + conflictKeySeparator + escaped(subject)
}

// escaped keeps a separator inside a handle or a subject from shifting the border between them.
func escaped(part string) string {
	if !strings.ContainsAny(part, conflictKeyEscapedCharacters) {
		return part
	}
	return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(part)
}

// Conflict decides between two claims of one key: the winner is 0 for a, 1 for b, and the rule is the first that speaks. The
// order that it makes is total.
func Conflict(a, b Claim) (winner int, rule string) {
	sourceA, sourceB := SourceOf(a.Origin), SourceOf(b.Origin)
	if sourceA.inferred() == sourceB.inferred() {
		return mostRecent(a, b), RuleMostRecentWins
	}
	stated, inferred := sourceA, sourceB
	if sourceA.inferred() {
		winner, stated, inferred = 1, sourceB, sourceA
	}
	switch {
	case inferred == SourceAdminCopilotInferred:
		return winner, RuleAdminCopilotNeverTrumps
	case stated == SourceExplicitUser:
		return winner, RuleExplicitTrumpsInferred
	}
	return winner, RuleConfirmedTrumpsInferred
}

// mostRecent prefers the later claim; of two at one instant, the greater revision id.
func mostRecent(a, b Claim) int {
	if cmp.Or(a.At.Compare(b.At.Time), cmp.Compare(a.RevisionID, b.RevisionID)) < 0 {
		return 1
	}
	return 0
}

// place is what two entries have to share, beside the conflict key, before they can be in conflict.
type place struct {
	organisation, program, scopeKey, key string
	tier                                 events.Tier
}

func placeOf(c *Candidate, key string) place {
	at := place{organisation: c.Organisation, scopeKey: c.ScopeKey, key: key, tier: c.Tier}
	if c.Tier == events.TierIndividual {
		at.program = programOf(c.Program)
	}
	return at
}

// dedupe is stage 7: of the entries in conflict the winner stays, at its rank.
func (r *run) dedupe() {
	winners := make(map[place]*ranked)
	losers := make(map[*ranked]string)
	for _, e := range r.alive {
		key := ConflictKey(e.Category, e.actorHandle(), e.Subject)
		if key == "" {
			continue
		}
		at := placeOf(e.Candidate, key)
		held, taken := winners[at]
		if !taken {
			winners[at] = e
			continue
		}
		winner, rule := Conflict(held.claim(), e.claim())
		if winner == 0 {
			losers[e] = rule
			continue
		}
		losers[held], winners[at] = rule, e
	}
	r.keep(func(e *ranked) bool {
		rule, lost := losers[e]
		if lost {
			r.drop(7, rule, e)
		}
		return !lost
	})
}

func (c *Candidate) claim() Claim {
	return Claim{Origin: c.Origin, At: c.UpdatedAt, RevisionID: c.RevisionID}
}
