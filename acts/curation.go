package acts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	"iris.example/iris/identity"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
)

// Offer is the body of a propose-share (spec 10.9).
type Offer struct {
	Role string `json:"role"`
}

// Offered is a candidate that a member's text became, or seconds. Findings are what was taken out of it, and where that stood in the
// member's own text.
type Offered struct {
	Done
	CandidateID events.ID
	Findings    []events.ScrubFinding
}

// ProposeShare offers one of the caller's own memories of a program to those who hold a role. Whether somebody has offered the same
// text is known when it is decided, so it may take a second try.
func (a *Acts) ProposeShare(ctx context.Context, c Caller, r Request, program string, memory events.ID, in Offer) (Offered, error) {
	known, err := a.known(ctx, c)
	if err != nil {
		return Offered{}, err
	}
	command := member.ProposeShare{MemoryID: memory, Program: program, Role: in.Role, Known: known}
	var outcome runner.Outcome
	for range 3 {
		outcome, err = a.own(ctx, c, r, in, command)
		refusal, is := aggregates.AsRefusal(err)
		if !is || refusal.Code != rolememory.CodeCandidateChanged {
			break
		}
		command.Seconds = refusal.Existing
	}
	if err != nil {
		return Offered{}, unknown(err, "memory_unknown")
	}
	offered := Offered{Done: Done{outcome.Position}, Findings: []events.ScrubFinding{}}
	for _, e := range outcome.Events {
		if share, is := e.Event.(*events.ShareProposed); is {
			offered.CandidateID = share.Link.Plain.CandidateID
			offered.Findings = append(offered.Findings, share.Link.Plain.Findings...)
		}
	}
	if offered.CandidateID != "" {
		return offered, nil
	}
	err = a.ownBook(ctx, c, func(book *member.State) { // offered before, as it stands
		for _, share := range book.Shares[memory] {
			if share.Role == in.Role {
				offered.CandidateID = share.CandidateID
				offered.Findings = append(offered.Findings, share.Findings...)
			}
		}
	})
	return offered, err
}

// Candidate is a text before the curators, or what became of it. It names who curated, and nobody who offered it.
type Candidate struct {
	CandidateID events.ID             `json:"candidateId"`
	Role        string                `json:"role"`
	State       rolememory.Stage      `json:"state"`
	Body        string                `json:"body"`
	Kind        events.MemoryKind     `json:"kind"`
	Findings    []events.ScrubFinding `json:"findings"` // in Body: where the name of what was taken out stands
	AcceptedBy  *events.ID            `json:"acceptedBy"`
	ConfirmedBy *events.ID            `json:"confirmedBy"`
	VersionID   *events.ID            `json:"versionId"`
	Supersedes  *events.ID            `json:"supersedes"`
}

// RoleVersion is what a role shares, or shared. Only the one that stands has a text.
type RoleVersion struct {
	VersionID   events.ID         `json:"versionId"`
	Role        string            `json:"role"`
	Kind        events.MemoryKind `json:"kind"`
	State       string            `json:"state"` // published, superseded or withdrawn
	Body        *string           `json:"body"`
	AcceptedBy  events.ID         `json:"acceptedBy"`
	ConfirmedBy events.ID         `json:"confirmedBy"`
	Supersedes  *events.ID        `json:"supersedes"`
	PublishedAt events.Time       `json:"publishedAt"`
	EndedAt     *events.Time      `json:"endedAt"`
}

// RoleMemory is what those who hold a role read: a page of versions, and the newest of what waits for one of them.
type RoleMemory struct {
	Page[RoleVersion]
	ToConfirm Page[Candidate]
}

// RolesHeld are the workbench roles that the caller holds now, in order.
func (a *Acts) RolesHeld(ctx context.Context, c Caller) (roles []string, err error) {
	err = a.ownBook(ctx, c, func(book *member.State) { roles = slices.Sorted(maps.Keys(book.Roles)) })
	return roles, err
}

