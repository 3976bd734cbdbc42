package schemas_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/schemas"
)

// TestNothingPublishedChanged is the lock (spec 9.3). A file that fails here goes back to what it was; the change is another
// version. What is new is added by: go run ./schemas/lock
func TestNothingPublishedChanged(t *testing.T) {
	t.Parallel()
	lock, err := schemas.ReadLock(os.DirFS("."))
	require.NoError(t, err)
	now, err := schemas.Locked(os.DirFS("."))
	require.NoError(t, err)
	require.Empty(t, lock.Broken(now), "published files changed or disappeared")
	require.Empty(t, lock.Missing(now), "not locked yet: go run ./schemas/lock")
}

func TestEveryTypeHasASchemaAndEverySchemaAType(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(schemas.Files(), "events/iris.*.schema.json")
	require.NoError(t, err)
	var have, want []string
	for _, name := range names {
		have = append(have, strings.TrimSuffix(path.Base(name), ".schema.json"))
	}
	for _, typ := range events.Types() {
		want = append(want, string(typ))
	}
	require.ElementsMatch(t, want, have)

	names, err = fs.Glob(schemas.Files(), "api/*.schema.json")
	require.NoError(t, err)
	have = nil
	for _, name := range names {
		have = append(have, strings.TrimSuffix(path.Base(name), ".schema.json"))
	}
	require.ElementsMatch(t, requests(), have)
}

// TestFilesIntroduceThemselves: $id is where the file is, and people are told what it is.
func TestFilesIntroduceThemselves(t *testing.T) {
	t.Parallel()
	for name, doc := range files(t) {
		require.Equal(t, "https://json-schema.org/draft/2020-12/schema", doc["$schema"], name)
		require.Equal(t, schemas.Base+name, doc["$id"], name)
		require.NotEmpty(t, doc["title"], name)
		require.NotEmpty(t, doc["description"], name)
	}
}

// files reads every embedded schema.
func files(t *testing.T) map[string]map[string]any {
	t.Helper()
	all := map[string]map[string]any{}
	require.NoError(t, fs.WalkDir(schemas.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(schemas.Files(), name)
		if err != nil {
			return err
		}
		var doc map[string]any
		all[name] = doc
		if err := json.Unmarshal(data, &doc); err != nil {
			return err
		}
		all[name] = doc
		return nil
	}))
	return all
}

// TestObjectsAreClosed: whatever is an object says which properties it has and has no others, everywhere but in the places
// that are open on purpose.
func TestObjectsAreClosed(t *testing.T) {
	t.Parallel()
	var walk func(where string, v any)
	walk = func(where string, v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				walk(where, item)
			}
		case map[string]any:
			if v["type"] == "object" && !slices.Contains([]string{
				"events/iris.policy.applied.v1.schema.json/properties/document", // judged by the policy's schema
				"events/envelope.schema.json/$defs/event/properties/data",       // judged by the type's schema
				"claims/envelope.schema.json",                                   // CloudEvents extensions
				"api/settings.schema.json/properties/autoKeep",                  // a map: its keys are programs
				"api/tool.schema.json/properties/arguments",                     // judged by the tool's schema
			}, where) {
				require.Equal(t, false, v["additionalProperties"], where)
			}
			for key, child := range v {
				walk(where+"/"+key, child)
			}
		}
	}
	for name, doc := range files(t) {
		walk(name, map[string]any(doc))
	}
}

// resolver follows references between the files.
type resolver map[string]map[string]any

func (r resolver) follow(file string, schema map[string]any) (string, map[string]any) {
	for schema["$ref"] != nil {
		target, fragment, _ := strings.Cut(schema["$ref"].(string), "#")
		if target != "" {
			file = path.Join(path.Dir(file), target)
		}
		schema = r[file]
		for _, key := range strings.Split(fragment, "/") {
			if key != "" {
				schema = schema[key].(map[string]any)
			}
		}
	}
	return file, schema
}

// same requires that a Go value's JSON has exactly the properties of its schema, at every depth.
func (r resolver) same(t *testing.T, where, file string, schema map[string]any, value any) {
	t.Helper()
	file, schema = r.follow(file, schema)
	for _, branch := range asList(schema["anyOf"]) { // null or a value; a filled event has the value
		branch := branch.(map[string]any)
		if branch["type"] != "null" {
			file, schema = r.follow(file, branch)
		}
	}
	switch value := value.(type) {
	case map[string]any:
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return // the policy's document
		}
		require.ElementsMatch(t, keys(properties), keys(value), "%s: struct and schema differ", where)
		require.ElementsMatch(t, asList(schema["required"]), anys(keys(properties)), "%s: an event has no optional property", where)
		for key, child := range value {
			r.same(t, where+"/"+key, file, properties[key].(map[string]any), child)
		}
	case []any:
		require.NotEmpty(t, value, "%s is not filled", where)
		for _, item := range value {
			r.same(t, where+"/0", file, schema["items"].(map[string]any), item)
		}
	case nil:
		t.Fatalf("%s is not filled", where)
	}
}

