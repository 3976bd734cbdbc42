package schemas_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gowebpki/jcs"
	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/schemas"
)

// update writes testdata/refusals.txt anew: why each invalid example is refused. Read the difference.
var update = flag.Bool("update", false, "write the golden file anew")

func contract(t testing.TB) *schemas.Contract {
	t.Helper()
	c, err := schemas.Compile()
	require.NoError(t, err)
	return c
}

// judges are the groups of examples and what judges each.
func judges(c *schemas.Contract) map[string]func([]byte) error {
	all := map[string]func([]byte) error{
		"commit": c.CheckCommit, "claim": c.CheckClaimMessage, "outcome": c.CheckOutcome, "iris.memory.proposed.v1": c.CheckClaim, "sealed": c.CheckSealed,
	}
	for _, t := range events.Types() {
		all[string(t)] = func(data []byte) error { return c.Check(t, data) }
	}
	all["receipt"] = c.CheckReceipt
	for _, name := range requests() {
		all["api/"+name] = func(data []byte) error { return c.CheckRequest(name, data) }
	}
	for _, name := range []string{schemas.ToolProposeNote, schemas.ToolProposePromotion} {
		all["tools/"+name] = func(data []byte) error { return c.CheckArguments(name, data) }
	}
	return all
}

func requests() []string {
	return []string{
		schemas.RequestPropose, schemas.RequestAccept, schemas.RequestDecline, schemas.RequestConsent, schemas.RequestWithdraw,
		schemas.RequestRecall, schemas.RequestState, schemas.RequestProducer,
		schemas.RequestRevise, schemas.RequestPause, schemas.RequestNothing, schemas.RequestTerms,
		schemas.RequestSettings, schemas.RequestOptOuts, schemas.RequestUsed, schemas.RequestShare,
		schemas.RequestMember, schemas.RequestMembership, schemas.RequestMembershipChange, schemas.RequestClient, schemas.RequestPolicy,
		schemas.RequestSession, schemas.RequestTurn, schemas.RequestItem, schemas.RequestTool,
	}
}

// examples returns the files of a group by name, with their bytes.
func examples(t testing.TB, group, verdict string) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	names, err := fs.Glob(os.DirFS("examples"), path.Join(group, verdict, "*.json"))
	require.NoError(t, err)
	for _, name := range names {
		found[name], err = os.ReadFile(path.Join("examples", name))
		require.NoError(t, err)
	}
	return found
}

func TestEveryGroupHasExamples(t *testing.T) {
	t.Parallel()
	groups := judges(contract(t))
	for group := range groups {
		fewest := 2
		if group == "api/withdraw" || group == "api/nothing" { // there is only one empty object
			fewest = 1
		}
		require.GreaterOrEqual(t, len(examples(t, group, "valid")), fewest, group)
		require.GreaterOrEqual(t, len(examples(t, group, "invalid")), 4, group)
	}
	err := fs.WalkDir(os.DirFS("examples"), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			require.Contains(t, groups, path.Dir(path.Dir(name)), "%s is judged by nothing", name)
			require.Contains(t, []string{"valid", "invalid"}, path.Base(path.Dir(name)), name)
		}
		return err
	})
	require.NoError(t, err)
}

func TestValidExamples(t *testing.T) {
	t.Parallel()
	for group, judge := range judges(contract(t)) {
		for name, data := range examples(t, group, "valid") {
			require.NoError(t, judge(data), name)
		}
	}
}

