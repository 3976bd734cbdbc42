package events

import "encoding/json"

// The facts of an organisation: definitions only, nothing about a person, so nothing is sealed.

const (
	TypeOrganisationFounded Type = "iris.organisation.founded.v1"
	TypeProgramDefined      Type = "iris.program.defined.v1"
	TypeTermsPublished      Type = "iris.terms.published.v1"
	TypeProducerRegistered  Type = "iris.producer.registered.v1"
	TypeProducerRevoked     Type = "iris.producer.revoked.v1"
	TypeClientRegistered    Type = "iris.client.registered.v1"
	TypePolicyApplied       Type = "iris.policy.applied.v1"
	TypeRoleDefined         Type = "iris.role.defined.v1"
)

// OrganisationFounded opens the organisation's stream.
type OrganisationFounded struct {
	OrganizationID string `json:"organizationId"`
}

// ProgramDefined names a body of work. Its id is a slug.
type ProgramDefined struct {
	Program string `json:"program"`
}

// RoleDefined names a workbench role that members may hold for a time. Its key is a slug, never an inspection role's (spec 10.9).
type RoleDefined struct {
	Role string `json:"role"`
}

// TermsPublished is a text that consents are given under. It is never edited: another text is another version (spec 2.1).
type TermsPublished struct {
	TermsID string `json:"termsId"`
	Version string `json:"version"`
	Locale  string `json:"locale"`
	Text    string `json:"text"`
	SHA256  string `json:"sha256"` // of the text's UTF-8 bytes, hex
}

// ProducerRegistered lets a service publish claims. PublicKey is its NATS user key.
type ProducerRegistered struct {
	Producer  string   `json:"producer"`
	Consumer  Consumer `json:"consumer"`
	PublicKey string   `json:"publicKey"`
}

// ProducerRevoked ends what a registration began: those credentials are cut off, and claims of the producer are refused until it
// is registered with others.
type ProducerRevoked struct {
	Producer  string `json:"producer"`
	PublicKey string `json:"publicKey"`
}

// ClientRegistered binds an authenticated client to the consumers that it may act as (spec 1.1).
type ClientRegistered struct {
	Client    string     `json:"client"`
	Consumers []Consumer `json:"consumers"`
}

// PolicyApplied binds every decision that starts after its acknowledgement (spec 8).
type PolicyApplied struct {
	Version  string          `json:"version"`
	SHA256   string          `json:"sha256"` // of the document's RFC 8785 bytes, hex
	Document json.RawMessage `json:"document"`
}

func (*OrganisationFounded) EventType() Type { return TypeOrganisationFounded }
func (*ProgramDefined) EventType() Type      { return TypeProgramDefined }
func (*TermsPublished) EventType() Type      { return TypeTermsPublished }
func (*ProducerRegistered) EventType() Type  { return TypeProducerRegistered }
func (*ProducerRevoked) EventType() Type     { return TypeProducerRevoked }
func (*ClientRegistered) EventType() Type    { return TypeClientRegistered }
func (*PolicyApplied) EventType() Type       { return TypePolicyApplied }
func (*RoleDefined) EventType() Type         { return TypeRoleDefined }

func (*OrganisationFounded) slots(KeyRef) []slot { return nil }
func (*ProgramDefined) slots(KeyRef) []slot      { return nil }
func (*TermsPublished) slots(KeyRef) []slot      { return nil }
func (*ProducerRegistered) slots(KeyRef) []slot  { return nil }
func (*ProducerRevoked) slots(KeyRef) []slot     { return nil }
func (*ClientRegistered) slots(KeyRef) []slot    { return nil }
func (*PolicyApplied) slots(KeyRef) []slot       { return nil }
func (*RoleDefined) slots(KeyRef) []slot         { return nil }
