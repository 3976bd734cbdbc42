// Package runner takes a command to a recorded decision: load, fold, decide, validate, seal, append, and resolve the answers
// that don't say whether they were stored. One runner serves every aggregate (spec 9.2, house "one command, all the way").
//
// It guarantees: an answer without error means that the commit is synced and stands at Position; a command id is carried out
// once, however often it is sent and whatever the broker answered; a refusal was decided at the head that the leader had after
// the command arrived. It fails closed: what can't be known is ErrOutcomeUnknown, and nothing is answered from an old state.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/policy"
	"iris.example/iris/screening"
	"iris.example/iris/tracing"
)

// The runner's errors. Refusals are *aggregates.Refusal.
var (
	// ErrOutcomeUnknown: the commit may be stored or not. Repeat with the same Idempotency-Key.
	ErrOutcomeUnknown = errors.New("outcome_unknown")
	// ErrKeyReused: the command id is known with another body.
	ErrKeyReused = errors.New("idempotency_key_reused")
	// ErrUnavailable: the command wasn't stored, nothing of it but what may go ahead; the log, or the keys, can't be reached.
	ErrUnavailable = errors.New("store_unavailable")
	// ErrBroken: the aggregate's chain on the stream doesn't hold. Nobody decides on it until an operator has looked.
	ErrBroken = errors.New("aggregate_chain_broken")
)

// Log is what the runner needs of events/log.
type Log interface {
	Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error)
	AppendTogether(ctx context.Context, org string, parts []eventlog.Part) ([]uint64, error)
	Head(ctx context.Context, org string, a events.Aggregate) (uint64, error)
	Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]eventlog.Message, error)
	ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]eventlog.Message, error)
}

// Keys is what the runner needs of the vault.
type Keys interface {
	events.Keys
	Allocate(ctx context.Context, org string) (events.ID, error)
	MAC(ctx context.Context, ref events.KeyRef, data []byte) ([]byte, error)
	Fingerprinter(ctx context.Context, org string, member events.ID) (func(parts ...string) string, error)
}

// Decider is an aggregate's pure part. S is a pointer: a live state has one owner, and Evolve may change it in place.
type Decider[S, C any] struct {
	Initial func(org string, a events.Aggregate) S
	Decide  func(S, C, aggregates.Env) ([]events.Event, error)
	Evolve  func(S, events.Recorded) S
	Keys    func(C) int // how many fresh data keys the command may need
	// Joins says what a decision needs of other aggregates; nil: never anything.
	Joins func(S, C, []events.Event, aggregates.Env) []aggregates.Joint
	// Ahead says which events of a decision have to be stored in a commit of their own before the rest, because one hasn't room for all;
	// none: all fits. Once they are folded, deciding again must not yield them. nil: always all fits.
	Ahead func([]events.Event) []events.Event

	Code  string       // names the code that folds; empty: no snapshots are kept of this kind
	Texts *Texts[S, C] // nil: a snapshot holds all that the state does
}

// Setting is the organisation's definitions at a position of their own.
type Setting struct {
	Policy  *policy.Document
	Defined aggregates.Definitions
}

// Config is what every runner of a process shares.
type Config struct {
	Log      Log
	Codec    events.Codec
	Keys     Keys
	Screen   *screening.Screen
	Now      func() time.Time
	Attempts int           // how often a command is decided when others write too; 0: 5 (spec 9.2)
	Memory   time.Duration // how long a live state is kept before it is folded anew; 0: 60 s (spec 5.3), never more
	Live     int           // how many live states are kept; 0: 4096

	Observe func(Observation) // hears of every command, after it; nil: nobody
	Tracer  tracing.Tracer

	Snapshots       Snapshots                 // nil: every cold load folds from the first event
	SnapshotEvery   uint64                    // commits that lie between two snapshots at least; 0: 256 (spec 9.4)
	ObserveSnapshot func(SnapshotObservation) // hears what becomes of snapshots; nil: nobody
}

