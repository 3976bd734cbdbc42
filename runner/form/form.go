// Package form writes a state down and reads it back, whatever fields it has: the type itself is walked, once, at the start, so
// that a field that somebody adds is neither forgotten nor written by hand. A field tagged `snapshot:"-"` is left out.
//
// It guarantees: what was written by a type is read back by it as it was, nil and empty kept apart; another type has another
// Digest. A type that can't be written (an interface, a function, an unexported field) is refused by Of, not when it is too late.
// Bytes that are no writing of the type are ErrUnreadable, never a panic and never more memory than the bytes account for.
//
// The form is compact and quick, because a cold load waits for it: numbers are varints, strings are cut out of the bytes that were
// read without a copy. It names no field: it means nothing beside another Digest, and is no way to exchange anything.
package form

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

var (
	// ErrType: the type can't be written down.
	ErrType = errors.New("form_type_unwritable")
	// ErrUnreadable: the bytes are no writing of the type.
	ErrUnreadable = errors.New("form_unreadable")
	// ErrInstant: an instant isn't in UTC or is finer than a microsecond, and would not come back as it is.
	ErrInstant = errors.New("form_instant_not_cut")
)

// Form writes and reads values of T.
type Form[T any] struct {
	plan   plan
	digest string
}

// plan writes and reads one type.
type plan struct {
	write func(w *writer, v reflect.Value)
	read  func(r *reader, v reflect.Value)
	least int // bytes that every value takes, which bounds how many can be in what is left; 0: none
}

// Of walks T.
func Of[T any]() (*Form[T], error) {
	t := reflect.TypeFor[T]()
	w := walk{plans: map[reflect.Type]*plan{}}
	p, err := w.of(t)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(w.text.String()))
	return &Form[T]{*p, hex.EncodeToString(sum[:])}, nil
}

// Digest names the type as it was walked: packages, names, fields, kinds and tags.
func (f *Form[T]) Digest() string { return f.digest }

// Write appends v to b.
func (f *Form[T]) Write(b []byte, v *T) ([]byte, error) {
	w := &writer{b: b}
	f.plan.write(w, reflect.ValueOf(v).Elem())
	return w.b, w.err
}

// Read reads the whole of b. What it returns holds on to a copy of b.
func (f *Form[T]) Read(b []byte) (*T, error) {
	v := new(T)
	r := &reader{rest: string(b)}
	f.plan.read(r, reflect.ValueOf(v).Elem())
	if r.failed || r.rest != "" {
		return nil, ErrUnreadable
	}
	return v, nil
}

// walk builds the plans of the types that it meets, and their description.
type walk struct {
	plans map[reflect.Type]*plan
	text  strings.Builder
}

var instant = reflect.TypeFor[time.Time]()

func (w *walk) of(t reflect.Type) (*plan, error) {
	fmt.Fprintf(&w.text, "%s %s.%s;", t.Kind(), t.PkgPath(), t.String())
	if p, met := w.plans[t]; met {
		return p, nil // its description stands where it was met first
	}
	p := &plan{}
	w.plans[t] = p
	made, err := w.make(t)
	if err != nil {
		return nil, err
	}
	*p = made
	return p, nil
}

func (w *walk) make(t reflect.Type) (plan, error) {
	if t == instant {
		return plan{writeInstant, readInstant, 1}, nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return plan{
			func(w *writer, v reflect.Value) { w.flag(v.Bool()) },
			func(r *reader, v reflect.Value) { v.SetBool(r.flag()) }, 1,
		}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return plan{
			func(w *writer, v reflect.Value) { w.b = binary.AppendVarint(w.b, v.Int()) },
			func(r *reader, v reflect.Value) { readInt(r, v) }, 1,
		}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return plan{
			func(w *writer, v reflect.Value) { w.uint(v.Uint()) },
			func(r *reader, v reflect.Value) { readUint(r, v) }, 1,
		}, nil
	case reflect.String:
		return plan{
			func(w *writer, v reflect.Value) { w.string(v.String()) },
			func(r *reader, v reflect.Value) { v.SetString(r.string()) }, 1,
		}, nil
	case reflect.Pointer:
		return w.pointer(t)
	case reflect.Slice:
		return w.slice(t)
	case reflect.Map:
		return w.dictionary(t)
	case reflect.Struct:
		return w.structure(t)
	}
	return plan{}, fmt.Errorf("%w: %s", ErrType, t)
}

