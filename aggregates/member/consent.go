package member

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/screening"
)

// recordVersion is IRIS_CONSENT_EVENT_RECORD_VERSION (spec 2.1, given).
const recordVersion = 1

func grant(s *State, c Grant, env aggregates.Env) ([]events.Event, error) {
	if c.ExpiresAt.Passed(env.Now) {
		return nil, aggregates.Refuse("expiry_in_the_past", "spec 2.1")
	}
	record, err := newRecord(c.Answer, c.Source, c.Locale, c.Shown, env)
	if err != nil {
		return nil, err
	}
	record.ExpiresAt = c.ExpiresAt
	consent, err := s.ledgerEvent("grant", record, env, 0)
	if err != nil {
		return nil, err
	}
	return []events.Event{&events.ConsentGranted{Consent: consent}}, nil
}

// grantAll makes the grants that come with an answer. What is granted already is not granted again.
func grantAll(s *State, answers []Answer, env aggregates.Env) ([]events.Event, error) {
	var all []events.Event
	for i, a := range answers {
		if s.Consent(a.Key, env.Now) == events.StateGranted || granted(all, a.Key) != nil {
			continue
		}
		record, err := newRecord(a, events.SourceInlinePrompt, "en", ConsentQuestion(a.Key), env)
		if err != nil {
			return nil, err
		}
		consent, err := s.ledgerEvent("grant", record, env, i)
		if err != nil {
			return nil, err
		}
		all = append(all, &events.ConsentGranted{Consent: consent})
	}
	return all, nil
}

// ConsentQuestion is what a page or prompt asks for a key; the ledger keeps these words as shown.
func ConsentQuestion(key events.ConsentKey) string {
	switch key {
	case events.PurposeDataProcessing:
		return "May assistants use what you allowed me to remember?"
	case events.PurposeDataStorage:
		return "May I store what you ask me to remember?"
	case events.PurposeSensitiveData:
		return "May I remember sensitive things that you tell me to remember?"
	case events.PurposeCrossDomain:
		return "May what you told one assistant be used by another?"
	case events.PurposeCrossDevice:
		return "May sensitive matters move with you to another device?"
	}
	return fmt.Sprintf("May I remember what you told me about %s?", matters(events.Category(key)))
}

// matters says what a category is about, to follow "about". Most categories are a noun already.
func matters(c events.Category) string {
	switch c {
	case events.CategoryFact:
		return "facts"
	case events.CategoryPreference, events.CategoryGoal, events.CategoryRelationship, events.CategoryCommitment:
		return "your " + string(c) + "s"
	case events.CategoryIdentity:
		return "your identity"
	case events.CategorySpiritual:
		return "your spiritual life"
	case events.CategorySexual:
		return "your sex life"
	case events.CategorySpatial:
		return "places"
	case events.CategoryOther:
		return "other things"
	case events.CategoryMedical, events.CategoryFinancial, events.CategoryLegal:
		return string(c) + " matters"
	case events.CategoryBiometric:
		return "your biometrics"
	}
	return CategoryWords(c)
}

func deny(s *State, c Deny, env aggregates.Env) ([]events.Event, error) {
	record, err := newRecord(c.Answer, c.Source, c.Locale, c.Shown, env)
	if err != nil {
		return nil, err
	}
	consent, err := s.ledgerEvent("denial", record, env, 0)
	if err != nil {
		return nil, err
	}
	return []events.Event{&events.ConsentDenied{Consent: consent}}, nil
}

// withdraw never changes the grant: it is an event of its own that names it and repeats its terms (spec 2.1, given).
func withdraw(s *State, c Withdraw, env aggregates.Env) ([]events.Event, error) {
	for _, standing := range s.Consents {
		if standing.EventID != c.EventID {
			continue
		}
		if standing.State != events.StateGranted {
			return nil, aggregates.Refuse("consent_not_granted", "spec 2.1")
		}
		record := standing.Record
		record.At = env.Now
		consent, err := s.ledgerEvent("withdrawal", record, env, 0)
		if err != nil {
			return nil, err
		}
		return []events.Event{&events.ConsentWithdrawn{Consent: consent}}, nil
	}
	return nil, aggregates.Refuse("consent_unknown", "spec 10.4")
}

