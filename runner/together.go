package runner

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"iris.example/iris/aggregates"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

// Partner is the runner of another kind of aggregate, whose aggregates take part in decisions.
type Partner interface {
	join(ctx context.Context, org string, j aggregates.Joint) (part, error)
}

// With lets decisions reach into aggregates of a kind. Call it while wiring, before the first command.
func (r *Runner[S, C]) With(kind events.AggregateKind, p Partner) *Runner[S, C] {
	r.partners[kind] = p
	return r
}

// part is one other aggregate in a decision, held from join to leave: its own state decides about its own half, and what it
// decides is stored with the rest or not at all.
type part interface {
	// decide catches up with the leader and returns what is to be stored. Nil: it is so already.
	decide(ctx context.Context, env aggregates.Env) (*eventlog.Part, error)
	// stored says that it is, and where.
	stored(position uint64)
	leave()
}

// errLanded: the batch of an attempt before is stored after all; the book that the command belongs to will know it.
var errLanded = fmt.Errorf("%w: it stands in the other aggregate", eventlog.ErrConflict)

// together stores a commit with those of the other aggregates that the decision reaches into. The command's own comes last, so that
// its position covers the others'. Others are taken in the order of their names, after the book that the command belongs to: no two
// decisions wait for each other. What was taken is left on every way out, also where the wait for the next ended with the context.
func (r *Runner[S, C]) together(ctx context.Context, env aggregates.Env, own events.Commit, body []byte, joints []aggregates.Joint) (uint64, error) {
	slices.SortFunc(joints, func(a, b aggregates.Joint) int { return cmp.Compare(a.Aggregate.String(), b.Aggregate.String()) })
	var batch []eventlog.Part
	var taking []part // whose commits the batch holds, in its order
	for _, j := range joints {
		p, err := r.take(ctx, own.Organisation, j)
		if err != nil {
			return 0, err
		}
		defer p.leave()
		decided, err := p.decide(ctx, env)
		if err != nil {
			return 0, err
		}
		if decided != nil {
			batch, taking = append(batch, *decided), append(taking, p)
		}
	}
	if len(batch) == 0 {
		return r.cfg.Log.Append(ctx, own.Organisation, own.Aggregate, own.PreviousSequence, body)
	}
	batch = append(batch, eventlog.Part{Aggregate: own.Aggregate, Expected: own.PreviousSequence, Body: body})
	positions, err := r.cfg.Log.AppendTogether(ctx, own.Organisation, batch)
	if err != nil {
		return 0, err
	}
	for i, p := range taking {
		p.stored(positions[i])
	}
	return positions[len(positions)-1], nil
}

func (r *Runner[S, C]) take(ctx context.Context, org string, j aggregates.Joint) (part, error) {
	partner, ok := r.partners[j.Aggregate.Kind]
	if !ok {
		return nil, fmt.Errorf("decide together with a %s: no runner of that kind is wired", j.Aggregate.Kind)
	}
	return partner.join(ctx, org, j)
}

// joined is a book of r in another runner's decision, which holds it.
type joined[S, C any] struct {
	runner *Runner[S, C]
	book   *book[S]
	joint  aggregates.Joint
	org    string
	body   C
	commit events.Commit
	bytes  []byte
}

func (r *Runner[S, C]) join(ctx context.Context, org string, j aggregates.Joint) (part, error) {
	body, ok := j.Command.(C)
	if !ok {
		return nil, fmt.Errorf("decide together with a %s: a command of another kind", j.Aggregate.Kind)
	}
	b, err := r.hold(ctx, org, j.Aggregate)
	if err != nil {
		return nil, err
	}
	return &joined[S, C]{runner: r, book: b, joint: j, org: org, body: body}, nil
}

func (j *joined[S, C]) leave() { j.book.release() }

func (j *joined[S, C]) decide(ctx context.Context, env aggregates.Env) (*eventlog.Part, error) {
	r, b := j.runner, j.book
	if err := r.catchUp(ctx, j.org, j.joint.Aggregate, b); err != nil {
		return nil, err
	}
	if _, known := b.commands[j.joint.ID]; known {
		return nil, errLanded
	}
	// A command of its own: nothing of the other's ids or trace stands in this aggregate's commit.
	c := Command[C]{
		Organisation: j.org, Aggregate: j.joint.Aggregate, ID: j.joint.ID, Received: env.Received, Actor: j.joint.Actor, Body: j.body,
		Setting: Setting{Policy: env.Policy, Defined: env.Defined},
	}
	own, err := r.env(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := r.textsOf(ctx, c, b); err != nil {
		return nil, err
	}
	own.Now = env.Now
	decided, err := r.decider.Decide(b.state, j.body, own)
	if err != nil || len(decided) == 0 {
		return nil, err
	}
	j.commit = r.commit(c, b, own, "", decided)
	if j.bytes, err = r.cfg.Codec.Encode(ctx, j.commit); err != nil {
		return nil, unavailable(err)
	}
	return &eventlog.Part{Aggregate: j.joint.Aggregate, Expected: b.position, Body: j.bytes}, nil
}

func (j *joined[S, C]) stored(position uint64) {
	j.runner.apply(j.book, stored(j.commit, position), j.bytes)
	j.runner.keep(j.org, j.joint.Aggregate, j.book)
}
