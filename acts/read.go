package acts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/projections/consents"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/proposals"
	"iris.example/iris/projections/reader"
	"iris.example/iris/projections/search"
)

// Read is how lists come out of the read models.
type Read struct {
	Models *reader.Reader
	Wait   Waiter
}

// Waiter waits until a stream's line of the read models stands at a position.
type Waiter interface {
	Wait(ctx context.Context, org, stream string, position uint64) error
}

// Page is a slice of a list, newest first. Next is where the following page begins; nil: this is the last.
type Page[T any] struct {
	Items []T
	Next  *reader.Key
}

// Visible waits until what stands at a position of the organisation's stream is in the read models (spec 9.1). The caller bounds
// the wait; past it the error is engine.ErrBehind.
func (a *Acts) Visible(ctx context.Context, c Caller, position uint64) error {
	return a.Read.Wait.Wait(ctx, c.Organisation, events.StreamFor(c.Organisation), position)
}

// Memory is one memory as its member reads it (spec 10.3).
type Memory struct {
	MemoryID           events.ID                 `json:"memoryId"`
	RevisionID         events.ID                 `json:"revisionId"`
	PreviousRevisionID *events.ID                `json:"previousRevisionId"`
	Revision           int                       `json:"revision"`
	Tier               events.Tier               `json:"tier"`
	Kind               events.MemoryKind         `json:"kind"`
	Namespace          string                    `json:"namespace"`
	ScopeKey           string                    `json:"scopeKey"`
	Scope              events.Scope              `json:"scope"`
	AdapterScope       events.AdapterScope       `json:"adapterScope"`
	TenantID           *string                   `json:"tenantId"`
	Program            string                    `json:"program"`
	Category           events.Category           `json:"category"`
	Sensitive          bool                      `json:"sensitive"`
	Subject            string                    `json:"subject"`
	Body               string                    `json:"body"`
	Origin             events.Origin             `json:"origin"`
	Lifecycle          events.Lifecycle          `json:"lifecycle"`
	Suppression        *events.Suppression       `json:"suppression"`
	DerivedSuppression *events.SuppressionReason `json:"derivedSuppression"`
	MultiActor         *events.MultiActor        `json:"multiActor"`
	Consent            []EntryConsent            `json:"consent"`
	Ref                *string                   `json:"ref"`
	SourceRefs         []events.SourceRef        `json:"sourceRefs"`
	ReferenceCount     int                       `json:"referenceCount"`
	AutoKept           bool                      `json:"autoKept"`
	ForgetAt           *events.Time              `json:"forgetAt"`
	OnBehalfOf         *events.ID                `json:"onBehalfOf"`
	PromotedFrom       *events.ID                `json:"promotedFrom"` // of tier person: the memory of a program that it was
	CreatedAt          events.Time               `json:"createdAt"`
	UpdatedAt          events.Time               `json:"updatedAt"`
	Position           string                    `json:"position"`
}

// EntryConsent is a consent that a memory rests on; RevokedAt is derived from the ledger (spec 1.2, 2.2).
type EntryConsent struct {
	Category  events.ConsentKey    `json:"category"`
	GrantedAt events.Time          `json:"grantedAt"`
	RevokedAt *events.Time         `json:"revokedAt"`
	Source    events.ConsentSource `json:"source"`
}

// Memories lists the caller's own. Words, when there are any, must all occur in a memory's text or subject, in any of their English
// forms; what was said a moment ago may not be found yet (see Searchable).
func (a *Acts) Memories(ctx context.Context, c Caller, filter memories.Filter, words string, page reader.Page) (Page[Memory], error) {
	if _, err := c.asMember(); err != nil {
		return Page[Memory]{}, err
	}
	filter.Now = a.Now()
	if words != "" {
		var err error
		if filter.Words, err = a.keyed(ctx, c, words); err != nil {
			return Page[Memory]{}, err
		}
	}
	var rows []memories.Record
	var result Page[Memory]
	err := a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		filter.Left = book.LeftBehind(events.At(filter.Now))
		return nil
	})
	if err != nil {
		return Page[Memory]{}, err
	}
	err = a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		rows, result.Next, err = memories.List(ctx, s, c.Member, filter, page)
		return err
	})
	if err != nil {
		return Page[Memory]{}, err
	}
	result.Items, err = a.openMemories(ctx, c, rows)
	result.Items = slices.DeleteFunc(result.Items, func(m Memory) bool { return m.ForgetAt != nil && !filter.Forgotten })
	return result, err
}

