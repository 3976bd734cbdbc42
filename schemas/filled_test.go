package schemas_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// filled makes an event of a type with every field set, so that no property hides behind an absent value. A new type fails
// here until it has a line.
func filled(t *testing.T, typ events.Type) events.Event {
	t.Helper()
	const hash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	const commitment = "0123456789012345678901234567890123456789-_A"
	entry := events.Entry{
		MemoryID: someID, RevisionID: otherID, KeyID: someID, Tier: events.TierIndividual, Kind: events.KindPreference, Program: "atlas",
		Origin: events.OriginModelInferred, OnBehalfOf: otherID,
	}
	stated := entry
	stated.Origin = events.OriginUserStated
	revised := events.Revised{MemoryID: someID, RevisionID: otherID, PreviousRevisionID: someID, KeyID: otherID, Tier: events.TierPerson}
	by := events.ProposedBy{Producer: "notes", Consumer: events.ConsumerAssistant}
	labels := events.Hide(events.Labels{Category: events.CategoryMedical, Scope: events.Scope{Kind: events.ScopeProfile}, Consents: []events.EntryConsent{}})
	details := events.Hide(events.Details{SourceRefs: []events.SourceRef{}})
	body := events.Hide("Prefers metric units.")
	consent := events.Consent{RecordVersion: 1, KeyID: someID, Supersedes: otherID, Record: events.Hide(events.ConsentRecord{Key: events.PurposeDataStorage, At: noon})}
	switch typ {
	case events.TypeOrganisationFounded:
		return &events.OrganisationFounded{OrganizationID: "acme"}
	case events.TypeProgramDefined:
		return &events.ProgramDefined{Program: "atlas"}
	case events.TypeTermsPublished:
		return &events.TermsPublished{TermsID: "memory", Version: "2026-11", Locale: "en", Text: "We keep it.", SHA256: hash}
	case events.TypeProducerRegistered:
		return &events.ProducerRegistered{Producer: "notes", Consumer: events.ConsumerAssistant, PublicKey: "UABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRSTUVW"}
	case events.TypeProducerRevoked:
		return &events.ProducerRevoked{Producer: "notes", PublicKey: "UABCDEFGHIJKLMNOPQRSTUVWXYZ234567ABCDEFGHIJKLMNOPQRSTUVW"}
	case events.TypeClientRegistered:
		return &events.ClientRegistered{Client: "demo", Consumers: []events.Consumer{events.ConsumerAssistant}}
	case events.TypePolicyApplied:
		return &events.PolicyApplied{Version: "2026-11", SHA256: hash, Document: json.RawMessage(`{"version":"2026-11"}`)}
	case events.TypeMemberRegistered:
		return &events.MemberRegistered{MemberID: someID}
	case events.TypeMembershipStarted:
		return &events.MembershipStarted{Program: "atlas"}
	case events.TypeConsentGranted:
		return &events.ConsentGranted{Consent: consent}
	case events.TypeConsentWithdrawn:
		return &events.ConsentWithdrawn{Consent: consent}
	case events.TypeConsentDenied:
		return &events.ConsentDenied{Consent: consent}
	case events.TypeProposalRecorded:
		return &events.ProposalRecorded{Entry: entry, ProposedBy: by, ExpiresAt: noon, PromotionCandidate: true, Body: body, Labels: labels, Details: details}
	case events.TypeProposalRefused:
		return &events.ProposalRefused{
			ProposalID: someID, Outcome: events.OutcomeSuppressed, Reason: "consent_required", ProposedBy: by,
			Notes: events.Hide(events.RefusalNotes{Category: events.CategoryMedical}),
		}
	case events.TypeProposalDeclined:
		return &events.ProposalDeclined{Revised: revised, AskAgain: true, Print: events.Hide("p")}
	case events.TypeMemoryKept:
		return &events.MemoryKept{Revised: revised, Origin: events.OriginUserConfirmed, Edited: true, Body: &body, Labels: labels, Details: &details}
	case events.TypeMemoryStated:
		return &events.MemoryStated{Entry: stated, Body: body, Labels: labels, Details: details}
	case events.TypeMemoryForgotten:
		return &events.MemoryForgotten{Revised: revised, ForgetAt: noon, Print: events.Hide("p")}
	case events.TypeMemorySuperseded:
		return &events.MemorySuperseded{Revised: revised, Rule: "most-recent-wins", Winner: otherID}
	case events.TypeMemoryRevised:
		return &events.MemoryRevised{Revised: revised, Origin: events.OriginUserConfirmed, Body: body, Labels: labels, Details: details}
	case events.TypeMemoryPaused:
		return &events.MemoryPaused{Revised: revised, Until: &noon}
	case events.TypeMemoryResumed:
		return &events.MemoryResumed{Revised: revised}
	case events.TypeMemoryRestored:
		return &events.MemoryRestored{Revised: revised, Lifecycle: events.LifecycleActive}
	case events.TypeRoleDefined:
		return &events.RoleDefined{Role: "reviewer"}
	case events.TypeClientRemoved:
		return &events.ClientRemoved{Client: "demo"}
	case events.TypeTenantDefined:
		return &events.TenantDefined{Tenant: "north-school"}
	case events.TypeTenantRemoved:
		return &events.TenantRemoved{Tenant: "north-school"}
	case events.TypeTenantQuarantined:
		return &events.TenantQuarantined{Tenant: "north-school"}
	case events.TypeTenantReleased:
		return &events.TenantReleased{Tenant: "north-school"}
	case events.TypeMembershipEnded:
		return &events.MembershipEnded{Program: "atlas", ForgetAt: noon}
	case events.TypeMembershipResumed:
		return &events.MembershipResumed{Program: "atlas"}
	case events.TypeRoleGiven:
		return &events.RoleGiven{Role: "reviewer"}
	case events.TypeRoleTaken:
		return &events.RoleTaken{Role: "reviewer"}
	case events.TypeInspectionRoleGiven:
		return &events.InspectionRoleGiven{Role: events.InspectionLegal}
	case events.TypeInspectionRoleTaken:
		return &events.InspectionRoleTaken{Role: events.InspectionLegal}
	case events.TypeMemberRemoved:
		return &events.MemberRemoved{MemberID: someID}
	case events.TypeSettingsChanged:
		return &events.SettingsChanged{AutoKeep: []string{"atlas"}, ImplicitPromotion: true}
	case events.TypeOptOutsChanged:
		return &events.OptOutsChanged{OptOuts: events.Hide([]events.OptOut{{Kind: events.OptOutCategory, Key: "work"}})}
	case events.TypeDeclinedLifted:
		return &events.DeclinedLifted{MemoryID: someID, Print: events.Hide("p")}
	case events.TypeMemoryReferenced:
		return &events.MemoryReferenced{RecallID: someID, MemoryIDs: []events.ID{otherID}}
	case events.TypeMemoriesForgotten:
		swept := []events.Swept{{MemoryID: someID, RevisionID: otherID}}
		return &events.MemoriesForgotten{
			SweepID: someID, Part: 1, More: true, ForgetAt: noon, Memories: swept, Drafts: swept,
			Sweep: events.Hide(events.Sweep{Kind: events.SweepSource, Source: "c-1"}),
		}
	case events.TypeMemoryPromoted:
		promoted := entry
		promoted.Tier, promoted.Origin = events.TierPerson, events.OriginUserConfirmed
		from := revised
		from.Tier = events.TierIndividual
		return &events.MemoryPromoted{Entry: promoted, From: from, Body: body, Labels: labels, Details: details}
	case events.TypeMemoryAutoKept:
		return &events.MemoryAutoKept{Revised: revised, Labels: labels}
	case events.TypeShareProposed, events.TypeShareWithdrawn, events.TypeCurationAccepted, events.TypeCurationConfirmed:
		return filledOfSharing(typ)
	case events.TypeCandidateSubmitted, events.TypeCandidateSeconded, events.TypeCandidateAccepted, events.TypeCandidateRejected, events.TypeCandidateReopened,
		events.TypeContributionWithdrawn, events.TypeVersionPublished, events.TypeVersionRetired:
		return filledOfRole(typ)
	case events.TypeSessionOpened, events.TypeSessionTurnAdded, events.TypeSessionItemAdded, events.TypeSessionClosed,
		events.TypeSessionItemKept, events.TypeSessionItemSettled, events.TypeSessionEntriesDue:
		return filledOfSession(typ, entry)
	case events.TypeRecallResolved:
		return &events.RecallResolved{
			Action: events.ActionRecallResolved, PolicyID: events.RecallPolicyID, Severity: "warning", RecallID: otherID, MemberID: someID, At: noon,
			Engine: "recall/1", PolicyVersion: "2026-11", PolicySHA256: hash, Heads: []events.Head{{Aggregate: "member." + string(someID), Sequence: "41"}},
			AsOf: "41", EvaluatedCount: 3, ReturnedIDs: []events.ID{someID}, ResultSHA256: hash,
			Entries: []events.RecalledEntry{{
				MemoryID: someID, RevisionID: otherID, Body: commitment, Labels: commitment, Score: "0.734000000", Recency: "1.000000000",
				Semantic: "0.500000000", References: "0.000000000", Origin: "0.900000000",
			}},
			Ask: events.Hide(events.RecallAsk{Query: "units?"}), Findings: events.Hide(events.RecallFindings{}),
		}
	}
	require.Fail(t, "no filled event of this type", "%s", typ)
	return nil
}

