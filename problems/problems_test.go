package problems_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/acts"
	"iris.example/iris/aggregates"
	"iris.example/iris/boundary"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
	"iris.example/iris/identity"
	"iris.example/iris/limits"
	"iris.example/iris/problems"
	"iris.example/iris/projections/engine"
	"iris.example/iris/projections/reader"
	"iris.example/iris/recall"
	"iris.example/iris/recalls"
	"iris.example/iris/runner"
	"iris.example/iris/schemas"
)

// TestEveryRefusalHasARow reads the code of every refusal out of the sources: a rule that is added later can't reach a caller
// as "internal" unseen.
func TestEveryRefusalHasARow(t *testing.T) {
	t.Parallel()
	for room, least := range map[string]int{"aggregates": 25, "recall": 5, "screening": 5, "boundary": 10, "acts": 1, "api": 8} {
		found := codesIn(t, filepath.Join("..", room))
		require.GreaterOrEqual(t, len(found), least, "%s: the sources are read otherwise than they are written", room)
		for code, where := range found {
			p := problems.Of(&aggregates.Refusal{Code: code})
			if code == "command_unknown" {
				require.Equal(t, "internal", p.Code) // a command that no aggregate has is our fault
				continue
			}
			require.NotEqual(t, "internal", p.Code, "%s (%s) has no row", code, where)
			require.Less(t, p.Status, 600)
		}
	}
}

// TestEveryRowIsTried holds that some test, or a story in a file, expects each code, by its name or by its constant's.
func TestEveryRowIsTried(t *testing.T) {
	t.Parallel()
	names := map[string]string{} // code → its constant
	for _, room := range []string{"aggregates", "recall"} {
		for code, name := range constantsIn(t, filepath.Join("..", room)) {
			names[code] = name
		}
	}
	tests := readAll(t, "..", func(path string) bool {
		return strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") && filepath.Ext(path) == ".json"
	})
	var untried []string
	for _, code := range problems.Codes() {
		tried := strings.Contains(tests, strconv.Quote(code)) || strings.Contains(tests, " "+code+`"`) || names[code] != "" && strings.Contains(tests, "."+names[code])
		if !tried {
			untried = append(untried, code)
		}
	}
	require.Empty(t, untried, "no test expects these")
}

func constantsIn(t *testing.T, room string) map[string]string {
	t.Helper()
	sources := readAll(t, room, func(path string) bool { return filepath.Ext(path) == ".go" })
	found := map[string]string{}
	for _, match := range regexp.MustCompile(`\b(Code\w+)\s*=\s*"(\w+)"`).FindAllStringSubmatch(sources, -1) {
		found[match[2]] = match[1]
	}
	return found
}

func readAll(t *testing.T, root string, which func(path string) bool) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !which(path) {
			return err
		}
		content, err := os.ReadFile(path)
		all.Write(content)
		return err
	}))
	return all.String()
}

