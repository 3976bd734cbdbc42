// Package receipts writes what a member is given for an answer to a consent question: a receipt with the fields of ISO/IEC TS 27560,
// as JSON-LD in the terms of the W3C Data Privacy Vocabulary (spec 2.1). Its schema is schemas/receipts/consent-receipt.v1.
//
// It is pure and has no clock: a receipt follows from its event, the text that the event names, and who controls the deployment.
// The same event gives the same bytes whenever it is asked for, so that a member can compare what they kept.
//
// A receipt names what a consent is about. It is the member's own: it goes to nobody else, and into no log.
package receipts

import (
	"strconv"
	"strings"

	"iris.example/iris/events"
)

// Event is an event of the consent ledger, with what it names.
type Event struct {
	ID           events.ID
	Organisation string
	Member       events.ID
	State        events.ConsentState // granted, withdrawn or denied
	Supersedes   events.ID           // empty: the first answer of this key
	Record       events.ConsentRecord
	Position     uint64
	TermsSHA256  string
	TermsLocale  string
}

// Receipt is the document. Names that begin with dpv, dct, skos or rdf are those vocabularies'; iris are ours.
type Receipt struct {
	Context     Context     `json:"@context"`
	ID          string      `json:"@id"`
	Type        string      `json:"@type"`
	ConformsTo  string      `json:"dct:conformsTo"` // the schema version
	Identifier  string      `json:"dpv:hasIdentifier"`
	Record      string      `json:"iris:record"` // every answer of this key is one consent record
	Created     events.Time `json:"dct:created"`
	Language    string      `json:"dct:language"`
	DataSubject Identified  `json:"dpv:hasDataSubject"`
	Notice      Notice      `json:"dpv:hasNotice"`
	Process     Process     `json:"dpv:hasProcess"`
	Controller  Controller  `json:"dpv:hasDataController"`
	Status      Status      `json:"dpv:hasConsentStatus"`
	Withdrawal  Withdrawal  `json:"dpv:hasConsentControl"`
	Proof       Proof       `json:"iris:proof"`
}

// Context says what the prefixes mean.
type Context struct {
	DPV      string `json:"dpv"`
	DPV27560 string `json:"dpv-27560"`
	DCT      string `json:"dct"`
	SKOS     string `json:"skos"`
	RDF      string `json:"rdf"`
	EUGDPR   string `json:"eu-gdpr"`
	OwnTerms string `json:"iris"`
}

// Identified is someone by an opaque id.
type Identified struct {
	Type       string `json:"@type"`
	Identifier string `json:"dpv:hasIdentifier"`
}

// Notice is the text that was agreed to, by digest, and the words that asked.
type Notice struct {
	Type       string `json:"@type"`
	Identifier string `json:"dpv:hasIdentifier"` // terms id and version
	Language   string `json:"dct:language"`
	Where      string `json:"dpv:hasLocation"`
	SHA256     string `json:"iris:sha256"`
	Shown      string `json:"iris:shown"`
}

// Process is what the consent is for.
type Process struct {
	Type         string             `json:"@type"`
	Key          events.ConsentKey  `json:"iris:consentKey"`
	Purpose      Named              `json:"dpv:hasPurpose"`
	PersonalData Named              `json:"dpv:hasPersonalData"`
	Processing   []string           `json:"dpv:hasProcessing"`
	LegalBasis   []string           `json:"dpv:hasLegalBasis"`
	Storage      []StorageCondition `json:"dpv:hasStorageCondition"`
	Recipients   []Named            `json:"dpv:hasRecipient"`
	Jurisdiction string             `json:"dpv:hasJurisdiction"`
}

// Named is a concept with words for people.
type Named struct {
	Type  string `json:"@type"`
	Label string `json:"skos:prefLabel"`
}

// StorageCondition says where and how long.
type StorageCondition struct {
	Type     string `json:"@type"`
	Location string `json:"dpv:hasLocation,omitempty"`
	Duration string `json:"dpv:hasDuration,omitempty"`
}

// Status is the event itself.
type Status struct {
	Type        string       `json:"@type"`
	IndicatedBy string       `json:"dpv:isIndicatedBy"`
	At          events.Time  `json:"dpv:isIndicatedAtTime"`
	Method      string       `json:"dpv:hasIndicationMethod"`
	Until       *events.Time `json:"iris:expiresAt"` // null: until it is withdrawn
	Event       events.ID    `json:"iris:event"`
	Supersedes  *events.ID   `json:"iris:supersedes"`
}

// Withdrawal says how to take it back: no more steps than giving it (GDPR art. 7(3)).
type Withdrawal struct {
	Type string `json:"@type"`
	At   string `json:"dpv:isExercisedAt"`
	API  string `json:"iris:api"`
}

// Proof binds the receipt to the ledger.
type Proof struct {
	RecordVersion int    `json:"iris:recordVersion"`
	Fingerprint   string `json:"iris:fingerprint"`
	SHA256        string `json:"iris:sha256"`
	Position      string `json:"iris:position"`
}

// SchemaVersion is dct:conformsTo.
const SchemaVersion = "dpv-27560:record-eu-gdpr"

