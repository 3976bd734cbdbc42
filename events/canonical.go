package events

import "bytes"

// canonicalBatch reads what wire.append writes, without a parser: the keys in their order, strings of printable ASCII without an
// escape. Of anything else it says nothing. Data it only finds the end of: whoever decodes it checks all of it, so that what is read
// here is what the strict decoder reads of the same bytes (tested by fuzzing; a third of what reading a commit cost).
func canonicalBatch(body []byte) ([]wire, bool) {
	r := canonicalReader{rest: body}
	batch := make([]wire, 0, 2)
	for r.literal("["); len(r.rest) > 0 && !r.other; r.literal(",") {
		batch = append(batch, r.event())
		if string(r.rest) == "]" {
			return batch, !r.other
		}
	}
	return nil, false
}

type canonicalReader struct {
	rest  []byte
	other bool // it isn't of the form
}

func (r *canonicalReader) event() (w wire) {
	w.CausationID = ID(r.field(`{"causationid":"`))
	w.CorrelationID = ID(r.field(`,"correlationid":"`))
	r.literal(`,"data":`)
	w.Data = r.object()
	w.DataContentType = r.field(`,"datacontenttype":"`)
	w.ID = ID(r.field(`,"id":"`))
	w.ActorID = r.field(`,"irisactor":"`)
	w.ActorKind = ActorKind(r.field(`,"irisactorkind":"`))
	w.Commit = ID(r.field(`,"iriscommit":"`))
	w.Policy = r.field(`,"irispolicy":"`)
	w.PrevHash = r.optional(`,"irisprevhash":"`)
	w.PrevSeq = r.optional(`,"irisprevseq":"`)
	w.Request = r.optional(`,"irisrequest":"`)
	w.Version = r.optional(`,"irisversion":"`)
	w.RecordedTime = r.instant(`,"recordedtime":"`)
	w.Source = r.field(`,"source":"`)
	w.SpecVersion = r.field(`,"specversion":"`)
	w.Subject = r.field(`,"subject":"`)
	w.Time = r.instant(`,"time":"`)
	w.TraceParent = r.optional(`,"traceparent":"`)
	w.Type = Type(r.field(`,"type":"`))
	r.literal("}")
	return w
}

func (r *canonicalReader) literal(s string) {
	rest, is := bytes.CutPrefix(r.rest, []byte(s))
	r.rest, r.other = rest, r.other || !is
}

// field is a string behind its key.
func (r *canonicalReader) field(key string) string {
	r.literal(key)
	for i, c := range r.rest {
		switch {
		case c == '"':
			value := string(r.rest[:i])
			r.rest = r.rest[i+1:]
			return value
		case c < ' ' || c > '~' || c == '\\':
			r.other = true
			return ""
		}
	}
	r.other = true
	return ""
}

func (r *canonicalReader) optional(key string) string {
	if !bytes.HasPrefix(r.rest, []byte(key)) {
		return ""
	}
	return r.field(key)
}

func (r *canonicalReader) instant(key string) Time {
	t, err := ParseTime(r.field(key))
	r.other = r.other || err != nil
	return t
}

// closes is where the string ends that begins at i.
func (r *canonicalReader) closes(i int) int {
	for i < len(r.rest) {
		text := r.rest[i:]
		end := bytes.IndexByte(text, '"') // most of an event's data are boxes, which have no escapes
		if end < 0 {
			break
		}
		escape := bytes.IndexByte(text[:end], '\\')
		if escape < 0 {
			return i + end
		}
		i += escape + 2
	}
	return len(r.rest)
}

// canonicalDepth is far more than any event nests, and far less than the strict decoder allows.
const canonicalDepth = 100

// object is what lies between the first brace and the one that closes it, if it is an object.
func (r *canonicalReader) object() []byte {
	depth := 0
	for i := 0; i < len(r.rest) && r.rest[0] == '{' && depth < canonicalDepth; i++ {
		switch r.rest[i] {
		case '"':
			i = r.closes(i + 1)
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		if depth == 0 {
			object := r.rest[:i+1]
			r.rest = r.rest[i+1:]
			return object
		}
	}
	r.other = true
	return nil
}