func asList(v any) []any { l, _ := v.([]any); return l }

func keys(m map[string]any) []string { return slices.Collect(maps.Keys(m)) }

func anys(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// TestStructsAndSchemasHaveTheSameProperties is the drift gate between events/ and here.
func TestStructsAndSchemasHaveTheSameProperties(t *testing.T) {
	t.Parallel()
	r, c := resolver(files(t)), contract(t)
	for _, typ := range events.Types() {
		data := sealed(t, c, filled(t, typ))
		file := "events/" + string(typ) + ".schema.json"
		require.NoError(t, c.Check(typ, data), typ)
		var value any
		require.NoError(t, json.Unmarshal(data, &value))
		r.same(t, string(typ), file, r[file], value)
	}
}

// testKeys seals with nothing but a header as long as AES-GCM's: what is tested is the form.
type testKeys struct{}

func (testKeys) Seal(_ context.Context, _ events.KeyRef, _, plain []byte) ([]byte, error) {
	return append(bytes.Repeat([]byte{7}, 28), plain...), nil
}

func (testKeys) Open(_ context.Context, _ events.KeyRef, _, box []byte) ([]byte, error) {
	return box[28:], nil
}

const (
	someID  events.ID = "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f"
	otherID events.ID = "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e90"
	command events.ID = "0193762e-5b7a-8c61-9d2f-3a4b5c6d7e91"
)

var noon = events.At(time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC))

func commitOf(t *testing.T, first bool, all ...events.Event) events.Commit {
	t.Helper()
	commit := events.Commit{
		Organisation: "acme", Aggregate: events.Member(someID), Command: command, RequestDigest: "d", Version: 2, PreviousSequence: 41,
		PreviousHash: events.Hash([]byte("before")),
	}
	if first {
		commit.Version, commit.PreviousSequence, commit.PreviousHash = 1, 0, ""
	}
	for _, e := range all {
		commit.Events = append(commit.Events, events.Recorded{Event: e, Meta: events.Meta{
			ID: otherID, Time: noon, RecordedAt: noon, Actor: events.Actor{ID: "notes", Kind: events.ActorProducer}, Policy: "2026-11",
			Trace: events.Trace{Correlation: command, Causation: otherID},
		}})
	}
	return commit
}

// sealed is an event's data as the codec writes it.
func sealed(t *testing.T, c *schemas.Contract, event events.Event) []byte {
	t.Helper()
	body, err := events.Codec{Keys: testKeys{}, Contract: c}.Encode(t.Context(), commitOf(t, false, event))
	require.NoError(t, err, event.EventType())
	var batch []struct {
		Data json.RawMessage `json:"data"`
	}
	require.NoError(t, json.Unmarshal(body, &batch))
	return batch[0].Data
}

// TestCommitsOfTheCodecFulfilTheEnvelope: what the codec writes, the envelope's schema accepts.
func TestCommitsOfTheCodecFulfilTheEnvelope(t *testing.T) {
	t.Parallel()
	c := contract(t)
	codec := events.Codec{Keys: testKeys{}, Contract: c}
	for _, first := range []bool{true, false} {
		for _, typ := range events.Types() {
			commit := commitOf(t, first, filled(t, typ), filled(t, events.TypeMembershipStarted))
			if typ == events.TypeRecallResolved { // an access envelope has no chain (spec 9.2)
				commit.Version = 0
			}
			body, err := codec.Encode(t.Context(), commit)
			require.NoError(t, err)
			require.NoError(t, c.CheckCommit(body), typ)
			_, err = codec.Decode(t.Context(), 42, body)
			require.NoError(t, err)
		}
	}
}

// TestTheCodecRefusesWhatBreaksTheContract: nothing that breaks a schema reaches the stream.
func TestTheCodecRefusesWhatBreaksTheContract(t *testing.T) {
	t.Parallel()
	codec := events.Codec{Keys: testKeys{}, Contract: contract(t)}
	_, err := codec.Encode(t.Context(), commitOf(t, false, &events.MembershipStarted{Program: "Ann Lee"}))
	require.ErrorIs(t, err, events.ErrContract)
	require.ErrorIs(t, err, schemas.ErrViolation)
	require.NotContains(t, err.Error(), "Lee")
}