// RoleMemory reads a role's memory as who holds the role, newest first, at the head that the stream has now: a version whose
// contributor took it back is not in an answer that begins after that was acknowledged (spec 2.2). State narrows it to published,
// superseded or withdrawn; empty: all of them.
func (a *Acts) RoleMemory(ctx context.Context, c Caller, role, state string, page reader.Page) (RoleMemory, error) {
	memory := RoleMemory{Page: Page[RoleVersion]{Items: []RoleVersion{}}}
	err := a.asHolder(ctx, c, role, func(s *rolememory.State) {
		var versions []*rolememory.Version
		for _, v := range slices.Backward(s.Versions) {
			if state == "" || standing(v) == state {
				versions = append(versions, v)
			}
		}
		versions, memory.Next = reader.Of(page, versions, func(v *rolememory.Version) reader.Key { return reader.Key{Position: v.Position, ID: v.ID} })
		for _, v := range versions {
			memory.Items = append(memory.Items, versionOf(s, v))
		}
		memory.ToConfirm = candidatesOf(s, reader.Page{Limit: page.Limit}, rolememory.StageAccepted)
	})
	return memory, err
}

// ToConfirm lists what waits for one who holds the role, newest first.
func (a *Acts) ToConfirm(ctx context.Context, c Caller, role string, page reader.Page) (waiting Page[Candidate], err error) {
	err = a.asHolder(ctx, c, role, func(s *rolememory.State) { waiting = candidatesOf(s, page, rolememory.StageAccepted) })
	return waiting, err
}

// asHolder shows a role's memory to who holds the role.
func (a *Acts) asHolder(ctx context.Context, c Caller, role string, look func(*rolememory.State)) error {
	if !c.Principal.Has(identity.RoleMemoryRead) {
		return fmt.Errorf("read role memory: %w", &NotPermitted{identity.RoleMemoryRead})
	}
	if _, err := c.asMember(); err != nil {
		return err
	}
	held := false
	if err := a.ownBook(ctx, c, func(book *member.State) { _, held = book.Roles[role] }); err != nil {
		return err
	}
	if !held {
		return aggregates.Refuse("role_not_held", "spec 1.5")
	}
	return a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
		look(s)
		return nil
	})
}

// standing says whether a version is read, or why no longer.
func standing(v *rolememory.Version) string {
	switch {
	case v.Retired:
		return "withdrawn"
	case v.EndedAt != nil:
		return "superseded"
	}
	return "published"
}

func versionOf(s *rolememory.State, v *rolememory.Version) RoleVersion {
	shown := RoleVersion{
		VersionID: v.ID, Role: s.Role, Kind: v.Kind, State: standing(v), AcceptedBy: v.AcceptedBy, ConfirmedBy: v.ConfirmedBy,
		Supersedes: v.Supersedes, PublishedAt: v.PublishedAt, EndedAt: v.EndedAt,
	}
	if shown.State == "published" {
		body := s.Candidates[v.CandidateID].Body
		shown.Body = &body
	}
	return shown
}

// candidatesOf is a page of a role's candidates at some stages, or at any. They are newest first by when they were offered, wherever
// they have come since: what moves on meanwhile is on no page twice and on none too few.
func candidatesOf(s *rolememory.State, page reader.Page, stages ...rolememory.Stage) Page[Candidate] {
	var all []*rolememory.Candidate
	for _, candidate := range s.Candidates {
		if len(stages) == 0 || slices.Contains(stages, candidate.Stage) {
			all = append(all, candidate)
		}
	}
	key := func(x *rolememory.Candidate) reader.Key { return reader.Key{Position: x.Position, ID: x.ID} }
	slices.SortFunc(all, func(x, y *rolememory.Candidate) int {
		return cmp.Or(cmp.Compare(y.Position, x.Position), cmp.Compare(y.ID, x.ID))
	})
	all, next := reader.Of(page, all, key)
	found := Page[Candidate]{Items: []Candidate{}, Next: next}
	for _, candidate := range all {
		found.Items = append(found.Items, candidateOf(s, candidate))
	}
	return found
}