// keyed are the query's words under the caller's own search key: the query itself goes no further.
func (a *Acts) keyed(ctx context.Context, c Caller, words string) ([]string, error) {
	keys, err := search.KeysOf(a.Codec)
	if err != nil {
		return nil, err
	}
	key, err := keys.SearchTokens(ctx, c.Organisation, c.Member)
	if err != nil {
		return nil, err
	}
	keyed := search.Keyed(key, words)
	if len(keyed) == 0 {
		return nil, aggregates.Refuse("query_without_words", "spec 10.3")
	}
	return keyed, nil
}

// Searchable is Visible for the words of memories, which a line of their own carries.
func (a *Acts) Searchable(ctx context.Context, c Caller, position uint64) error {
	return a.Read.Wait.Wait(ctx, c.Organisation, search.LineOf(c.Organisation), position)
}

// Memory is one of the caller's own.
func (a *Acts) Memory(ctx context.Context, c Caller, id events.ID) (Memory, error) {
	if _, err := c.asMember(); err != nil {
		return Memory{}, err
	}
	var row memories.Record
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		row, err = memories.Get(ctx, s, c.Member, id)
		return err
	})
	if err != nil {
		return Memory{}, notFound(err)
	}
	if gone(row, events.At(a.Now())) {
		return Memory{}, fmt.Errorf("memory: %w", ErrNotFound)
	}
	opened, err := a.openMemories(ctx, c, []memories.Record{row})
	if err != nil {
		return Memory{}, err
	}
	if len(opened) == 0 {
		return Memory{}, fmt.Errorf("memory: %w", ErrNotFound)
	}
	return opened[0], nil
}

// openMemories opens what the read model keeps sealed. What follows from the ledger is asked of the book itself, so that a list
// never shows as usable what a recall would withhold. What is gone there is left out, whatever its row says: a sweep may not have
// named it yet.
func (a *Acts) openMemories(ctx context.Context, c Caller, rows []memories.Record) ([]Memory, error) {
	items := make([]Memory, 0, len(rows))
	for _, row := range rows {
		m, err := a.openMemory(ctx, row)
		if err != nil {
			return nil, err
		}
		items = append(items, m)
	}
	now := events.At(a.Now())
	err := a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		items = slices.DeleteFunc(items, func(m Memory) bool { return goneFrom(book, m.MemoryID, now) })
		for i := range items {
			derive(&items[i], book, c.Defined, now)
		}
		return nil
	})
	return items, err
}

func (a *Acts) openMemory(ctx context.Context, row memories.Record) (Memory, error) {
	m := Memory{
		MemoryID: row.MemoryID, RevisionID: row.RevisionID, PreviousRevisionID: row.PreviousRevisionID, Revision: row.Revision, Tier: row.Tier,
		Kind: row.Kind, Namespace: row.Namespace, Program: row.Program, Origin: row.Origin, Lifecycle: row.Lifecycle,
		OnBehalfOf: row.OnBehalfOf, AutoKept: row.AutoKept, CreatedAt: events.At(row.CreatedAt), UpdatedAt: events.At(row.UpdatedAt),
		Position: fmt.Sprint(row.Position), Consent: []EntryConsent{}, SourceRefs: []events.SourceRef{},
	}
	if row.ForgetAt != nil {
		at := events.At(*row.ForgetAt)
		m.ForgetAt = &at
	}
	if row.Body == nil || row.Labels == nil || row.Details == nil {
		return m, nil // erased: what is left says that it was, and nothing more
	}
	var err error
	if m.Body, err = events.Open[string](ctx, a.Keys, row.Body); err != nil {
		return Memory{}, err
	}
	labels, err := events.Open[events.Labels](ctx, a.Keys, row.Labels)
	if err != nil {
		return Memory{}, err
	}
	details, err := events.Open[events.Details](ctx, a.Keys, row.Details)
	if err != nil {
		return Memory{}, err
	}
	m.ScopeKey, m.Scope, m.AdapterScope, m.TenantID = labels.Scope.Key(row.MemberID), labels.Scope, labels.AdapterScope, labels.TenantID
	m.Category, m.Sensitive, m.Subject = labels.Category, labels.Category.Sensitive(), labels.Subject
	m.MultiActor, m.SourceRefs = details.MultiActor, details.SourceRefs
	if details.Ref != "" {
		m.Ref = &details.Ref
	}
	for _, consent := range labels.Consents {
		m.Consent = append(m.Consent, EntryConsent{Category: consent.Key, GrantedAt: consent.GrantedAt, Source: consent.Source})
	}
	return m, nil
}