// TestInvalidExamples holds each refusal to its reason, so that an example can't be refused by accident.
func TestInvalidExamples(t *testing.T) {
	t.Parallel()
	var lines []string
	for group, judge := range judges(contract(t)) {
		for name, data := range examples(t, group, "invalid") {
			var refusal *schemas.Refusal
			require.ErrorAs(t, judge(data), &refusal, name)
			require.ErrorIs(t, refusal, schemas.ErrViolation)
			reasons := make([]string, len(refusal.Violations))
			for i, v := range refusal.Violations {
				reasons[i] = v.Pointer + " " + v.Code
			}
			lines = append(lines, name+": "+strings.Join(reasons, "; "))
		}
	}
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		require.NoError(t, os.WriteFile("testdata/refusals.txt", []byte(got), 0o644))
	}
	want, err := os.ReadFile("testdata/refusals.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

// TestExamplesDecode: what the schema accepts, the struct holds, with nothing lost.
func TestExamplesDecode(t *testing.T) {
	t.Parallel()
	for _, typ := range events.Types() {
		for name, data := range examples(t, string(typ), "valid") {
			event, err := events.New(typ)
			require.NoError(t, err)
			decoder := json.NewDecoder(bytes.NewReader(data))
			decoder.DisallowUnknownFields()
			require.NoError(t, decoder.Decode(event), name)
			got, err := events.Canonical(event)
			require.NoError(t, err)
			want, err := jcs.Transform(data)
			require.NoError(t, err)
			require.Equal(t, string(want), string(got), name)
		}
	}
	for name, data := range examples(t, "commit", "valid") {
		commit, _, err := events.Read(7, data)
		require.NoError(t, err, name)
		require.NotEmpty(t, commit.Events)
	}
}

func TestNothingOfTheDocumentIsRepeated(t *testing.T) {
	t.Parallel()
	c := contract(t)
	for _, body := range []string{
		`{"body": 7, "Ann Lee": 1}`, `{"body": "x", "category": "Ann Lee", "kind": "Ann Lee", "scope": {"kind": "Ann Lee", "Ann Lee": {"Ann Lee": 1}}}`,
		`{"multiActor": {"Ann Lee": "Ann Lee", "actorHandle": ["Ann Lee"]}}`, `{"program": "Ann Lee"}`, `"Ann Lee"`, `{"Ann Lee"`,
		`{"sourceRefs": [{"kind": "Ann Lee", "turns": ["Ann Lee"]}]}`, `{"` + strings.Repeat("a", 65) + `": 1}`,
	} {
		err := c.CheckRequest(schemas.RequestState, []byte(body))
		require.ErrorIs(t, err, schemas.ErrViolation)
		require.NotContains(t, err.Error(), "Lee")
		require.NotContains(t, err.Error(), "aaaaa")
	}
}

// Who used a word that isn't one hears which there are: the contract's, and not their own.
func TestAnUnknownWordHearsThoseThatThereAre(t *testing.T) {
	t.Parallel()
	var refusal *schemas.Refusal
	err := contract(t).CheckRequest(schemas.RequestPropose, []byte(`{"tier": "individual", "kind": "preference", "scope": {"kind": "profile"},
		"category": "food", "body": "Likes tea.", "origin": "model-inferred"}`))
	require.ErrorAs(t, err, &refusal)
	require.Len(t, refusal.Violations, 1)
	require.Equal(t, "/category", refusal.Violations[0].Pointer)
	require.Contains(t, refusal.Violations[0].Detail, ": fact, preference, goal, ")
	require.NotContains(t, refusal.Violations[0].Detail, "food")
}

func TestRefusalsAreBoundedAndOrdered(t *testing.T) {
	t.Parallel()
	body := []byte(`{"contexts": [` + strings.Repeat(`"x",`, 500) + `"x"]}`)
	c := contract(t)
	var first, again *schemas.Refusal
	require.ErrorAs(t, c.CheckRequest(schemas.RequestRecall, body), &first)
	require.ErrorAs(t, c.CheckRequest(schemas.RequestRecall, body), &again)
	require.Len(t, first.Violations, 20)
	require.Equal(t, first, again)
}

func TestWhatHasNoSchemaIsRefused(t *testing.T) {
	t.Parallel()
	c := contract(t)
	for _, err := range []error{
		c.Check("iris.memory.sold.v1", []byte(`{}`)), c.Check("", []byte(`{}`)), c.Check("envelope/../definitions", []byte(`{}`)), c.CheckRequest("promote", []byte(`{}`)),
	} {
		require.ErrorIs(t, err, schemas.ErrViolation)
	}
	for _, data := range []string{"", "{", `{} {}`, `{"memberId": "a", "memberId": "b"}`, "\"\xff\"", "null", "[]", `"x"`} {
		require.ErrorIs(t, c.Check(events.TypeMemberRegistered, []byte(data)), schemas.ErrViolation, data)
	}
}

func FuzzCheck(f *testing.F) {
	c := contract(f)
	for _, group := range []string{"commit", "claim", "api/state"} {
		for _, data := range examples(f, group, "valid") {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for group, judge := range judges(c) {
			err := judge(data)
			var refusal *schemas.Refusal
			if err != nil && (!errors.As(err, &refusal) || len(refusal.Violations) == 0) {
				t.Fatalf("%s: %v", group, err)
			}
			if err == nil && !json.Valid(data) {
				t.Fatalf("%s accepts what is no JSON", group)
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for b.Loop() {
		if _, err := schemas.Compile(); err != nil {
			b.Fatal(err)
		}
	}
}
