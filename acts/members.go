package acts

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/text/unicode/norm"

	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/events"
	"iris.example/iris/projections/belonging"
	"iris.example/iris/projections/reader"
	"iris.example/iris/runner"
)

// Enrolment is the body of PUT /v1/admin/members. Both are personal: they go to the vault's directory, and nowhere else.
type Enrolment struct {
	Subject     string  `json:"subject"`
	DisplayName *string `json:"displayName,omitempty"`
}

// Enrolled is a registered member.
type Enrolled struct {
	Done
	MemberID events.ID
	Created  bool
}

// Enrol gives an identity provider's subject an opaque id and a book, or finds the one it has. A display name that is given
// replaces the one before.
func (a *Acts) Enrol(ctx context.Context, c Caller, r Request, in Enrolment) (Enrolled, error) {
	actor, err := c.administers()
	if err != nil {
		return Enrolled{}, err
	}
	known, err := a.resolve(ctx, c.Organisation, c.Principal.Issuer, in.Subject)
	if err != nil {
		return Enrolled{}, err
	}
	name := ""
	if in.DisplayName != nil {
		name = norm.NFC.String(*in.DisplayName)
	}
	id, err := a.register(ctx, c, r, actor, in.Subject, name)
	if err != nil {
		return Enrolled{}, err
	}
	if in.DisplayName != nil {
		if err := a.Directory.Rename(ctx, c.Organisation, id, name); err != nil {
			return Enrolled{}, fmt.Errorf("name a member: %w: %w", runner.ErrUnavailable, err)
		}
	}
	var position uint64
	err = a.Members.Look(ctx, c.Organisation, events.Member(id), func(_ *member.State, at uint64) error {
		position = at
		return nil
	})
	return Enrolled{Done{position}, id, known == ""}, err
}

// register makes directory row, keys and book, whichever isn't there: a request that ended in between is repeated.
func (a *Acts) register(ctx context.Context, c Caller, r Request, actor events.Actor, subject, name string) (events.ID, error) {
	id, _, err := a.Directory.Register(ctx, c.Organisation, c.Principal.Issuer, subject, name)
	if err == nil {
		err = a.Directory.EnsureMember(ctx, c.Organisation, id)
	}
	if err != nil {
		return "", fmt.Errorf("register a member: %w: %w", runner.ErrUnavailable, err)
	}
	_, err = a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: events.CommandID(c.Organisation, organisation.Registration, string(id)), Received: r.Received, Actor: actor, Trace: r.Trace,
		Setting: setting(c.Defined), Body: member.Register{},
	}, "registration")
	return id, err
}

// Remove ends a member: the book is closed, then the directory forgets who it was. From the first on nothing is decided about the
// member, from the second on nobody can name them. A request that ended in between is repeated and ends it.
func (a *Acts) Remove(ctx context.Context, c Caller, r Request, id events.ID) (Done, error) {
	actor, err := c.administers()
	if err != nil {
		return Done{}, err
	}
	var known, closed bool
	var position uint64
	err = a.Members.Look(ctx, c.Organisation, events.Member(id), func(book *member.State, at uint64) error {
		known, closed, position = book.Registered, book.Removed, at
		return nil
	})
	if err != nil {
		return Done{}, err
	}
	exists, err := a.Directory.MemberExists(ctx, c.Organisation, id)
	switch {
	case err != nil:
		return Done{}, fmt.Errorf("look a member up: %w: %w", runner.ErrUnavailable, err)
	case !known:
		return Done{}, fmt.Errorf("member: %w", ErrNotFound)
	case closed && exists: // it ended in between
		return Done{position}, a.unregister(ctx, c, id)
	}
	outcome, err := a.run(ctx, c.Organisation, id, runner.Command[member.Command]{
		ID: c.commandID(r), Received: r.Received, Actor: actor, Trace: r.Trace, Setting: setting(c.Defined), Body: member.Remove{},
	}, struct{}{})
	if err != nil {
		return Done{}, unknown(err, "member_unknown")
	}
	return Done{outcome.Position}, a.unregister(ctx, c, id)
}

func (a *Acts) unregister(ctx context.Context, c Caller, id events.ID) error {
	if err := a.Directory.Unregister(ctx, c.Organisation, id); err != nil {
		return fmt.Errorf("unregister a member: %w: %w", runner.ErrUnavailable, err)
	}
	return nil
}

// Person is a member as an administrator sees them: by opaque id, with where they belong and what they hold, and nothing of what
// is remembered.
type Person struct {
	MemberID        events.ID   `json:"memberId"`
	DisplayName     *string     `json:"displayName"` // of one member that is asked for; in no list
	Since           events.Time `json:"since"`
	Programs        []InFor     `json:"programs"`
	Roles           []HeldRole  `json:"roles"`
	InspectionRoles []HeldRole  `json:"inspectionRoles"`
}

