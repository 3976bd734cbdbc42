package log

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	want := (&JetStream{config: Config{}.WithDefaults()}).organisationStream("acme")
	ours, err := json.Marshal(want)
	require.NoError(t, err)
	with := func(more string) json.RawMessage {
		return json.RawMessage(strings.TrimSuffix(string(ours), "}") + "," + more + "}")
	}
	for name, c := range map[string]struct {
		got   json.RawMessage
		drift string
	}{
		"the same":                       {ours, ""},
		"what the server notes":          {with(`"metadata":{"_nats.ver":"2.15.2","_nats.level":"3"}`), ""},
		"where it lives":                 {with(`"placement":{"cluster":"east"}`), ""},
		"a new setting, off":             {with(`"forget_all":false,"forget_after":0,"forget":{},"who":null,"where":[],"why":""`), ""},
		"a new setting, on":              {with(`"forget_all":true`), "forget_all"},
		"a note of somebody else":        {with(`"metadata":{"_nats.ver":"2.15.2","owner":"x"}`), "metadata"},
		"one setting less":               {json.RawMessage(strings.Replace(string(ours), `"deny_purge":true`, `"deny_purge":false`, 1)), "deny_purge"},
		"two settings changed, in order": {with(`"sealed":true,"mirror":{"name":"x"}`), "mirror, sealed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := compare(want, c.got)
			if c.drift == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrDrift)
			require.ErrorContains(t, err, c.drift)
		})
	}
	for _, broken := range []string{"", "[]", "{", `"x"`} {
		require.ErrorIs(t, compare(want, json.RawMessage(broken)), ErrUnavailable, broken)
	}
}

func TestWriteErrors(t *testing.T) {
	t.Parallel()
	for code, c := range map[int]struct {
		status int
		want   error
	}{
		10071: {400, ErrConflict}, 10164: {400, ErrConflict}, 10201: {400, ErrConflict},
		10054: {400, ErrTooLarge}, 10059: {404, ErrMissingStream}, 10076: {503, ErrUnavailable}, 10039: {503, ErrUnavailable},
		10002: {400, ErrUnavailable}, // the account is full: refused
		10077: {503, ErrAmbiguous},   // storing failed
		10008: {503, ErrAmbiguous},
		1:     {500, ErrAmbiguous},
		2:     {0, ErrAmbiguous},
	} {
		err := (&apiError{Status: c.status, Code: code, Description: "iris.org.acme.member.secret"}).ofWrite()
		require.ErrorIs(t, err, c.want, "%d", code)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestHeaderFitsBesideTheLargestBody(t *testing.T) {
	t.Parallel()
	header := "NATS/1.0\r\n" + jetstream.ExpectedLastSubjSeqHeader + ": 18446744073709551615\r\n\r\n"
	require.LessOrEqual(t, MaxBody+len(header), maxMessage)
}

// What is let through is one literal subject of four or five tokens, whatever was asked for.
func FuzzSubject(f *testing.F) {
	f.Add("acme", "member", "0198c0de-0000-7000-8000-000000000001")
	f.Add("acme", "organisation", "")
	f.Add("*", ">", "a.b")
	f.Fuzz(func(t *testing.T, org, kind, id string) {
		a := events.Aggregate{Kind: events.AggregateKind(kind), ID: events.ID(id)}
		subject, err := subjectOf(org, a)
		if err != nil {
			require.ErrorIs(t, err, ErrRefused)
			return
		}
		require.NotContains(t, subject, "*")
		require.NotContains(t, subject, ">")
		require.NoError(t, boundary.Slug("", org))
		gotOrg, got, err := events.ParseSubject(subject)
		require.NoError(t, err)
		require.Equal(t, org, gotOrg)
		require.Equal(t, a, got)
		require.NoError(t, checkLedger(events.StreamFor(org)))
		require.NoError(t, checkLedger(events.AccessStreamFor(org)))
	})
}

func FuzzSettings(f *testing.F) {
	f.Add([]byte(`{"name":"x","metadata":{"_nats.ver":"1"},"max_age":0}`))
	f.Add([]byte(`{"metadata":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := settings(data)
		if err != nil {
			return
		}
		for key, value := range set {
			require.NotEmpty(t, value, key)
		}
	})
}
