package web

import (
	"fmt"
	"strings"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
)

// The names of things in plain English. What is not named here is shown by its own name.

func categoryWords(c events.Category) string { return capital(member.CategoryWords(c)) }

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

func originWords(o events.Origin) string {
	switch o {
	case events.OriginUserStated:
		return "You said it yourself"
	case events.OriginUserConfirmed:
		return "An assistant proposed it and you said yes"
	case events.OriginModelInferred:
		return "An assistant inferred it from what you said"
	case events.OriginSummarizedFromSession:
		return "An assistant summarised it from a session with you"
	case events.OriginOperatorCopilot:
		return "Staff noted it while working on a case of yours"
	case events.OriginImported:
		return "It was brought from somewhere else"
	}
	return string(o)
}

func kindWords(k events.MemoryKind) string {
	switch k {
	case events.KindEpisodic:
		return "Something that happened"
	case events.KindPreference:
		return "A preference"
	case events.KindVocabulary:
		return "A word or name that you use"
	case events.KindRubricAdjustment:
		return "How you want work judged"
	case events.KindLesson:
		return "A lesson"
	}
	return string(k)
}

func lifecycleWords(l events.Lifecycle) string {
	switch l {
	case events.LifecycleDraft:
		return "waiting for your answer"
	case events.LifecycleActive:
		return "in use"
	case events.LifecyclePaused:
		return "not used"
	case events.LifecycleSuperseded:
		return "replaced by something newer"
	case events.LifecycleTombstoned:
		return "destroyed"
	}
	return string(l)
}

func tierWords(t events.Tier, program string) string {
	switch t {
	case events.TierIndividual:
		return "Yours alone, in the program " + program
	case events.TierPerson:
		return "Yours alone, in every program of your organisation"
	case events.TierRole:
		return "Everyone's who holds the role"
	}
	return string(t)
}

func scopeWords(s events.Scope) string {
	switch s.Kind {
	case events.ScopeProfile:
		return "In your profile, for every session"
	case events.ScopeSession:
		return "In session " + s.SessionID + " only"
	case events.ScopeScene:
		return "In scene " + s.SceneID + " only"
	case events.ScopePose:
		return "In pose " + s.PoseID + " only"
	case events.ScopeNotebook:
		return "In notebook " + s.NotebookID + " only"
	case events.ScopeCrisis:
		return "For that crisis only"
	case events.ScopeOperatorCopilot:
		return "With case " + s.CaseID + " only, for the staff who work on it"
	case events.ScopeTenant:
		return "At " + s.TenantID + " only"
	}
	return string(s.Kind)
}

// sourceWords says where a claim came from: "conversation c-19, turns 4 to 6".
func sourceWords(refs []events.SourceRef) []string {
	var all []string
	for _, ref := range refs {
		words := ref.Kind + " " + ref.Ref
		if len(ref.Turns) == 2 && ref.Turns[0] == ref.Turns[1] {
			words += fmt.Sprintf(", turn %d", ref.Turns[0])
		} else if len(ref.Turns) == 2 {
			words += fmt.Sprintf(", turns %d to %d", ref.Turns[0], ref.Turns[1])
		}
		all = append(all, words)
	}
	return all
}

// consentName is what a consent is for, as a heading.
func consentName(key events.ConsentKey) string {
	switch key {
	case events.PurposeDataProcessing:
		return "Use what is remembered"
	case events.PurposeDataStorage:
		return "Store what is remembered"
	case events.PurposeSensitiveData:
		return "Remember sensitive things"
	case events.PurposeCrossDomain:
		return "Use across assistants"
	case events.PurposeCrossDevice:
		return "Move sensitive matters between devices"
	}
	return categoryWords(events.Category(key))
}

// withoutConsent says what a consent that was taken back does (spec 2.2).
func withoutConsent(key events.ConsentKey) string {
	switch key {
	case events.PurposeDataProcessing:
		return "Assistants are told nothing of what is remembered, and nothing is proposed or kept, until you grant it again."
	case events.PurposeDataStorage:
		return "Nothing that is remembered is used, and nothing new is proposed or kept, until you grant it again."
	case events.PurposeSensitiveData:
		return "Sensitive memories are not used, and none is proposed or kept, until you grant it again."
	case events.PurposeCrossDomain:
		return "What you told one assistant is not used by another, until you grant it again."
	case events.PurposeCrossDevice:
		return "Sensitive matters do not move to another device, until you grant it again."
	}
	return fmt.Sprintf("Memories about %s are not used, and none is proposed or kept, until you grant it again.",
		member.CategoryWords(events.Category(key)))
}

func stateWords(s events.ConsentState) string {
	switch s {
	case events.StateGranted:
		return "Granted"
	case events.StateWithdrawn:
		return "Taken back"
	case events.StateExpired:
		return "Expired"
	case events.StateDenied:
		return "Denied"
	}
	return "Not answered yet"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
