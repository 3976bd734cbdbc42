package schemas_test

import "iris.example/iris/events"

func filledOfSharing(typ events.Type) events.Event {
	shared := events.Shared{
		MemoryID: someID, KeyID: otherID, Tier: events.TierIndividual, Role: "reviewer",
		Link: events.Hide(events.ShareLink{CandidateID: someID, ContributionID: otherID}),
	}
	switch typ {
	case events.TypeShareProposed:
		return &events.ShareProposed{Shared: shared, RevisionID: otherID}
	case events.TypeShareWithdrawn:
		return &events.ShareWithdrawn{Shared: shared}
	case events.TypeCurationAccepted:
		return &events.CurationAccepted{Role: "reviewer", CandidateID: someID}
	}
	return &events.CurationConfirmed{Role: "reviewer", CandidateID: someID, VersionID: otherID}
}

func filledOfRole(typ events.Type) events.Event {
	before := events.ID(otherID)
	switch typ {
	case events.TypeCandidateSubmitted:
		return &events.CandidateSubmitted{
			CandidateID: someID, KeyID: otherID, Kind: events.KindLesson, ContributionID: otherID,
			Body: events.Hide("Checks the units first."), Labels: events.Hide(events.CandidateLabels{Category: events.CategoryWork}),
		}
	case events.TypeCandidateSeconded:
		return &events.CandidateSeconded{CandidateID: someID, ContributionID: otherID}
	case events.TypeCandidateAccepted:
		return &events.CandidateAccepted{CandidateID: someID}
	case events.TypeCandidateRejected:
		return &events.CandidateRejected{CandidateID: someID}
	case events.TypeCandidateReopened:
		return &events.CandidateReopened{CandidateID: someID}
	case events.TypeContributionWithdrawn:
		return &events.ContributionWithdrawn{CandidateID: someID, ContributionIDs: []events.ID{otherID}}
	case events.TypeVersionPublished:
		return &events.VersionPublished{VersionID: someID, CandidateID: otherID, Kind: events.KindLesson, Supersedes: &before, ContributionIDs: []events.ID{otherID}}
	}
	return &events.VersionRetired{VersionID: someID, CandidateID: otherID}
}
