package acts

import (
	"cmp"

	"iris.example/iris/events"
)

// Note is what a model says to the tool memory.propose_note (spec 1.5). Whose memory it is, which consumer asks and for whom is the
// credential's to say: a model names none of them.
type Note struct {
	Body       string             `json:"body"`
	Category   events.Category    `json:"category,omitempty"`
	Subject    string             `json:"subject,omitempty"`
	Kind       events.MemoryKind  `json:"kind,omitempty"`
	Program    string             `json:"program,omitempty"`
	Tier       events.Tier        `json:"tier,omitempty"`
	Ref        string             `json:"ref,omitempty"`
	SourceRefs []events.SourceRef `json:"sourceRefs,omitempty"`
}

// Proposal is the claim that a note is: the model's inference, about the member as a whole. A tier is passed on as it was named, so
// that the member's book refuses it.
func (n Note) Proposal() Proposal {
	category := cmp.Or(n.Category, events.CategoryOther)
	kind := events.KindLesson
	if category == events.CategoryPreference {
		kind = events.KindPreference
	}
	return Proposal{
		Program: n.Program, Tier: cmp.Or(n.Tier, events.TierIndividual), Kind: cmp.Or(n.Kind, kind), Scope: events.Scope{Kind: events.ScopeProfile},
		Category: category, Subject: n.Subject, Body: n.Body, Origin: events.OriginModelInferred, Ref: n.Ref, SourceRefs: n.SourceRefs,
	}
}
