package member_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/aggregates"
	"iris.example/iris/aggregates/member"
	"iris.example/iris/aggregates/organisation"
	"iris.example/iris/aggregates/session"
	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/screening"
)

// A story is given/when/then in a file: what was done before, what is done now, and the events or the refusal that follow. The
// acts before must succeed. Fields that a case doesn't name have plain defaults (see act.draft).
type story struct {
	Name  string
	Given []act
	When  act
	Then  then
}

type act struct {
	After    string // moves the clock before the act: "24h"
	Do       string // propose, accept, decline, state, edit, pause, resume, forget, restore, grant, deny, withdraw, join, leave, give, take, give-inspection, take-inspection, remove, share, accept-candidate, confirm-candidate; lose-policy, find-policy
	Name     string // names the memory, or the candidate, that the act makes; later acts refer to it by Of
	Of       string
	Body     *string
	Category *events.Category
	Subject  string
	Kind     events.MemoryKind
	Tier     events.Tier
	Program  string
	Back     bool   // a join that must be a return
	Role     string // of a give, take, share or curation
	Scope    *events.Scope
	Adapter  events.AdapterScope
	Origin   events.Origin
	Consumer events.Consumer
	Actor    *events.MultiActor
	Ref      string
	ByMessage,
	AskAgain, DontAskAgain bool
	Consents []events.ConsentKey
	Key      events.ConsentKey
	Terms    string
	From     events.ConsentSource // of a grant
	Expires  string               // from now: "1h"
	Until    string               // of a pause, from now
	About    *string              // an edit's subject
	Stale    bool                 // an edit of the revision before the current one
	AutoKeep *map[string]bool
	Implicit *bool // promotion
	Tenant   *string
	Source   string // of a claim or of words: a conversation
	Sweep    *events.Sweep
	Part     int             // of a sweep
	Most     int             // entries in a part
	OptOuts  []events.OptOut // the whole list
	Producer string          // claims over NATS; empty: the client app over HTTP

	Intent  events.Intent // of a settle; empty: explicit
	Session string        // of a settle or an end; empty: the same for all
	Turn    int
}

type then struct {
	Events  []expected
	Nothing bool
	Refused string
	Missing []events.ConsentKey
	Leaks   []screening.Item // what the scrubber found
	Field   string           // where, if not in the body
}

type expected struct {
	Type     events.Type
	Outcome  events.ClaimOutcome
	Reason   string
	Rule     string
	Body     *string
	Category events.Category
	Scope    events.ScopeKind
	Origin   events.Origin
	Of       string
	Missing  []events.ConsentKey
	Forget   string // ForgetAt, from now
	Print    *bool  // a fingerprint keeps the fact from coming back
	Until    string // of a pause, from now
	Subject  *string
	Becomes  events.Lifecycle // of a restore
	AutoKeep []string         // the programs that are on
	Memories []string         // of a sweep, by name
	Drafts   []string
	More     bool
	Implicit *bool
	OptOuts  []events.OptOut
}

// world runs acts against the pure room alone: its clock, ids and keys are numbers.
type world struct {
	t       testing.TB
	now     events.Time
	state   *member.State
	defined *organisation.State
	screen  *screening.Screen
	named   map[string]events.ID
	count   int
	last    events.Event // of what was decided last
}

// Both are read once: nobody changes them.
var (
	screen  = sync.OnceValue(screening.New)
	shipped = sync.OnceValue(policy.Default)
)

const memberID = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{
		t: t, now: events.At(time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC)), state: member.Initial("acme", memberID),
		defined: organisation.Initial("acme"), screen: screen(), named: map[string]events.ID{},
	}
	for _, e := range []events.Event{
		&events.OrganisationFounded{OrganizationID: "acme"}, &events.ProgramDefined{Program: "default"}, &events.ProgramDefined{Program: "atlas"}, &events.RoleDefined{Role: "reviewer"},
		&events.ProducerRegistered{Producer: "notes", Consumer: events.ConsumerAssistant, PublicKey: "U1"},
		&events.ClientRegistered{Client: "app", Consumers: []events.Consumer{events.ConsumerAssistant}},
		&events.TermsPublished{TermsID: "memory", Version: "2026-11", Locale: "en", Text: "We keep what you ask us to keep, for as long as you want."},
	} {
		w.defined = organisation.Evolve(w.defined, events.Recorded{Event: e, Meta: events.Meta{RecordedAt: w.now}})
	}
	for _, c := range []member.Command{member.Register{}, member.Join{Program: "default"}} {
		_, err := w.run(c)
		require.NoError(t, err)
	}
	return w
}

