package boundary_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"iris.example/iris/boundary"
)

// proposal has one field of every sort that our bodies have.
type proposal struct {
	Member  *member            `json:"member"`
	Tier    string             `json:"tier"`
	Turns   []int              `json:"turns"`
	Small   uint8              `json:"small"`
	Keep    bool               `json:"keep"`
	At      time.Time          `json:"at,omitzero"`
	Labels  map[string]string  `json:"labels"`
	Free    any                `json:"free"`
	Payload jsontext.Value     `json:"payload"`
	Raw     stdjson.RawMessage `json:"raw"`
}

type member struct {
	ID string `json:"id"`
}

func nest(n int, open, close string) string {
	return strings.Repeat(open, n) + strings.Repeat(close, n)
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		in      string
		code    boundary.Code
		pointer string
	}{
		"empty":                        {"", boundary.InvalidJSON, ""},
		"only space":                   {" \n", boundary.InvalidJSON, ""},
		"cut short":                    {`{"tier":"a"`, boundary.InvalidJSON, ""},
		"trailing value":               {`{} {}`, boundary.InvalidJSON, ""},
		"trailing bracket":             {`{}}`, boundary.InvalidJSON, ""},
		"byte order mark":              {"\ufeff{}", boundary.InvalidJSON, ""},
		"single quotes":                {`{'tier':'a'}`, boundary.InvalidJSON, ""},
		"comment":                      {`{/**/}`, boundary.InvalidJSON, ""},
		"NaN":                          {`{"free":NaN}`, boundary.InvalidJSON, "/free"},
		"leading zero":                 {`{"free":01}`, boundary.InvalidJSON, ""},
		"control character":            {"{\"tier\":\"a\nb\"}", boundary.InvalidJSON, "/tier"},
		"list on top":                  {`[]`, boundary.WrongType, ""},
		"string on top":                {`"a"`, boundary.WrongType, ""},
		"null on top":                  {`null`, boundary.WrongType, ""},
		"duplicate key":                {`{"tier":"a","tier":"b"}`, boundary.DuplicateKey, "/tier"},
		"duplicate key, escaped":       {`{"tier":"a","\u0074ier":"b"}`, boundary.DuplicateKey, "/tier"},
		"duplicate key, deep":          {`{"free":[{"x":{"a":1,"a":1}}]}`, boundary.DuplicateKey, "/free/0/x/a"},
		"duplicate key, raw":           {`{"payload":{"a":1,"a":1}}`, boundary.DuplicateKey, "/payload/a"},
		"duplicate key, personal":      {`{"free":{"Ann Lee":1,"Ann Lee":1}}`, boundary.DuplicateKey, "/free"},
		"NUL, raw":                     {"{\"tier\":\"a\x00\"}", boundary.InvalidText, ""},
		"NUL, escaped":                 {`{"tier":"a\u0000"}`, boundary.InvalidText, "/tier"},
		"NUL in a key":                 {`{"free":{"\u0000":1}}`, boundary.InvalidText, "/free"},
		"NUL in a raw payload":         {`{"payload":{"a":["\u0000"]}}`, boundary.InvalidText, "/payload/a/0"},
		"NUL after an escaped slash":   {`{"tier":"\\\u0000"}`, boundary.InvalidText, "/tier"},
		"byte 0xFF":                    {"{\"tier\":\"\xff\"}", boundary.InvalidText, ""},
		"encoded surrogate":            {"{\"tier\":\"\xed\xa0\x80\"}", boundary.InvalidText, ""},
		"overlong":                     {"{\"tier\":\"\xc0\x80\"}", boundary.InvalidText, ""},
		"high surrogate alone":         {`{"tier":"\ud800"}`, boundary.InvalidText, "/tier"},
		"low surrogate alone":          {`{"tier":"\uDC00"}`, boundary.InvalidText, "/tier"},
		"surrogates the wrong way":     {`{"free":["\ude00\ud83d"]}`, boundary.InvalidText, "/free/0"},
		"high surrogate, then a word":  {`{"tier":"\ud800abcdefg"}`, boundary.InvalidText, "/tier"},
		"high surrogate, other escape": {`{"tier":"\ud800\u0041"}`, boundary.InvalidText, "/tier"},
		"lone surrogate in a key":      {`{"free":{"\ud800":1}}`, boundary.InvalidText, "/free"},
		"1e400":                        {`{"free":1e400}`, boundary.NumberOutOfRange, "/free"},
		"-1e400 in a raw payload":      {`{"payload":[-1e400]}`, boundary.NumberOutOfRange, "/payload/0"},
		"exponent without end":         {`{"free":1e99999999999999999999}`, boundary.NumberOutOfRange, "/free"},
		"2^53+1":                       {`{"free":9007199254740993}`, boundary.NumberOutOfRange, "/free"},
		"-2^53-1":                      {`{"free":-9007199254740993}`, boundary.NumberOutOfRange, "/free"},
		"2^53+1 with a fraction":       {`{"free":9007199254740993.5}`, boundary.NumberOutOfRange, "/free"},
		"2^53+1 with an exponent":      {`{"free":90071992547409.93e2}`, boundary.NumberOutOfRange, "/free"},
		"2^53+1 shifted far":           {`{"free":0.000009007199254740993e21}`, boundary.NumberOutOfRange, "/free"},
		"1e16":                         {`{"free":1e16}`, boundary.NumberOutOfRange, "/free"},
		"turns into zero":              {`{"free":1e-400}`, boundary.NumberOutOfRange, "/free"},
		"300 in a byte":                {`{"small":300}`, boundary.NumberOutOfRange, "/small"},
		"65 lists":                     {`{"free":` + nest(64, "[", "]") + `}`, boundary.NestingTooDeep, ""},
		"65 objects":                   {strings.Repeat(`{"free":`, 65) + "1" + strings.Repeat("}", 65), boundary.NestingTooDeep, ""},
		"20,000 lists, never closed":   {strings.Repeat("[", 20_000), boundary.NestingTooDeep, ""},
		"unknown field":                {`{"tier":"a","colour":"red"}`, boundary.UnknownField, "/colour"},
		"unknown field, deep":          {`{"member":{"id":"a","name":"b"}}`, boundary.UnknownField, "/member/name"},
		"other case":                   {`{"Tier":"a"}`, boundary.UnknownField, "/Tier"},
		"other case, deep":             {`{"member":{"ID":"a"}}`, boundary.UnknownField, "/member/ID"},
		"Kelvin sign":                  {`{"` + "\u212aeep" + `":true}`, boundary.UnknownField, ""},
		"unknown field, personal":      {`{"Ann Lee":1}`, boundary.UnknownField, ""},
		"string for a list":            {`{"turns":"4"}`, boundary.WrongType, "/turns"},
		"string for a number":          {`{"turns":[1,"4"]}`, boundary.WrongType, "/turns/1"},
		"fraction for an integer":      {`{"turns":[1.5]}`, boundary.WrongType, "/turns/0"},
		"number for a boolean":         {`{"keep":1}`, boundary.WrongType, "/keep"},
		"list for an object":           {`{"member":[]}`, boundary.WrongType, "/member"},
		"words for a time":             {`{"at":"soon"}`, boundary.WrongType, "/at"},
		"longer than a MiB":            {`{"tier":"` + strings.Repeat("a", boundary.MaxBody) + `"}`, boundary.BodyTooLarge, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var into proposal
			err := boundary.Decode([]byte(c.in), &into)
			var refused *boundary.Error
			require.ErrorAs(t, err, &refused)
			require.ErrorIs(t, err, boundary.ErrRefused)
			require.Equal(t, c.code, refused.Code, err)
			require.Equal(t, c.pointer, refused.Pointer, err)
			require.NotEmpty(t, refused.Detail)
		})
	}
}