// InFor is a membership. State is current or ended.
type InFor struct {
	Program  string       `json:"program"`
	State    string       `json:"state"`
	Since    events.Time  `json:"since"` // when that state began
	ForgetAt *events.Time `json:"forgetAt"`
}

// HeldRole is a role that is held.
type HeldRole struct {
	Role  string      `json:"role"`
	Since events.Time `json:"since"`
}

// Holder is one who holds a role.
type Holder struct {
	MemberID events.ID   `json:"memberId"`
	Since    events.Time `json:"since"`
}

// People lists the organisation's members, newest first.
func (a *Acts) People(ctx context.Context, c Caller, page reader.Page) (Page[Person], error) {
	if _, err := c.administers(); err != nil {
		return Page[Person]{}, err
	}
	var result Page[Person]
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) error {
		listed, next, err := belonging.Members(ctx, s, page)
		if err != nil {
			return err
		}
		ids := make([]events.ID, len(listed))
		for i, row := range listed {
			ids[i] = row.MemberID
		}
		all, err := belonging.Current(ctx, s, ids)
		result = Page[Person]{Items: peopleOf(ids, all), Next: next}
		return err
	})
	return result, err
}

// PersonOf is one member, with the name that they are shown by.
func (a *Acts) PersonOf(ctx context.Context, c Caller, id events.ID) (Person, error) {
	if _, err := c.administers(); err != nil {
		return Person{}, err
	}
	if _, err := a.named(ctx, c.Organisation, c.Principal.Issuer, MemberRef{ID: id}); err != nil {
		return Person{}, err
	}
	var rows []belonging.Row
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) (err error) {
		rows, err = belonging.One(ctx, s, id)
		return err
	})
	if err != nil {
		return Person{}, notFound(err)
	}
	person := peopleOf([]events.ID{id}, rows)[0]
	name, _, err := a.Directory.DisplayName(ctx, c.Organisation, id)
	if err != nil {
		return Person{}, fmt.Errorf("read a name: %w: %w", runner.ErrUnavailable, err)
	}
	person.DisplayName = &name
	return person, nil
}

// peopleOf sorts rows to their members, in the order of ids. What is no longer held is left out; a program that was left stays.
func peopleOf(ids []events.ID, rows []belonging.Row) []Person {
	people, at := make([]Person, len(ids)), map[events.ID]int{}
	for i, id := range ids {
		people[i] = Person{MemberID: id, Programs: []InFor{}, Roles: []HeldRole{}, InspectionRoles: []HeldRole{}}
		at[id] = i
	}
	for _, row := range rows {
		p, since := &people[at[row.MemberID]], events.At(row.At)
		switch {
		case row.Kind == belonging.Membership:
			p.Since = since
		case row.Kind == belonging.Program && row.Holds:
			p.Programs = append(p.Programs, InFor{Program: row.Key, State: "current", Since: since})
		case row.Kind == belonging.Program:
			p.Programs = append(p.Programs, InFor{Program: row.Key, State: "ended", Since: since, ForgetAt: instant(row.ForgetAt)})
		case row.Kind == belonging.Role && row.Holds:
			p.Roles = append(p.Roles, HeldRole{row.Key, since})
		case row.Kind == belonging.InspectionRole && row.Holds:
			p.InspectionRoles = append(p.InspectionRoles, HeldRole{row.Key, since})
		}
	}
	return people
}

func instant(t *time.Time) *events.Time {
	if t == nil {
		return nil
	}
	at := events.At(*t)
	return &at
}

// Holders lists who holds a workbench role now.
func (a *Acts) Holders(ctx context.Context, c Caller, role string, page reader.Page) (Page[Holder], error) {
	if !c.Defined.HasRole(role) {
		return Page[Holder]{}, fmt.Errorf("role: %w", ErrNotFound)
	}
	return a.holders(ctx, c, belonging.Role, role, page)
}

// InspectionHolders lists who holds an inspection role now.
func (a *Acts) InspectionHolders(ctx context.Context, c Caller, role events.InspectionRole, page reader.Page) (Page[Holder], error) {
	if !role.Valid() {
		return Page[Holder]{}, fmt.Errorf("inspection role: %w", ErrNotFound)
	}
	return a.holders(ctx, c, belonging.InspectionRole, string(role), page)
}

func (a *Acts) holders(ctx context.Context, c Caller, kind belonging.Kind, key string, page reader.Page) (Page[Holder], error) {
	if _, err := c.administers(); err != nil {
		return Page[Holder]{}, err
	}
	result := Page[Holder]{Items: []Holder{}}
	err := a.Read.Models.WithOrganisation(ctx, c.Organisation, func(s *reader.Session) error {
		rows, next, err := belonging.Holders(ctx, s, kind, key, page)
		for _, row := range rows {
			result.Items = append(result.Items, Holder{row.MemberID, events.At(row.At)})
		}
		result.Next = next
		return err
	})
	return result, err
}