// derive shows what follows from the ledger as it stands at the book's head.
func derive(m *Memory, book *member.State, defined *organisation.State, now events.Time) {
	entry, ok := book.Entries[m.MemoryID]
	if !ok {
		return
	}
	if m.ForgetAt == nil && entry.ForgetAt != nil { // hidden by a sweep that has not named it yet
		m.Lifecycle, m.ForgetAt = entry.Lifecycle, entry.ForgetAt
	}
	m.ReferenceCount = entry.ReferenceCount
	if entry.PromotedFrom != "" {
		from := entry.PromotedFrom // nothing of the book is shown once it is let go
		m.PromotedFrom = &from
	}
	m.Suppression = entry.Suppressed(now)
	if reason := cmp.Or(defined.Suppression(entry.Labels.TenantID), book.DerivedSuppression(entry, now)); reason != "" {
		m.DerivedSuppression = &reason
	}
	if entry.LeavesAt.Passed(now) && m.ForgetAt == nil {
		final := entry.LeavesAt.Plus(defined.Policy.ForgetGrace())
		m.ForgetAt = &final
	}
	for i := range m.Consent {
		standing := book.Consents[m.Consent[i].Category]
		if standing != nil && standing.State != events.StateGranted {
			at := standing.Record.At
			m.Consent[i].RevokedAt = &at
		}
	}
}

// Pending is a proposal as "Remember this?" shows it (spec 10.2). Scope is where a plain yes would keep it; ProposedScope is
// where it was proposed.
type Pending struct {
	ProposalID       events.ID           `json:"proposalId"`
	Prompt           string              `json:"prompt"`
	Body             string              `json:"body"`
	Category         events.Category     `json:"category"`
	Sensitive        bool                `json:"sensitive"`
	Subject          string              `json:"subject"`
	Kind             events.MemoryKind   `json:"kind"`
	Tier             events.Tier         `json:"tier"`
	Scope            events.Scope        `json:"scope"`
	KeptScope        events.Scope        `json:"keptScope"`
	Program          string              `json:"program"`
	ProposedBy       string              `json:"proposedBy"`
	Origin           events.Origin       `json:"origin"`
	Why              string              `json:"why"`
	MultiActor       *events.MultiActor  `json:"multiActor"`
	OnBehalfOf       *events.ID          `json:"onBehalfOf"` // the principal of a delegate who proposed it
	SourceRefs       []events.SourceRef  `json:"sourceRefs"`
	ProposedAt       events.Time         `json:"proposedAt"`
	ExpiresAt        events.Time         `json:"expiresAt"`
	Replaces         *events.ID          `json:"replaces"`
	RequiredConsents []events.ConsentKey `json:"requiredConsents"`
	Terms            []Terms             `json:"terms"`
	Position         string              `json:"position"`
}

// Terms are a published text that a consent is given under.
type Terms struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	Locale  string `json:"locale"`
	SHA256  string `json:"sha256"`
	Text    string `json:"text"`
}

// PendingProposals lists what waits for the caller's answer.
func (a *Acts) PendingProposals(ctx context.Context, c Caller, page reader.Page) (Page[Pending], error) {
	return a.PendingProposalsBy(ctx, c, proposals.Filter{}, page)
}

// PendingProposalsBy lists those of a program, a category or a claimant.
func (a *Acts) PendingProposalsBy(ctx context.Context, c Caller, filter proposals.Filter, page reader.Page) (Page[Pending], error) {
	if _, err := c.asMember(); err != nil {
		return Page[Pending]{}, err
	}
	now := events.At(a.Now())
	var rows []proposals.Row
	var result Page[Pending]
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		rows, result.Next, err = proposals.ListPending(ctx, s, c.Member, now, filter, page)
		return err
	})
	if err != nil {
		return Page[Pending]{}, err
	}
	inForce := c.Defined.Policy
	prompts := map[events.ID]member.Prompt{}
	err = a.Members.Look(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		for _, row := range rows {
			if prompt, ok := book.PromptFor(row.ProposalID, inForce, now); ok {
				prompts[row.ProposalID] = prompt
			}
		}
		return nil
	})
	if err != nil {
		return Page[Pending]{}, err
	}
	result.Items = []Pending{}
	for _, row := range rows {
		prompt, open := prompts[row.ProposalID]
		if !open {
			continue // answered at the head; the read model will follow
		}
		item, err := a.openPending(ctx, c, row, prompt)
		if err != nil {
			return Page[Pending]{}, err
		}
		result.Items = append(result.Items, item)
	}
	return result, nil
}