func newRecord(a Answer, source events.ConsentSource, locale, shown string, env aggregates.Env) (events.ConsentRecord, error) {
	switch {
	case !a.Key.Valid():
		return events.ConsentRecord{}, aggregates.Refuse("consent_key_unknown", "spec 2.1")
	case !source.Valid():
		return events.ConsentRecord{}, aggregates.Refuse("consent_source_unknown", "spec 1.2")
	}
	shown, err := env.Screen.Short(shown, screening.MaxNote)
	if err != nil {
		return events.ConsentRecord{}, refusedText(err)
	}
	return events.ConsentRecord{
		Key: a.Key, At: env.Now, TermsID: a.TermsID, TermsVersion: a.TermsVersion, Source: source, Locale: locale, Shown: shown,
	}, nil
}

// ledgerEvent completes a record with its fingerprints. A key keeps the row that seals its part of the ledger, so that a purge
// of one category finds all of it; the index-th fresh key serves a key that has none yet.
func (s *State) ledgerEvent(kind string, r events.ConsentRecord, env aggregates.Env, index int) (events.Consent, error) {
	text, ok := env.Defined.TermsText(r.TermsID, r.TermsVersion)
	if !ok {
		return events.Consent{}, aggregates.Refuse("terms_unknown", "spec 2.1")
	}
	var row, supersedes events.ID
	if before, ok := s.Consents[r.Key]; ok {
		row, supersedes = before.KeyID, before.EventID
	} else {
		row = env.Keys[index]
	}
	var err error
	if r.Fingerprint, r.SHA256, err = Fingerprint(s.ID, kind, supersedes, r, text); err != nil {
		return events.Consent{}, err
	}
	return events.Consent{RecordVersion: recordVersion, KeyID: row, Supersedes: supersedes, Record: events.Hide(r)}, nil
}

// fingerprinted is what the fingerprint covers (spec 2.1): absent fields are null.
type fingerprinted struct {
	At            events.Time          `json:"at"`
	ExpiresAt     *events.Time         `json:"expiresAt"`
	Key           events.ConsentKey    `json:"key"`
	Kind          string               `json:"kind"`
	Locale        string               `json:"locale"`
	MemberID      events.ID            `json:"memberId"`
	RecordVersion int                  `json:"recordVersion"`
	Shown         string               `json:"shown"`
	Source        events.ConsentSource `json:"source"`
	Supersedes    *events.ID           `json:"supersedes"`
	TermsID       string               `json:"termsId"`
	TermsText     string               `json:"termsText"`
	TermsVersion  string               `json:"termsVersion"`
}

// Fingerprint binds a ledger event to the words that were agreed to: FNV-1a (given), written fnv1a64:<hex>, and the SHA-256 of
// the same canonical bytes, which wins where they disagree, because FNV-1a is not collision resistant (spec 2.1). kind is
// grant, withdrawal or denial.
func Fingerprint(member events.ID, kind string, supersedes events.ID, r events.ConsentRecord, termsText string) (fnv, sha string, err error) {
	f := fingerprinted{
		At: r.At, ExpiresAt: r.ExpiresAt, Key: r.Key, Kind: kind, Locale: r.Locale, MemberID: member, RecordVersion: recordVersion,
		Shown: r.Shown, Source: r.Source, TermsID: r.TermsID, TermsText: termsText, TermsVersion: r.TermsVersion,
	}
	if supersedes != "" {
		f.Supersedes = &supersedes
	}
	canonical, err := events.Canonical(f)
	if err != nil {
		return "", "", fmt.Errorf("fingerprint a consent: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return fmt.Sprintf("fnv1a64:%016x", FNV1a64(canonical)), hex.EncodeToString(sum[:]), nil
}

// FNV1a64 is FNV-1a over bytes: offset 0xcbf29ce484222325, prime 0x100000001b3 (spec 2.1).
func FNV1a64(b []byte) uint64 {
	hash := uint64(0xcbf29ce484222325)
	for _, c := range b {
		hash = (hash ^ uint64(c)) * 0x100000001b3
	}
	return hash
}

// CategoryWords says a category in words for a member: "physical health", "religion".
func CategoryWords(c events.Category) string {
	if c == events.CategoryReligionUserRedacted {
		return "religion"
	}
	return strings.ReplaceAll(string(c), "_", " ")
}