const maxMemory = 60 * time.Second

// WithDefaults fills what was left out.
func (c Config) WithDefaults() Config {
	if c.Attempts == 0 {
		c.Attempts = 5
	}
	if c.Memory == 0 {
		c.Memory = maxMemory
	}
	if c.Live == 0 {
		c.Live = 4096
	}
	if c.Observe == nil {
		c.Observe = func(Observation) {}
	}
	if c.SnapshotEvery == 0 {
		c.SnapshotEvery = snapshotEvery
	}
	if c.ObserveSnapshot == nil {
		c.ObserveSnapshot = func(SnapshotObservation) {}
	}
	return c
}

// Validate refuses what can't work or would keep texts in memory for longer than spec 5.3 allows.
func (c Config) Validate() error {
	switch {
	case c.Log == nil || c.Keys == nil || c.Now == nil || c.Codec.Keys == nil || c.Codec.Contract == nil:
		return errors.New("runner: log, keys, codec and clock are required")
	case c.Memory > maxMemory:
		return fmt.Errorf("runner: live states must not outlive %s", maxMemory)
	}
	return nil
}

// Command is one request to an aggregate.
type Command[C any] struct {
	Organisation string
	Aggregate    events.Aggregate
	ID           events.ID // events.CommandID of who asked for what
	Received     events.Time
	Actor        events.Actor
	Trace        events.Trace
	Request      []byte // canonical request without its secrets; another one under the same id is refused
	Setting      Setting
	Of           events.ID // the member that an aggregate other than a book is about; empty: nobody, or it is their book
	Body         C
}

// register is the key under which the request is digested (spec 9.2): of the member whom it is about, or the organisation's.
func (c Command[C]) register() events.KeyRef {
	if c.Of != "" {
		return events.KeyRef{Organisation: c.Organisation, Class: events.KeyRegister, Member: c.Of}
	}
	return registerOf(c.Organisation, c.Aggregate)
}

// Outcome is what was recorded. Events is empty when the command changed nothing; Position is then the head it was decided at.
type Outcome struct {
	Position uint64
	Events   []events.Recorded
	Repeated bool // the command was carried out before; these are the events of then

	ahead bool // it was a part that goes ahead: the command itself is still to come
}

// Runner runs the commands of one kind of aggregate.
type Runner[S, C any] struct {
	cfg      Config
	decider  Decider[S, C]
	partners map[events.AggregateKind]Partner // whose aggregates its decisions may reach into
	keeper   *keeper[S]                       // nil: no snapshots are kept

	mu   sync.Mutex // guards live
	live map[liveKey]*book[S]
}