// Waits reports whether a proposal is before the caller for an answer now, however many others are.
func (a *Acts) Waits(ctx context.Context, c Caller, proposal events.ID) (waits bool, err error) {
	now := events.At(a.Now())
	err = a.ownBook(ctx, c, func(book *member.State) { _, waits = book.PromptFor(proposal, c.Defined.Policy, now) })
	return waits, err
}

func (a *Acts) openPending(ctx context.Context, c Caller, row proposals.Row, prompt member.Prompt) (Pending, error) {
	item := Pending{
		ProposalID: row.ProposalID, Prompt: "Remember this? " + events.FixedPhrase, Kind: *row.Kind, Tier: *row.Tier, Program: *row.Program,
		ProposedBy: or(row.Producer, row.Client), OnBehalfOf: row.OnBehalfOf, Origin: *row.Origin, KeptScope: prompt.Scope, ProposedAt: events.At(row.RecordedAt),
		ExpiresAt: events.At(*row.ExpiresAt), RequiredConsents: append([]events.ConsentKey{}, prompt.Missing...), Terms: []Terms{},
		Position: fmt.Sprint(row.Position), Why: why(*row.Origin, or(row.Producer, row.Client)),
	}
	var err error
	if item.Body, err = events.Open[string](ctx, a.Keys, row.Body); err != nil {
		return Pending{}, err
	}
	labels, err := events.Open[events.Labels](ctx, a.Keys, row.Labels)
	if err != nil {
		return Pending{}, err
	}
	details, err := events.Open[events.Details](ctx, a.Keys, row.Details)
	if err != nil {
		return Pending{}, err
	}
	item.Category, item.Sensitive, item.Subject, item.Scope = labels.Category, labels.Category.Sensitive(), labels.Subject, labels.Scope
	item.SourceRefs, item.MultiActor = details.SourceRefs, details.MultiActor
	if prompt.Replaces != "" {
		item.Replaces = &prompt.Replaces
	}
	if len(prompt.Missing) > 0 {
		item.Terms = a.CurrentTerms(c)
	}
	return item, nil
}

// why says in words how the proposal came to be.
func why(origin events.Origin, by string) string {
	switch origin {
	case events.OriginSummarizedFromSession:
		return by + " summarised it from a session with you."
	case events.OriginImported:
		return by + " brought it from somewhere else."
	case events.OriginOperatorCopilot:
		return by + " noted it while working on a case of yours."
	}
	return by + " inferred it from what you said."
}

// CurrentTerms are the newest version of every published text.
func (a *Acts) CurrentTerms(c Caller) []Terms {
	all := []Terms{}
	for _, id := range c.Defined.TermsIDs() {
		all = append(all, NewestTerms(c, id))
	}
	return all
}

// NewestTerms are the newest version of one published text.
func NewestTerms(c Caller, id string) Terms {
	t := c.Defined.Terms[c.Defined.Current[id]]
	return Terms{t.ID, t.Version, t.Locale, t.SHA256, t.Text}
}

// Consent is where one key stands (spec 10.4).
type Consent struct {
	Key                events.ConsentKey   `json:"key"`
	Kind               string              `json:"kind"` // purpose or category
	State              events.ConsentState `json:"state"`
	Since              *events.Time        `json:"since"`
	ExpiresAt          *events.Time        `json:"expiresAt"`
	EventID            *events.ID          `json:"eventId"`
	Fingerprint        *string             `json:"fingerprint"`
	FingerprintMatches *bool               `json:"fingerprintMatches"`
	Terms              *ConsentTerms       `json:"terms"`
}

// ConsentTerms names the text that an answer was given under.
type ConsentTerms struct {
	ID      string `json:"id"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"`
}

