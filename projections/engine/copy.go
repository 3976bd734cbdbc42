package engine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"iris.example/iris/events"
)

// Table is rows on their way into COPY.
type Table struct {
	Name    string
	Columns []string
	Len     int
	Row     func(i int, r *Row) // writes row i, in the order of Columns
}

// Row is written as PostgreSQL's COPY reads it (documentation of COPY, "Binary Format"): the driver's own way, over values of any
// type, took as long as everything else of a rebuild's writing together.
type Row struct {
	b       []byte
	columns int
}

// Null is a column without a value.
func (r *Row) Null() { r.length(-1) }

// Text is a column of text.
func (r *Row) Text(s string) {
	r.length(len(s))
	r.b = append(r.b, s...)
}

// TextOrNull is a column of text that may have none.
func (r *Row) TextOrNull(s *string) {
	if s == nil {
		r.Null()
		return
	}
	r.Text(*s)
}

// Bytes is a column of bytes; of nil, one without a value.
func (r *Row) Bytes(b []byte) {
	if b == nil {
		r.Null()
		return
	}
	r.length(len(b))
	r.b = append(r.b, b...)
}

// UUID is a column of an id. What is none has no value, which the table refuses.
func (r *Row) UUID(id events.ID) {
	parsed, err := uuid.Parse(string(id))
	if err != nil {
		r.Null()
		return
	}
	r.length(len(parsed))
	r.b = append(r.b, parsed[:]...)
}

// UUIDOrNull is a column of an id that may not be there.
func (r *Row) UUIDOrNull(id *events.ID) {
	if id == nil {
		r.Null()
		return
	}
	r.UUID(*id)
}

// Int is a column of integer.
func (r *Row) Int(n int) {
	r.length(4)
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(int32(n)))
}

// Big is a column of bigint.
func (r *Row) Big(n uint64) {
	r.length(8)
	r.b = binary.BigEndian.AppendUint64(r.b, n)
}

// BigOrNull is a column of bigint that may have no value.
func (r *Row) BigOrNull(n *uint64) {
	if n == nil {
		r.Null()
		return
	}
	r.Big(*n)
}

// Bool is a column of boolean.
func (r *Row) Bool(is bool) {
	r.length(1)
	if is {
		r.b = append(r.b, 1)
	} else {
		r.b = append(r.b, 0)
	}
}

// Time is a column of timestamptz: microseconds since the year 2000.
func (r *Row) Time(t time.Time) {
	r.Big(uint64(t.UnixMicro() - epoch))
}

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// TimeOrNull is a column of timestamptz that may have no value.
func (r *Row) TimeOrNull(t *time.Time) {
	if t == nil {
		r.Null()
		return
	}
	r.Time(*t)
}

// The types of an array's elements, as PostgreSQL numbers its own.
const (
	textType = 25
	uuidType = 2950
)

// Texts is a column of an array of text.
func (r *Row) Texts(all []string) {
	r.array(textType, len(all), func(element *Row, i int) { element.Text(all[i]) })
}

// UUIDs is a column of an array of ids.
func (r *Row) UUIDs(all []events.ID) {
	r.array(uuidType, len(all), func(element *Row, i int) { element.UUID(all[i]) })
}

// array is one dimension, or none of nothing; its elements are written as columns are.
func (r *Row) array(of uint32, n int, write func(element *Row, i int)) {
	begin := len(r.b)
	r.length(0)
	columns := r.columns
	dimensions := uint32(min(n, 1))
	for _, word := range []uint32{dimensions, 0, of} {
		r.b = binary.BigEndian.AppendUint32(r.b, word)
	}
	if n > 0 {
		r.b = binary.BigEndian.AppendUint32(r.b, uint32(n))
		r.b = binary.BigEndian.AppendUint32(r.b, 1) // the first index
	}
	for i := range n {
		write(r, i)
	}
	r.columns = columns
	binary.BigEndian.PutUint32(r.b[begin:], uint32(len(r.b)-begin-4))
}

func (r *Row) length(n int) {
	r.columns++
	r.b = binary.BigEndian.AppendUint32(r.b, uint32(int32(n)))
}

const (
	copySignature = "PGCOPY\n\377\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" // without flags and an extension
	copyChunk     = 1 << 16
)

var errColumns = errors.New("a row has more or fewer columns than its table")

// copied reads as what COPY is sent of a table's rows, each with the organisation before its columns.
type copied struct {
	organisation string
	table        Table
	next         int
	row          Row
	sent         int // of row.b
	ended        bool
}

func newCopied(org string, t Table) *copied {
	return &copied{organisation: org, table: t, row: Row{b: append(make([]byte, 0, 2*copyChunk), copySignature...)}}
}

func (c *copied) Read(p []byte) (int, error) {
	if c.sent == len(c.row.b) {
		if c.ended {
			return 0, io.EOF
		}
		c.row.b, c.sent = c.row.b[:0], 0
		if err := c.write(); err != nil {
			return 0, err
		}
	}
	n := copy(p, c.row.b[c.sent:])
	c.sent += n
	return n, nil
}

// write makes the next chunk, and the end after the last row.
func (c *copied) write() error {
	for len(c.row.b) < copyChunk && c.next < c.table.Len {
		columns := len(c.table.Columns) + 1
		c.row.b, c.row.columns = binary.BigEndian.AppendUint16(c.row.b, uint16(columns)), 0
		c.row.Text(c.organisation)
		c.table.Row(c.next, &c.row)
		if c.row.columns != columns {
			return fmt.Errorf("%w: %s has %d, not %d", errColumns, c.table.Name, c.row.columns, columns)
		}
		c.next++
	}
	if c.next == c.table.Len {
		c.row.b, c.ended = append(c.row.b, 0xff, 0xff), true
	}
	return nil
}
