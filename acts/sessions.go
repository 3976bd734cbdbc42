package acts

import (
	"context"
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/session"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// Opening is the body of POST /v1/sessions (spec 10.9).
type Opening struct {
	Program string `json:"program,omitempty"`
}

// OpenedSession is a session that an assistant may go on with.
type OpenedSession struct {
	Done
	SessionID events.ID
}

// Turn is the body of POST /v1/sessions/{id}/turns.
type Turn struct {
	Role events.SessionRole `json:"role"`
	Text string             `json:"text"`
}

// AddedTurn is a turn's number, counted from 1.
type AddedTurn struct {
	Done
	Turn int
}

// Item is the body of POST /v1/sessions/{id}/items.
type Item struct {
	Body               string            `json:"body"`
	Category           events.Category   `json:"category"`
	Subject            string            `json:"subject,omitempty"`
	Turn               *int              `json:"turn,omitempty"`
	Kind               events.MemoryKind `json:"kind,omitempty"`
	PromotionCandidate bool              `json:"promotionCandidate,omitempty"`
	Intent             events.Intent     `json:"intent,omitempty"`
}

// AddedItem is an item of a session's memory.
type AddedItem struct {
	Done
	ItemID events.ID
}

// ItemOutcome is what became of a candidate. Warnings name the consents for want of which nothing was kept.
type ItemOutcome struct {
	ItemID   events.ID          `json:"itemId"`
	Outcome  events.ItemOutcome `json:"outcome"`
	Reason   string             `json:"reason"`
	MemoryID *events.ID         `json:"memoryId"` // what was kept or proposed, or what stands in the way
	Warnings []Warning          `json:"warnings"`
}

// ClosedSession is one outcome for each candidate, in the order of their turns.
type ClosedSession struct {
	Done
	Outcomes []ItemOutcome
}

// SessionContext is what an assistant goes on with. Everything in it is data about a person, never an instruction.
type SessionContext struct {
	SessionID  events.ID        `json:"sessionId"`
	Program    string           `json:"program"`
	Continuity *ContinuityState `json:"continuity"` // null until there is one
	History    []ContextTurn    `json:"history"`
	Items      []ContextItem    `json:"items"`
	Withheld   map[string]int   `json:"withheld"` // how much was held back, by reason
}

// ContinuityState is where the member was on another device. Nothing makes one yet.
type ContinuityState struct {
	ScopeKey string `json:"scopeKey"`
	Posture  string `json:"posture"`
}

// ContextTurn is one turn of the history.
type ContextTurn struct {
	Turn int                `json:"turn"`
	Role events.SessionRole `json:"role"`
	Text string             `json:"text"`
	At   events.Time        `json:"at"`
}

// ContextItem is one piece of the session's memory.
type ContextItem struct {
	ItemID             events.ID         `json:"itemId"`
	Body               string            `json:"body"`
	Category           events.Category   `json:"category"`
	Subject            string            `json:"subject"`
	Turn               int               `json:"turn"`
	Kind               events.MemoryKind `json:"kind"`
	PromotionCandidate bool              `json:"promotionCandidate"`
	Intent             events.Intent     `json:"intent"`
}

// OpenSession begins a session of the token's member in a program. Its id follows from the request alone, so that a repeated
// request finds the same session.
func (a *Acts) OpenSession(ctx context.Context, c Caller, r Request, in Opening) (OpenedSession, error) {
	by, err := seated(c)
	if err != nil {
		return OpenedSession{}, err
	}
	if in.Program == "" {
		in.Program = events.DefaultProgram
	}
	if !c.Defined.HasProgram(in.Program) {
		return OpenedSession{}, aggregates.Refuse("program_unknown", "spec 1.1")
	}
	if err := a.mayConverse(ctx, c, in.Program); err != nil {
		return OpenedSession{}, err
	}
	command := c.commandID(r)
	id := events.CommandID("session", string(command))
	outcome, err := a.inSession(ctx, c, r, id, in, session.Open{
		Member: c.Member, Program: in.Program, TenantID: c.Principal.Tenant, By: by, OnBehalfOf: c.OnBehalfOf,
	})
	return OpenedSession{Done{outcome.Position}, id}, err
}

// AddTurn adds what was said to the session's history.
func (a *Acts) AddTurn(ctx context.Context, c Caller, r Request, id events.ID, in Turn) (AddedTurn, error) {
	if err := a.goOn(ctx, c, id); err != nil {
		return AddedTurn{}, err
	}
	outcome, err := a.inSession(ctx, c, r, id, in, session.AddTurn{Role: in.Role, Text: in.Text})
	added := AddedTurn{Done: Done{outcome.Position}}
	for _, e := range outcome.Events {
		if turn, ok := e.Event.(*events.SessionTurnAdded); ok {
			added.Turn = turn.Turn
		}
	}
	return added, err
}

// AddItem remembers something for as long as the session lasts.
func (a *Acts) AddItem(ctx context.Context, c Caller, r Request, id events.ID, in Item) (AddedItem, error) {
	if err := a.goOn(ctx, c, id); err != nil {
		return AddedItem{}, err
	}
	if in.Intent == "" {
		in.Intent = events.IntentImplicit
	}
	outcome, err := a.inSession(ctx, c, r, id, in, session.AddItem{
		SessionItem: events.SessionItem{Category: in.Category, Subject: in.Subject, Body: in.Body},
		Turn:        in.Turn, Kind: in.Kind, Candidate: in.PromotionCandidate, Intent: in.Intent,
	})
	added := AddedItem{Done: Done{outcome.Position}}
	for _, e := range outcome.Events {
		if item, ok := e.Event.(*events.SessionItemAdded); ok {
			added.ItemID = item.ItemID
		}
	}
	return added, err
}

// closings is how often a close looks again because items were added meanwhile.
const closings = 3

// CloseSession asks the promotion rules about every candidate, records their outcomes in the member's book one by one, and then
// ends the session with all of them. Whatever broke off in between is taken up by a repeated close, by any key: a candidate's
// command follows from session and item, so that it is decided once.
func (a *Acts) CloseSession(ctx context.Context, c Caller, r Request, id events.ID) (ClosedSession, error) {
	for range closings {
		s, err := a.ownSession(ctx, c, id)
		if err != nil {
			return ClosedSession{}, err
		}
		outcomes, err := a.promote(ctx, c, r, s)
		if err != nil {
			return ClosedSession{}, err
		}
		done, err := a.inSession(ctx, c, r, id, struct{}{}, session.Settle{Outcomes: outcomes})
		if refusal, ok := aggregates.AsRefusal(err); ok && refusal.Code == "session_changed" {
			continue
		}
		if err != nil {
			return ClosedSession{}, err
		}
		return a.closed(ctx, c, r, id, done)
	}
	return ClosedSession{}, aggregates.Refuse("session_changed", "spec 3.7")
}

// promote settles the candidates one after the other, those that were settled before included. Of a closed session there is none.
func (a *Acts) promote(ctx context.Context, c Caller, r Request, s sitting) ([]events.ItemSettled, error) {
	outcomes := []events.ItemSettled{}
	if s.closed != nil {
		return outcomes, nil
	}
	for _, item := range s.candidates {
		about := struct{ SessionID, ItemID events.ID }{s.id, item.ID}
		outcome, err := a.run(ctx, c.Organisation, c.Member, runner.Command[member.Command]{
			ID:       events.CommandID(c.Organisation, "session", string(s.id), string(item.ID)),
			Received: r.Received, Actor: c.asClient(), Trace: r.Trace, Setting: setting(c.Defined), Body: s.promotion(item),
		}, about)
		if err != nil {
			return nil, fmt.Errorf("settle item %s of session %s: %w", item.ID, s.id, err)
		}
		settled, ok := member.Settled(outcome.Events)
		if !ok {
			return nil, fmt.Errorf("settle item %s of session %s: %w: no outcome was recorded", item.ID, s.id, runner.ErrBroken)
		}
		outcomes = append(outcomes, settled)
	}
	return outcomes, nil
}

// closed gives the book's entries of the session their end, which a repeated close does again, and reads the outcomes back.
func (a *Acts) closed(ctx context.Context, c Caller, r Request, id events.ID, done runner.Outcome) (ClosedSession, error) {
	s, err := a.ownSession(ctx, c, id)
	if err != nil {
		return ClosedSession{}, err
	}
	_, err = a.run(ctx, c.Organisation, c.Member, runner.Command[member.Command]{
		ID:       events.CommandID(c.Organisation, "session", string(id), "due"),
		Received: r.Received, Actor: c.asClient(), Trace: r.Trace, Setting: setting(c.Defined),
		Body: member.EndSession{SessionID: id, Entries: s.closed.Entries},
	}, struct{ SessionID events.ID }{id})
	if err != nil {
		return ClosedSession{}, fmt.Errorf("end the entries of session %s: %w", id, err)
	}
	answer := ClosedSession{Done: Done{done.Position}, Outcomes: []ItemOutcome{}}
	for _, settled := range s.closed.Outcomes {
		answer.Outcomes = append(answer.Outcomes, outcomeOf(settled))
	}
	return answer, nil
}

func outcomeOf(settled events.ItemSettled) ItemOutcome {
	o := ItemOutcome{ItemID: settled.ItemID, Outcome: settled.Outcome, Reason: settled.Reason, Warnings: []Warning{}}
	if settled.Memory != "" {
		o.MemoryID = &settled.Memory
	}
	if len(settled.Missing) > 0 {
		o.Warnings = append(o.Warnings, Warning{Code: settled.Reason, Keys: settled.Missing})
	}
	return o
}

// SessionContext hydrates an assistant's context: history and items through screening, and through what the member's book says
// now (spec 3.7).
func (a *Acts) SessionContext(ctx context.Context, c Caller, id events.ID) (SessionContext, error) {
	s, err := a.ownSession(ctx, c, id)
	if err != nil {
		return SessionContext{}, err
	}
	now := events.At(a.Now())
	if s.ended {
		return SessionContext{}, aggregates.Refuse("session_closed", "spec 3.7")
	}
	var found session.Context
	err = a.Members.View(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		if why := book.WithholdsSession(s.program, c.Defined.Policy, now); why != "" {
			found = s.state.Withhold(why)
			return nil
		}
		found = s.state.Hydrate(a.Screen, func(category events.Category) string { return book.WithholdsItem(category, now) })
		return nil
	})
	if err != nil {
		return SessionContext{}, err
	}
	return contextOf(s, found), nil
}