func candidateOf(s *rolememory.State, x *rolememory.Candidate) Candidate {
	return Candidate{
		CandidateID: x.ID, Role: s.Role, State: x.Stage, Body: x.Body, Kind: x.Kind, Findings: append([]events.ScrubFinding{}, x.Findings...),
		AcceptedBy: some(x.AcceptedBy), ConfirmedBy: some(x.ConfirmedBy), VersionID: some(x.VersionID), Supersedes: x.Supersedes,
	}
}

func some(id events.ID) *events.ID {
	if id == "" {
		return nil
	}
	return &id
}

// curates requires a curator: the permission, from PERSONA_VERSION 4 (spec 9.5).
func curates(c Caller) error {
	if !c.Principal.Has(identity.RoleMemoryManage) {
		return fmt.Errorf("curate: %w", &NotPermitted{identity.RoleMemoryManage})
	}
	_, err := c.asMember()
	return err
}

// Candidates lists a role's at some stages, or all, newest first, at the head that the stream has now.
func (a *Acts) Candidates(ctx context.Context, c Caller, role string, page reader.Page, stages ...rolememory.Stage) (found Page[Candidate], err error) {
	if err := curates(c); err != nil {
		return found, err
	}
	if !c.Defined.HasRole(role) {
		return found, fmt.Errorf("role: %w", ErrNotFound)
	}
	err = a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
		found = candidatesOf(s, page, stages...)
		return nil
	})
	return found, err
}

// Curated is a candidate after an act of curation.
type Curated struct {
	Done
	Candidate
}

// AcceptCandidate is a curator's yes, the first of two.
func (a *Acts) AcceptCandidate(ctx context.Context, c Caller, r Request, role string, candidate events.ID) (Curated, error) {
	if err := curates(c); err != nil {
		return Curated{}, err
	}
	outcome, err := a.own(ctx, c, r, struct{}{}, member.AcceptCandidate{Role: role, CandidateID: candidate})
	return a.curated(ctx, c, role, candidate, outcome, err)
}

// ConfirmCandidate is the second yes. Who accepted hears that it takes another person, whether or not they hold the role.
func (a *Acts) ConfirmCandidate(ctx context.Context, c Caller, r Request, role string, candidate events.ID) (Curated, error) {
	if !c.Principal.Has(identity.RoleMemoryRead) {
		return Curated{}, fmt.Errorf("confirm: %w", &NotPermitted{identity.RoleMemoryRead})
	}
	outcome, err := a.own(ctx, c, r, struct{}{}, member.ConfirmCandidate{Role: role, CandidateID: candidate})
	if refusal, is := aggregates.AsRefusal(err); is && refusal.Code == "role_not_held" {
		same := false
		seen := a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
			known := s.Candidates[candidate]
			same = known != nil && known.AcceptedBy == c.Member
			return nil
		})
		if seen == nil && same {
			err = aggregates.Refuse("curation_needs_another_person", "spec 1.5")
		}
	}
	return a.curated(ctx, c, role, candidate, outcome, err)
}

// RejectCandidate is a curator's no. It takes one person.
func (a *Acts) RejectCandidate(ctx context.Context, c Caller, r Request, role string, candidate events.ID) (Curated, error) {
	if err := curates(c); err != nil {
		return Curated{}, err
	}
	actor, err := c.asMember()
	if err != nil {
		return Curated{}, err
	}
	canonical, err := events.Canonical(struct{}{})
	if err != nil {
		return Curated{}, err
	}
	outcome, err := a.Roles.Run(ctx, runner.Command[rolememory.Command]{
		Organisation: c.Organisation, Aggregate: events.Role(role), ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace,
		Setting: setting(c.Defined), Request: canonical, Body: rolememory.Reject{CandidateID: candidate},
	})
	return a.curated(ctx, c, role, candidate, outcome, err)
}

func (a *Acts) curated(ctx context.Context, c Caller, role string, candidate events.ID, outcome runner.Outcome, err error) (Curated, error) {
	if err != nil {
		return Curated{}, unknown(err, "candidate_unknown")
	}
	curated := Curated{Done: Done{outcome.Position}}
	err = a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
		if known := s.Candidates[candidate]; known != nil {
			curated.Candidate = candidateOf(s, known)
		}
		return nil
	})
	return curated, err
}
