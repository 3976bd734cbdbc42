package events_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/testkeys"
	"iris.example/iris/schemas"
)

var at = events.At(time.Date(2026, 11, 30, 8, 0, 0, 123456789, time.UTC))

const (
	org    = "acme"
	member = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")
	other  = events.ID("0193762e-5b7a-7c61-9d2f-3a4b5c6d7e90")
	canary = "canary-93b1f7 prefers metric units"
)

func codec(t testing.TB) (events.Codec, *testkeys.Keys) {
	t.Helper()
	contract, err := schemas.Compile()
	require.NoError(t, err)
	keys := testkeys.New()
	return events.Codec{Keys: keys, Contract: contract}, keys
}

func commitOf(body string, previous uint64) events.Commit {
	command := events.CommandID("test", body)
	labels := events.Labels{
		Category: events.CategoryMedical, Subject: "canary-subject", Scope: events.Scope{Kind: events.ScopeProfile}, AdapterScope: events.AdapterAssistantProfile,
		Consents: []events.EntryConsent{},
	}
	event := &events.ProposalRecorded{
		Entry: events.Entry{
			MemoryID: events.EntityID(at, command, 0), RevisionID: events.EntityID(at, command, 1), KeyID: events.EntityID(at, command, 2),
			Tier: events.TierIndividual, Kind: events.KindPreference, Program: "default", Origin: events.OriginModelInferred,
		},
		ProposedBy: events.ProposedBy{Client: "app", Consumer: events.ConsumerAssistant}, ExpiresAt: at.Plus(time.Hour),
		Body: events.Hide(body), Labels: events.Hide(labels),
		Details: events.Hide(events.Details{SourceRefs: []events.SourceRef{{Kind: "conversation", Ref: "canary-ref", Turns: []int{4, 6}}}, Prints: events.Prints{Fact: "f", Text: "t"}}),
	}
	commit := events.Commit{
		Organisation: org, Aggregate: events.Member(member), Command: command, RequestDigest: "digest", Version: 3, PreviousSequence: previous,
		PreviousHash: events.Hash([]byte("before")),
	}
	commit.Events = []events.Recorded{{Event: event, Meta: events.Meta{
		ID: events.EntityID(at, command, 1000), Type: event.EventType(), Organisation: org, Aggregate: commit.Aggregate, Time: at, RecordedAt: at,
		Actor: events.Actor{ID: "app", Kind: events.ActorClient}, Policy: "2026-11-30", Trace: events.Trace{Correlation: command, Causation: command},
		Commit: command, Version: 3, PreviousSequence: previous, PreviousHash: commit.PreviousHash,
	}}}
	return commit
}

func TestCommitRoundTrip(t *testing.T) {
	t.Parallel()
	c, _ := codec(t)
	commit := commitOf(canary, 41)
	body, err := c.Encode(context.Background(), commit)
	require.NoError(t, err)

	canonical, err := jcs.Transform(body)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(body), "the stored bytes are RFC 8785")
	for _, personal := range []string{"canary", "medical", "metric", "digest"} {
		require.NotContains(t, string(body), personal, "nothing personal stands in clear")
	}
	require.NoError(t, c.Contract.(*schemas.Contract).CheckCommit(body))

	read, err := c.Decode(context.Background(), 42, body)
	require.NoError(t, err)
	require.Equal(t, "digest", read.RequestDigest)
	require.Equal(t, commit.Command, read.Command)
	require.EqualValues(t, 42, read.Position)
	require.EqualValues(t, 41, read.PreviousSequence)
	require.Equal(t, commit.Events[0].Event, read.Events[0].Event)

	again, err := json.Marshal(read.Events[0].Event)
	require.NoError(t, err)
	require.NotContains(t, string(again), "canary", "an opened secret can't be written in clear")
}