const recordVersion = 1 // IRIS_CONSENT_EVENT_RECORD_VERSION (spec 2.1)

// Write makes the receipt of an event.
func Write(e Event, by Controller) Receipt {
	by = by.WithDefaults(e.Organisation)
	id := string(events.CommandID("consent receipt", e.Organisation, string(e.ID)))
	return Receipt{
		Context: Context{
			DPV: "https://w3id.org/dpv#", DPV27560: "https://w3id.org/dpv/schema/dpv-27560#", DCT: "http://purl.org/dc/terms/",
			SKOS: "http://www.w3.org/2004/02/skos/core#", RDF: "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
			EUGDPR: "https://w3id.org/dpv/legal/eu/gdpr#", OwnTerms: "https://iris.example/receipts#",
		},
		ID: "urn:uuid:" + id, Type: "dpv:ConsentReceipt", ConformsTo: SchemaVersion, Identifier: id,
		Record:  string(events.CommandID("consent record", e.Organisation, string(e.Member), string(e.Record.Key))),
		Created: e.Record.At, Language: e.Record.Locale,
		DataSubject: Identified{"dpv:DataSubject", string(e.Member)},
		Notice: Notice{
			Type: "dpv:ConsentNotice", Identifier: e.Record.TermsID + "/" + e.Record.TermsVersion, Language: e.TermsLocale, Where: "/v1/terms",
			SHA256: e.TermsSHA256, Shown: e.Record.Shown,
		},
		Process: process(e, by), Controller: by, Status: status(e),
		Withdrawal: withdrawal(e),
		Proof:      Proof{recordVersion, e.Record.Fingerprint, e.Record.SHA256, strconv.FormatUint(e.Position, 10)},
	}
}

func process(e Event, by Controller) Process {
	recipients := make([]Named, 0, len(by.Recipients))
	for _, r := range by.Recipients {
		recipients = append(recipients, Named{"dpv:Recipient", r})
	}
	p := Process{
		Type: "dpv:Process", Key: e.Record.Key, Purpose: Named{"dpv:Purpose", purposeWords(e.Record.Key)},
		PersonalData: Named{"dpv:PersonalData", dataWords(e.Record.Key)}, Processing: []string{"dpv:Store", "dpv:Retrieve", "dpv:Use", "dpv:Erase"},
		LegalBasis: []string{"eu-gdpr:A6-1-a"}, Recipients: recipients, Jurisdiction: by.Jurisdiction,
		Storage: []StorageCondition{
			{Type: "dpv:StorageLocation", Location: by.Storage}, {Type: "dpv:StorageDuration", Duration: by.Retention},
		},
	}
	if e.Record.Key == events.PurposeSensitiveData || events.Category(e.Record.Key).Sensitive() {
		p.PersonalData.Type = "dpv:SensitivePersonalData"
		p.LegalBasis = []string{"eu-gdpr:A6-1-a", "eu-gdpr:A9-2-a"}
	}
	return p
}

func status(e Event) Status {
	s := Status{
		Type: stateTerm(e.State), IndicatedBy: "dpv:DataSubject", At: e.Record.At, Method: string(e.Record.Source), Until: e.Record.ExpiresAt, Event: e.ID,
	}
	if e.Supersedes != "" {
		s.Supersedes = &e.Supersedes
	}
	return s
}

// withdrawal names the grant, whether it stands or was taken back by this event.
func withdrawal(e Event) Withdrawal {
	w := Withdrawal{Type: "dpv:WithdrawConsent", At: "The page Consents: one button."}
	switch e.State {
	case events.StateGranted:
		w.API = "POST /v1/me/consents/" + string(e.ID) + "/withdraw"
	case events.StateWithdrawn:
		w.At, w.API = "Done by this event.", "POST /v1/me/consents/"+string(e.Supersedes)+"/withdraw"
	default:
		w.At = "Nothing was given, so that there is nothing to take back."
	}
	return w
}

// stateTerm is DPV's name of what the event says. That a grant has expired since is no event (spec 2.1).
func stateTerm(s events.ConsentState) string {
	switch s {
	case events.StateGranted:
		return "dpv:ConsentGiven"
	case events.StateWithdrawn:
		return "dpv:ConsentWithdrawn"
	}
	return "dpv:ConsentRefused"
}

func purposeWords(key events.ConsentKey) string {
	switch key {
	case events.PurposeDataProcessing:
		return "Assistants use what the member allowed to be remembered."
	case events.PurposeDataStorage:
		return "What the member asks to be remembered is stored."
	case events.PurposeSensitiveData:
		return "Sensitive matters that the member asks to be remembered are stored and used where they are relevant."
	case events.PurposeCrossDomain:
		return "What the member told one assistant is used by another."
	case events.PurposeCrossDevice:
		return "Sensitive matters move with the member to another device."
	}
	return "What the member tells of this category is remembered and used where it is relevant."
}

func dataWords(key events.ConsentKey) string {
	if key.Purpose() {
		return "memories that the member said yes to"
	}
	if events.Category(key) == events.CategoryReligionUserRedacted {
		return "religion"
	}
	return strings.ReplaceAll(string(key), "_", " ")
}