func filledOfSession(typ events.Type, entry events.Entry) events.Event {
	in := events.InSession{SessionID: someID, MemberID: otherID, KeyID: someID}
	due := []events.EntriesDue{{AdapterScope: events.AdapterSession, At: noon}}
	entry.Origin = events.OriginSummarizedFromSession
	switch typ {
	case events.TypeSessionOpened:
		return &events.SessionOpened{InSession: in, Program: "atlas", OpenedBy: events.ProposedBy{Client: "app", Consumer: events.ConsumerTara}, OnBehalfOf: otherID}
	case events.TypeSessionTurnAdded:
		return &events.SessionTurnAdded{InSession: in, Turn: 1, Role: events.RoleUser, Said: events.Hide(events.Said{Text: "Hello.", Patterns: []string{}})}
	case events.TypeSessionItemAdded:
		return &events.SessionItemAdded{
			InSession: in, ItemID: otherID, Turn: 1, Kind: events.KindPreference, PromotionCandidate: true, Intent: events.IntentExplicit,
			Item: events.Hide(events.SessionItem{Category: events.CategoryMedical, Body: "Takes aspirin."}),
		}
	case events.TypeSessionClosed:
		return &events.SessionClosed{InSession: in, ClosedAt: noon, DueAt: noon, Entries: due, Outcomes: events.Hide([]events.ItemSettled{})}
	case events.TypeSessionItemKept:
		return &events.SessionItemKept{Entry: entry, SessionID: someID, ItemID: otherID, Details: events.Hide(events.Details{SourceRefs: []events.SourceRef{}})}
	case events.TypeSessionItemSettled:
		return &events.SessionItemSettled{
			SessionID: someID, ItemID: otherID, Turn: 3, Intent: events.IntentImplicit, Outcome: events.ItemProposed, Reason: "repeated-occurrence",
			MemoryID: someID, Print: events.Hide("p"), Notes: events.Hide(events.RefusalNotes{}),
		}
	}
	return &events.SessionEntriesDue{SessionID: someID, Entries: due}
}