// New builds a runner.
func New[S, C any](cfg Config, d Decider[S, C]) (*Runner[S, C], error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	r := &Runner[S, C]{cfg: cfg, decider: d, partners: map[events.AggregateKind]Partner{}, live: map[liveKey]*book[S]{}}
	if cfg.Snapshots != nil && d.Code != "" {
		var err error
		if r.keeper, err = newKeeper[S](d.Code); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Run carries out a command. Errors: a refusal (decided at the head), or one of the package's.
func (r *Runner[S, C]) Run(ctx context.Context, c Command[C]) (Outcome, error) {
	w := r.watch(ctx, c.Aggregate.Kind)
	c.Trace.Parent = tracing.Parent(w.ctx, c.Trace.Parent)
	outcome, err := r.run(w.ctx, c, w)
	w.end(outcome, err)
	return outcome, err
}

func (r *Runner[S, C]) run(ctx context.Context, c Command[C], w *watch) (Outcome, error) {
	digest, err := r.digest(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	env, err := r.env(ctx, c)
	if err != nil {
		return Outcome{}, err
	}
	b, err := r.hold(ctx, c.Organisation, c.Aggregate)
	if err != nil {
		return Outcome{}, err
	}
	defer b.release()
	for {
		outcome, err := r.store(ctx, w, b, c, env, digest)
		if err != nil || !outcome.ahead {
			return outcome, err
		}
	}
}

// store stores one commit: the command's, or a part that goes ahead of it. The command's own comes last, so that its id stands for
// all: before it nothing is answered, and whoever repeats the command, under this id or another, goes on with what is left.
func (r *Runner[S, C]) store(ctx context.Context, w *watch, b *book[S], c Command[C], env aggregates.Env, digest string) (Outcome, error) {
	current := false   // the state stands at the head that the leader had after the command arrived
	uncertain := false // an append of this command may still be on its way
	for attempt := range r.cfg.Attempts {
		if attempt > 0 {
			if err := pause(ctx, attempt); err != nil {
				return Outcome{}, unknownIf(uncertain, err)
			}
		}
		if !b.loaded || attempt > 0 {
			if err := r.catchUp(ctx, c.Organisation, c.Aggregate, b); err != nil {
				return Outcome{}, unknownIf(uncertain, err)
			}
			current = true
		}
		if done, ok := b.commands[c.ID]; ok {
			return r.repeat(ctx, c, done, digest, attempt > 0)
		}
		env.Now = events.At(r.cfg.Now())
		decided, err := r.decide(ctx, w, attempt, b, c, env)
		if (err != nil || len(decided.events) == 0 || len(decided.joints) > 0) && !current {
			// A refusal must not rest on a state that another process has left behind, and no more may what another aggregate is asked.
			if err := r.catchUp(ctx, c.Organisation, c.Aggregate, b); err != nil {
				return Outcome{}, err
			}
			current = true
			if done, ok := b.commands[c.ID]; ok {
				return r.repeat(ctx, c, done, digest, false)
			}
			decided, err = r.decide(ctx, w, attempt, b, c, env)
		}
		if err != nil {
			return Outcome{}, unknownIf(uncertain, err)
		}
		if len(decided.events) == 0 {
			return Outcome{Position: b.position}, nil
		}
		as, env := c, env
		if decided.ahead != "" {
			as, env.Command = c.ahead(decided.ahead), decided.ahead
		}
		commit := r.commit(as, b, env, digest, decided.events)
		body, err := r.cfg.Codec.Encode(ctx, commit)
		if err != nil {
			return Outcome{}, unknownIf(uncertain, unavailable(err))
		}
		appending := w.step(ctx, tracing.Append, attempt)
		position, err := r.append(ctx, env, commit, body, decided.joints)
		appending.End(codeOf(err))
		switch {
		case err == nil:
			commit = stored(commit, position)
			r.apply(b, commit, body)
			r.keep(c.Organisation, c.Aggregate, b)
			return Outcome{Position: position, Events: commit.Events, ahead: decided.ahead != ""}, nil
		case errors.Is(err, eventlog.ErrConflict):
			w.seen.Conflicts++
		case errors.Is(err, eventlog.ErrAmbiguous):
			w.seen.Ambiguous++
			uncertain = true
		default:
			return Outcome{}, unknownIf(uncertain, notStored(err))
		}
	}
	return Outcome{}, fmt.Errorf("%s %s: decided %d times without an answer: %w", c.Aggregate.Kind, c.ID, r.cfg.Attempts, ErrOutcomeUnknown)
}

// decision is what a command comes to: events of its own aggregate, and what they need of others.
type decision struct {
	events []events.Event
	joints []aggregates.Joint
	ahead  events.ID // the command id of a part that goes ahead; empty: this is the command itself
}

func (r *Runner[S, C]) decide(ctx context.Context, w *watch, attempt int, b *book[S], c Command[C], env aggregates.Env) (decision, error) {
	if err := r.textsOf(ctx, c, b); err != nil {
		return decision{}, err
	}
	deciding := w.step(ctx, tracing.Decide, attempt)
	decided, err := r.decider.Decide(b.state, c.Body, env)
	deciding.End(codeOf(err))
	d := decision{events: decided}
	if err == nil && r.decider.Ahead != nil {
		if first := r.decider.Ahead(decided); len(first) > 0 {
			d.events, d.ahead = first, aheadID(c.ID, b.version)
			env.Command = d.ahead
		}
	}
	if err == nil && r.decider.Joins != nil {
		d.joints = r.decider.Joins(b.state, c.Body, d.events, env)
	}
	return d, err
}

// aheadID belongs to the part that follows a version of the book: no two that are stored share it, whoever repeats the command.
func aheadID(command events.ID, version uint64) events.ID {
	return events.CommandID(string(command), "ahead", strconv.FormatUint(version, 10))
}

// ahead is the command as a part of it that goes ahead, caused by it.
func (c Command[C]) ahead(id events.ID) Command[C] {
	c.Trace.Correlation, c.Trace.Causation = cmp.Or(c.Trace.Correlation, c.ID), cmp.Or(c.Trace.Causation, c.ID)
	c.ID = id
	return c
}

func (r *Runner[S, C]) append(ctx context.Context, env aggregates.Env, commit events.Commit, body []byte, joints []aggregates.Joint) (uint64, error) {
	if len(joints) > 0 {
		return r.together(ctx, env, commit, body, joints)
	}
	return r.cfg.Log.Append(ctx, commit.Organisation, commit.Aggregate, commit.PreviousSequence, body)
}

// View calls fn with the state at the head that the leader has now, all texts in it. fn must not keep the state.
func (r *Runner[S, C]) View(ctx context.Context, org string, a events.Aggregate, fn func(state S, position uint64) error) error {
	return r.view(ctx, org, a, everyText[S], fn)
}

// Look is View for who needs no text: some may be missing.
func (r *Runner[S, C]) Look(ctx context.Context, org string, a events.Aggregate, fn func(state S, position uint64) error) error {
	return r.view(ctx, org, a, nil, fn)
}

// Read is View for who needs few texts: those that need names are there. need isn't asked when all are.
func (r *Runner[S, C]) Read(ctx context.Context, org string, a events.Aggregate, need func(S) []events.ID, fn func(state S, position uint64) error) error {
	return r.view(ctx, org, a, func(state S) ([]events.ID, bool) { return need(state), false }, fn)
}

func (r *Runner[S, C]) view(ctx context.Context, org string, a events.Aggregate, needed need[S], fn func(S, uint64) error) error {
	b, err := r.hold(ctx, org, a)
	if err != nil {
		return err
	}
	defer b.release()
	if err := r.catchUp(ctx, org, a, b); err != nil {
		return err
	}
	r.keep(org, a, b)
	if needed != nil {
		if err := r.texts(ctx, org, a, b, needed); err != nil {
			return err
		}
	}
	return fn(b.state, b.position)
}

// At folds the aggregate up to a position, apart from the live state and from the first event on: what was known then. A proof
// rests on no snapshot.
func (r *Runner[S, C]) At(ctx context.Context, org string, a events.Aggregate, position uint64) (S, error) {
	b := &book[S]{}
	err := r.load(ctx, org, a, b, position)
	return b.state, err
}

func (r *Runner[S, C]) digest(ctx context.Context, c Command[C]) (string, error) {
	mac, err := r.cfg.Keys.MAC(ctx, c.register(), c.Request)
	if err != nil {
		return "", unavailable(fmt.Errorf("digest the request of command %s: %w", c.ID, err))
	}
	return fmt.Sprintf("%x", mac), nil
}

// registerOf is the key of what a book knows without being able to say it: a member's register, else the organisation's key.
func registerOf(org string, a events.Aggregate) events.KeyRef {
	if a.Kind == events.AggregateMember {
		return events.KeyRef{Organisation: org, Class: events.KeyRegister, Member: a.ID}
	}
	return events.KeyRef{Organisation: org, Class: events.KeyOrganisation}
}

func (r *Runner[S, C]) env(ctx context.Context, c Command[C]) (aggregates.Env, error) {
	env := aggregates.Env{
		Received: c.Received, Command: c.ID, Actor: c.Actor, Policy: c.Setting.Policy, Defined: c.Setting.Defined, Screen: r.cfg.Screen,
	}
	if c.Aggregate.Kind == events.AggregateMember {
		printer, err := r.cfg.Keys.Fingerprinter(ctx, c.Organisation, c.Aggregate.ID)
		if err != nil {
			return env, unavailable(err)
		}
		env.Print = printer
	}
	for range r.decider.Keys(c.Body) {
		key, err := r.cfg.Keys.Allocate(ctx, c.Organisation)
		if err != nil {
			return env, unavailable(err)
		}
		env.Keys = append(env.Keys, key)
	}
	return env, nil
}

// catchUp brings the state to the head that the leader has now.
func (r *Runner[S, C]) catchUp(ctx context.Context, org string, a events.Aggregate, b *book[S]) error {
	if !b.loaded {
		return r.cold(ctx, org, a, b)
	}
	head, err := r.cfg.Log.Head(ctx, org, a)
	if err != nil {
		return unavailable(err)
	}
	if head == b.position {
		return nil
	}
	if head < b.position {
		return fmt.Errorf("%s: the head went back from %d to %d: %w", a.Kind, b.position, head, ErrBroken)
	}
	return r.load(ctx, org, a, b, head)
}

// load folds what is between the state and head. On any error the state is left to be loaded anew.
func (r *Runner[S, C]) load(ctx context.Context, org string, a events.Aggregate, b *book[S], head uint64) error {
	if !b.loaded {
		r.begin(org, a, b)
	}
	b.loaded = false
	messages, err := r.cfg.Log.Load(ctx, org, a, b.position, head)
	if err != nil {
		return unavailable(err)
	}
	return r.fold(a, b, r.decode(ctx, messages))
}

// begin makes an empty book of b.
func (r *Runner[S, C]) begin(org string, a events.Aggregate, b *book[S]) {
	b.state, b.version, b.position, b.hash = r.decider.Initial(org, a), 0, 0, ""
	b.commands, b.oldest, b.partial = map[events.ID]remembered{}, nil, false
}

// decoded is what messages say, or why that isn't known.
type decoded struct {
	bodies  []events.Stored
	commits []events.Commit
	err     error
}

func (r *Runner[S, C]) decode(ctx context.Context, messages []eventlog.Message) decoded {
	bodies := storedAs(messages)
	commits, err := r.cfg.Codec.DecodeAll(ctx, bodies)
	return decoded{bodies, commits, err}
}

// fold applies what follows the state, and nothing else.
func (r *Runner[S, C]) fold(a events.Aggregate, b *book[S], d decoded) error {
	if d.err != nil {
		return unavailable(d.err)
	}
	for i, commit := range d.commits {
		if commit.PreviousSequence != b.position || commit.Version != b.version+1 || commit.PreviousHash != b.hash || commit.Aggregate != a {
			return fmt.Errorf("%s at %d: %w", a.Kind, commit.Position, ErrBroken)
		}
		r.apply(b, commit, d.bodies[i].Body)
	}
	b.loaded = true
	return nil
}

func storedAs(messages []eventlog.Message) []events.Stored {
	bodies := make([]events.Stored, len(messages))
	for i, m := range messages {
		bodies[i] = events.Stored{Position: m.Sequence, Body: m.Body}
	}
	return bodies
}

func (r *Runner[S, C]) commit(c Command[C], b *book[S], env aggregates.Env, digest string, decided []events.Event) events.Commit {
	commit := events.Commit{
		Organisation: c.Organisation, Aggregate: c.Aggregate, Command: c.ID, RequestDigest: digest,
		Version: b.version + 1, PreviousSequence: b.position, PreviousHash: b.hash,
	}
	trace := c.Trace
	if trace.Correlation == "" {
		trace.Correlation = c.ID
	}
	if trace.Causation == "" {
		trace.Causation = c.ID
	}
	for i, e := range decided {
		commit.Events = append(commit.Events, events.Recorded{Event: e, Meta: events.Meta{
			ID: env.NewID(firstEventID + i), Type: e.EventType(), Organisation: c.Organisation, Aggregate: c.Aggregate,
			Time: c.Received, RecordedAt: env.Now, Actor: c.Actor, Policy: env.Policy.Version, Trace: trace,
			Commit: c.ID, Version: commit.Version, PreviousSequence: b.position, PreviousHash: b.hash,
		}})
	}
	return commit
}

// firstEventID is where the indexes of event ids begin; aggregates take theirs from 0.
const firstEventID = 1000

func stored(c events.Commit, position uint64) events.Commit {
	c.Position = position
	for i := range c.Events {
		c.Events[i].Position = position
	}
	return c
}

// commandMemory is how long the book knows a command again (spec 9.2).
const commandMemory = 30 * 24 * time.Hour

// apply folds a commit that stands on the stream, and remembers its command.
func (r *Runner[S, C]) apply(b *book[S], commit events.Commit, body []byte) {
	for _, e := range commit.Events {
		b.state = r.decider.Evolve(b.state, e)
	}
	b.version, b.position, b.hash = commit.Version, commit.Position, events.Hash(body)
	now := commit.Events[0].RecordedAt
	b.commands[commit.Command] = remembered{commit.RequestDigest, commit.Position, now}
	b.oldest = append(b.oldest, commit.Command)
	for len(b.oldest) > 0 && now.Sub(b.commands[b.oldest[0]].at.Time) > commandMemory {
		delete(b.commands, b.oldest[0])
		b.oldest = b.oldest[1:]
	}
}

// repeat answers a command that was carried out before with the events of then. ours: this very call may have stored it, and
// only its answer was lost.
func (r *Runner[S, C]) repeat(ctx context.Context, c Command[C], done remembered, digest string, ours bool) (Outcome, error) {
	if done.digest != digest {
		return Outcome{}, fmt.Errorf("command %s: %w", c.ID, ErrKeyReused)
	}
	messages, err := r.cfg.Log.Load(ctx, c.Organisation, c.Aggregate, done.position-1, done.position)
	if err != nil {
		return Outcome{}, unavailable(err)
	}
	if len(messages) != 1 {
		return Outcome{}, fmt.Errorf("%s at %d: %w", c.Aggregate.Kind, done.position, ErrBroken)
	}
	commit, err := r.cfg.Codec.Decode(ctx, done.position, messages[0].Body)
	if err != nil {
		return Outcome{}, unavailable(err)
	}
	return Outcome{Position: done.position, Events: commit.Events, Repeated: !ours}, nil
}

// unknownIf: while an append of the command may still arrive, no other error may be answered.
func unknownIf(uncertain bool, err error) error {
	if uncertain {
		return fmt.Errorf("%w: %w", ErrOutcomeUnknown, err)
	}
	return err
}

// notStored: an append that failed for good. Another aggregate may have refused its half, or said itself what is wrong.
func notStored(err error) error {
	if _, refused := aggregates.AsRefusal(err); refused || errors.Is(err, ErrUnavailable) || errors.Is(err, ErrBroken) {
		return err
	}
	return unavailable(err)
}

func unavailable(err error) error {
	if errors.Is(err, events.ErrContract) || errors.Is(err, events.ErrTampered) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func pause(ctx context.Context, attempt int) error {
	timer := time.NewTimer(time.Duration(attempt) * time.Duration(1+rand.IntN(10)) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return unavailable(context.Cause(ctx))
	}
}
