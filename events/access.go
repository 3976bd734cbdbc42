package events

// TypeRecallResolved is the envelope of one recall, on the access stream (spec 3.3).
const TypeRecallResolved Type = "iris.recall.resolved.v1"

// Given names of the recall's audit (spec 3.3).
const (
	ActionRecallResolved = "memory.recall.resolved"
	RecallPolicyID       = "iris-memory-recall-v1"
)

// Head is the last sequence of an aggregate that a recall used.
type Head struct {
	Aggregate string `json:"aggregate"`
	Sequence  string `json:"sequence"`
}

// RecallAsk is what was asked, as the engine saw it. All of it is sealed: query, contexts and scope are personal.
type RecallAsk struct {
	Surface               string       `json:"surface"`
	Consumer              Consumer     `json:"consumer"`
	Scope                 Scope        `json:"scope"`
	AdapterScope          AdapterScope `json:"adapterScope"`
	ScopeKey              string       `json:"scopeKey"`
	Program               string       `json:"program"`
	TenantID              *string      `json:"tenantId"`
	Query                 string       `json:"query"`
	CrisisFrame           bool         `json:"crisisFrame"`
	SafetyCriticalContext bool         `json:"safetyCriticalContext"`
	Contexts              []string     `json:"contexts"`
	ConsentedCategories   []Category   `json:"consentedCategories"` // nil: not narrowed
	Purpose               string       `json:"purpose"`
}

// RecallFindings are what the gates found. A reason tells something of the person, so the counts are sealed with the rest.
type RecallFindings struct {
	SuppressionCounts map[string]int  `json:"suppressionCounts"`
	Verdicts          []RecallVerdict `json:"verdicts"`   // by id; fewer than were evaluated where not all fit, which a replay finds again
	Rationales        []string        `json:"rationales"` // one per returned entry, in order
}

// RecallVerdict says what became of one candidate: returned, or the stage (0 to 9; 0 is before the first) and its reason.
type RecallVerdict struct {
	MemoryID ID     `json:"memoryId"`
	Returned bool   `json:"returned"`
	Stage    int    `json:"stage"`
	Reason   string `json:"reason"`
}

// RecalledEntry names a returned entry by revision and commitments. Score and factors are decimals of nine digits.
type RecalledEntry struct {
	MemoryID   ID     `json:"memoryId"`
	RevisionID ID     `json:"revisionId"`
	Body       string `json:"body"`   // commitment of the text as it stands on the member's subject
	Labels     string `json:"labels"` // commitment of the labels, likewise
	Score      string `json:"score"`
	Recency    string `json:"recency"`
	Semantic   string `json:"semantic"`
	References string `json:"references"`
	Origin     string `json:"origin"`
}

// RecallResolved makes a recall reproducible (spec 3.3): with Heads, At, policy and engine the same result can be folded and
// computed again, and ResultSHA256 proves that it is the same.
type RecallResolved struct {
	Action         string                 `json:"action"`
	PolicyID       string                 `json:"policyId"`
	Severity       string                 `json:"severity"`
	RecallID       ID                     `json:"recallId"`
	MemberID       ID                     `json:"memberId"`
	At             Time                   `json:"at"`
	Engine         string                 `json:"engine"`
	PolicyVersion  string                 `json:"policyVersion"`
	PolicySHA256   string                 `json:"policySha256"`
	Heads          []Head                 `json:"heads"`
	AsOf           string                 `json:"asOf"`
	EvaluatedCount int                    `json:"evaluatedCount"`
	ReturnedIDs    []ID                   `json:"returnedIds"`
	Entries        []RecalledEntry        `json:"entries"`
	ResultSHA256   string                 `json:"resultSha256"`
	Ask            Secret[RecallAsk]      `json:"ask"`
	Findings       Secret[RecallFindings] `json:"findings"`
}

func (*RecallResolved) EventType() Type { return TypeRecallResolved }

func (e *RecallResolved) slots(ref KeyRef) []slot {
	ref.Class, ref.Member = KeyRecall, e.MemberID
	return []slot{{"ask", ref, &e.Ask}, {"findings", ref, &e.Findings}}
}