// A box that was moved, altered or given another commitment doesn't open (spec 5.3).
func TestSealsAreBoundToTheirPlace(t *testing.T) {
	t.Parallel()
	c, keys := codec(t)
	ctx := context.Background()
	encode := func(body string, previous uint64) []byte {
		b, err := c.Encode(ctx, commitOf(body, previous))
		require.NoError(t, err)
		return b
	}
	field := func(body []byte, name, part string) string {
		var batch []struct{ Data map[string]json.RawMessage }
		require.NoError(t, json.Unmarshal(body, &batch))
		var sealed map[string]string
		require.NoError(t, json.Unmarshal(batch[0].Data[name], &sealed))
		return sealed[part]
	}
	one, two := encode(canary, 41), encode(canary+"!", 41)
	for name, tampered := range map[string][]byte{
		"another event's box":       bytes.ReplaceAll(one, []byte(field(one, "body", "box")), []byte(field(two, "body", "box"))),
		"another field's box":       bytes.ReplaceAll(one, []byte(field(one, "body", "box")), []byte(field(one, "labels", "box"))),
		"another commitment":        bytes.ReplaceAll(one, []byte(field(one, "body", "commitment")), []byte(field(two, "body", "commitment"))),
		"another key's name":        bytes.Replace(one, []byte(field(one, "body", "key")), []byte(field(two, "body", "key")), 1),
		"another position before":   bytes.ReplaceAll(one, []byte(`"irisprevseq":"41"`), []byte(`"irisprevseq":"40"`)),
		"another member":            bytes.ReplaceAll(one, []byte("member."+member), []byte("member."+other)),
		"another organisation":      bytes.ReplaceAll(one, []byte("/organisations/acme"), []byte("/organisations/evil")),
		"a flipped bit":             bytes.ReplaceAll(one, []byte(field(one, "body", "box")), []byte(flip(field(one, "body", "box")))),
		"a box that is no base64":   bytes.ReplaceAll(one, []byte(field(one, "body", "box")), []byte("!!!!")),
		"a request digest replaced": bytes.ReplaceAll(one, []byte(request(t, one)), []byte(request(t, two))),
	} {
		require.NotEqual(t, one, tampered, name)
		_, err := c.Decode(ctx, 42, tampered)
		require.ErrorIs(t, err, events.ErrTampered, name)
		require.NotContains(t, err.Error(), "canary", name)
	}

	commit, _, err := events.Read(42, one)
	require.NoError(t, err)
	keys.Destroy(commit.Events[0].Placed()["body"].Key)
	_, err = c.Decode(ctx, 42, one)
	require.ErrorIs(t, err, events.ErrKeyUnavailable)
}

func request(t *testing.T, body []byte) string {
	t.Helper()
	var batch []struct {
		Request string `json:"irisrequest"`
	}
	require.NoError(t, json.Unmarshal(body, &batch))
	return batch[0].Request
}

func flip(s string) string {
	if strings.HasPrefix(s, "A") {
		return "B" + s[1:]
	}
	return "A" + s[1:]
}

func TestPlacedOpensWithoutItsEvent(t *testing.T) {
	t.Parallel()
	c, keys := codec(t)
	body, err := c.Encode(context.Background(), commitOf(canary, 41))
	require.NoError(t, err)
	commit, _, err := events.Read(42, body)
	require.NoError(t, err)
	kept := commit.Events[0].Kept("body")
	require.NotContains(t, string(kept), "canary")
	text, err := events.Open[string](context.Background(), keys, kept)
	require.NoError(t, err)
	require.Equal(t, canary, text)
	placed, err := kept.Placed()
	require.NoError(t, err)
	require.Equal(t, commit.Events[0].Placed()["body"], placed)
	placed.Field = "labels"
	_, err = events.Open[string](context.Background(), keys, placed.Keep())
	require.ErrorIs(t, err, events.ErrTampered)
	require.Nil(t, commit.Events[0].Kept("of-no-such-name"))
}

func TestEncodeChecksTheContract(t *testing.T) {
	t.Parallel()
	c, _ := codec(t)
	commit := commitOf(canary, 41)
	commit.Events[0].Event.(*events.ProposalRecorded).Tier = events.TierRole
	_, err := c.Encode(context.Background(), commit)
	require.ErrorIs(t, err, events.ErrContract)
	require.NotContains(t, err.Error(), "canary")
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	c, _ := codec(t)
	good, err := c.Encode(context.Background(), commitOf(canary, 41))
	require.NoError(t, err)
	for name, body := range map[string][]byte{
		"nothing":            nil,
		"an empty batch":     []byte("[]"),
		"an object":          []byte("{}"),
		"an unknown field":   bytes.Replace(good, []byte(`"specversion"`), []byte(`"surprise":1,"specversion"`), 1),
		"an unknown datum":   bytes.Replace(good, []byte(`"memoryId"`), []byte(`"surprise":1,"memoryId"`), 1),
		"a version in words": bytes.Replace(good, []byte(`"irisversion":"3"`), []byte(`"irisversion":"three"`), 1),
		"another's subject":  bytes.Replace(good, []byte(`"subject":"member.`), []byte(`"subject":"nobody.`), 1),
		"no source":          bytes.Replace(good, []byte(`/organisations/acme`), []byte(`acme`), 1),
	} {
		_, _, err := events.Read(1, body)
		require.ErrorIs(t, err, events.ErrMalformed, name)
	}
	_, _, err = events.Read(1, bytes.Replace(good, []byte("iris.proposal.recorded.v1"), []byte("iris.proposal.recorded.v9"), 1))
	require.ErrorIs(t, err, events.ErrUnknownType)
}

