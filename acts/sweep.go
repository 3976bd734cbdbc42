package acts

import (
	"context"
	"strconv"

	"golang.org/x/text/unicode/norm"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/runner"
)

// Swept is what a forget of many has done. ForgetAt is nil where there was nothing to forget.
type Swept struct {
	Done
	Memories, Drafts int
	ForgetAt         *events.Time
}

// ForgetSource forgets everything that came from a source: a conversation, a document, an event. Drafts from it are over. It is found
// however its name was composed (NFC).
func (a *Acts) ForgetSource(ctx context.Context, c Caller, r Request, source string) (Swept, error) {
	return a.sweep(ctx, c, r, events.Sweep{Kind: events.SweepSource, Source: norm.NFC.String(source)})
}

// EndNotebook forgets everything that the caller has in a notebook.
func (a *Acts) EndNotebook(ctx context.Context, c Caller, r Request, notebook string) (Swept, error) {
	return a.sweep(ctx, c, r, events.Sweep{Kind: events.SweepScope, Scope: &events.Scope{Kind: events.ScopeNotebook, NotebookID: notebook}})
}

// ForgetProgram forgets the caller's own tier 1 of a program.
func (a *Acts) ForgetProgram(ctx context.Context, c Caller, r Request, program string) (Swept, error) {
	if err := a.inProgram(ctx, c, program); err != nil {
		return Swept{}, err
	}
	return a.sweep(ctx, c, r, events.Sweep{Kind: events.SweepProgram, Program: program})
}

// sweep takes as many commits as it needs, each under an id of its own that follows from the command's: repeated under the same
// Idempotency-Key, the parts that were stored answer as they did, and what a crash has left undone is done. From the first part on
// nothing of it is used any more.
func (a *Acts) sweep(ctx context.Context, c Caller, r Request, what events.Sweep) (Swept, error) {
	actor, err := c.asMember()
	if err != nil {
		return Swept{}, err
	}
	first := c.commandID(r)
	var done Swept
	for part, id, more := 0, first, true; more; part, id = part+1, events.CommandID(string(first), "part", strconv.Itoa(part+1)) {
		outcome, err := a.run(ctx, c.Organisation, c.Member, runner.Command[member.Command]{
			ID: id, Received: r.Received, Actor: actor, Trace: r.Trace, Setting: setting(c.Defined),
			Body: member.ForgetMany{Sweep: what, SweepID: first, Part: part, Most: a.MaxSwept},
		}, what)
		if err != nil {
			return Swept{}, err
		}
		more = done.add(outcome)
	}
	return done, nil
}

// add reports whether another part follows.
func (s *Swept) add(o runner.Outcome) (more bool) {
	s.Position = o.Position
	for _, e := range o.Events {
		if part, ok := e.Event.(*events.MemoriesForgotten); ok {
			s.Memories, s.Drafts, s.ForgetAt, more = s.Memories+len(part.Memories), s.Drafts+len(part.Drafts), &part.ForgetAt, part.More
		}
	}
	return more
}
