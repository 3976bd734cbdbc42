package member

import (
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/rolememory"
	"iris.example/iris/events"
	"iris.example/iris/recall"
	"iris.example/iris/screening"
)

// Share is what became of a memory that was offered to a role, while the offer stands. Only the book knows it (spec 1.8).
type Share struct {
	Role           string
	RevisionID     events.ID // as the memory stood when it was offered
	CandidateID    events.ID
	ContributionID events.ID
	Findings       []events.ScrubFinding // what was taken out of the text for it
}

type (
	// ProposeShare offers a kept memory to those who hold a role. Program is where the member says that it is; Seconds is the
	// candidate that has this very text already, if one has. Known is what the scrubber can't know of itself.
	ProposeShare struct {
		MemoryID events.ID
		Program  string
		Role     string
		Seconds  events.ID
		Known    screening.Known
	}
	// AcceptCandidate is a curator's yes, ConfirmCandidate the second yes of somebody who holds the role.
	AcceptCandidate struct {
		Role        string
		CandidateID events.ID
	}
	ConfirmCandidate struct {
		Role        string
		CandidateID events.ID
	}
)

func (ProposeShare) KeysNeeded() int     { return 0 }
func (AcceptCandidate) KeysNeeded() int  { return 0 }
func (ConfirmCandidate) KeysNeeded() int { return 0 }

// curate decides about what a member shares, and what a member curates. False: the command is another's.
func curate(s *State, c Command, env aggregates.Env) ([]events.Event, bool, error) {
	var decided events.Event
	var err error
	switch c := c.(type) {
	case ProposeShare:
		decided, err = proposeShare(s, c, env)
	case AcceptCandidate:
		decided, err = acceptCandidate(s, c)
	case ConfirmCandidate:
		decided, err = confirmCandidate(s, c, env)
	default:
		return nil, false, nil
	}
	if err != nil || decided == nil {
		return nil, true, err
	}
	return []events.Event{decided}, true, nil
}

// proposeShare: nothing sensitive leaves the book, nothing about a third person, and of the text what the scrubber leaves (spec 1.5, 1.7).
// What is offered already, as it stands, is not offered twice.
func proposeShare(s *State, c ProposeShare, env aggregates.Env) (events.Event, error) {
	e, err := s.ownIn(c.Program, c.MemoryID)
	switch {
	case err != nil:
		return nil, err
	case !e.Kept(env.Now):
		return nil, refuseMove()
	case !env.Defined.HasRole(c.Role):
		return nil, aggregates.Refuse("role_unknown", "spec 1.1")
	case roleKind(e.Kind) == "":
		return nil, aggregates.Refuse("kind_not_promotable", "spec 1.5")
	case e.Labels.Category.Sensitive() || e.Details.MultiActor != nil:
		return nil, aggregates.Refuse("not_shareable", "spec 1.5")
	case e.Body == "":
		return nil, fmt.Errorf("share memory %s: %w", e.MemoryID, ErrNoText)
	}
	for _, share := range s.Shares[e.MemoryID] {
		if share.Role == c.Role && share.RevisionID == e.RevisionID {
			return nil, nil
		}
	}
	if missing := s.Missing(required(e.Labels, e.Details, env), env.Now); len(missing) > 0 {
		return nil, &aggregates.Refusal{Code: "consent_required", Rule: "spec 2.2", Missing: missing}
	}
	offer, err := s.scrubbed(e, c.Known, env)
	if err != nil {
		return nil, err
	}
	link := events.ShareLink{
		CandidateID: c.Seconds, ContributionID: events.EntityID(env.Received, jointID(env, c.Role), 1), Findings: offer.inOwn,
	}
	if link.CandidateID == "" {
		link.CandidateID = events.EntityID(env.Received, jointID(env, c.Role), 0)
	}
	return &events.ShareProposed{Shared: e.shared(c.Role, link), RevisionID: e.RevisionID}, nil
}

// roleKind is what a memory of tier individual is in tier role: a member's adjustment of a rubric, taken over by all, is the rubric.
// Empty: it is never shared.
func roleKind(k events.MemoryKind) events.MemoryKind {
	switch k {
	case events.KindRubricAdjustment:
		return events.KindRubricVersion
	case events.KindVocabulary, events.KindLesson:
		return k
	}
	return ""
}

// scrubbed is a text as others may read it, with what was taken out: where it stood in the member's own text, and where its name
// stands in this one.
type scrubbed struct {
	text               string
	inOwn, inCandidate []events.ScrubFinding
}