func TestDecodeAccepts(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{}`, " {\n} \t", `{"tier":null,"member":null,"turns":null}`,
		`{"free":9007199254740992}`, `{"free":-9007199254740992}`, `{"free":9007199254740992.9}`, `{"free":1e15}`,
		`{"free":-0}`, `{"free":0e999999999999}`, `{"free":0.000}`, `{"free":5e-324}`, `{"free":0.1}`, `{"free":1000e-5}`,
		`{"tier":"\ud83d\ude00 \\u0000 \\\\ud800 \" é"}`, `{"free":{"A":1,"a":2}}`, `{"at":"2026-11-01T10:00:00.000001Z"}`,
		`{"free":` + nest(63, "[", "]") + `}`,
	} {
		var into proposal
		require.NoError(t, boundary.Decode([]byte(in), &into), in)
	}
}

func TestDecodeKeepsWhatWasSaid(t *testing.T) {
	t.Parallel()
	var into proposal
	in := `{"member":{"id":"m-1"},"tier":"individual","turns":[4,6],"labels":{"a b":"c"},"payload":{"n":0.10},"raw":[1.50]}`
	require.NoError(t, boundary.Decode([]byte(in), &into))
	require.Equal(t, proposal{
		Member: &member{ID: "m-1"}, Tier: "individual", Turns: []int{4, 6}, Labels: map[string]string{"a b": "c"},
		Payload: jsontext.Value(`{"n":0.10}`), Raw: stdjson.RawMessage(`[1.50]`),
	}, into)
}

func TestDecodeArray(t *testing.T) {
	t.Parallel()
	var into []member
	require.NoError(t, boundary.DecodeArray([]byte(`[{"id":"a"},{"id":"b"}]`), &into))
	require.Equal(t, []member{{"a"}, {"b"}}, into)
	requireCode(t, boundary.WrongType, boundary.DecodeArray([]byte(`{"id":"a"}`), &into))
	requireCode(t, boundary.UnknownField, boundary.DecodeArray([]byte(`[{"name":"a"}]`), &into))
}

func TestDeepNestingIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		nest(20_000, "[", "]"),
		strings.Repeat(`{"a":`, 20_000) + "1" + strings.Repeat("}", 20_000),
		strings.Repeat(`[{"a":`, 100_000),
	} {
		fastest := time.Hour // of a few: the machine may be busy
		for range 5 {
			start := time.Now()
			requireCode(t, boundary.NestingTooDeep, boundary.Check([]byte(in)))
			fastest = min(fastest, time.Since(start))
		}
		require.Less(t, fastest, 10*time.Millisecond)
	}
}

// refusesItself is a field type whose own complaint quotes the input.
type refusesItself struct{}

func (*refusesItself) UnmarshalText(text []byte) error { return errors.New("bad: " + string(text)) }

func TestErrorsNeverQuoteTheInput(t *testing.T) {
	t.Parallel()
	const secret = "Ann Lee"
	var into struct {
		proposal
		Own refusesItself `json:"own"`
	}
	for _, in := range []string{
		`{"tier":"Ann Lee","tier":"Ann Lee"}`, `{"Ann Lee":1}`, `{"labels":{"Ann Lee":"a","Ann Lee":"b"}}`, `{"turns":["Ann Lee"]}`,
		`{"at":"Ann Lee"}`, `{"labels":{"Ann Lee":3}}`, `{"labels":{"Ann Lee":{"x":"\u0000"}}}`, `{"tier":"Ann Lee" "Ann Lee"}`, `{"tier":Ann Lee}`,
		`{"tier":"Ann Lee\x"}`, `{"tier":"Ann Lee\ud800"}`, `{"own":"Ann Lee"}`, `{"small":"Ann Lee"}`, `{"Ann Lee`, `Ann Lee`,
	} {
		err := boundary.Decode([]byte(in), &into)
		require.ErrorIs(t, err, boundary.ErrRefused, in)
		require.NotContains(t, err.Error(), secret, in)
		require.NotContains(t, err.Error(), "Lee", in)
	}
	err := boundary.Decode([]byte(`{"small":4711}`), &into)
	require.ErrorIs(t, err, boundary.ErrRefused)
	require.NotContains(t, err.Error(), "4711")
}

func TestABadTargetIsNotBadInput(t *testing.T) {
	t.Parallel()
	var missing *proposal
	for _, into := range []any{nil, proposal{}, missing, new(chan int)} {
		err := boundary.Decode([]byte(`{}`), into)
		require.Error(t, err)
		require.NotErrorIs(t, err, boundary.ErrRefused)
	}
}

func TestCheckTakesAnyTop(t *testing.T) {
	t.Parallel()
	for _, in := range []string{`{}`, `[]`, `"a"`, `1`, `null`, ` true `} {
		require.NoError(t, boundary.Check([]byte(in)), in)
	}
	for _, in := range []string{``, `1 2`, `9007199254740993`, `"\u0000"`, `tru`, `[1,]`, `{"a":1,}`} {
		require.ErrorIs(t, boundary.Check([]byte(in)), boundary.ErrRefused, in)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	data, err := boundary.Read(strings.NewReader("12345"), 5)
	require.NoError(t, err)
	require.Equal(t, "12345", string(data))
	_, err = boundary.Read(strings.NewReader("123456"), 5)
	requireCode(t, boundary.BodyTooLarge, err)
	_, err = boundary.Read(io.MultiReader(strings.NewReader("12"), iotest.ErrReader(io.ErrClosedPipe)), 5)
	require.ErrorIs(t, err, io.ErrClosedPipe)
	require.NotErrorIs(t, err, boundary.ErrRefused)
}

func requireCode(t *testing.T, code boundary.Code, err error) {
	t.Helper()
	var refused *boundary.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, code, refused.Code, err)
}

// FuzzCheck holds Check against encoding/json: what we accept is JSON there too,
// and survives being written and read again.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		`{"a":[1,-2.5e3,"\ud83d\ude00",null,true]}`, `{"a":1,"a":2}`, `"\u0000"`, `["\ude00\ud83d"]`, "\xff", `1e400`, `9007199254740993`,
		nest(70, "[", "]"), `{"\u0061":1,"a":2}`, `0.1e-5`, ` `, "\"\\", `"\u00`, `{"a":"\\u0000"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		err := boundary.Check(data)
		require.Equal(t, before, data)
		if err != nil {
			require.ErrorIs(t, err, boundary.ErrRefused)
			return
		}
		require.True(t, stdjson.Valid(data))
		value := standard(t, data)
		requireClean(t, value)
		again, err := stdjson.Marshal(value)
		require.NoError(t, err)
		require.NoError(t, boundary.Check(again))
		require.Equal(t, value, standard(t, again))
	})
}

// FuzzDecode asks the same of a struct, and that what it holds can be written
// and decoded to the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"member":{"id":"a"},"tier":"b","turns":[1],"small":3,"keep":true,"labels":{"a":"b"},"free":[{"x":1.5}],"payload":[1],"raw":{}}`,
		`{"Tier":"a"}`, `{"at":"2026-11-01T10:00:00Z"}`, `{"tier":"a","tier":"b"}`, `{"small":256}`, `[]`, `{"payload":{"a":"\u0000"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var first, second proposal
		if err := boundary.Decode(data, &first); err != nil {
			require.ErrorIs(t, err, boundary.ErrRefused)
			return
		}
		require.True(t, stdjson.Valid(data))
		requireClean(t, standard(t, data))
		again, err := stdjson.Marshal(first)
		require.NoError(t, err)
		require.NoError(t, boundary.Decode(again, &second), string(again))
		third, err := stdjson.Marshal(second)
		require.NoError(t, err)
		require.Equal(t, string(again), string(third))
	})
}

func standard(t *testing.T, data []byte) any {
	t.Helper()
	dec := stdjson.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var value any
	require.NoError(t, dec.Decode(&value))
	return value
}

func requireClean(t *testing.T, value any) {
	t.Helper()
	switch v := value.(type) {
	case string:
		require.True(t, utf8.ValidString(v))
		require.NotContains(t, v, "\x00")
	case stdjson.Number:
		number, err := v.Float64()
		require.NoError(t, err)
		require.LessOrEqual(t, number, float64(1<<53))
		require.GreaterOrEqual(t, number, -float64(1<<53))
	case []any:
		for _, item := range v {
			requireClean(t, item)
		}
	case map[string]any:
		for key, item := range v {
			requireClean(t, key)
			requireClean(t, item)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	body := []byte(`{"member":{"id":"0193c0de-0000-7000-8000-000000000001"},"tier":"individual","turns":[4,6],"keep":false,"labels":{"kind":"preference","category":"preference"},"free":"Prefers metric units in all tables."}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		var into proposal
		if err := boundary.Decode(body, &into); err != nil {
			b.Fatal(err)
		}
	}
}