func FuzzRead(f *testing.F) {
	c, _ := codec(f)
	good, err := c.Encode(context.Background(), commitOf(canary, 41))
	require.NoError(f, err)
	f.Add(good)
	f.Add([]byte(`[{"type":"iris.member.registered.v1","source":"/organisations/a","subject":"member.x","data":{}}]`))
	f.Fuzz(func(t *testing.T, body []byte) {
		commit, _, err := events.Read(7, body)
		if err != nil {
			return
		}
		require.NotEmpty(t, commit.Events)
		_, _ = c.Decode(context.Background(), 7, body) // opens or refuses, never panics
	})
}

// Two implementations of RFC 8785 agree, or neither takes the value.
func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{`{"b":1,"a":[1e21,0.1,-0,"\u20ac\u0000"]}`, `{"é":"😀","\ud83d\ude00":null}`, `[9007199254740993,1e-7]`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		if !json.Valid(value) {
			return
		}
		ours, err := events.Canonical(json.RawMessage(value))
		if err != nil {
			return
		}
		theirs, err := jcs.Transform(value)
		if err == nil {
			require.Equal(t, string(theirs), string(ours))
		}
	})
}

func TestEveryTypeIsMade(t *testing.T) {
	t.Parallel()
	for _, name := range events.Types() {
		e, err := events.New(name)
		require.NoError(t, err)
		require.Equal(t, name, e.EventType())
		require.Regexp(t, `^iris\.[a-z]+(-[a-z]+)*\.[a-z]+(-[a-z]+)*\.v[0-9]+$`, string(name))
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	command := events.CommandID("acme", "ada", "POST /v1/proposals", "k1")
	require.Equal(t, command, events.CommandID("acme", "ada", "POST /v1/proposals", "k1"))
	require.NotEqual(t, command, events.CommandID("acme", "ada", "POST /v1/proposalsk", "1"), "parts don't run into each other")
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, command)
	entity := events.EntityID(at, command, 1)
	require.Equal(t, entity, events.EntityID(at, command, 1))
	require.NotEqual(t, entity, events.EntityID(at, command, 2))
	require.Regexp(t, `^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`, entity)
	require.Less(t, string(entity), string(events.EntityID(at.Plus(time.Hour), command, 1)), "later ids sort later")
}

func TestTimeIsCutToMicroseconds(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2026-11-30T08:00:00.123456Z", at.String())
	b, err := json.Marshal(at)
	require.NoError(t, err)
	var back events.Time
	require.NoError(t, json.Unmarshal(b, &back))
	require.Equal(t, at, back)
	for _, bad := range []string{`"2026-11-30T08:00:00Z"`, `"2026-11-30T08:00:00.123456+01:00"`, `1`, `""`} {
		require.Error(t, json.Unmarshal([]byte(bad), &back), bad)
	}
}

func TestAReaderOpensOnlyWhatItNeeds(t *testing.T) {
	t.Parallel()
	c, keys := codec(t)
	body, err := c.Encode(t.Context(), commitOf(canary, 41))
	require.NoError(t, err)
	read, err := c.Opening("labels").Decode(t.Context(), 42, body)
	require.NoError(t, err)
	event := read.Events[0].Event.(*events.ProposalRecorded)
	require.Equal(t, "canary-subject", event.Labels.Plain.Subject)
	require.Empty(t, event.Body.Plain)
	require.Empty(t, event.Details.Plain.SourceRefs)
	require.Empty(t, read.RequestDigest)
	body2, err := events.Open[string](t.Context(), keys, read.Events[0].Kept("body"))
	require.NoError(t, err, "what stayed sealed opens later")
	require.Equal(t, canary, body2)

	none, err := c.Opening().Decode(t.Context(), 42, body)
	require.NoError(t, err)
	require.Empty(t, none.Events[0].Event.(*events.ProposalRecorded).Labels.Plain.Subject)
	_, err = c.Opening("labels").Decode(t.Context(), 42, []byte(strings.Replace(string(body), `"irisprevseq":"41"`, `"irisprevseq":"40"`, 1)))
	require.ErrorIs(t, err, events.ErrTampered)
}
