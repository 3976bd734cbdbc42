package log

import (
	"context"
	"fmt"
	"sync"

	"iris.example/iris/events"
)

// Op is a call that a Faulty log can be told to fail.
type Op string

const (
	OpAppend       Op = "append"
	OpTogether     Op = "append_together"
	OpAppendAccess Op = "append_access"
	OpAppendFence  Op = "append_fence"
	OpHead         Op = "head"
	OpLoad         Op = "load"
)

// Fault says on which side of the effect a call fails.
type Fault int

const (
	ErrorBefore Fault = iota // the error is returned and nothing happened: a lost request
	ErrorAfter               // the error is returned and the effect stays: a lost answer
)

// Faulty makes chosen calls of any Log fail, the real one included. The caller of a write sees ErrAmbiguous whichever side
// failed, as it would in life; a read fails with ErrUnavailable.
type Faulty struct {
	Log

	mu    sync.Mutex // guards what follows
	armed map[Op][]armed
}

type armed struct {
	fault Fault
	err   error
}

// NewFaulty wraps a log. Nothing fails until FailNext.
func NewFaulty(inner Log) *Faulty { return &Faulty{Log: inner, armed: map[Op][]armed{}} }

// FailNext makes the next call of op fail. Several queue up.
func (f *Faulty) FailNext(op Op, fault Fault) {
	err := ErrUnavailable
	if op == OpAppend || op == OpTogether || op == OpAppendAccess || op == OpAppendFence {
		err = ErrAmbiguous
	}
	f.FailNextWith(op, fault, err)
}

// FailNextWith is FailNext with an error of choice: a retry that conflicts with its own first try is (ErrorAfter, ErrConflict).
func (f *Faulty) FailNextWith(op Op, fault Fault, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed[op] = append(f.armed[op], armed{fault, err})
}

func (f *Faulty) take(op Op) (before, after error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.armed[op]
	if len(queue) == 0 {
		return nil, nil
	}
	f.armed[op] = queue[1:]
	err := fmt.Errorf("%s: %w: as the test asked", op, queue[0].err)
	if queue[0].fault == ErrorBefore {
		return err, nil
	}
	return nil, err
}

func (f *Faulty) Append(ctx context.Context, org string, a events.Aggregate, expected uint64, body []byte) (uint64, error) {
	return fail(f, OpAppend, func() (uint64, error) { return f.Log.Append(ctx, org, a, expected, body) })
}

func (f *Faulty) AppendTogether(ctx context.Context, org string, parts []Part) ([]uint64, error) {
	return fail(f, OpTogether, func() ([]uint64, error) { return f.Log.AppendTogether(ctx, org, parts) })
}

func (f *Faulty) AppendAccess(ctx context.Context, org, subject string, body []byte) (uint64, error) {
	return fail(f, OpAppendAccess, func() (uint64, error) { return f.Log.AppendAccess(ctx, org, subject, body) })
}

func (f *Faulty) AppendFence(ctx context.Context, org string, a events.Aggregate, head uint64, body []byte) (uint64, error) {
	return fail(f, OpAppendFence, func() (uint64, error) { return f.Log.AppendFence(ctx, org, a, head, body) })
}

func (f *Faulty) Head(ctx context.Context, org string, a events.Aggregate) (uint64, error) {
	return fail(f, OpHead, func() (uint64, error) { return f.Log.Head(ctx, org, a) })
}

func (f *Faulty) Newest(ctx context.Context, org string, a events.Aggregate) (Message, error) {
	return fail(f, OpHead, func() (Message, error) { return f.Log.Newest(ctx, org, a) })
}

func (f *Faulty) Load(ctx context.Context, org string, a events.Aggregate, after, upTo uint64) ([]Message, error) {
	return fail(f, OpLoad, func() ([]Message, error) { return f.Log.Load(ctx, org, a, after, upTo) })
}

// ToHead asks for a head and loads: either may be told to fail.
func (f *Faulty) ToHead(ctx context.Context, org string, a events.Aggregate, after func() uint64) ([]Message, error) {
	return fail(f, OpHead, func() ([]Message, error) {
		return fail(f, OpLoad, func() ([]Message, error) { return f.Log.ToHead(ctx, org, a, after) })
	})
}

// fail runs a call between its two faults. An error of the call itself wins over the armed one: then there is no effect.
func fail[T any](f *Faulty, op Op, call func() (T, error)) (T, error) {
	var none T
	before, after := f.take(op)
	if before != nil {
		return none, before
	}
	result, err := call()
	if err != nil {
		return none, err
	}
	if after != nil {
		return none, after
	}
	return result, nil
}