// codesIn finds Refuse("code", …), Refusal{Code: "code"}, Refusal{"code"} by constant, and constants of a type Code.
func codesIn(t *testing.T, room string) map[string]token.Position {
	t.Helper()
	found := map[string]token.Position{}
	require.NoError(t, filepath.WalkDir(room, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		note := func(e ast.Expr) {
			if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				code, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				found[code] = files.Position(literal.Pos())
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name := lastName(n.Fun); (name == "Refuse" || name == "refuse") && len(n.Args) > 0 {
					note(n.Args[0])
				}
			case *ast.CompositeLit:
				if lastName(n.Type) != "Refusal" {
					return true
				}
				for _, element := range n.Elts {
					if pair, ok := element.(*ast.KeyValueExpr); ok && lastName(pair.Key) == "Code" {
						note(pair.Value)
					}
				}
			case *ast.ValueSpec:
				if lastName(n.Type) == "Code" || strings.HasPrefix(n.Names[0].Name, "Code") {
					for _, value := range n.Values {
						note(value)
					}
				}
			}
			return true
		})
		return nil
	}))
	return found
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func TestOf(t *testing.T) {
	t.Parallel()
	refused := aggregates.Refuse("consent_required", "spec 2.2")
	for name, want := range map[string]struct {
		err    error
		status int
		code   string
		again  bool
	}{
		"nothing we know":                     {errors.New("dial 10.0.0.1: refused"), 500, "internal", false},
		"a code without a row":                {aggregates.Refuse("made_up", "nowhere"), 500, "internal", false},
		"a refusal":                           {fmt.Errorf("decide: %w", refused), 422, "consent_required", false},
		"a refusal under an unknown outcome":  {fmt.Errorf("%w: %w", runner.ErrOutcomeUnknown, refused), 503, "outcome_unknown", true},
		"a refusal that means: not there":     {fmt.Errorf("%w: %w", acts.ErrNotFound, aggregates.Refuse("memory_unknown", "spec 10.3")), 404, "not_found", false},
		"an unknown member":                   {aggregates.Refuse("member_unknown", "spec 9.5"), 404, "not_found", false},
		"a foreign row":                       {fmt.Errorf("read: %w", reader.ErrNotFound), 404, "not_found", false},
		"a row of another organisation":       {fmt.Errorf("read: %w", reader.ErrForeign), 500, "internal", false},
		"our commit breaks its schema":        {fmt.Errorf("%w: %w", events.ErrContract, &schemas.Refusal{}), 500, "internal", false},
		"a body breaks its schema":            {&schemas.Refusal{Schema: "api/propose"}, 400, "schema_violation", false},
		"a body of the wrong form":            {&boundary.Error{Code: boundary.DuplicateKey}, 400, "duplicate_key", false},
		"NUL at the edge":                     {&boundary.Error{Code: boundary.InvalidText}, 400, "invalid_text", false},
		"NUL in the domain":                   {aggregates.Refuse("invalid_text", "spec 1.2"), 422, "invalid_text", false},
		"too much":                            {&boundary.Error{Code: boundary.BodyTooLarge}, 413, "body_too_large", false},
		"a key with another body":             {fmt.Errorf("command: %w", runner.ErrKeyReused), 422, "idempotency_key_reused", false},
		"a broken chain":                      {fmt.Errorf("at 7: %w", runner.ErrBroken), 500, "record_damaged", false},
		"no store":                            {fmt.Errorf("%w: %w", runner.ErrUnavailable, eventlog.ErrUnavailable), 503, "store_unavailable", true},
		"a wait that ended":                   {fmt.Errorf("wait: %w: %w", runner.ErrUnavailable, context.Canceled), 503, "store_unavailable", true},
		"no answer in time":                   {context.DeadlineExceeded, 503, "store_unavailable", true},
		"the read models are behind":          {fmt.Errorf("%w: %w", engine.ErrBehind, context.DeadlineExceeded), 503, "projection_behind", true},
		"consent can't be known":              {fmt.Errorf("%w: %w", recalls.ErrStateUnknown, runner.ErrUnavailable), 503, "consent_state_unavailable", true},
		"a recall outside the policy":         {&recall.Refusal{Code: recall.CodePurposeNotPermitted, Field: "purpose"}, 422, "purpose_not_permitted", false},
		"a recall of another's surface":       {&recall.Refusal{Code: recall.CodeSurfaceNotAllowed, Field: "surface"}, 403, "surface_not_allowed", false},
		"no permission":                       {fmt.Errorf("prove: %w", acts.ErrPermission), 403, "permission_missing", false},
		"another identity":                    {fmt.Errorf("propose: %w", acts.ErrClaimMismatch), 403, "claim_mismatch", false},
		"no member":                           {acts.ErrNotAMember, 403, "member_required", false},
		"a client without consumer":           {acts.ErrConsumer, 403, "consumer_not_allowed", false},
		"a foreign seal":                      {fmt.Errorf("open: %w", acts.ErrSealed), 422, "sealed_unreadable", false},
		"another's broker":                    {acts.ErrCredentials, 501, "credentials_unmanaged", false},
		"a full inbox":                        {fmt.Errorf("retry: %w", eventlog.ErrInboxFull), 503, "inbox_full", true},
		"one request too many":                {fmt.Errorf("read: %w", &limits.Error{Kind: limits.Reads, RetryAfter: time.Second}), 429, "rate_limited", true},
		"an engine of the future":             {fmt.Errorf("prove: %w", recalls.ErrEngine), 501, "recall_engine_unknown", false},
		"an envelope that the age limit took": {fmt.Errorf("read: %w", eventlog.ErrNotFound), 410, "record_gone", false},
		"a transport's own":                   {problems.Refuse("unsupported_media_type"), 415, "unsupported_media_type", false},
	} {
		p := problems.Of(want.err)
		require.Equal(t, want.code, p.Code, name)
		require.Equal(t, want.status, p.Status, name)
		require.Equal(t, problems.TypeBase+want.code, p.Type, name)
		require.Equal(t, want.again, p.Temporary(), name)
	}
}

func TestATokenIsUnauthenticatedWhateverItBroke(t *testing.T) {
	t.Parallel()
	_, err := identity.BearerToken(nil)
	p := problems.Of(err)
	require.Equal(t, 401, p.Status)
	require.Equal(t, "unauthenticated", p.Code)
	require.Equal(t, []problems.Item{{Code: "token_missing", Detail: "no Authorization header"}}, p.Errors)
}

func TestMissingConsentsAreNamed(t *testing.T) {
	t.Parallel()
	p := problems.Of(&aggregates.Refusal{Code: "consent_required", Missing: []events.ConsentKey{"sensitive_data", "medical"}})
	require.Equal(t, []problems.Item{
		{Pointer: "/consents", Code: "consent_missing", Detail: "sensitive_data"}, {Pointer: "/consents", Code: "consent_missing", Detail: "medical"},
	}, p.Errors)
}

func TestAMissingPermissionIsNamed(t *testing.T) {
	t.Parallel()
	p := problems.Of(fmt.Errorf("curate: %w", &acts.NotPermitted{Permission: identity.RoleMemoryManage}))
	require.Equal(t, "permission_missing", p.Code)
	require.Equal(t, []problems.Item{{Code: "permission_missing", Detail: "org.role_memory.manage"}}, p.Errors)
}

// TestForeignAndUnknownAnswerTheSame: nothing of what wasn't found is in the answer (spec 9.5).
func TestForeignAndUnknownAnswerTheSame(t *testing.T) {
	t.Parallel()
	unknown := problems.Of(acts.ErrNotFound)
	for _, code := range []string{"member_unknown", "memory_unknown", "proposal_unknown", "consent_unknown", "organisation_unknown"} {
		require.Equal(t, unknown, problems.Of(&aggregates.Refusal{Code: code, Existing: "0193", Missing: []events.ConsentKey{"medical"}}))
	}
}

// TestTheWordsSayWhatToDo holds the table to its form, over every code that can be had from the sources.
func TestTheWordsSayWhatToDo(t *testing.T) {
	t.Parallel()
	form := regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)
	for _, room := range []string{"aggregates", "recall", "screening", "boundary", "acts", "api"} {
		for code := range codesIn(t, filepath.Join("..", room)) {
			p := problems.Of(aggregates.Refuse(code, ""))
			require.Regexp(t, form, p.Code)
			require.NotEmpty(t, p.Title, code)
			require.True(t, strings.HasSuffix(p.Detail, "."), code)
			require.Less(t, p.RetryAfter, time.Minute)
		}
	}
}
