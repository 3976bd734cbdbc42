package policy_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"iris.example/iris/policy"
)

const schemaRoom = "../schemas/policy"

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join(schemaRoom, "policy.v1.schema.json"))
	require.NoError(t, err)
	return s
}

func examples(t *testing.T, kind string) map[string][]byte {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(schemaRoom, "examples", kind, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	files := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files[strings.TrimSuffix(filepath.Base(path), ".json")] = data
	}
	return files
}

func instance(t *testing.T, data []byte) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	return v
}

// The schema and the parser are two readers of one contract: each example must look the same to both.
func TestSchemaAndParserAgreeOnTheExamples(t *testing.T) {
	t.Parallel()
	s := schema(t)
	for name, data := range examples(t, "valid") {
		require.NoError(t, s.Validate(instance(t, data)), name)
		_, err := policy.Parse(data)
		require.NoError(t, err, name)
	}
	for name, data := range examples(t, "invalid") {
		require.Error(t, s.Validate(instance(t, data)), name)
		_, err := policy.Parse(data)
		require.ErrorIs(t, err, policy.ErrInvalid, name)
	}
}

func TestDefaultIsTheFirstExample(t *testing.T) {
	t.Parallel()
	require.NoError(t, schema(t).Validate(instance(t, policy.Default().Canonical())))
	shipped, err := os.ReadFile("default.json")
	require.NoError(t, err)
	require.Equal(t, string(examples(t, "valid")["default"]), string(shipped))
}

func TestRefusalNamesPointerAndReason(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]policy.Problem{
		"shell-budget-above-three":            {Code: policy.CodeWeakens, Pointer: "/DEFAULT_BUDGETS/shell/maxEntries", Reason: "at most 3"},
		"pose-without-sensitive-data":         {Code: policy.CodeWeakens, Pointer: "/scopes/pose/requiredConsents", Reason: "sensitive_data"},
		"pose-without-governance-review":      {Code: policy.CodeWeakens, Pointer: "/scopes/pose/requiresGovernanceReview", Reason: "governance review"},
		"membership-forgotten-after-a-year":   {Code: policy.CodeWeakens, Pointer: "/membership/forgetDays", Reason: "90 days"},
		"pose-for-shell":                      {Code: policy.CodeWeakens, Pointer: "/scopes/pose/allowedConsumers/1", Reason: "shell is not among"},
		"operator-copilot-for-assistant":      {Code: policy.CodeWeakens, Pointer: "/scopes/operator_copilot/allowedConsumers/2", Reason: "assistant is not among"},
		"tenant-blended-into-person":          {Code: policy.CodeWeakens, Pointer: "/scopes/tenant/canonicalTiers", Reason: "never blended"},
		"rationale-visible-on-shell":          {Code: policy.CodeWeakens, Pointer: "/DEFAULT_BUDGETS/shell/rationaleVisible", Reason: "notebook and admin"},
		"rationale-hidden-on-notebook":        {Code: policy.CodeWeakens, Pointer: "/DEFAULT_BUDGETS/notebook/rationaleVisible", Reason: "notebook and admin"},
		"sensitive-category-without-contexts": {Code: policy.CodeWeakens, Pointer: "/sensitiveContexts/medical", Reason: "relevant context"},
		"sensitive-category-missing":          {Code: policy.CodeWeakens, Pointer: "/sensitiveContexts/abuse_history", Reason: "relevant context"},
		"medical-in-any-context":              {Code: policy.CodeWeakens, Pointer: "/sensitiveContexts/medical/1", Reason: "practice is not among"},
		"threshold-below-three":               {Code: policy.CodeWeakens, Pointer: "/IRIS_SESSION_PROFILE_PROMOTION_THRESHOLD", Reason: "at least 3"},
		"autokeep-on-by-default":              {Code: policy.CodeWeakens, Pointer: "/USER_SETTING_MEMORY_AUTOKEEP", Reason: "opt-in"},
		"purpose-training":                    {Code: policy.CodeWeakens, Pointer: "/purposes/1", Reason: `"training"`},
		"half-life-of-a-year":                 {Code: policy.CodeWeakens, Pointer: "/ranker/recencyHalfLifeDays", Reason: "30 days"},
		"admin-surface-for-assistant":         {Code: policy.CodeWeakens, Pointer: "/surfaces/admin/1", Reason: "member surface"},
		"weight-as-a-number":                  {Code: policy.CodeMalformed, Pointer: "/DEFAULT_WEIGHTS/recency", Reason: "a JSON number where a string belongs"},
		"weight-with-ten-digits":              {Code: policy.CodeInvalid, Pointer: "/DEFAULT_WEIGHTS", Reason: "nine fractional digits"},
		"unknown-scorer":                      {Code: policy.CodeInvalid, Pointer: "/ranker/scorer", Reason: "jaccard"},
		"unknown-key":                         {Code: policy.CodeMalformed, Pointer: "/FSRS_DEFAULT_PARAMETERS", Reason: "no such key"},
		"key-in-other-letters":                {Code: policy.CodeMalformed, Pointer: "/default_budgets", Reason: "no such key"},
		"scope-missing":                       {Code: policy.CodeInvalid, Pointer: "/scopes/cross_domain", Reason: "missing"},
		"null-list":                           {Code: policy.CodeMalformed, Pointer: "/scopes/admin_review/requiredConsents", Reason: "null"},
		"retention-without-days":              {Code: policy.CodeInvalid, Pointer: "/scopes/scene/retention/days", Reason: "1 to 3650"},
	} {
		_, err := policy.Parse(examples(t, "invalid")[name])
		var refused *policy.Error
		require.ErrorAs(t, err, &refused, name)
		require.Equal(t, want.Code, refused.Problems[0].Code, name)
		require.Equal(t, want.Pointer, refused.Problems[0].Pointer, name)
		require.Contains(t, refused.Problems[0].Reason, want.Reason, name)
		require.Contains(t, err.Error(), want.Pointer, name)
	}
}

