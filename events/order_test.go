package events

import (
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sameAsLibrary: whatever comes out is what the library makes of it.
func sameAsLibrary(t require.TestingT, text []byte) {
	got, err := canonicalize(append([]byte(nil), text...))
	want := jsontext.Value(append([]byte(nil), text...))
	wantErr := want.Canonicalize()
	require.Equal(t, wantErr == nil, err == nil, "%q", text)
	if err == nil {
		require.Equal(t, string(want), string(got))
	}
}

func TestCanonicalForms(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `[]`, `""`, `null`, `true`, `false`, `0`, `7`, `999999999999999`, `9999999999999999`, `12345678901234567890`, `-1`, `-0`, `1.50`, `1e3`, `01`, `00`,
		`{"b":1,"a":{"d":[{"z":0,"y":""}],"c":null}}`, `{"a":1,"a":2}`, `{"b":1,"a":2,"b":3}`, `{"é":1,"e":2}`, "{\"\u20ac\":1,\"\U0001f600\":2,\"\ufb33\":3}",
		`{"a\"":1,"a":2}`, `{"\u0061":1}`, `"\u0061"`, `"\/"`, `"\n\"\\"`, `"\u001f"`, `"\u000a"`, "\"\u2028\"", "\"\x7f\"", "\"\xff\"", "\"\n\"", `"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `[1`, `[1,]`, `{,}`,
		`tru`, `nullx`, `{"a":1}}`, `1 `, ` 1`, `{"a" :1}`, `{"a":"\"}`, `"\`, ``,
	} {
		sameAsLibrary(t, []byte(text))
	}
}

func TestCanonicalProperty(t *testing.T) {
	t.Parallel()
	leaf := rapid.OneOf(rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.String().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e20, 1e20).AsAny())
	value := rapid.Deferred(func() *rapid.Generator[any] { return leaf })
	for range 3 {
		inner := value
		value = rapid.OneOf(leaf, rapid.SliceOfN(inner, 0, 4).AsAny(), rapid.MapOfN(rapid.String(), inner, 0, 5).AsAny())
	}
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(value.Draw(t, "value"))
		require.NoError(t, err)
		sameAsLibrary(t, text)
	})
}

func FuzzOrderer(f *testing.F) {
	f.Add([]byte(`{"b":[1,"x\n",null],"a":{"d":true,"c":-1.5e3}}`))
	f.Fuzz(func(t *testing.T, text []byte) { sameAsLibrary(t, text) })
}