func (w *world) env() aggregates.Env {
	command := events.CommandID(fmt.Sprint(w.count))
	env := aggregates.Env{
		Now: w.now, Received: w.now, Command: command, Policy: w.defined.Policy, Defined: w.defined, Screen: w.screen,
		Print: func(parts ...string) string {
			sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
			return hex.EncodeToString(sum[:])
		},
	}
	for i := range 8 {
		env.Keys = append(env.Keys, events.EntityID(w.now, command, 500+i))
	}
	return env
}

// run decides and folds. Every act takes place in a second of its own.
func (w *world) run(c member.Command) ([]events.Event, error) {
	w.count++
	w.now = w.now.Plus(time.Second)
	env := w.env()
	decided, err := member.Decide(w.state, c, env)
	for i, e := range decided {
		w.state = member.Evolve(w.state, events.Recorded{Event: e, Meta: events.Meta{
			ID: env.NewID(1000 + i), Type: e.EventType(), RecordedAt: w.now, Actor: events.Actor{Kind: events.ActorMember},
		}})
	}
	return decided, err
}

func (w *world) perform(a act) ([]events.Event, error) {
	if a.After != "" {
		d, err := time.ParseDuration(a.After)
		require.NoError(w.t, err)
		w.now = w.now.Plus(d)
	}
	if applied := a.policy(); applied != nil {
		w.defined = organisation.Evolve(w.defined, events.Recorded{Event: applied, Meta: events.Meta{RecordedAt: w.now}})
		return nil, nil
	}
	decided, err := w.run(a.command(w))
	if a.Name != "" && len(decided) > 0 {
		w.named[a.Name] = madeBy(decided)
	}
	return decided, err
}

func madeBy(decided []events.Event) events.ID {
	for _, e := range decided {
		switch e := e.(type) {
		case *events.ProposalRecorded:
			return e.MemoryID
		case *events.MemoryStated:
			return e.MemoryID
		case *events.MemoryPromoted:
			return e.MemoryID
		case *events.SessionItemKept:
			return e.MemoryID
		case *events.ShareProposed:
			return e.Link.Plain.CandidateID
		case *events.ProposalRefused:
			return e.ProposalID
		}
	}
	return ""
}

// policy is what an act applies: a document that no version here reads, or the shipped one again. Nil: nothing.
func (a act) policy() events.Event {
	switch a.Do {
	case "lose-policy":
		return &events.PolicyApplied{Version: "2", SHA256: "00", Document: []byte(`{"version":"2","later":true}`)}
	case "find-policy":
		return &events.PolicyApplied{Version: shipped().Version, SHA256: shipped().SHA256(), Document: shipped().Canonical()}
	}
	return nil
}

