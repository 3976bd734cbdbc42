package api

import (
	"encoding/json"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

// What an administrator defines; definitions.go lists it.

type programAnswer struct {
	Program string `json:"program"`
}

type roleAnswer struct {
	Role string `json:"role"`
}

type clientAnswer struct {
	Client    string            `json:"client"`
	Consumers []events.Consumer `json:"consumers"`
}

// tenantAnswer has a state that is active, quarantined or removed.
type tenantAnswer struct {
	Tenant string `json:"tenant"`
	State  string `json:"state"`
}

type policyAnswer struct {
	Version  string         `json:"version"`
	SHA256   string         `json:"sha256"`
	Document jsontext.Value `json:"document"`
}

func (a *API) defineProgram(c *call) (answer, error) {
	done, err := a.cfg.Acts.DefineProgram(c.ctx, c.caller, c.request, c.part["program"])
	return answer{position: done.Position, body: programAnswer{c.part["program"]}}, err
}

func (a *API) defineRole(c *call) (answer, error) {
	done, err := a.cfg.Acts.DefineRole(c.ctx, c.caller, c.request, c.part["role"])
	return answer{position: done.Position, body: roleAnswer{c.part["role"]}}, err
}

type clientRequest struct {
	Consumers []events.Consumer `json:"consumers"`
}

func (a *API) registerClient(c *call) (answer, error) {
	var in clientRequest
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.RegisterClient(c.ctx, c.caller, c.request, c.part["client"], in.Consumers)
	return answer{position: done.Position, body: clientAnswer{c.part["client"], in.Consumers}}, err
}

func (a *API) removeClient(c *call) (answer, error) {
	done, err := a.cfg.Acts.RemoveClient(c.ctx, c.caller, c.request, c.part["client"])
	return answer{position: done.Position, body: clientAnswer{c.part["client"], []events.Consumer{}}}, err
}

func (a *API) defineTenant(c *call) (answer, error) {
	done, err := a.cfg.Acts.DefineTenant(c.ctx, c.caller, c.request, c.part["tenant"])
	return answer{position: done.Position, body: tenantAnswer{c.part["tenant"], "active"}}, err
}

func (a *API) removeTenant(c *call) (answer, error) {
	done, err := a.cfg.Acts.RemoveTenant(c.ctx, c.caller, c.request, c.part["tenant"])
	return answer{position: done.Position, body: tenantAnswer{c.part["tenant"], "removed"}}, err
}

func (a *API) quarantine(c *call) (answer, error) {
	done, err := a.cfg.Acts.Quarantine(c.ctx, c.caller, c.request, c.part["tenant"])
	return answer{position: done.Position, body: tenantAnswer{c.part["tenant"], "quarantined"}}, err
}

func (a *API) release(c *call) (answer, error) {
	done, err := a.cfg.Acts.Release(c.ctx, c.caller, c.request, c.part["tenant"])
	return answer{position: done.Position, body: tenantAnswer{c.part["tenant"], "active"}}, err
}

func (a *API) policy(c *call) (answer, error) {
	inForce, err := a.cfg.Acts.Policy(c.caller)
	return answer{body: policyAnswer{inForce.Version, inForce.SHA256, jsontext.Value(inForce.Document)}}, err
}

func (a *API) applyPolicy(c *call) (answer, error) {
	applied, err := a.cfg.Acts.ApplyPolicy(c.ctx, c.caller, c.request, json.RawMessage(c.body))
	return answer{position: applied.Position, body: policyAnswer{applied.Version, applied.SHA256, jsontext.Value(applied.Document)}}, err
}

// Who belongs where, and holds what.

// enrolledAnswer doesn't repeat subject and name: an answer may be logged by who asked.
type enrolledAnswer struct {
	MemberID events.ID `json:"memberId"`
	Created  bool      `json:"created"`
}

func (a *API) enrol(c *call) (answer, error) {
	var in acts.Enrolment
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	if err := isName(in.Subject, in.DisplayName); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Enrol(c.ctx, c.caller, c.request, in)
	return answer{position: done.Position, body: enrolledAnswer{done.MemberID, done.Created}}, err
}

// isName keeps control characters out of the directory.
func isName(subject string, name *string) error {
	if strings.ContainsFunc(subject, unicode.IsControl) {
		return controls("/subject")
	}
	if name != nil && strings.ContainsFunc(*name, unicode.IsControl) {
		return controls("/displayName")
	}
	return nil
}

func controls(pointer string) error {
	return &boundary.Error{Code: boundary.InvalidText, Pointer: pointer, Detail: "a control character"}
}

func (a *API) people(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.People(c.ctx, c.caller, page)
	return answer{body: list[acts.Person]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) person(c *call) (answer, error) {
	found, err := a.cfg.Acts.PersonOf(c.ctx, c.caller, events.ID(c.part["member"]))
	return answer{body: found}, err
}

type removedAnswer struct {
	MemberID events.ID `json:"memberId"`
	State    string    `json:"state"`
}

func (a *API) removeMember(c *call) (answer, error) {
	id := events.ID(c.part["member"])
	done, err := a.cfg.Acts.Remove(c.ctx, c.caller, c.request, id)
	return answer{position: done.Position, body: removedAnswer{id, "removed"}}, err
}

// membershipAnswer has a state that is current or ended; forgetAt is when what the member kept in the program is forgotten.
type membershipAnswer struct {
	MemberID events.ID    `json:"memberId"`
	Program  string       `json:"program"`
	State    string       `json:"state"`
	ForgetAt *events.Time `json:"forgetAt"`
}

type membershipRequest struct {
	Resume bool `json:"resume"`
}

func (a *API) join(c *call) (answer, error) {
	var in membershipRequest
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Join(c.ctx, c.caller, c.request, events.ID(c.part["member"]), c.part["program"], in.Resume)
	return answer{position: done.Position, body: membershipAnswer{done.MemberID, c.part["program"], "current", nil}}, err
}

func (a *API) leave(c *call) (answer, error) {
	done, err := a.cfg.Acts.Leave(c.ctx, c.caller, c.request, events.ID(c.part["member"]), c.part["program"])
	return answer{position: done.Position, body: membershipAnswer{done.MemberID, c.part["program"], "ended", done.ForgetAt}}, err
}

type holdingAnswer struct {
	MemberID events.ID `json:"memberId"`
	Role     string    `json:"role"`
	Held     bool      `json:"held"`
}

func (a *API) giveRole(c *call) (answer, error) {
	done, err := a.cfg.Acts.GiveRole(c.ctx, c.caller, c.request, events.ID(c.part["member"]), c.part["role"])
	return answer{position: done.Position, body: holdingAnswer{done.MemberID, c.part["role"], true}}, err
}

func (a *API) takeRole(c *call) (answer, error) {
	done, err := a.cfg.Acts.TakeRole(c.ctx, c.caller, c.request, events.ID(c.part["member"]), c.part["role"])
	return answer{position: done.Position, body: holdingAnswer{done.MemberID, c.part["role"], false}}, err
}

func (a *API) giveInspectionRole(c *call) (answer, error) {
	role := events.InspectionRole(c.part["role"])
	done, err := a.cfg.Acts.GiveInspectionRole(c.ctx, c.caller, c.request, events.ID(c.part["member"]), role)
	return answer{position: done.Position, body: holdingAnswer{done.MemberID, string(role), true}}, err
}

func (a *API) takeInspectionRole(c *call) (answer, error) {
	role := events.InspectionRole(c.part["role"])
	done, err := a.cfg.Acts.TakeInspectionRole(c.ctx, c.caller, c.request, events.ID(c.part["member"]), role)
	return answer{position: done.Position, body: holdingAnswer{done.MemberID, string(role), false}}, err
}

func (a *API) holders(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.Holders(c.ctx, c.caller, c.part["role"], page)
	return answer{body: list[acts.Holder]{found.Items, a.next(c, found.Next)}}, err
}

func (a *API) inspectionHolders(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.InspectionHolders(c.ctx, c.caller, events.InspectionRole(c.part["role"]), page)
	return answer{body: list[acts.Holder]{found.Items, a.next(c, found.Next)}}, err
}

// changedAnswer says of a feed's line whether anything was otherwise before it.
type changedAnswer struct {
	MemberID events.ID    `json:"memberId"`
	Outcome  string       `json:"outcome"` // changed or unchanged
	ForgetAt *events.Time `json:"forgetAt"`
}

func (a *API) changeMembership(c *call) (answer, error) {
	var in acts.Membership
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	if err := isName(in.Subject, &in.DisplayName); err != nil {
		return answer{}, err
	}
	done, err := a.cfg.Acts.Change(c.ctx, c.caller, c.request, in)
	outcome := "unchanged"
	if done.Changed {
		outcome = "changed"
	}
	return answer{position: done.Position, body: changedAnswer{done.MemberID, outcome, done.ForgetAt}}, err
}
