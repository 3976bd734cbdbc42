package events_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

// commits are bodies as they are written: of one event and of two, with every optional field and with none.
func commits(t testing.TB) [][]byte {
	t.Helper()
	c, _ := codec(t)
	traced, bare := commitOf(canary, 41), commitOf("other", 0)
	again := traced.Events[0]
	again.Event = &events.MembershipStarted{Program: "atlas"}
	again.ID = events.EntityID(at, traced.Command, 1001)
	traced.Events[0].Trace.Parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	traced.Events = append(traced.Events, again)
	bare.Version, bare.RequestDigest = 0, ""
	var bodies [][]byte
	for _, commit := range []events.Commit{traced, bare} {
		body, err := c.Encode(t.Context(), commit)
		require.NoError(t, err)
		bodies = append(bodies, body)
	}
	return bodies
}

func requireSameRead(t *testing.T, body []byte) {
	t.Helper()
	read, request, err := events.Read(42, body)
	want, wantRequest, wantErr := events.ReadAny(42, body)
	require.Equal(t, want, read)
	require.Equal(t, wantRequest, request)
	if wantErr == nil {
		require.NoError(t, err)
		return
	}
	require.EqualError(t, err, wantErr.Error())
}

// What isn't written by us, or was tampered with, is read or refused as the strict decoder does.
func TestReadingWithoutAParserIsTheSame(t *testing.T) {
	t.Parallel()
	for _, body := range commits(t) {
		requireSameRead(t, body)
		for _, change := range [][2]string{
			{`"data":{`, `"data":{"memoryId":"a",`}, {`"data":{`, `"data":{"unknown":1,`}, {`"data":{`, `"data":{"\u0000":1,`}, {`"data":{`, `"data":[{`},
			{`"data":{`, `"data": {`}, {`"data":{`, `"data":null,"x":{`}, {`"specversion":"1.0"`, `"specversion":"1.0","specversion":"1.0"`},
			{`"source":"/org`, `"source":"\/org`}, {`"source":"/org`, "\"source\":\"/\xfforg"}, {`"irispolicy":"`, `"irispolicy":"\ud800`}, {`"irispolicy":"`, `"irispolicy":"ä`},
			{`"type":"`, `"type":"unknown.`}, {`"type":"`, `"typo":"`}, {`"time":"20`, `"time":"19`}, {`"time":"2026-11`, `"time":"2026-13`},
			{`"irisversion":"`, `"irisversion":"-`}, {`"},`, `"}`}, {`}]`, `},]`}, {`}]`, `}]]`}, {`}]`, `}`}, {`[{`, `[`}, {`[{`, ` [{`}, {`"id":"`, `"id":1,"x":"`}, {`{"causationid"`, `{"ausationid"`},
			{`"data":{`, `"data":` + strings.Repeat(`{"a":`, 200)}, {`"data":{`, `"data":` + strings.Repeat(`[`, 10_001)},
		} {
			requireSameRead(t, []byte(strings.Replace(string(body), change[0], change[1], 1)))
			requireSameRead(t, []byte(strings.ReplaceAll(string(body), change[0], change[1])))
		}
		for n := range body {
			requireSameRead(t, body[:n])
		}
	}
}

func FuzzReadingWithoutAParserIsTheSame(f *testing.F) {
	for _, body := range commits(f) {
		f.Add(body)
	}
	f.Add([]byte(`[{"causationid":"","correlationid":"","data":{},"datacontenttype":"","id":"","irisactor":"","irisactorkind":"","iriscommit":"","irispolicy":"",` +
		`"recordedtime":"2026-11-30T08:00:00.123456Z","source":"/organisations/acme","specversion":"1.0","subject":"organisation",` +
		`"time":"2026-11-30T08:00:00.123456Z","type":"iris.membership.started.v1"}]`))
	f.Fuzz(requireSameRead)
}