func (a act) command(w *world) member.Command {
	answer := member.Answer{Key: a.Key, TermsID: "memory", TermsVersion: or(a.Terms, "2026-11")}
	switch a.Do {
	case "propose":
		by := events.ProposedBy{Client: "app", Consumer: or(a.Consumer, events.ConsumerAssistant)}
		if a.Producer != "" {
			by.Client, by.Producer = "", a.Producer
		}
		return member.Propose{Draft: a.draft(), ByMessage: a.ByMessage, ProposedBy: by}
	case "forget-many":
		return member.ForgetMany{Sweep: *a.Sweep, SweepID: w.id("the sweep"), Part: a.Part, Most: a.Most}
	case "promote":
		return member.Promote{MemoryID: w.id(a.Of), Program: or(a.Program, "default"), Known: screening.Known{
			Organisations: []string{"Acme Works"}, Programs: []string{"atlas"}, Members: []string{"Ada Lovelace"},
		}}
	case "share":
		return member.ProposeShare{MemoryID: w.id(a.Of), Program: or(a.Program, "default"), Role: or(a.Role, "reviewer"), Known: screening.Known{
			Members: []string{"Ada Lovelace"},
		}}
	case "accept-candidate":
		return member.AcceptCandidate{Role: or(a.Role, "reviewer"), CandidateID: w.id(a.Of)}
	case "confirm-candidate":
		return member.ConfirmCandidate{Role: or(a.Role, "reviewer"), CandidateID: w.id(a.Of)}
	case "settle":
		d := a.draft()
		d.Origin = events.OriginSummarizedFromSession
		return member.PromoteItem{
			Draft: d, SessionID: w.id(or(a.Session, "session")), ItemID: events.CommandID("item", fmt.Sprint(w.count)), Turn: a.Turn,
			Intent: or(a.Intent, events.IntentExplicit), ProposedBy: events.ProposedBy{Client: "app", Consumer: or(a.Consumer, events.ConsumerAssistant)},
		}
	case "end":
		return member.EndSession{SessionID: w.id(or(a.Session, "session")), Entries: session.EntriesDue(policy.Default(), w.now)}
	case "settings":
		return member.ChangeSettings{AutoKeep: a.AutoKeep, ImplicitPromotion: a.Implicit}
	case "opt-out":
		return member.OptOut{OptOuts: a.OptOuts}
	case "lift":
		return member.LiftDeclined{MemoryID: w.id(a.Of)}
	case "state":
		return member.StateWords{Draft: a.draft()}
	case "accept":
		accept := member.Accept{ProposalID: w.id(a.Of), Body: a.Body, Category: a.Category, Scope: a.Scope}
		for _, key := range a.Consents {
			accept.Consents = append(accept.Consents, member.Answer{Key: key, TermsID: "memory", TermsVersion: or(a.Terms, "2026-11")})
		}
		return accept
	case "decline":
		return member.Decline{ProposalID: w.id(a.Of), AskAgain: a.AskAgain}
	case "forget":
		return member.Forget{MemoryID: w.id(a.Of), DontAskAgain: a.DontAskAgain}
	case "edit":
		edit := member.Edit{MemoryID: w.id(a.Of), Body: a.Body, Category: a.Category, Subject: a.About}
		if e := w.state.Entries[edit.MemoryID]; e != nil {
			edit.IfMatch = e.RevisionID
			if a.Stale {
				edit.IfMatch = e.PreviousRevisionID
			}
		}
		return edit
	case "pause":
		return member.Pause{MemoryID: w.id(a.Of), Until: w.fromNow(a.Until)}
	case "resume":
		return member.Resume{MemoryID: w.id(a.Of)}
	case "restore":
		return member.Restore{MemoryID: w.id(a.Of)}
	case "grant":
		grant := member.Grant{Answer: answer, Source: or(a.From, events.SourceSettingsToggle), Locale: "en", Shown: "May I?"}
		grant.ExpiresAt = w.fromNow(a.Expires)
		return grant
	case "deny":
		return member.Deny{Answer: answer, Source: events.SourceSettingsToggle, Locale: "en", Shown: "May I?"}
	case "withdraw":
		if standing, ok := w.state.Consents[a.Key]; ok {
			return member.Withdraw{EventID: standing.EventID}
		}
		return member.Withdraw{EventID: w.id("nothing")}
	case "join":
		return member.Join{Program: a.Program, Back: a.Back}
	case "leave":
		return member.Leave{Program: a.Program}
	case "give":
		return member.GiveRole{Role: a.Role}
	case "take":
		return member.TakeRole{Role: a.Role}
	case "give-inspection":
		return member.GiveInspectionRole{Role: events.InspectionRole(a.Role)}
	case "take-inspection":
		return member.TakeInspectionRole{Role: events.InspectionRole(a.Role)}
	case "remove":
		return member.Remove{}
	}
	require.Failf(w.t, "the story asks for an act that doesn't exist", "%q", a.Do)
	return nil
}

// fromNow is the instant of the act, one second on, and d.
func (w *world) fromNow(d string) *events.Time {
	if d == "" {
		return nil
	}
	parsed, err := time.ParseDuration(d)
	require.NoError(w.t, err)
	at := w.now.Plus(time.Second + parsed)
	return &at
}