// Consents lists every key, answered or not. A fingerprint that no longer matches the text served is shown, not hidden (spec 2.1).
func (a *Acts) Consents(ctx context.Context, c Caller) ([]Consent, error) {
	if _, err := c.asMember(); err != nil {
		return nil, err
	}
	var rows []consents.Row
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		rows, err = consents.Current(ctx, s, c.Member)
		return err
	})
	if err != nil {
		return nil, err
	}
	answered := map[events.ConsentKey]consents.Row{}
	for _, row := range rows {
		answered[row.Key] = row
	}
	all := []Consent{}
	for _, key := range events.ConsentKeys() {
		item := Consent{Key: key, Kind: "category", State: events.StateNever}
		if key.Purpose() {
			item.Kind = "purpose"
		}
		if row, ok := answered[key]; ok {
			if err := a.describe(ctx, c, &item, row); err != nil {
				return nil, err
			}
		}
		all = append(all, item)
	}
	return all, nil
}

func (a *Acts) describe(ctx context.Context, c Caller, item *Consent, row consents.Row) error {
	since := events.At(row.At)
	item.State, item.Since, item.EventID, item.Fingerprint = row.StateAt(events.At(a.Now())), &since, &row.EventID, &row.Fingerprint
	if row.ExpiresAt != nil {
		at := events.At(*row.ExpiresAt)
		item.ExpiresAt = &at
	}
	terms, published := c.Defined.Terms[termsKey(row.TermsID, row.TermsVersion)]
	item.Terms = &ConsentTerms{row.TermsID, row.TermsVersion, terms.SHA256}
	record, err := events.Open[events.ConsentRecord](ctx, a.Keys, row.Record)
	if err != nil {
		return err
	}
	matches := published
	if published {
		fnv, sha, err := member.Fingerprint(c.Member, kindOf(row.State), supersedes(row), record, terms.Text)
		if err != nil {
			return err
		}
		matches = sha == row.SHA256 && fnv == row.Fingerprint
	}
	item.FingerprintMatches = &matches
	return nil
}

// ClaimOutcome is what became of a claim, for the client or producer that made it; everyone else's is as unknown as none.
func (a *Acts) ClaimOutcome(ctx context.Context, c Caller, proposal events.ID) (ClaimAnswer, error) {
	return a.claimRow(ctx, c, func(s *reader.Session) (proposals.Row, error) { return proposals.Get(ctx, s, proposal) })
}

// ClaimOutcomeByID finds the outcome by the CloudEvents id that the producer gave its claim.
func (a *Acts) ClaimOutcomeByID(ctx context.Context, c Caller, claim string) (ClaimAnswer, error) {
	command := ClaimCommand(c.Organisation, c.Principal.Client, claim)
	return a.claimRow(ctx, c, func(s *reader.Session) (proposals.Row, error) { return proposals.ByCommand(ctx, s, command) })
}

func (a *Acts) claimRow(ctx context.Context, c Caller, find func(*reader.Session) (proposals.Row, error)) (ClaimAnswer, error) {
	var row proposals.Row
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		row, err = find(s)
		return err
	})
	if err != nil {
		return ClaimAnswer{}, notFound(err)
	}
	if or(row.Producer, row.Client) != c.Principal.Client {
		return ClaimAnswer{}, fmt.Errorf("proposal: %w", ErrNotFound)
	}
	answer := ClaimAnswer{Done: Done{row.Position}, ProposalID: row.ProposalID, Outcome: row.Outcome, Reason: row.Reason, Warnings: []Warning{}}
	if row.Notes != nil {
		notes, err := events.Open[events.RefusalNotes](ctx, a.Keys, row.Notes)
		if err != nil {
			return ClaimAnswer{}, err
		}
		if len(notes.Missing) > 0 {
			answer.Warnings = append(answer.Warnings, Warning{Code: row.Reason, Keys: notes.Missing})
		}
	}
	return answer, nil
}

func notFound(err error) error {
	if errors.Is(err, reader.ErrNotFound) {
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

func kindOf(state events.ConsentState) string {
	switch state {
	case events.StateGranted:
		return "grant"
	case events.StateWithdrawn:
		return "withdrawal"
	}
	return "denial"
}

func supersedes(row consents.Row) events.ID {
	if row.Supersedes == nil {
		return ""
	}
	return *row.Supersedes
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// WaitLimit bounds how long a read waits for a position before it says that the read models are behind.
const WaitLimit = 5 * time.Second
