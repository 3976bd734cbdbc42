// Package rules holds the house's rules about the code itself, as tests: which rooms are pure, who may import whom, what no
// test may do. They read the source, so that a rule can't be forgotten.
package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "iris.example/iris/"

type source struct {
	path string // slash-separated, from the root
	room string // folder of the file
	file *ast.File
	test bool
}

func sources(t *testing.T) []source {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var all []source
	set := token.NewFileSet()
	err = fs.WalkDir(os.DirFS(root), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(set, filepath.Join(root, path), nil, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{path, filepath.ToSlash(filepath.Dir(path)), file, strings.HasSuffix(path, "_test.go")})
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, len(all), 50, "the walk found the code")
	return all
}

func (s source) imports() []string {
	var all []string
	for _, i := range s.file.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		all = append(all, path)
	}
	return all
}

func (s source) in(rooms ...string) bool {
	return slices.ContainsFunc(rooms, func(room string) bool { return s.room == room || strings.HasPrefix(s.room, room+"/") })
}

// Pure rooms have no I/O, clock, randomness or floating point. Programs that generate their tables are not part of them.
func TestPureRooms(t *testing.T) {
	t.Parallel()
	pure := []string{"aggregates", "recall", "screening", "policy", "boundary", "receipts"}
	forbidden := []string{
		"os", "os/exec", "net", "net/http", "io/ioutil", "log", "log/slog", "database/sql", "math/rand", "math/rand/v2", "crypto/rand", "syscall",
		"runtime", "plugin", "github.com/nats-io/", "github.com/jackc/", "github.com/coreos/",
	}
	for _, s := range sources(t) {
		if !s.in(pure...) || s.test || s.file.Name.Name == "main" {
			continue
		}
		for _, path := range s.imports() {
			require.False(t, slices.ContainsFunc(forbidden, func(f string) bool {
				return path == f || strings.HasSuffix(f, "/") && strings.HasPrefix(path, f)
			}), "%s: a pure room imports %s", s.path, path)
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
					require.NotContains(t, []string{"Now", "Since", "Until", "After", "Tick", "NewTimer", "Sleep"}, n.Sel.Name, "%s: a pure room reads the clock", s.path)
				}
			case *ast.Ident:
				require.NotContains(t, []string{"float32", "float64", "complex128"}, n.Name, "%s: a pure room computes in floating point", s.path)
			case *ast.GoStmt:
				require.Fail(t, "a pure room starts a goroutine", s.path)
			}
			return true
		})
	}
}

// Dependencies point inward: pure core ← stores and workers ← transports ← cmd.
func TestDependenciesPointInward(t *testing.T) {
	t.Parallel()
	may := map[string][]string{ // room → rooms of ours that it may import, beside boundary and tracing; a room that isn't here may import anything
		"events":       {},
		"boundary":     {},
		"policy":       {"events"},
		"screening":    {"events"},
		"recall":       {"events", "policy"},
		"receipts":     {"events"},
		"aggregates":   {"aggregates", "events", "policy", "recall", "screening"},
		"events/log":   {"events", "events/log"},
		"schemas":      {"events", "schemas"},
		"vault":        {"events", "internal/keyfile", "vault"},
		"identity":     {"boundary", "identity"},
		"projections":  {"events", "events/log", "policy", "projections", "recall"},
		"runner":       {"aggregates", "events", "events/log", "policy", "runner", "screening"},
		"recalls":      {"aggregates", "events", "events/log", "policy", "recall", "runner"},
		"acts":         {"aggregates", "events", "events/log", "identity", "policy", "projections", "recall", "recalls", "receipts", "runner", "screening"},
		"evidence":     {"internal/dirlock"},
		"workers":      {"acts", "boundary", "events", "events/log", "evidence", "problems", "projections", "workers"},
		"demo":         {"acts"},
		"client":       {},
		"client/batch": {"client"},
		"limits":       {},
		"tracing":      {"events", "tracing"},
		"metrics":      {"aggregates", "api", "events", "events/log", "metrics", "policy", "problems", "projections", "recalls", "runner", "workers/intake"},
	}
	for _, s := range sources(t) {
		if s.test || s.file.Name.Name == "main" || s.in("events/log/logtest") {
			continue
		}
		room := s.room
		allowed, ok := may[room]
		for !ok && strings.Contains(room, "/") {
			room = room[:strings.LastIndex(room, "/")]
			allowed, ok = may[room]
		}
		if !ok {
			continue
		}
		for _, path := range s.imports() {
			ours, is := strings.CutPrefix(path, module)
			if !is || ours == "boundary" || ours == "tracing" {
				continue
			}
			require.True(t, slices.ContainsFunc(allowed, func(a string) bool {
				return ours == a || a == room && strings.HasPrefix(ours, a+"/") || a == "aggregates" && strings.HasPrefix(ours, a+"/") || a == "projections" && strings.HasPrefix(ours, a+"/")
			}), "%s imports %s, which doesn't lie further in", s.path, ours)
		}
	}
}

// Tests await events and fail when something is missing.
func TestTestsNeitherSleepNorSkip(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !s.test {
			if !s.in("events/log/logtest", "internal/testkit", "internal/browser") {
				require.NotContains(t, s.imports(), "github.com/stretchr/testify/require", "%s: a test library in shipped code", s.path)
			}
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, _ := call.X.(*ast.Ident)
			if x != nil && x.Name == "time" {
				require.NotEqual(t, "Sleep", call.Sel.Name, "%s: await the event", s.path)
			}
			require.NotContains(t, []string{"Skip", "SkipNow", "Skipf"}, call.Sel.Name, "%s: a missing dependency fails, it isn't skipped", s.path)
			return true
		})
	}
}

// What is started can be ended, and what a server complains about goes where the log goes.
func TestWhatIsStartedHasAnEnd(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				require.False(t, is(n, "time", "Tick"), "%s: nobody can stop time.Tick", s.path)
				call, made := n.X.(*ast.CallExpr)
				require.False(t, made && (is(call.Fun, "time", "NewTicker") || is(call.Fun, "time", "NewTimer")), "%s: nobody can stop what has no name", s.path)
			case *ast.CompositeLit:
				require.True(t, !is(n.Type, "http", "Server") || slices.ContainsFunc(n.Elts, sets("ErrorLog")), "%s: an http.Server without ErrorLog", s.path)
			}
			return true
		})
	}
}

func is(e ast.Expr, pkg, name string) bool {
	selector, ok := e.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != name {
		return false
	}
	x, ok := selector.X.(*ast.Ident)
	return ok && x.Name == pkg
}

// sets reports whether an element of a literal is a field's.
func sets(field string) func(ast.Expr) bool {
	return func(e ast.Expr) bool {
		pair, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		key, ok := pair.Key.(*ast.Ident)
		return ok && key.Name == field
	}
}

// Every folder says in a package comment which one thing it does.
func TestEveryRoomSaysWhatItIsFor(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, s := range sources(t) {
		if _, known := said[s.room]; !known {
			said[s.room] = false
		}
		if s.file.Doc != nil && len(s.file.Doc.Text()) > 40 {
			said[s.room] = true
		}
	}
	for room, ok := range said {
		require.True(t, ok, "%s has no package comment", room)
	}
}

// No init, no names that say nothing.
func TestHouseStyle(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		for _, part := range strings.Split(s.room, "/") {
			require.NotContains(t, []string{"util", "utils", "helpers", "common", "manager", "misc"}, part, s.path)
		}
		for _, decl := range s.file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				require.NotEqual(t, "init", f.Name.Name, "%s: no init", s.path)
			}
		}
	}
}