func (a act) draft() member.Draft {
	d := member.Draft{
		Tier: or(a.Tier, events.TierIndividual), Kind: or(a.Kind, events.KindPreference), Program: or(a.Program, "default"),
		Scope: events.Scope{Kind: events.ScopeProfile}, AdapterScope: a.Adapter, Category: events.CategoryPreference, Subject: a.Subject,
		Body: "Prefers metric units in all tables.", Origin: or(a.Origin, events.OriginModelInferred), MultiActor: a.Actor, Ref: a.Ref,
	}
	d.TenantID = a.Tenant
	if a.Source != "" {
		d.SourceRefs = []events.SourceRef{{Kind: "conversation", Ref: a.Source, Turns: []int{}}}
	}
	if a.Body != nil {
		d.Body = *a.Body
	}
	if a.Category != nil {
		d.Category = *a.Category
	}
	if a.Scope != nil {
		d.Scope = *a.Scope
	}
	return d
}

// names are in the order of the names.
func (w *world) names(swept []events.Swept) []string {
	var all []string
	for name, id := range w.named {
		if slices.ContainsFunc(swept, func(s events.Swept) bool { return s.MemoryID == id }) {
			all = append(all, name)
		}
	}
	require.Len(w.t, all, len(swept), "a sweep names what the story has named, each once")
	slices.Sort(all)
	return all
}

func (w *world) id(name string) events.ID {
	if id, ok := w.named[name]; ok {
		return id
	}
	return events.CommandID("nobody made", name)
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func TestStories(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		content, err := os.ReadFile(file)
		require.NoError(t, err)
		decoder := json.NewDecoder(strings.NewReader(string(content)))
		decoder.DisallowUnknownFields()
		var stories []story
		require.NoError(t, decoder.Decode(&stories), file)
		for _, s := range stories {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".json")+"/"+s.Name, func(t *testing.T) {
				t.Parallel()
				s.tell(t)
			})
		}
	}
}

func (s story) tell(t *testing.T) {
	w := newWorld(t)
	for i, a := range s.Given {
		_, err := w.perform(a)
		require.NoErrorf(t, err, "given %d: %s", i, a.Do)
	}
	decided, err := w.perform(s.When)
	if s.Then.Refused != "" {
		refusal, ok := aggregates.AsRefusal(err)
		require.Truef(t, ok, "expected the refusal %s, got events %v and error %v", s.Then.Refused, decided, err)
		require.Equal(t, s.Then.Refused, refusal.Code)
		require.NotEmpty(t, refusal.Rule, "a refusal names its rule")
		require.Equal(t, s.Then.Missing, refusal.Missing)
		require.Equal(t, s.Then.Field, refusal.Field)
		var items []screening.Item
		for _, leak := range refusal.Leaks {
			items = append(items, leak.Item)
		}
		require.Equal(t, s.Then.Leaks, items)
		require.Empty(t, decided, "a refusal changes nothing")
		return
	}
	require.NoError(t, err)
	require.True(t, s.Then.Nothing || len(s.Then.Events) > 0, "the story expects nothing at all")
	require.Len(t, decided, len(s.Then.Events))
	for i, want := range s.Then.Events {
		want.check(t, w, decided[i])
	}
}