func TestEveryInvalidExampleIsInTheTable(t *testing.T) {
	t.Parallel()
	require.Len(t, examples(t, "invalid"), 26)
}

func TestWeightsSumToExactlyOne(t *testing.T) {
	t.Parallel()
	data := bytes.Replace(policy.Default().Canonical(), []byte(`"semantic":"0.60"`), []byte(`"semantic":"0.600000001"`), 1)
	_, err := policy.Parse(data)
	require.ErrorContains(t, err, "sum to 1.000000001")
}

func TestParseRefusesWhatIsNotOneDocument(t *testing.T) {
	t.Parallel()
	whole := string(policy.Default().Canonical())
	for name, data := range map[string]string{
		"empty":         "",
		"null":          "null",
		"list":          "[]",
		"two documents": whole + whole,
		"a key twice":   strings.Replace(whole, `{`, `{"version":"2",`, 1),
		"broken UTF-8":  strings.Replace(whole, `"version":"1"`, "\"version\":\"\xff\"", 1),
		"a fraction":    strings.Replace(whole, `"graceDays":30`, `"graceDays":30.5`, 1),
		"an exponent":   strings.Replace(whole, `"graceDays":30`, `"graceDays":3e1`, 1),
	} {
		_, err := policy.Parse([]byte(data))
		require.ErrorIs(t, err, policy.ErrInvalid, name)
	}
}

func TestDigestIsOfTheMeaningNotTheLayout(t *testing.T) {
	t.Parallel()
	var spread bytes.Buffer
	require.NoError(t, json.Indent(&spread, policy.Default().Canonical(), "", "\t"))
	again, err := policy.Parse(spread.Bytes())
	require.NoError(t, err)
	require.Equal(t, policy.Default().SHA256(), again.SHA256())

	other, err := policy.Parse(examples(t, "valid")["stricter"])
	require.NoError(t, err)
	require.NotEqual(t, policy.Default().SHA256(), other.SHA256())
}

func FuzzParse(f *testing.F) {
	f.Add(policy.Default().Canonical())
	f.Add([]byte(`{"scopes":{"pose":null}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := policy.Parse(data)
		if err != nil {
			require.True(t, errors.Is(err, policy.ErrInvalid))
			return
		}
		again, err := policy.Parse(d.Canonical())
		require.NoError(t, err)
		require.Equal(t, d, again)
	})
}
