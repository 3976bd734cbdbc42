package member

import (
	"iris.example/iris/aggregates"
	"iris.example/iris/events"
)

// A state that came from a snapshot knows of each text where it stands, and holds it only once somebody has brought it in (spec
// 9.4: sealed snapshots have no bodies). Decide itself never asks whether it does: whoever decides brings in first what Needed says.

// Needed says whose texts a command has to find in the state. False: every entry's. A command that isn't named here is given all
// of them, so that a new one is slow before it is wrong.
func Needed(c Command) (entries []events.ID, known bool) {
	switch c := c.(type) {
	case Register, Propose, StateWords, Decline, Forget, Pause, Resume, Restore, Grant, Deny, Withdraw,
		Join, Leave, GiveRole, TakeRole, GiveInspectionRole, TakeInspectionRole, Remove, Change,
		ChangeSettings, OptOut, LiftDeclined, Reference, ForgetMany, PromoteItem, EndSession:
		return nil, true // texts are known by their prints
	case Accept:
		return []events.ID{c.ProposalID}, true
	case Edit:
		return []events.ID{c.MemoryID}, true
	case Promote:
		return []events.ID{c.MemoryID}, true
	case ProposeShare:
		return []events.ID{c.MemoryID}, true
	case AcceptCandidate, ConfirmCandidate:
		return nil, true
	}
	return nil, false
}

// Lacking lists the texts that the state knows of and doesn't hold.
func (s *State) Lacking(entries []events.ID) []aggregates.Text {
	var lacking []aggregates.Text
	for _, id := range entries {
		if e, ok := s.Entries[id]; ok && e.lacksText() {
			lacking = append(lacking, aggregates.Text{Of: e.MemoryID, Position: e.BodyAt, Commitment: e.BodyCommitment})
		}
	}
	return lacking
}

// LackingAny is Lacking of every entry.
func (s *State) LackingAny() []aggregates.Text {
	var lacking []aggregates.Text
	for _, e := range s.Entries {
		if e.lacksText() {
			lacking = append(lacking, aggregates.Text{Of: e.MemoryID, Position: e.BodyAt, Commitment: e.BodyCommitment})
		}
	}
	return lacking
}

// Fill brings texts in.
func (s *State) Fill(texts map[events.ID]string) {
	for id, text := range texts {
		if e, ok := s.Entries[id]; ok && e.lacksText() {
			e.Body = text
		}
	}
}

// lacksText: no text is empty, and one that was buried stands nowhere.
func (e *Entry) lacksText() bool { return e.Body == "" && e.BodyAt != 0 }

// say gives the entry a text, and where it stands.
func (e *Entry) say(body events.Secret[string], r events.Recorded) {
	e.Body, e.BodyCommitment, e.BodyAt = body.Plain, body.Sealed.Commitment, r.Position
}
