package acts

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	"iris.example/iris/identity"
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

// RoleMemory is what those who hold a role read. ToConfirm waits for one of them.
type RoleMemory struct {
	Items     []RoleVersion `json:"items"`
	Next      *string       `json:"next"`
	ToConfirm []Candidate   `json:"toConfirm"`
}

// RolesHeld are the workbench roles that the caller holds now, in order.
func (a *Acts) RolesHeld(ctx context.Context, c Caller) (roles []string, err error) {
	err = a.ownBook(ctx, c, func(book *member.State) { roles = slices.Sorted(maps.Keys(book.Roles)) })
	return roles, err
}

// RoleMemory reads a role's memory as who holds the role, at the head that the stream has now: a version whose contributor took it
// back is not in an answer that begins after that was acknowledged (spec 2.2).
func (a *Acts) RoleMemory(ctx context.Context, c Caller, role string) (RoleMemory, error) {
	if !c.Principal.Has(identity.RoleMemoryRead) {
		return RoleMemory{}, fmt.Errorf("read role memory: %w", &NotPermitted{identity.RoleMemoryRead})
	}
	if _, err := c.asMember(); err != nil {
		return RoleMemory{}, err
	}
	held := false
	if err := a.ownBook(ctx, c, func(book *member.State) { _, held = book.Roles[role] }); err != nil {
		return RoleMemory{}, err
	}
	if !held {
		return RoleMemory{}, aggregates.Refuse("role_not_held", "spec 1.5")
	}
	memory := RoleMemory{Items: []RoleVersion{}, ToConfirm: []Candidate{}}
	err := a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
		for _, v := range slices.Backward(s.Versions) {
			memory.Items = append(memory.Items, versionOf(s, v))
		}
		for _, candidate := range newest(s) {
			if candidate.Stage == rolememory.StageAccepted {
				memory.ToConfirm = append(memory.ToConfirm, candidateOf(s, candidate))
			}
		}
		return nil
	})
	return memory, err
}

func versionOf(s *rolememory.State, v *rolememory.Version) RoleVersion {
	shown := RoleVersion{
		VersionID: v.ID, Role: s.Role, Kind: v.Kind, State: "published", AcceptedBy: v.AcceptedBy, ConfirmedBy: v.ConfirmedBy,
		Supersedes: v.Supersedes, PublishedAt: v.PublishedAt, EndedAt: v.EndedAt,
	}
	switch {
	case v.Retired:
		shown.State = "withdrawn"
	case v.EndedAt != nil:
		shown.State = "superseded"
	default:
		body := s.Candidates[v.CandidateID].Body
		shown.Body = &body
	}
	return shown
}

// newest are the candidates, newest first.
func newest(s *rolememory.State) []*rolememory.Candidate {
	var all []*rolememory.Candidate
	for _, candidate := range s.Candidates {
		all = append(all, candidate)
	}
	slices.SortFunc(all, func(x, y *rolememory.Candidate) int { return -compareIDs(x.ID, y.ID) })
	return all
}

func compareIDs(x, y events.ID) int {
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
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

// Candidates lists a role's, newest first, at the head that the stream has now.
func (a *Acts) Candidates(ctx context.Context, c Caller, role string) ([]Candidate, error) {
	if err := curates(c); err != nil {
		return nil, err
	}
	if !c.Defined.HasRole(role) {
		return nil, fmt.Errorf("role: %w", ErrNotFound)
	}
	all := []Candidate{}
	err := a.Roles.View(ctx, c.Organisation, events.Role(role), func(s *rolememory.State, _ uint64) error {
		for _, candidate := range newest(s) {
			all = append(all, candidateOf(s, candidate))
		}
		return nil
	})
	return all, err
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
