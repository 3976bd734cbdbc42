package schemas

import (
	"strconv"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/stretchr/testify/require"
)

// decoded is what the document says, as the strict decoder would put it.
func (d document) decoded(at int) any {
	v := d[at]
	switch v.kind {
	case aString:
		return string(v.text)
	case aBoolean:
		return string(v.text) == "true"
	case aNumber:
		n, err := strconv.ParseFloat(string(v.text), 64)
		if err != nil {
			return err
		}
		return n
	case anArray:
		array := make([]any, 0, v.count)
		for i := at + 1; i < v.next; i = d[i].next {
			array = append(array, d.decoded(i))
		}
		return array
	case anObject:
		object := make(map[string]any, v.count)
		for i := at + 1; i < v.next; i = d[i+1].next {
			object[string(d[i].text)] = d.decoded(i + 1)
		}
		return object
	}
	return nil
}

// count counts what is counted, again.
func (d document) counted(t *testing.T, at int) {
	v, n := d[at], 0
	for i := at + 1; i < v.next && v.kind&(anArray|anObject) != 0; n++ {
		if v.kind == anObject {
			i++
		}
		d.counted(t, i)
		i = d[i].next
	}
	require.Equal(t, n, v.count)
}

func TestWhatCanBeLaid(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	unordered := func(n int) string {
		members := make([]string, n)
		for i := range members {
			members[i] = strconv.Quote(strconv.Itoa(10_000-i)) + ":1"
		}
		return "{" + strings.Join(members, ",") + "}"
	}
	for text, want := range map[string]bool{
		"": false, " ": false, "null": true, " true\n": true, "false": true, "nul": false, "nulls": false, "true false": false, "x": false, "\ufeff1": false,
		"0": true, "-1": true, "10": true, "-0": false, "01": false, "-01": false, "-": false, "+1": false, "1.0": false, "1e0": false, "1x": false,
		"999999999999999": true, "-999999999999999": true, "1000000000000000": false,
		`""`: true, `"a"`: true, `"é"`: true, `"\u00e9\n\/\ud83d\ude00"`: true, `"\ud83d"`: false, `"\ude00\ud83d"`: false, `"\x"`: false, `"\`: false, `"\"`: false, `"a`: false,
		"\"\xff\"": false, "\"\xed\xa0\x80\"": false, "\"a\tb\"": false, "\"\x00\"": false, "\"\x7f\"": true, "\"1234567\x1f\"": false, "\"12345678901234567\"": true,
		"[]": true, "[ 1 , [ ] ]": true, "[1,]": false, "[,1]": false, "[1 2]": false, "[1": false, "]": false,
		"{}": true, `{ "a" : 1 , "b" : {} }`: true, `{"a":1,}`: false, `{,"a":1}`: false, `{"a"}`: false, `{"a":}`: false, `{1:1}`: false, `{"a":1 "b":1}`: false, `{"a":1`: false,
		`{"b":1,"a":2,"c":3}`: true, `{"a":1,"a":1}`: false, `{"b":1,"a":2,"b":3}`: false, `{"a":1,"\u0061":2}`: false, `{"c":1,"b":2,"b":3}`: false,
		`{"c":{"a":1},"b":2,"a":3}`: true, `{"c":{"z":1},"b":2,"z":3,"a":[],"z":4}`: false, `{"":1}`: true, `{"":1,"":2}`: false, `[{"a":1},{"a":1}]`: true,
		`{"a":{"b":1},"b":1,"aa":{"a":1}}`: true, deep(65): true, deep(66): false, unordered(60): true, unordered(600): false, "1\x00": false, "1\v": false,
	} {
		d, ok := lay(nil, []byte(text))
		require.Equal(t, want, ok, "%q", text)
		if ok {
			requireDecoded(t, d, text)
		}
	}
}

func requireDecoded(t *testing.T, d document, text string) {
	t.Helper()
	var want any
	require.NoError(t, jsonv2.Unmarshal([]byte(text), &want), "%q", text)
	require.Equal(t, want, d.decoded(0), "%q", text)
	require.Len(t, d, d[0].next)
	d.counted(t, 0)
}

// FuzzDocument: what can be laid, the strict decoder decodes, and it says the same.
func FuzzDocument(f *testing.F) {
	c, err := Compile()
	require.NoError(f, err)
	for _, e := range allExamples(f, c, "valid") {
		f.Add(string(e.data))
	}
	for _, text := range []string{`{"b":1,"a":{"b":[]},"b":1}`, `"\ud83d\ude00"`, "[-1,0,1e2,null,true]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, ok := lay(nil, []byte(text)); ok {
			requireDecoded(t, d, text)
		}
	})
}

// FuzzPlain: of whatever bytes, each schema says what its plain form is sure of.
func FuzzPlain(f *testing.F) {
	c, err := Compile()
	require.NoError(f, err)
	for _, e := range allExamples(f, c, "valid") {
		f.Add(e.name, e.data)
	}
	f.Fuzz(func(t *testing.T, name string, data []byte) {
		if s, ok := c.schemas[name]; ok {
			agree(t, s, data)
		}
	})
}

// A judge is used again: nothing of what it has judged stays with it, and nothing of it is known of the next.
func TestAJudgeForgets(t *testing.T) {
	t.Parallel()
	c, err := Compile()
	require.NoError(t, err)
	var j judge
	for _, verdict := range []string{"valid", "invalid"} {
		for _, e := range allExamples(t, c, verdict) {
			takes, sure := new(judge).judges(e.schema.plain, e.data)
			again, sureAgain := j.judges(e.schema.plain, e.data)
			require.Equal(t, []bool{takes, sure}, []bool{again, sureAgain}, e.file)
			for _, v := range j.document[:cap(j.document)] {
				require.Equal(t, value{}, v)
			}
		}
	}
}