// check compares what the story names.
func (x expected) check(t *testing.T, w *world, got events.Event) {
	t.Helper()
	require.Equal(t, x.Type, got.EventType())
	seen := expected{Type: got.EventType()}
	var of events.ID
	switch e := got.(type) {
	case *events.ProposalRecorded:
		seen.Body, seen.Category, seen.Scope, seen.Origin, of = &e.Body.Plain, e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.Origin, e.MemoryID
	case *events.SessionItemKept:
		seen.Body, seen.Category, seen.Scope, seen.Origin, of = &e.Body.Plain, e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.Origin, e.MemoryID
	case *events.SessionItemSettled:
		seen.Outcome, seen.Reason, seen.Missing, seen.Print = events.ClaimOutcome(e.Outcome), e.Reason, e.Notes.Plain.Missing, present(e.Print.Plain)
		of = or(e.MemoryID, e.Notes.Plain.Existing)
	case *events.MemoryStated:
		seen.Body, seen.Category, seen.Scope, seen.Origin, of = &e.Body.Plain, e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.Origin, e.MemoryID
	case *events.MemoryKept:
		seen.Category, seen.Scope, seen.Origin, of = e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.Origin, e.MemoryID
		if e.Body != nil {
			seen.Body = &e.Body.Plain
		}
	case *events.ProposalRefused:
		seen.Outcome, seen.Reason, seen.Missing, of = e.Outcome, e.Reason, e.Notes.Plain.Missing, e.ProposalID
	case *events.ProposalDeclined:
		seen.Print, of = present(e.Print.Plain), e.MemoryID
	case *events.MemoryForgotten:
		seen.Print, seen.Forget, of = present(e.Print.Plain), e.ForgetAt.Sub(w.now.Time).String(), e.MemoryID
	case *events.MemorySuperseded:
		seen.Rule, of = e.Rule, e.MemoryID
	case *events.MemoryRevised:
		seen.Body, seen.Category, seen.Origin, of = &e.Body.Plain, e.Labels.Plain.Category, e.Origin, e.MemoryID
		seen.Subject = &e.Labels.Plain.Subject
	case *events.MemoryPaused:
		of = e.MemoryID
		if e.Until != nil {
			seen.Until = e.Until.Sub(w.now.Time).String()
		}
	case *events.MemoryResumed:
		of = e.MemoryID
	case *events.MemoriesForgotten:
		seen.Forget, seen.More = e.ForgetAt.Sub(w.now.Time).String(), e.More
		seen.Memories, seen.Drafts = w.names(e.Memories), w.names(e.Drafts)
	case *events.MemoryPromoted:
		seen.Body, seen.Category, seen.Scope, seen.Origin, of = &e.Body.Plain, e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.Origin, e.From.MemoryID
		require.Empty(t, e.Details.Plain.SourceRefs, "provenance isn't copied")
	case *events.MemoryAutoKept:
		seen.Category, seen.Scope, of = e.Labels.Plain.Category, e.Labels.Plain.Scope.Kind, e.MemoryID
	case *events.SettingsChanged:
		seen.AutoKeep, seen.Implicit = e.AutoKeep, &e.ImplicitPromotion
	case *events.ShareProposed:
		of = e.MemoryID
	case *events.ShareWithdrawn:
		of = e.MemoryID
	case *events.CurationAccepted:
		of = e.CandidateID
	case *events.CurationConfirmed:
		of = e.CandidateID
	case *events.OptOutsChanged:
		seen.OptOuts = e.OptOuts.Plain
	case *events.DeclinedLifted:
		seen.Print, of = present(e.Print.Plain), e.MemoryID
	case *events.MemoryRestored:
		seen.Becomes, of = e.Lifecycle, e.MemoryID
	case *events.MembershipEnded:
		seen.Forget = e.ForgetAt.Sub(w.now.Time).String()
	}
	if x.Of != "" {
		require.Equal(t, w.id(x.Of), of)
	}
	seen.Of = x.Of
	x.leaveOut(&seen)
	require.Equal(t, x, seen)
}

// leaveOut forgets of seen what the story doesn't name.
func (x expected) leaveOut(seen *expected) {
	if x.Body == nil {
		seen.Body = nil
	}
	if x.Category == "" {
		seen.Category = ""
	}
	if x.Scope == "" {
		seen.Scope = ""
	}
	if x.Origin == "" {
		seen.Origin = ""
	}
	if x.Print == nil {
		seen.Print = nil
	}
	if x.Forget == "" {
		seen.Forget = ""
	}
	if x.Missing == nil {
		seen.Missing = nil
	}
	if x.Subject == nil {
		seen.Subject = nil
	}
	if x.AutoKeep == nil {
		seen.AutoKeep = nil
	}
	if x.Implicit == nil {
		seen.Implicit = nil
	}
	if x.OptOuts == nil {
		seen.OptOuts = nil
	}
	if x.Reason == "" {
		seen.Reason = ""
	}
}

func present(s string) *bool {
	is := s != ""
	return &is
}
