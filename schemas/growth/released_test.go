package growth_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/schemas"
	"iris.example/iris/schemas/growth"
)

// TestNothingReleasedIsBroken is the gate (spec 9.3). What fails here goes back to what it was, or becomes another version.
func TestNothingReleasedIsBroken(t *testing.T) {
	t.Parallel()
	breaches, err := growth.Verify(os.DirFS(".."))
	require.NoError(t, err)
	require.NoError(t, growth.Broken(breaches))
	released, err := growth.Released(os.DirFS(".."))
	require.NoError(t, err)
	require.Greater(t, len(released), 12)
}

// TestEverySchemaIsHeldByOneOrTheOther: a schema in a new folder must be locked or be one that may grow.
func TestEverySchemaIsHeldByOneOrTheOther(t *testing.T) {
	t.Parallel()
	dir := copyOfSchemas(t)
	growing, err := growth.Growing(os.DirFS(dir))
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".schema.json") && !strings.HasPrefix(name, "events/iris.") && !strings.HasPrefix(name, growth.Folder+"/") {
			require.Contains(t, growing, name, "say in growth/released.go who must not notice when it changes")
		}
		return err
	}))
}

// copyOfSchemas is the schema folder in a temporary place, with the examples of outcomes alone, and a lock that knows no others.
func copyOfSchemas(t *testing.T) string {
	t.Helper()
	lock, err := schemas.ReadLock(os.DirFS(".."))
	require.NoError(t, err)
	dir, of := t.TempDir(), func(name string) bool {
		return filepath.Ext(name) == ".json" && (!strings.HasPrefix(name, "examples/") || strings.HasPrefix(name, "examples/outcome/valid/"))
	}
	maps.DeleteFunc(lock, func(name, _ string) bool { return !of(name) })
	data, err := lock.MarshalIndent()
	require.NoError(t, err)
	require.NoError(t, fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == "testdata" {
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !of(name) {
			return err
		}
		data, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			return err
		}
		put(t, dir, name, string(data))
		return nil
	}))
	put(t, dir, schemas.LockFile, string(data))
	return dir
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	name = filepath.Join(dir, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

// swap changes the first place in a file where a text stands.
func swap(t *testing.T, dir, name, before, after string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	require.Contains(t, string(data), before, name)
	put(t, dir, name, strings.Replace(string(data), before, after, 1))
}

func TestVerifyOfChangedCopies(t *testing.T) {
	t.Parallel()
	const event, outcome = "events/iris.memory.stated.v1.schema.json", "outcomes/iris.claim.settled.v1.schema.json"
	for name, c := range map[string]struct {
		change func(t *testing.T, dir string)
		want   []string // in the report; none: nothing is broken
	}{
		"nothing": {func(*testing.T, string) {}, nil},
		"a published event's schema changed": {
			func(t *testing.T, dir string) { swap(t, dir, event, `"title": "`, `"title": "Once more: `) }, []string{event, "locked"},
		},
		"a published event's schema is gone": {
			func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, event))) }, []string{event, "locked"},
		},
		"a published example changed": {
			func(t *testing.T, dir string) { swap(t, dir, "examples/outcome/valid/pending.json", "41", "42") }, []string{"examples/outcome/valid/pending.json", "locked"},
		},
		"a request takes one word less": {
			func(t *testing.T, dir string) { swap(t, dir, "api/consent.schema.json", `"grant",`, ``) }, []string{"api/consent.schema.json (input)", "/properties/decision/enum", `"grant"`},
		},
		"a request takes one word more": {
			func(t *testing.T, dir string) { swap(t, dir, "api/consent.schema.json", `"grant",`, `"grant", "ask",`) }, nil,
		},
		"a request of the past is gone": {
			func(t *testing.T, dir string) {
				require.NoError(t, os.Remove(filepath.Join(dir, "api/decline.schema.json")))
			}, []string{"api/decline.schema.json", "gone"},
		},
		"a shared word is gone": {
			func(t *testing.T, dir string) { swap(t, dir, "vocabulary.schema.json", `"biometric",`, ``) },
			[]string{"vocabulary.schema.json (input)", "claims/iris.memory.proposed.v1.schema.json (input)", "api/state.schema.json (input)", `"biometric"`},
		},
		"a claim must name more": {
			func(t *testing.T, dir string) {
				swap(t, dir, "claims/iris.memory.proposed.v1.schema.json", `"required": [`, `"required": ["program",`)
			},
			[]string{"claims/envelope.schema.json (input)", "program is required"},
		},
		"an outcome leaves something out": {
			func(t *testing.T, dir string) { swap(t, dir, outcome, `"claim",`, ``) }, []string{outcome + " (events)", "claim was always there"},
		},
		"an outcome says more": {
			func(t *testing.T, dir string) {
				swap(t, dir, outcome, `"properties": {`, `"properties": {"iristerms": {"type": "string"},`)
			}, nil,
		},
		"commits of then can't be read": {
			func(t *testing.T, dir string) {
				swap(t, dir, "events/envelope.schema.json", `"maxItems": 1000`, `"maxItems": 999`)
			}, []string{"events/envelope.schema.json (input)", "/maxItems"},
		},
		"commits of now can't be read": {
			func(t *testing.T, dir string) {
				swap(t, dir, "events/envelope.schema.json", `"maxItems": 1000`, `"maxItems": 1001`)
			}, []string{"events/envelope.schema.json (events)", "/maxItems"},
		},
		"a policy of then isn't one": {
			func(t *testing.T, dir string) {
				swap(t, dir, "policy/policy.v1.schema.json", `"maximum": 200`, `"maximum": 100`)
			}, []string{"policy/policy.v1.schema.json (input)", "/maximum"},
		},
		"a route is gone": {
			func(t *testing.T, dir string) { swap(t, dir, "openapi.json", `"/v1/recall": {`, `"/v2/recall": {`) }, []string{"openapi.json", "#/paths/~1v1~1recall", "the path is gone"},
		},
		"a subject is another": {
			func(t *testing.T, dir string) { swap(t, dir, "asyncapi.json", `"iris.out.`, `"iris.outcomes.`) }, []string{"asyncapi.json", "#/channels/outcomes/address"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := copyOfSchemas(t)
			c.change(t, dir)
			breaches, err := growth.Verify(os.DirFS(dir))
			require.NoError(t, err)
			if c.want == nil {
				require.NoError(t, growth.Broken(breaches))
				return
			}
			err = growth.Broken(breaches)
			require.ErrorIs(t, err, growth.ErrBroken)
			for _, part := range c.want {
				require.ErrorContains(t, err, part)
			}
			before := everything(t, filepath.Join(dir, growth.Folder))
			_, err = growth.Release(dir)
			require.ErrorIs(t, err, growth.ErrBroken, "a release refuses what verify refuses")
			require.Equal(t, before, everything(t, filepath.Join(dir, growth.Folder)), "and writes nothing")
		})
	}
}