// scrubbed takes out of a memory what must not leave the program, and puts its name there (spec 1.5, 1.7). The subject stays in the
// book. A text of which nothing else would be left, or which still leaks, is not offered.
func (s *State) scrubbed(e *Entry, given screening.Known, env aggregates.Env) (scrubbed, error) {
	known := s.known(e.Details, given)
	leaks := env.Screen.Scrub(e.Body, known)
	text, named := screening.Redact(e.Body, leaks)
	if len(leaks) > 0 && (saysNothing(text, named) || len(env.Screen.Scrub(text, known)) > 0) {
		return scrubbed{}, &aggregates.Refusal{Code: "scrub_findings", Rule: "spec 1.7", Leaks: leaks}
	}
	return scrubbed{text, findings(leaks), findings(named)}, nil
}

// saysNothing reports whether there is no word beside the names of what was taken out.
func saysNothing(text string, named []screening.Leak) bool {
	runes := []rune(text)
	for _, leak := range named {
		for i := leak.Start; i < leak.End; i++ {
			runes[i] = ' '
		}
	}
	return len(recall.Tokens(string(runes))) == 0
}

func findings(leaks []screening.Leak) []events.ScrubFinding {
	var all []events.ScrubFinding
	for _, leak := range leaks {
		all = append(all, events.ScrubFinding{Item: string(leak.Item), Start: leak.Start, End: leak.End})
	}
	return all
}

// MayBeShared reports whether a memory of this sort may be offered to a role at all, for a page that offers no more than can be done.
func MayBeShared(tier events.Tier, kind events.MemoryKind, category events.Category) bool {
	return tier == events.TierIndividual && roleKind(kind) != "" && !category.Sensitive()
}

func (e *Entry) shared(role string, link events.ShareLink) events.Shared {
	return events.Shared{MemoryID: e.MemoryID, KeyID: e.KeyID, Tier: e.Tier, Role: role, Link: events.Hide(link)}
}

// acceptCandidate: that the caller is a curator is a permission; that they contributed nothing, the book knows.
func acceptCandidate(s *State, c AcceptCandidate) (events.Event, error) {
	if s.contributed(c.CandidateID) {
		return nil, aggregates.Refuse("curation_needs_another_person", "spec 1.5")
	}
	return &events.CurationAccepted{Role: c.Role, CandidateID: c.CandidateID}, nil
}

// confirmCandidate takes the role as it is held now: the commit stands in the batch under this book's head, so that no loss of it
// comes in between (spec 9.2).
func confirmCandidate(s *State, c ConfirmCandidate, env aggregates.Env) (events.Event, error) {
	if s.contributed(c.CandidateID) {
		return nil, aggregates.Refuse("curation_needs_another_person", "spec 1.5")
	}
	if _, held := s.Roles[c.Role]; !held {
		return nil, aggregates.Refuse("role_not_held", "spec 1.5")
	}
	return &events.CurationConfirmed{
		Role: c.Role, CandidateID: c.CandidateID, VersionID: events.EntityID(env.Received, jointID(env, c.Role), 0),
	}, nil
}

func (s *State) contributed(candidate events.ID) bool {
	for _, shares := range s.Shares {
		for _, share := range shares {
			if share.CandidateID == candidate {
				return true
			}
		}
	}
	return false
}

