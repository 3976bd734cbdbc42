// Package intake is the worker that takes producers' claims from the inbox to a recorded proposal, or to a refusal that the
// producer can read (spec 9.1, 9.2, 10.1).
//
// A claim is settled after it is recorded and never before: a crash in between brings it back, and the command id of producer
// and CloudEvents id makes one proposal of it. A malformed claim, and one whose seal doesn't open, is parked sealed, told to its
// producer, logged by code, and ended; only an administrator has it tried again. What fails for want of a store comes again, ever
// more slowly. No text of a claim reaches a log or an error.
package intake

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"iris.example/iris/acts"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/problems"
	"iris.example/iris/tracing"
)

// Source hands out claims.
type Source interface {
	Next(ctx context.Context) (eventlog.Claim, error)
}

// Contract checks the CloudEvents message that a producer sent.
type Contract interface {
	CheckClaimMessage(message []byte) error
}

// Claims carries a claim out, or keeps it for somebody to look at.
type Claims interface {
	Claimed(ctx context.Context, claim acts.Claim) (acts.ClaimAnswer, error)
	Park(ctx context.Context, unread acts.Unread) error
	SweepParked(ctx context.Context) (dropped int, err error)
}

// Publisher tells producers what became of their claims. Core NATS: who isn't listening reads it over HTTP.
type Publisher interface {
	Publish(subject string, data []byte) error
}

// Config says what intake works with.
type Config struct {
	Source   Source
	Contract Contract
	Claims   Claims
	Outcomes Publisher
	Logger   *slog.Logger
	Now      func() time.Time

	Observe func(Observation) // hears of every claim that was in hand, also of one that comes again; from many goroutines; nil: nobody
	Tracer  tracing.Tracer
}

// Observation is one claim seen from outside, for metrics: neither whose it is nor what it says.
type Observation struct {
	Outcome string        // events.ClaimOutcome, or one of those below
	Code    string        // why, if it was refused
	Waited  time.Duration // since it was received: durable in the inbox
}

// What becomes of a claim beside its outcome (events.ClaimOutcome).
const (
	OutcomeParked = "parked" // kept for somebody to look at; its producer heard rejected
	OutcomeAgain  = "again"  // not recorded; it comes again
)

// Validate refuses what can't work.
func (c Config) Validate() error {
	if c.Source == nil || c.Contract == nil || c.Claims == nil || c.Outcomes == nil || c.Logger == nil || c.Now == nil {
		return errors.New("intake: source, contract, claims, outcomes, logger and clock are required")
	}
	return nil
}

// Worker takes many claims at once, those of one member in the order of the inbox.
type Worker struct{ cfg Config }

// New builds a worker.
func New(cfg Config) (*Worker, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Observation) {}
	}
	return &Worker{cfg}, nil
}

// finishWithin is how long what is in hand at a stop may take. A store that doesn't answer doesn't hold a stop up.
const finishWithin = 5 * time.Second

// settleWithin is for a store that neither answers nor hangs up. The broker offers the claim again right after.
const settleWithin = 29 * time.Second

// atOnce is how many claims are in hand. Those of different members are carried out at once: what waits for its sync together is
// committed together (spec 9.2), a hundred of the broker's at most, and three times as many keep its batches full. Each holds no more
// than a message of the inbox may.
const atOnce = 320

// inHand is a claim as far as it could be read.
type inHand struct {
	claim   eventlog.Claim
	message message
	unread  error
}

// Run works until ctx ends, which is no error: then it takes nothing more from the inbox and finishes what is being carried out.
func (w *Worker) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	// What is cut off in the middle comes again half a minute later, so that a stop lets it end.
	settling, cutOff := context.WithCancel(context.WithoutCancel(ctx))
	defer cutOff()
	context.AfterFunc(ctx, func() { time.AfterFunc(finishWithin, cutOff) })
	var working sync.WaitGroup
	defer working.Wait()
	defer stop()
	working.Go(func() { w.sweep(ctx) })
	lines := newLines(atOnce)
	for lines.wait(ctx) {
		claim, err := w.cfg.Source.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("take a claim from the inbox: %w", err)
		}
		next := inHand{claim: claim}
		next.message, next.unread = w.read(claim)
		if of := lineOf(next); lines.join(of, next) {
			working.Go(func() { w.carry(ctx, settling, &working, lines, of) })
		}
	}
	return nil
}

// carry settles what stands in a line, one behind the other, until nothing does. After a stop what still waits comes again.
func (w *Worker) carry(ctx, settling context.Context, working *sync.WaitGroup, lines *lines, of string) {
	for next, ok := lines.first(of); ok; next, ok = lines.first(of) {
		if ctx.Err() == nil {
			if told := w.take(settling, next); told {
				// The broker syncs each acknowledgement, one behind the other. Nobody else's claim waits for that, and how many may
				// be unacknowledged is bounded by the inbox.
				working.Go(func() { w.acknowledge(settling, next.claim) })
			}
		}
		lines.leave()
	}
}

// take settles a claim but for its acknowledgement, seen by metrics and traces.
func (w *Worker) take(ctx context.Context, next inHand) (told bool) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	c, message := next.claim, next.message
	ctx, span := w.cfg.Tracer.Continue(ctx, message.TraceParent, tracing.Intake)
	message.TraceParent = tracing.Parent(ctx, message.TraceParent)
	outcome, code, told := w.settle(ctx, c, message, next.unread)
	span.Note(tracing.Outcome(outcome))
	span.End(code)
	w.cfg.Observe(Observation{outcome, code, time.Since(c.Received)})
	return told
}

