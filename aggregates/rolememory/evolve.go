package rolememory

import (
	"slices"

	"iris.example/iris/events"
)

// Evolve applies an event, in place. It never refuses: what is on the stream happened.
func Evolve(s *State, r events.Recorded) *State {
	switch e := r.Event.(type) {
	case *events.CandidateSubmitted:
		s.Candidates[e.CandidateID] = &Candidate{
			ID: e.CandidateID, KeyID: e.KeyID, Kind: e.Kind, Category: e.Labels.Plain.Category, Findings: e.Labels.Plain.Findings, Body: e.Body.Plain, Stage: StageSubmitted,
			SubmittedAt: r.RecordedAt, ChangedAt: r.RecordedAt, Position: r.Position,
		}
		s.contribute(e.CandidateID, e.ContributionID, r)
	case *events.CandidateSeconded:
		s.contribute(e.CandidateID, e.ContributionID, r)
	case *events.CandidateAccepted:
		if c := s.move(e.CandidateID, StageAccepted, r); c != nil {
			c.AcceptedBy = events.ID(r.Actor.ID)
		}
	case *events.CandidateRejected:
		if c := s.move(e.CandidateID, StageRejected, r); c != nil {
			c.Body = ""
		}
	case *events.CandidateReopened:
		if c := s.move(e.CandidateID, StageReopened, r); c != nil {
			c.AcceptedBy, c.ConfirmedBy = "", ""
		}
	case *events.ContributionWithdrawn:
		s.takeAway(e, r)
	case *events.VersionPublished:
		s.publish(e, r)
	case *events.VersionRetired:
		if v := s.version(e.VersionID); v != nil {
			v.end(r.RecordedAt)
			v.Retired = true
			delete(s.Published, v.Kind)
		}
	}
	return s
}

func (s *State) move(id events.ID, to Stage, r events.Recorded) *Candidate {
	c := s.Candidates[id]
	if c != nil {
		c.Stage, c.ChangedAt = to, r.RecordedAt
	}
	return c
}

func (s *State) contribute(candidate, contribution events.ID, r events.Recorded) {
	c := s.Candidates[candidate]
	if c == nil {
		return
	}
	c.Contributions = append(c.Contributions, contribution)
	c.ChangedAt = r.RecordedAt
	s.ByContribution[contribution] = candidate
}

// takeAway: what never was a version and is offered by nobody any more has no text left.
func (s *State) takeAway(e *events.ContributionWithdrawn, r events.Recorded) {
	c := s.Candidates[e.CandidateID]
	if c == nil {
		return
	}
	for _, id := range e.ContributionIDs {
		delete(s.ByContribution, id)
	}
	c.Contributions = slices.DeleteFunc(c.Contributions, func(id events.ID) bool { return slices.Contains(e.ContributionIDs, id) })
	c.ChangedAt = r.RecordedAt
	if len(c.Contributions) == 0 && (c.Stage == StageSubmitted || c.Stage == StageAccepted) && c.VersionID == "" {
		c.Stage, c.Body = StageWithdrawn, ""
	}
}

func (s *State) publish(e *events.VersionPublished, r events.Recorded) {
	c := s.move(e.CandidateID, StagePublished, r)
	if c == nil {
		return
	}
	c.ConfirmedBy, c.VersionID, c.Supersedes = events.ID(r.Actor.ID), e.VersionID, e.Supersedes
	if before := s.Published[e.Kind]; before != nil {
		before.end(r.RecordedAt)
		if old := s.move(before.CandidateID, StageSuperseded, r); old != nil {
			old.Body = ""
		}
	}
	v := &Version{
		ID: e.VersionID, CandidateID: c.ID, Kind: e.Kind, Supersedes: e.Supersedes, AcceptedBy: c.AcceptedBy, ConfirmedBy: c.ConfirmedBy,
		PublishedAt: r.RecordedAt, Position: r.Position,
	}
	s.Versions = append(s.Versions, v)
	s.Published[e.Kind] = v
}

func (s *State) version(id events.ID) *Version {
	for _, v := range s.Versions {
		if v.ID == id {
			return v
		}
	}
	return nil
}

func (v *Version) end(at events.Time) { v.EndedAt = &at }
