package form

import (
	"encoding/binary"
	"reflect"
)

type writer struct {
	b   []byte
	err error
}

func (w *writer) uint(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

func (w *writer) string(s string) {
	w.uint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (w *writer) flag(set bool) {
	if set {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

// count writes how many there are, and keeps nil and empty apart; false: there is nothing to follow.
func (w *writer) count(v reflect.Value) bool {
	if v.IsNil() {
		w.uint(0)
		return false
	}
	w.uint(uint64(v.Len()) + 1)
	return true
}

// reader cuts what it returns out of one string. Once it has failed it returns zeros.
type reader struct {
	rest   string
	failed bool
}

func (r *reader) uint() uint64 {
	n, shift := uint64(0), 0
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		c := r.rest[i]
		if c < 0x80 {
			if i == binary.MaxVarintLen64-1 && c > 1 {
				break
			}
			r.rest = r.rest[i+1:]
			return n | uint64(c)<<shift
		}
		n |= uint64(c&0x7f) << shift
		shift += 7
	}
	return r.fail()
}

func (r *reader) int() int64 {
	n := r.uint()
	return int64(n>>1) ^ -int64(n&1)
}

func (r *reader) string() string {
	n := r.uint()
	if n > uint64(len(r.rest)) {
		r.fail()
		return ""
	}
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *reader) flag() bool {
	n := r.uint()
	if n > 1 {
		r.fail()
	}
	return n == 1
}

// count reads how many follow; some is false of nil. What is left must be enough for them, so that a number alone can't ask for
// memory.
func (r *reader) count(least int) (n int, some bool) {
	counted := r.uint()
	if counted == 0 {
		return 0, false
	}
	if counted-1 > uint64(len(r.rest)/max(least, 1)) {
		r.fail()
		return 0, false
	}
	return int(counted - 1), true
}

func (r *reader) fail() uint64 {
	r.failed, r.rest = true, ""
	return 0
}