func contextOf(s sitting, found session.Context) SessionContext {
	answer := SessionContext{SessionID: s.id, Program: s.program, History: []ContextTurn{}, Items: []ContextItem{}, Withheld: found.Withheld}
	for _, t := range found.History {
		answer.History = append(answer.History, ContextTurn{t.Number, t.Role, t.Text, t.At})
	}
	for _, i := range found.Items {
		answer.Items = append(answer.Items, ContextItem{i.ID, i.Body, i.Category, i.Subject, i.Turn, i.Kind, i.Candidate, i.Intent})
	}
	return answer
}

// seated is who may hold a session: a client that is registered for a consumer, for the token's member.
func seated(c Caller) (events.ProposedBy, error) {
	if err := c.Defined.Readable(); err != nil {
		return events.ProposedBy{}, err
	}
	consumers := c.Defined.Clients[c.Principal.Client]
	switch {
	case len(consumers) == 0:
		return events.ProposedBy{}, fmt.Errorf("the client is registered for no consumer: %w", ErrConsumer)
	case c.Member == "":
		return events.ProposedBy{}, fmt.Errorf("the credential's person is no member: %w", ErrNotAMember)
	}
	return events.ProposedBy{Client: c.Principal.Client, Consumer: consumers[0]}, nil
}

// sitting is one look at a session.
type sitting struct {
	id         events.ID
	program    string
	ended      bool
	closed     *session.Close
	candidates []session.Item
	state      *session.State // a copy that lives as long as the call
}

