package client

import (
	"encoding/json"
	"fmt"
)

// Claim is what a producer claims about a member (spec 10.1). Fields that are empty have the defaults of the contract. Body,
// Subject and MultiActor are sealed.
type Claim struct {
	// ID is the producer's own, 1 to 128 printable ASCII characters: a second claim with it is a duplicate.
	ID          string `json:"-"`
	TraceParent string `json:"-"` // W3C; empty: not traced

	Member             Member      `json:"member"`
	Program            string      `json:"program,omitempty"`
	Tier               string      `json:"tier"`
	Kind               string      `json:"kind"`
	Scope              Scope       `json:"scope"`
	AdapterScope       string      `json:"adapterScope,omitempty"`
	Category           string      `json:"category"`
	Subject            string      `json:"subject,omitempty"`
	Body               string      `json:"body,omitempty"`
	MultiActor         *MultiActor `json:"multiActor,omitempty"`
	Origin             string      `json:"origin"`
	TenantID           *string     `json:"tenantId,omitempty"`
	Ref                string      `json:"ref,omitempty"`
	SourceRefs         []SourceRef `json:"sourceRefs,omitempty"`
	PromotionCandidate bool        `json:"promotionCandidate,omitempty"`
	OnBehalfOf         string      `json:"onBehalfOf,omitempty"`
	Sealed             string      `json:"sealed,omitempty"` // the words, where the caller has sealed them itself
}

// Member names the person by Iris's id or by the identity provider's subject.
type Member struct {
	ID      string `json:"id,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// Scope is where the claim holds.
type Scope struct {
	Kind       string `json:"kind"`
	SessionID  string `json:"sessionId,omitempty"`
	SceneID    string `json:"sceneId,omitempty"`
	PoseID     string `json:"poseId,omitempty"`
	NotebookID string `json:"notebookId,omitempty"`
	CrisisID   string `json:"crisisId,omitempty"`
	OperatorID string `json:"operatorId,omitempty"`
	CaseID     string `json:"caseId,omitempty"`
	TenantID   string `json:"tenantId,omitempty"`
}

// MultiActor is another person whom the claim speaks of.
type MultiActor struct {
	ActorHandle          string `json:"actorHandle"`
	RelationshipNote     string `json:"relationshipNote,omitempty"`
	SensitiveInteraction bool   `json:"sensitiveInteraction,omitempty"`
}

// SourceRef says where the claim comes from.
type SourceRef struct {
	Kind  string `json:"kind"`
	Ref   string `json:"ref"`
	Turns []int  `json:"turns,omitempty"`
}

// ClaimType is the CloudEvents type of a claim.
const ClaimType = "iris.memory.proposed.v1"

// message is the CloudEvents JSON around a claim.
type message struct {
	SpecVersion     string `json:"specversion"`
	ID              string `json:"id"`
	Source          string `json:"source"`
	Type            string `json:"type"`
	DataContentType string `json:"datacontenttype"`
	TraceParent     string `json:"traceparent,omitempty"`
	Data            Claim  `json:"data"`
}

// CheckID says whether a claim may have the id. What else a claim must be is for Iris to say.
func CheckID(id string) error {
	if id == "" || len(id) > 128 {
		return fmt.Errorf("%w: an id has 1 to 128 characters", ErrClaim)
	}
	for _, r := range id {
		if r < ' ' || r > '~' {
			return fmt.Errorf("%w: an id is printable ASCII", ErrClaim)
		}
	}
	return nil
}

// encode writes a claim as it is published. Its words are sealed unless to is nil.
func (c Claim) encode(producer string, to *sealer) ([]byte, error) {
	if err := CheckID(c.ID); err != nil {
		return nil, err
	}
	data := c
	if to != nil && c.Sealed == "" {
		sealed, err := to.seal(words{c.Body, c.Subject, c.MultiActor})
		if err != nil {
			return nil, err
		}
		data.Sealed, data.Body, data.Subject, data.MultiActor = sealed, "", "", nil
	}
	return json.Marshal(message{"1.0", c.ID, "/producers/" + producer, ClaimType, "application/json", c.TraceParent, data})
}
