package acts

import (
	"context"
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/events"
	"iris.example/iris/projections/memories"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
	"iris.example/iris/screening"
)

// AgentMemory lists the caller's own tier 1 of a program and nothing else. Everyone in the program may read their own (spec 9.5); to
// anyone else the program is as unknown as one that isn't there.
func (a *Acts) AgentMemory(ctx context.Context, c Caller, program string, page reader.Page) (Page[Memory], error) {
	if err := a.inProgram(ctx, c, program); err != nil {
		return Page[Memory]{}, err
	}
	return a.Memories(ctx, c, memories.Filter{Tier: events.TierIndividual, Program: program}, "", page)
}

// ForgetAgentMemory is Forget for one of the caller's own tier 1 of a program.
func (a *Acts) ForgetAgentMemory(ctx context.Context, c Caller, r Request, program string, memory events.ID, dontAskAgain bool) (Done, error) {
	outcome, err := a.own(ctx, c, r, dontAskAgain, member.Forget{MemoryID: memory, DontAskAgain: dontAskAgain, Program: program})
	return Done{outcome.Position}, unknown(err, "memory_unknown")
}

// Promoted is a memory of tier person. With kept-existing it is the one that stands, and there is no revision.
type Promoted struct {
	Kept
	Tier events.Tier
}

// Promote takes a memory of a program to the member (spec 1.5).
func (a *Acts) Promote(ctx context.Context, c Caller, r Request, program string, memory events.ID) (Promoted, error) {
	known, err := a.known(ctx, c)
	if err != nil {
		return Promoted{}, err
	}
	promoted := Promoted{Tier: events.TierPerson}
	outcome, err := a.own(ctx, c, r, struct{}{}, member.Promote{MemoryID: memory, Program: program, Known: known})
	if err != nil {
		promoted.Kept, err = keptAlready(unknown(err, "memory_unknown"))
		return promoted, err
	}
	promoted.Kept = keptAnswer(outcome)
	return promoted, nil
}

// known is what the scrubber can't know of itself: the organisation's programs, and the caller's name as the directory has it. A
// member without a name has none to find.
func (a *Acts) known(ctx context.Context, c Caller) (screening.Known, error) {
	known := screening.Known{Organisations: []string{c.Organisation}}
	for program := range c.Defined.Programs {
		known.Programs = append(known.Programs, program)
	}
	slices.Sort(known.Programs)
	name, found, err := a.Directory.DisplayName(ctx, c.Organisation, c.Member)
	if err != nil {
		return screening.Known{}, fmt.Errorf("look a member's name up: %w: %w", runner.ErrUnavailable, err)
	}
	if found && name != "" {
		known.Members = []string{name}
	}
	return known, nil
}

// inProgram holds the caller to a program that they are in, or left and can still come back to.
func (a *Acts) inProgram(ctx context.Context, c Caller, program string) error {
	belongs := false
	now := events.At(a.Now())
	err := a.ownBook(ctx, c, func(book *member.State) {
		left, was := book.Left[program]
		belongs = book.In(program) || was && !left.ForgetAt.Passed(now)
	})
	if err == nil && !belongs {
		err = fmt.Errorf("program: %w", ErrNotFound)
	}
	return err
}

// AsScrubFindings unwraps what the scrubber found: which items, where in the text, and in which text if it isn't the body.
func AsScrubFindings(err error) (findings []screening.Leak, field string, ok bool) {
	refusal, ok := aggregates.AsRefusal(err)
	if !ok || len(refusal.Leaks) == 0 {
		return nil, "", false
	}
	return refusal.Leaks, refusal.Field, true
}