// TestWordsOfSchemaAndVocabularyAreTheSame compares each closed list with its owner in Go. A list without an owner there is
// held to the specification by hand.
func TestWordsOfSchemaAndVocabularyAreTheSame(t *testing.T) {
	t.Parallel()
	r := resolver(files(t))
	words := func(file, name string) []string {
		def := r[file]["$defs"].(map[string]any)[name].(map[string]any)
		var all []string
		for _, w := range asList(def["enum"]) {
			all = append(all, w.(string))
		}
		return all
	}
	const shared, wire = "events/definitions.schema.json", "vocabulary.schema.json"
	require.Equal(t, texts(events.Categories()...), words(wire, "category"))
	require.Equal(t, texts(events.ConsentKeys()...), words(wire, "consentKey"))
	require.Equal(t, texts(events.SourceInlinePrompt, events.SourceSettingsToggle, events.SourceDSARImport), words(wire, "consentSource"))
	require.Equal(t, texts(events.TierIndividual, events.TierPerson, events.TierRole), words(shared, "tier"))
	require.Equal(t, texts(events.TierIndividual, events.TierPerson), words(shared, "ownTier"))
	kinds := []events.MemoryKind{
		events.KindEpisodic, events.KindPreference, events.KindVocabulary, events.KindRubricAdjustment, events.KindLesson, events.KindRubricVersion,
	}
	require.Equal(t, texts(kinds...), words(shared, "kind"))
	require.Equal(t, texts(slices.DeleteFunc(kinds, func(k events.MemoryKind) bool { return !events.TierIndividual.Admits(k) })...), words(shared, "individualKind"))
	origins := []events.Origin{
		events.OriginUserStated, events.OriginUserConfirmed, events.OriginModelInferred, events.OriginOperatorCopilot,
		events.OriginSummarizedFromSession, events.OriginImported,
	}
	require.Equal(t, texts(origins...), words(shared, "origin"))
	require.Equal(t, texts(origins[2:]...), words(shared, "claimedOrigin"))
	outcomes := []events.ClaimOutcome{
		events.OutcomePending, events.OutcomeKept, events.OutcomeSuppressed, events.OutcomeRejected, events.OutcomeKeptExisting, events.OutcomeDuplicate,
	}
	require.Equal(t, texts(outcomes...), words(shared, "claimOutcome"))
	require.Equal(t, texts(outcomes[2:]...), words(shared, "refusedOutcome"))

	consumers := words(shared, "consumer")
	require.Len(t, consumers, 12)
	for _, c := range consumers {
		require.True(t, events.Consumer(c).Valid(), c)
	}
	adapters := words(wire, "adapterScope")
	require.Len(t, adapters, 20) // ten rows, and domain with each of the ten member surfaces
	for _, a := range adapters {
		require.NotEmpty(t, events.AdapterScope(a).Kind(), a)
	}
	actors := r["events/envelope.schema.json"]["$defs"].(map[string]any)["event"].(map[string]any)["properties"].(map[string]any)["irisactorkind"].(map[string]any)
	require.Equal(t, anys(texts(events.ActorMember, events.ActorClient, events.ActorProducer, events.ActorAdmin, events.ActorSystem)), actors["enum"])
}

func texts[T ~string](all ...T) []string {
	list := make([]string, len(all))
	for i, w := range all {
		list[i] = string(w)
	}
	return list
}

// TestScopesOfSchemaAndGoAreTheSame: the schema accepts a scope exactly where events.Scope.Valid does.
func TestScopesOfSchemaAndGoAreTheSame(t *testing.T) {
	t.Parallel()
	c := contract(t)
	ids := []string{"sessionId", "sceneId", "poseId", "notebookId", "crisisId", "operatorId", "caseId", "tenantId"}
	for _, kind := range []string{"profile", "session", "scene", "pose", "notebook", "crisis", "operator-copilot", "tenant", "", "Profile"} {
		for set := range 1 << len(ids) {
			scope := map[string]string{"kind": kind}
			for i, id := range ids {
				if set&(1<<i) != 0 {
					scope[id] = "x-1"
				}
			}
			data, err := json.Marshal(map[string]any{"scope": scope})
			require.NoError(t, err)
			var body struct{ Scope events.Scope }
			require.NoError(t, json.Unmarshal(data, &body))
			err = c.CheckRequest(schemas.RequestAccept, data)
			require.Equal(t, body.Scope.Valid(), err == nil, "%s", data)
		}
	}
}
