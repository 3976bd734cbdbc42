// Package aggregates says what may happen. Each folder holds one aggregate: Decide takes the state and a command and returns
// events or a refusal, Evolve takes the state and an event. Both are pure: no I/O, no clock, no randomness, no floating point;
// whatever they need of the world comes in Env.
package aggregates

import (
	"errors"
	"fmt"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/screening"
)

// Env is the world as one decision sees it. The runner fills it anew for every attempt.
type Env struct {
	Now      events.Time // the instant of the decision; every due time is compared with it (spec 2.1)
	Received events.Time // when the command arrived; entity ids come from it
	Command  events.ID
	Actor    events.Actor
	Policy   *policy.Document
	Defined  Definitions
	Screen   *screening.Screen
	// Print is HMAC under the member's register key over length-prefixed parts (spec 1.8).
	Print func(parts ...string) string
	// Keys are fresh data-key rows, durable already, as many as the command said that it may need.
	Keys []events.ID
}

// Definitions are the organisation's, as they stood at its head when the command began (spec 8, 9.2).
type Definitions interface {
	HasProgram(program string) bool
	HasRole(role string) bool
	Readable() error              // a refusal while the policy in force can't be read: Env.Policy is the closed one then
	HasClaimant(name string) bool // a producer, or a client that speaks for a consumer; revoked ones too
	TermsText(id, version string) (text string, ok bool)
}

// Joint is what a decision needs of another aggregate: that its own command is decided there too, and that both are stored in one
// batch or neither is (spec 9.2). ID is the other commit's command id; nothing of the first command's ids stands with it.
type Joint struct {
	Aggregate events.Aggregate
	Command   any // of the other aggregate's kind
	ID        events.ID
	Actor     events.Actor
}

// Text is a text that a state knows of without holding it: whose it is, where the event stands that carries it, and what that
// event commits to.
type Text struct {
	Of         events.ID
	Position   uint64
	Commitment string
}

// NewID is the command's index-th entity id. Indexes from 1000 on are the runner's, for event ids.
func (e Env) NewID(index int) events.ID { return events.EntityID(e.Received, e.Command, index) }

// Readable refuses where the policy in force can't be read: nothing may be decided by an older one (spec 8). A command that only takes
// something back is decided all the same, under the closed one.
func (e Env) Readable() error {
	if e.Defined == nil {
		return nil
	}
	return e.Defined.Readable()
}

// Refusal is a decision too: the rule said no. Its code is stable and stands in the answer.
type Refusal struct {
	Code     string
	Rule     string              // where the rule stands: document and section
	Missing  []events.ConsentKey // consents that the act needs
	Existing events.ID           // the memory that stands in the way, if the member may know it
	Patterns []string            // ids of the screening's patterns that hit
	Leaks    []screening.Leak    // what must not leave tier individual, and where
	Field    string              // of which text Leaks are, where it isn't the body
}

func (r *Refusal) Error() string { return fmt.Sprintf("refused %s (%s)", r.Code, r.Rule) }

// Refuse makes a refusal with no more than its code.
func Refuse(code, rule string) error { return &Refusal{Code: code, Rule: rule} }

// AsRefusal unwraps a refusal.
func AsRefusal(err error) (*Refusal, bool) {
	var r *Refusal
	ok := errors.As(err, &r)
	return r, ok
}
