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
	hang  *hang // instead of failing
}

type hang struct{ come, goOn chan struct{} }

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
	f.arm(op, armed{fault: fault, err: err})
}

// HangNext makes the next call of op hang, as with a broker that doesn't answer: come is closed once the call is there, and it is
// carried out after goOn, whatever became of its context.
func (f *Faulty) HangNext(op Op) (come <-chan struct{}, goOn func()) {
	h := &hang{make(chan struct{}), make(chan struct{})}
	f.arm(op, armed{hang: h})
	return h.come, sync.OnceFunc(func() { close(h.goOn) })
}

func (f *Faulty) arm(op Op, a armed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed[op] = append(f.armed[op], a)
}

func (f *Faulty) next(op Op) (a armed, found bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	queue := f.armed[op]
	if len(queue) == 0 {
		return armed{}, false
	}
	f.armed[op] = queue[1:]
	return queue[0], true
}

func (f *Faulty) take(op Op) (before, after error) {
	a, found := f.next(op)
	switch {
	case !found:
		return nil, nil
	case a.hang != nil:
		close(a.hang.come)
		<-a.hang.goOn
		return nil, nil
	}
	err := fmt.Errorf("%s: %w: as the test asked", op, a.err)
	if a.fault == ErrorBefore {
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