func (w *walk) pointer(t reflect.Type) (plan, error) {
	of, err := w.of(t.Elem())
	if err != nil {
		return plan{}, err
	}
	write := func(w *writer, v reflect.Value) {
		w.flag(!v.IsNil())
		if !v.IsNil() {
			of.write(w, v.Elem())
		}
	}
	read := func(r *reader, v reflect.Value) {
		if r.flag() {
			v.Set(reflect.New(t.Elem()))
			of.read(r, v.Elem())
		}
	}
	return plan{write, read, 1}, nil
}

func (w *walk) slice(t reflect.Type) (plan, error) {
	of, err := w.of(t.Elem())
	if err != nil {
		return plan{}, err
	}
	write := func(w *writer, v reflect.Value) {
		if w.count(v) {
			for i := range v.Len() {
				of.write(w, v.Index(i))
			}
		}
	}
	read := func(r *reader, v reflect.Value) {
		n, some := r.count(of.least)
		if !some {
			return
		}
		v.Set(reflect.MakeSlice(t, n, n))
		for i := 0; i < n && !r.failed; i++ {
			of.read(r, v.Index(i))
		}
	}
	return plan{write, read, 1}, nil
}

func (w *walk) dictionary(t reflect.Type) (plan, error) {
	keys, err := w.of(t.Key())
	if err != nil {
		return plan{}, err
	}
	values, err := w.of(t.Elem())
	if err != nil {
		return plan{}, err
	}
	write := func(w *writer, v reflect.Value) {
		if w.count(v) {
			for each := v.MapRange(); each.Next(); {
				keys.write(w, each.Key())
				values.write(w, each.Value())
			}
		}
	}
	read := func(r *reader, v reflect.Value) {
		n, some := r.count(keys.least + values.least)
		if !some {
			return
		}
		v.Set(reflect.MakeMapWithSize(t, n))
		key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
		for i := 0; i < n && !r.failed; i++ {
			key.SetZero()
			value.SetZero()
			keys.read(r, key)
			values.read(r, value)
			v.SetMapIndex(key, value)
		}
		r.failed = r.failed || v.Len() != n
	}
	return plan{write, read, 1}, nil
}

func (w *walk) structure(t reflect.Type) (plan, error) {
	type field struct {
		index int
		of    *plan
	}
	var fields []field
	least := 0
	for i := range t.NumField() {
		f := t.Field(i)
		fmt.Fprintf(&w.text, "%s %q:", f.Name, f.Tag)
		if f.Tag.Get("snapshot") == "-" {
			continue
		}
		if !f.IsExported() {
			return plan{}, fmt.Errorf("%w: %s.%s is not exported", ErrType, t, f.Name)
		}
		of, err := w.of(f.Type)
		if err != nil {
			return plan{}, err
		}
		fields = append(fields, field{i, of})
		least += of.least
	}
	write := func(w *writer, v reflect.Value) {
		for _, f := range fields {
			f.of.write(w, v.Field(f.index))
		}
	}
	read := func(r *reader, v reflect.Value) {
		for _, f := range fields {
			f.of.read(r, v.Field(f.index))
		}
	}
	return plan{write, read, least}, nil
}

func writeInstant(w *writer, v reflect.Value) {
	t := v.Interface().(time.Time)
	if t.Location() != time.UTC || t.Nanosecond()%int(time.Microsecond) != 0 {
		w.err = ErrInstant
	}
	w.b = binary.AppendVarint(w.b, t.UnixMicro())
}

func readInstant(r *reader, v reflect.Value) {
	*v.Addr().Interface().(*time.Time) = time.UnixMicro(r.int()).UTC()
}

func readInt(r *reader, v reflect.Value) {
	n := r.int()
	r.failed = r.failed || v.OverflowInt(n)
	v.SetInt(n)
}

func readUint(r *reader, v reflect.Value) {
	n := r.uint()
	r.failed = r.failed || v.OverflowUint(n)
	v.SetUint(n)
}