func everything(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			all[name] = string(data)
		}
		return err
	}))
	return all
}

func TestReleaseTakesUpWhatGrew(t *testing.T) {
	t.Parallel()
	dir := copyOfSchemas(t)
	_, err := growth.Release(dir)
	require.NoError(t, err)
	swap(t, dir, "api/consent.schema.json", `"grant",`, `"grant", "ask",`)
	put(t, dir, "api/appeal.schema.json", `{"type": "object"}`)
	waiting, err := growth.Unreleased(os.DirFS(dir))
	require.NoError(t, err)
	require.Equal(t, []string{"api/appeal.schema.json"}, waiting)

	written, err := growth.Release(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"api/appeal.schema.json", "api/consent.schema.json"}, written)
	written, err = growth.Release(dir)
	require.NoError(t, err)
	require.Empty(t, written)

	swap(t, dir, "api/consent.schema.json", `"ask",`, ``) // what was released once isn't taken back
	_, err = growth.Release(dir)
	require.ErrorContains(t, err, `"ask"`)
}

func TestWhatCantBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(t *testing.T, dir string){
		"no lock":         func(t *testing.T, dir string) { require.NoError(t, os.Remove(filepath.Join(dir, "lock.json"))) },
		"no JSON":         func(t *testing.T, dir string) { put(t, dir, "api/consent.schema.json", "{") },
		"no JSON before":  func(t *testing.T, dir string) { put(t, dir, "released/api/consent.schema.json", "{") },
		"an empty folder": func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir)) },
	} {
		dir := copyOfSchemas(t)
		change(t, dir)
		_, err := growth.Verify(os.DirFS(dir))
		require.Error(t, err, name)
		_, err = growth.Release(dir)
		require.Error(t, err, name)
	}
}