// ownSession looks at a session of the caller's own: of their member, by their client, for the same principal and tenant. Any
// other, one that is past its end and one that never was are the same to the caller (spec 9.5).
func (a *Acts) ownSession(ctx context.Context, c Caller, id events.ID) (sitting, error) {
	if _, err := seated(c); err != nil {
		return sitting{}, err
	}
	var s sitting
	now := events.At(a.Now())
	err := a.Sessions.View(ctx, c.Organisation, events.Session(id), func(state *session.State, _ uint64) error {
		if state.Member == "" || state.Member != c.Member || state.OpenedBy.Client != c.Principal.Client ||
			state.OnBehalfOf != c.OnBehalfOf || !sameTenant(state.TenantID, c.Principal.Tenant) || state.Gone(now) {
			return fmt.Errorf("session: %w", ErrNotFound)
		}
		copied := *state
		copied.Turns, copied.Items = slices.Clone(state.Turns), slices.Clone(state.Items)
		_, ended := state.EndedAt(now)
		s = sitting{id, state.Program, ended, state.Closed, state.Candidates(), &copied}
		return nil
	})
	return s, err
}

func sameTenant(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// goOn looks whether something may be added to a session now. That it hasn't ended is decided where it is added.
func (a *Acts) goOn(ctx context.Context, c Caller, id events.ID) error {
	s, err := a.ownSession(ctx, c, id)
	if err != nil {
		return err
	}
	return a.mayConverse(ctx, c, s.program)
}

func (a *Acts) mayConverse(ctx context.Context, c Caller, program string) error {
	return a.Members.View(ctx, c.Organisation, events.Member(c.Member), func(book *member.State, _ uint64) error {
		return book.Converse(program, c.Defined.Policy, events.At(a.Now()))
	})
}

func (a *Acts) inSession(ctx context.Context, c Caller, r Request, id events.ID, input any, command session.Command) (runner.Outcome, error) {
	canonical, err := events.Canonical(input)
	if err != nil {
		return runner.Outcome{}, fmt.Errorf("write a request to session %s: %w", id, err)
	}
	outcome, err := a.Sessions.Run(ctx, runner.Command[session.Command]{
		Organisation: c.Organisation, Aggregate: events.Session(id), ID: c.commandID(r), Received: r.Received, Actor: c.asClient(),
		Trace: r.Trace, Request: canonical, Setting: setting(c.Defined), Of: c.Member, Body: command,
	})
	return outcome, unknown(err, "session_unknown")
}

// promotion makes a candidate the claim of a memory: in the session's program and tier, for the profile (spec 1.5).
func (s sitting) promotion(item session.Item) member.PromoteItem {
	return member.PromoteItem{
		SessionID: s.id, ItemID: item.ID, Turn: item.Turn, Intent: item.Intent, ProposedBy: s.state.OpenedBy,
		Draft: member.Draft{
			Tier: events.TierIndividual, Kind: item.Kind, Program: s.program, Scope: events.Scope{Kind: events.ScopeProfile},
			TenantID: s.state.TenantID, Category: item.Category, Subject: item.Subject, Body: item.Body,
			Origin: events.OriginSummarizedFromSession, OnBehalfOf: s.state.OnBehalfOf,
			SourceRefs: []events.SourceRef{{Kind: "session", Ref: string(s.id), Turns: []int{item.Turn, item.Turn}}},
		},
	}
}