// climb is what follows for the roles from what a decision takes away: an offer rests on its memory, on the consents that keeping it
// takes, and on the member. Every decision passes here, so that no way of forgetting leaves a version standing (spec 1.8).
func (s *State) climb(decided []events.Event, env aggregates.Env) []events.Event {
	if len(s.Shares) == 0 {
		return nil
	}
	gone := map[events.ID]bool{}
	for _, e := range decided {
		s.takesAway(e, env, gone)
	}
	ids := make([]events.ID, 0, len(gone))
	for id := range gone {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return s.WithdrawShares(ids)
}

// MaxTakenBack is how many offers one commit takes back. A whole part of a sweep has room beside them, and the roles' commits have
// in one batch, if each offer is another role's.
const MaxTakenBack = 64

// Ahead is what has to be taken back before a decision itself can be recorded: the first of the offers, where they are more than
// one commit takes back. They go first, so that at no position of the book an offer rests on what was taken away.
func Ahead(decided []events.Event) []events.Event {
	var back []events.Event
	for _, event := range decided {
		if _, is := event.(*events.ShareWithdrawn); is {
			back = append(back, event)
		}
	}
	if len(back) <= MaxTakenBack {
		return nil
	}
	return back[:MaxTakenBack]
}

// takesAway adds the memories on which nothing may rest after an event. An event that hides or destroys memory has its line here.
func (s *State) takesAway(event events.Event, env aggregates.Env, gone map[events.ID]bool) {
	switch e := event.(type) {
	case *events.MemoryForgotten:
		s.ends(e.MemoryID, gone)
	case *events.MemoriesForgotten:
		for id := range s.Shares { // the first part hides everything that is meant, named or not
			if e.Part == 0 && s.sweeps(e.Sweep.Plain, s.Entries[id], env.Now) {
				gone[id] = true
			}
		}
		for _, swept := range e.Memories {
			s.ends(swept.MemoryID, gone)
		}
	case *events.MemoryRevised:
		if e.Labels.Plain.Category.Sensitive() {
			gone[e.MemoryID] = true
		}
	case *events.ConsentWithdrawn:
		s.restsOn(e.Record.Plain.Key, env, gone)
	case *events.ConsentDenied:
		s.restsOn(e.Record.Plain.Key, env, gone)
	case *events.MemberRemoved:
		for id := range s.Shares {
			gone[id] = true
		}
	}
}

// ends: the member sees a memory and what it was before its promotion as one.
func (s *State) ends(id events.ID, gone map[events.ID]bool) {
	gone[id] = true
	if e := s.Entries[id]; e != nil && e.PromotedFrom != "" {
		gone[e.PromotedFrom] = true
	}
}

func (s *State) restsOn(key events.ConsentKey, env aggregates.Env, gone map[events.ID]bool) {
	for id := range s.Shares {
		e := s.Entries[id]
		if e == nil || key == events.ConsentKey(e.Labels.Category) || slices.Contains(required(e.Labels, e.Details, env), key) {
			gone[id] = true
		}
	}
}

// WithdrawShares takes back everything that the memories contributed to roles.
func (s *State) WithdrawShares(memories []events.ID) []events.Event {
	var all []events.Event
	for _, id := range memories {
		e := s.Entries[id]
		if e == nil {
			continue
		}
		for _, share := range s.Shares[id] {
			link := events.ShareLink{CandidateID: share.CandidateID, ContributionID: share.ContributionID}
			all = append(all, &events.ShareWithdrawn{Shared: e.shared(share.Role, link)})
		}
	}
	return all
}

// shares applies an event about sharing. Other events change nothing here.
func (s *State) shares(r events.Recorded) {
	switch e := r.Event.(type) {
	case *events.ShareProposed:
		s.Shares[e.MemoryID] = append(s.Shares[e.MemoryID], Share{
			Role: e.Role, RevisionID: e.RevisionID, CandidateID: e.Link.Plain.CandidateID, ContributionID: e.Link.Plain.ContributionID,
			Findings: e.Link.Plain.Findings,
		})
	case *events.ShareWithdrawn:
		left := slices.DeleteFunc(s.Shares[e.MemoryID], func(share Share) bool { return share.ContributionID == e.Link.Plain.ContributionID })
		if s.Shares[e.MemoryID] = left; len(left) == 0 {
			delete(s.Shares, e.MemoryID)
		}
	}
}

// Joins says what a decision needs of roles: each gets a commit of its own in the same batch (spec 9.2). What concerns a contributor
// is done there in nobody's name, under an id that only the register key ties to the command.
func Joins(s *State, c Command, decided []events.Event, env aggregates.Env) []aggregates.Joint {
	var all []aggregates.Joint
	back := map[string]rolememory.TakeBack{}
	for _, event := range decided {
		switch e := event.(type) {
		case *events.ShareProposed:
			entry := s.Entries[e.MemoryID]
			offer, _ := s.scrubbed(entry, c.(ProposeShare).Known, env) // the decision asked the same, and went on
			all = append(all, joint(env, e.Role, curation, rolememory.Offer{
				CandidateID: e.Link.Plain.CandidateID, ContributionID: e.Link.Plain.ContributionID, Seconds: c.(ProposeShare).Seconds != "",
				Kind: roleKind(entry.Kind), Category: entry.Labels.Category, Body: offer.text, Findings: offer.inCandidate, By: s.ID,
			}))
		case *events.CurationAccepted:
			all = append(all, joint(env, e.Role, s.actor(), rolememory.Accept{CandidateID: e.CandidateID, By: s.ID}))
		case *events.CurationConfirmed:
			all = append(all, joint(env, e.Role, s.actor(), rolememory.Confirm{CandidateID: e.CandidateID, VersionID: e.VersionID, By: s.ID}))
		case *events.ShareWithdrawn:
			back[e.Role] = rolememory.TakeBack{ContributionIDs: append(back[e.Role].ContributionIDs, e.Link.Plain.ContributionID)}
		}
	}
	for role, command := range back {
		all = append(all, joint(env, role, curation, command))
	}
	return all
}

// curation is who acts where no member may be named.
var curation = events.Actor{ID: "curation", Kind: events.ActorSystem}

func (s *State) actor() events.Actor { return events.Actor{ID: string(s.ID), Kind: events.ActorMember} }

func joint(env aggregates.Env, role string, actor events.Actor, command rolememory.Command) aggregates.Joint {
	return aggregates.Joint{Aggregate: events.Role(role), Command: command, ID: jointID(env, role), Actor: actor}
}

// jointID is the role's command id. Without the member's register key nobody can tell which command of whose book it belongs to.
func jointID(env aggregates.Env, role string) events.ID {
	return events.CommandID("role", env.Print("joint", string(env.Command), role))
}
