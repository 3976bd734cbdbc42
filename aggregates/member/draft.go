package member

import (
	"errors"
	"slices"
	"strings"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	"iris.example/iris/recall"
	"iris.example/iris/screening"
)

// maxHandle is in Unicode code points after NFC (spec 1.2).
const maxHandle = 120

// admitted is a draft that passed: text cleaned, labels complete, fingerprints made.
type admitted struct {
	body    string
	labels  events.Labels
	details events.Details
}

// admit runs the rules that hold for every write, whoever makes it: tier and kind (spec 1.5), scope (1.3), text (1.2, 1.7).
// The same function on every path is what makes "the same rules on every path" true.
func admit(d Draft, env aggregates.Env) (admitted, error) {
	if err := admitPlace(d, env); err != nil {
		return admitted{}, err
	}
	body, err := env.Screen.Body(d.Body)
	if err != nil {
		return admitted{}, refusedText(err)
	}
	subject, err := optional(d.Subject, screening.MaxSubject, env)
	if err != nil {
		return admitted{}, err
	}
	actor, err := admitActor(d.MultiActor, env)
	if err != nil {
		return admitted{}, err
	}
	labels := events.Labels{
		Category: d.Category, Subject: subject, Scope: d.Scope, AdapterScope: adapterScope(d), TenantID: d.TenantID,
		Consents: []events.EntryConsent{},
	}
	details := events.Details{MultiActor: actor, Ref: d.Ref, SourceRefs: slices.Clone(d.SourceRefs)}
	if details.SourceRefs == nil {
		details.SourceRefs = []events.SourceRef{}
	}
	details.Prints = prints(env, labels, body)
	return admitted{body, labels, details}, nil
}

func admitPlace(d Draft, env aggregates.Env) error {
	switch {
	case d.Tier != events.TierIndividual:
		// Tier person is reached by promote alone, tier role by curation (spec 1.5).
		return aggregates.Refuse("tier_not_admitted", "spec 1.5")
	case !d.Tier.Admits(d.Kind):
		return aggregates.Refuse("kind_not_admitted", "spec 1.5")
	case !d.Category.Valid():
		return aggregates.Refuse("category_unknown", "spec 1.4")
	case !env.Defined.HasProgram(d.Program):
		return aggregates.Refuse("program_unknown", "spec 1.1")
	case !d.Scope.Valid():
		return aggregates.Refuse("scope_invalid", "spec 1.3")
	case d.Kind == events.KindEpisodic && d.Ref == "":
		return aggregates.Refuse("ref_required", "spec 1.2")
	}
	if d.Scope.Kind == events.ScopeTenant && (d.TenantID == nil || *d.TenantID != d.Scope.TenantID) {
		return aggregates.Refuse("scope_invalid", "spec 1.3") // another's institution, or nobody's
	}
	scope := adapterScope(d)
	row, ok := env.Policy.ScopeOf(d.Scope.Kind, scope)
	if !ok || !scope.Fits(d.Scope.Kind) || scope == events.AdapterAdminReview { // which is read-only
		return aggregates.Refuse("adapter_scope_invalid", "spec 1.3")
	}
	if !row.HoldsTier(d.Tier) {
		return aggregates.Refuse("tier_not_admitted", "spec 1.3")
	}
	return nil
}

func admitActor(given *events.MultiActor, env aggregates.Env) (*events.MultiActor, error) {
	if given == nil {
		return nil, nil
	}
	handle, err := env.Screen.Short(given.ActorHandle, maxHandle)
	if err != nil {
		return nil, refusedText(err)
	}
	note, err := optional(given.RelationshipNote, screening.MaxNote, env)
	if err != nil {
		return nil, err
	}
	return &events.MultiActor{ActorHandle: handle, RelationshipNote: note, SensitiveInteraction: given.SensitiveInteraction}, nil
}

// optional screens a label that may be left out.
func optional(text string, most int, env aggregates.Env) (string, error) {
	if text == "" {
		return "", nil
	}
	clean, err := env.Screen.Short(text, most)
	if err != nil {
		return "", refusedText(err)
	}
	return clean, nil
}

func adapterScope(d Draft) events.AdapterScope {
	if d.AdapterScope != "" {
		return d.AdapterScope
	}
	return events.DefaultAdapterScope(d.Scope.Kind)
}

// prints are taken over recall/1's tokens of every length, unstemmed, as a set (spec 1.8).
func prints(env aggregates.Env, labels events.Labels, body string) events.Prints {
	tokens := recall.Tokens(body)
	slices.Sort(tokens)
	set := strings.Join(slices.Compact(tokens), " ")
	return events.Prints{
		Fact: env.Print("fact", string(labels.Category), labels.Subject, set),
		Text: env.Print("text", set),
	}
}

func refusedText(err error) error {
	var refusal *screening.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	r := &aggregates.Refusal{Code: string(refusal.Code), Rule: "spec 1.2, 1.7"}
	for _, finding := range refusal.Findings {
		r.Patterns = append(r.Patterns, finding.Pattern)
	}
	return r
}

// required are the consents that a durable write needs (spec 2.2). They follow from the scope in which it is kept.
func required(labels events.Labels, details events.Details, env aggregates.Env) []events.ConsentKey {
	sensitive := details.MultiActor != nil && details.MultiActor.SensitiveInteraction
	return env.Policy.RequiredConsents(labels.AdapterScope, labels.Category, sensitive)
}