// settle takes one claim all the way, and says what became of it and why. The order is the guarantee: recorded, told,
// acknowledged. told: the last of them is left to do.
func (w *Worker) settle(ctx context.Context, c eventlog.Claim, message message, unread error) (became, code string, told bool) {
	if unread != nil {
		became, code = w.park(ctx, c, message.ID, unread)
		return became, code, false
	}
	answer, err := w.cfg.Claims.Claimed(ctx, acts.Claim{
		Organisation: c.Organisation, Producer: c.Producer, ID: message.ID, Received: events.At(c.Received),
		Trace: events.Trace{Parent: message.TraceParent}, Proposal: message.Data,
	})
	if err != nil {
		became, code = w.failed(ctx, c, message.ID, err)
		return became, code, false
	}
	if answer.Repeated && c.Delivered == 1 {
		answer.Outcome = events.OutcomeDuplicate // sent again by its producer; what the inbox brings again is told as it was
	}
	w.tell(c, outcome{
		Claim: message.ID, ProposalID: answer.ProposalID, Outcome: answer.Outcome, Reason: answer.Reason, Warnings: answer.Warnings,
		Position: fmt.Sprint(answer.Position),
	})
	return string(answer.Outcome), answer.Reason, true
}

// failed is what becomes of a claim that wasn't recorded: a store that failed is asked again; a seal that doesn't open, and what made
// an event that breaks its schema, are kept for somebody to look at, since nothing makes them pass; and the rest its producer hears.
func (w *Worker) failed(ctx context.Context, c eventlog.Claim, id string, err error) (became, code string) {
	problem := problems.Of(err)
	breaks := errors.Is(err, events.ErrContract) && problem.Code == "internal" // not outcome_unknown: an attempt before may still arrive
	switch {
	case breaks, errors.Is(err, acts.ErrSealed):
		return w.park(ctx, c, id, err)
	case problem.Status >= 500:
		return w.again(c, problem)
	}
	return string(events.OutcomeRejected), w.refuse(c, id, err)
}

func (w *Worker) acknowledge(ctx context.Context, c eventlog.Claim) {
	ctx, cancel := context.WithTimeout(ctx, settleWithin)
	defer cancel()
	w.check(c, "acknowledge", c.Ack(ctx))
}

// message is the CloudEvents message of a claim, as far as intake reads it.
type message struct {
	ID          string        `json:"id"`
	TraceParent string        `json:"traceparent"`
	Data        acts.Proposal `json:"data"`
}

func (w *Worker) read(c eventlog.Claim) (message, error) {
	if c.Organisation == "" || c.Producer == "" {
		return message{}, fmt.Errorf("the subject names no producer: %w", boundary.ErrRefused)
	}
	if err := boundary.Check(c.Body); err != nil {
		return message{}, err
	}
	if err := w.cfg.Contract.CheckClaimMessage(c.Body); err != nil {
		return peek(c.Body), err
	}
	return decode(c.Body)
}

// park keeps what can't be read before it is refused: what its producer doesn't hear is not lost. A subject without fit ids, which
// only we could publish to, belongs to no organisation that could keep it.
func (w *Worker) park(ctx context.Context, c eventlog.Claim, id string, cause error) (became, code string) {
	if c.Organisation != "" {
		err := w.cfg.Claims.Park(ctx, acts.Unread{
			Organisation: c.Organisation, Producer: c.Producer, Sequence: c.Sequence, Received: c.Received, Code: parkedFor(cause), Body: c.Body,
		})
		if err != nil {
			return w.again(c, problems.Of(err))
		}
	}
	return OutcomeParked, w.refuse(c, id, cause)
}

// parkedFor is the reason that an administrator reads. What is our fault has a name of its own there; its producer hears internal.
func parkedFor(cause error) string {
	if errors.Is(cause, events.ErrContract) {
		return events.ErrContract.Error()
	}
	return problems.Of(cause).Code
}

// again lets a claim come back later: nothing is known to be recorded of it.
func (w *Worker) again(c eventlog.Claim, problem problems.Problem) (became, code string) {
	w.cfg.Logger.Warn("claim not recorded, will come again", "code", problem.Code, "organisation", c.Organisation, "producer", c.Producer,
		"sequence", c.Sequence, "delivered", c.Delivered)
	w.check(c, "return", c.Retry(backoff(c.Delivered)))
	return OutcomeAgain, problem.Code
}

// refuse ends a claim that can't become anything, and says so where its producer can hear it.
func (w *Worker) refuse(c eventlog.Claim, id string, err error) (code string) {
	problem := problems.Of(err)
	w.cfg.Logger.Warn("claim refused", "code", problem.Code, "organisation", c.Organisation, "producer", c.Producer, "sequence", c.Sequence)
	w.tell(c, outcome{Claim: id, Outcome: events.OutcomeRejected, Reason: problem.Code, Warnings: []acts.Warning{}})
	w.check(c, "end", c.Refuse())
	return problem.Code
}

func (w *Worker) check(c eventlog.Claim, act string, err error) {
	if err != nil {
		w.cfg.Logger.Warn("claim not settled, will come again", "act", act, "sequence", c.Sequence, "error", err)
	}
}

// backoff grows from a quarter of a second to half a minute.
func backoff(delivered int) time.Duration {
	return min(30*time.Second, 250*time.Millisecond<<min(max(delivered-1, 0), 8))
}
