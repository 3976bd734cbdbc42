package events

// What members share with a workbench role, and what becomes of it (spec 1.5, 1.8). The role's own events name nobody who
// contributed: a contribution is a random id there, and only the contributor's book, sealed, says whose it is. Who curates is named.

// In the member's book.
const (
	TypeShareProposed     Type = "iris.share.proposed.v1"
	TypeShareWithdrawn    Type = "iris.share.withdrawn.v1"
	TypeCurationAccepted  Type = "iris.curation.accepted.v1"
	TypeCurationConfirmed Type = "iris.curation.confirmed.v1"
)

// In the role.
const (
	TypeCandidateSubmitted    Type = "iris.candidate.submitted.v1"
	TypeCandidateSeconded     Type = "iris.candidate.seconded.v1"
	TypeCandidateAccepted     Type = "iris.candidate.accepted.v1"
	TypeCandidateRejected     Type = "iris.candidate.rejected.v1"
	TypeCandidateReopened     Type = "iris.candidate.reopened.v1"
	TypeContributionWithdrawn Type = "iris.contribution.withdrawn.v1"
	TypeVersionPublished      Type = "iris.version.published.v1"
	TypeVersionRetired        Type = "iris.version.retired.v1"
)

// ShareLink ties a memory to what became of it in a role. It stands sealed under the memory's own key: with the memory goes the
// record of who contributed.
type ShareLink struct {
	CandidateID    ID             `json:"candidateId"`
	ContributionID ID             `json:"contributionId"`
	Findings       []ScrubFinding `json:"findings,omitempty"` // in the member's own text: what was taken out of it for the candidate
}

// ScrubFinding is what the scrubber found, and where: code points of a text. It never holds the text.
type ScrubFinding struct {
	Item  string `json:"item"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// Shared names the memory of a share, the key row that seals the link, and the role.
type Shared struct {
	MemoryID ID                `json:"memoryId"`
	KeyID    ID                `json:"keyId"`
	Tier     Tier              `json:"tier"`
	Role     string            `json:"role"`
	Link     Secret[ShareLink] `json:"link"`
}

// ShareProposed says that the member offered a memory, as it stood at a revision, to those who hold a role.
type ShareProposed struct {
	Shared
	RevisionID ID `json:"revisionId"`
}

// ShareWithdrawn takes that back. It stands in the same commit as what caused it, or ahead of it where one hasn't room for all.
type ShareWithdrawn struct{ Shared }

// CurationAccepted says that the member, as a curator, accepted a candidate.
type CurationAccepted struct {
	Role        string `json:"role"`
	CandidateID ID     `json:"candidateId"`
}

// CurationConfirmed says that the member, holding the role at that moment, confirmed a candidate, which became a version.
type CurationConfirmed struct {
	Role        string `json:"role"`
	CandidateID ID     `json:"candidateId"`
	VersionID   ID     `json:"versionId"`
}

func (*ShareProposed) EventType() Type     { return TypeShareProposed }
func (*ShareWithdrawn) EventType() Type    { return TypeShareWithdrawn }
func (*CurationAccepted) EventType() Type  { return TypeCurationAccepted }
func (*CurationConfirmed) EventType() Type { return TypeCurationConfirmed }

func (e *Shared) slots(ref KeyRef) []slot {
	ref.Class, ref.Tier, ref.Row, ref.Entry = KeyMemory, e.Tier, e.KeyID, string(e.MemoryID)
	return []slot{{"link", ref, &e.Link}}
}
func (*CurationAccepted) slots(KeyRef) []slot  { return nil }
func (*CurationConfirmed) slots(KeyRef) []slot { return nil }

// CandidateLabels are what a candidate is about. An ordinary category is a label of the contributor's memory all the same.
// Findings are of its own text: where something was taken out.
type CandidateLabels struct {
	Category Category       `json:"category"`
	Findings []ScrubFinding `json:"findings,omitempty"`
}

// CandidateSubmitted opens a candidate. Its text was scrubbed; it is sealed under a key of the organisation, because it belongs to
// everyone who holds the role.
type CandidateSubmitted struct {
	CandidateID    ID                      `json:"candidateId"`
	KeyID          ID                      `json:"keyId"`
	Kind           MemoryKind              `json:"kind"`
	ContributionID ID                      `json:"contributionId"`
	Body           Secret[string]          `json:"body"`
	Labels         Secret[CandidateLabels] `json:"labels"`
}

// CandidateSeconded says that another member offered the same text.
type CandidateSeconded struct {
	CandidateID    ID `json:"candidateId"`
	ContributionID ID `json:"contributionId"`
}

// CandidateAccepted is the curator's yes: the first of two.
type CandidateAccepted struct {
	CandidateID ID `json:"candidateId"`
}

// CandidateRejected is the curator's no.
type CandidateRejected struct {
	CandidateID ID `json:"candidateId"`
}

// CandidateReopened returns a candidate to the curators: its version was retired.
type CandidateReopened struct {
	CandidateID ID `json:"candidateId"`
}

// ContributionWithdrawn says that members took back what they had offered.
type ContributionWithdrawn struct {
	CandidateID     ID   `json:"candidateId"`
	ContributionIDs []ID `json:"contributionIds"`
}

// VersionPublished is the second yes: the candidate's text is what the role shares from now on, in place of the version of its kind
// that stood before.
type VersionPublished struct {
	VersionID       ID         `json:"versionId"`
	CandidateID     ID         `json:"candidateId"`
	Kind            MemoryKind `json:"kind"`
	Supersedes      *ID        `json:"supersedes"`
	ContributionIDs []ID       `json:"contributionIds"`
}

// VersionRetired ends a version without another in its place: too few stand behind it.
type VersionRetired struct {
	VersionID   ID `json:"versionId"`
	CandidateID ID `json:"candidateId"`
}

func (*CandidateSubmitted) EventType() Type    { return TypeCandidateSubmitted }
func (*CandidateSeconded) EventType() Type     { return TypeCandidateSeconded }
func (*CandidateAccepted) EventType() Type     { return TypeCandidateAccepted }
func (*CandidateRejected) EventType() Type     { return TypeCandidateRejected }
func (*CandidateReopened) EventType() Type     { return TypeCandidateReopened }
func (*ContributionWithdrawn) EventType() Type { return TypeContributionWithdrawn }
func (*VersionPublished) EventType() Type      { return TypeVersionPublished }
func (*VersionRetired) EventType() Type        { return TypeVersionRetired }

func (e *CandidateSubmitted) slots(ref KeyRef) []slot {
	ref.Class, ref.Tier, ref.Row, ref.Entry = KeyMemory, TierRole, e.KeyID, string(e.CandidateID)
	return []slot{{"body", ref, &e.Body}, {"labels", ref, &e.Labels}}
}
func (*CandidateSeconded) slots(KeyRef) []slot     { return nil }
func (*CandidateAccepted) slots(KeyRef) []slot     { return nil }
func (*CandidateRejected) slots(KeyRef) []slot     { return nil }
func (*CandidateReopened) slots(KeyRef) []slot     { return nil }
func (*ContributionWithdrawn) slots(KeyRef) []slot { return nil }
func (*VersionPublished) slots(KeyRef) []slot      { return nil }
func (*VersionRetired) slots(KeyRef) []slot        { return nil }
