package growth_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/schemas"
	"iris.example/iris/schemas/growth"
)

// folder is a schema folder in memory, by name.
type folder map[string]any

// published reads the schema files as they are now.
func published(t require.TestingT) folder {
	all := folder{}
	require.NoError(t, fs.WalkDir(schemas.Files(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(schemas.Files(), name)
		if err != nil {
			return err
		}
		var doc any
		err = json.Unmarshal(text, &doc)
		all[name] = doc
		return err
	}))
	return all
}

func (f folder) version(name string) growth.Version {
	return growth.Version{Name: name, Open: func(name string) ([]byte, error) {
		if f[name] == nil {
			return nil, fs.ErrNotExist
		}
		return json.Marshal(f[name])
	}}
}

func (f folder) compile(t require.TestingT, name string) *jsonschema.Schema {
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	for name, doc := range f {
		value, err := jsonschema.UnmarshalJSON(bytesOf(asJSON(t, doc)))
		require.NoError(t, err)
		require.NoError(t, compiler.AddResource(schemas.Base+name, value))
	}
	schema, err := compiler.Compile(schemas.Base + name)
	require.NoError(t, err)
	return schema
}

// with is the folder with one file of its own, to be changed.
func (f folder) with(name string) folder {
	all := maps.Clone(f)
	all[name] = copied(f[name])
	return all
}

func copied(value any) any {
	switch value := value.(type) {
	case keywords:
		all := make(keywords, len(value))
		for name, child := range value {
			all[name] = copied(child)
		}
		return all
	case []any:
		all := make([]any, len(value))
		for i, item := range value {
			all[i] = copied(item)
		}
		return all
	}
	return value
}

// group is where the examples of a contract are.
func group(name string) string {
	switch name {
	case "claims/envelope.schema.json":
		return "claim"
	case "claims/iris.memory.proposed.v1.schema.json":
		return "iris.memory.proposed.v1"
	case "claims/sealed.schema.json":
		return "sealed"
	case "events/envelope.schema.json":
		return "commit"
	case "outcomes/iris.claim.settled.v1.schema.json":
		return "outcome"
	}
	return strings.TrimSuffix(name, ".schema.json")
}

func examples(t require.TestingT, name string) (all []any) {
	names, err := fs.Glob(os.DirFS("../examples"), path.Join(group(name), "valid", "*.json"))
	require.NoError(t, err)
	for _, name := range names {
		text, err := os.ReadFile(path.Join("../examples", name))
		require.NoError(t, err)
		var value any
		require.NoError(t, json.Unmarshal(text, &value))
		all = append(all, value)
	}
	return all
}

// edit is one way to change a schema, and whom it breaks. apply reports whether it could.
type edit struct {
	name          string
	input, events bool
	apply         func(s keywords) bool
}

func edits() []edit {
	objects := func(change func(s, properties keywords) bool) func(keywords) bool {
		return func(s keywords) bool {
			properties, ok := s["properties"].(keywords)
			return ok && s["additionalProperties"] == false && change(s, properties)
		}
	}
	limit := func(keyword string, by float64) func(keywords) bool {
		return func(s keywords) bool {
			was, ok := s[keyword].(float64)
			s[keyword] = was + by
			if !ok {
				delete(s, keyword)
			}
			return ok
		}
	}
	return []edit{
		{"describe it", false, false, func(s keywords) bool { s["description"] = "Said in other words."; return true }},
		{"an optional property", false, false, objects(func(_, p keywords) bool { p["later"] = keywords{"type": "string"}; return true })},
		{"a required property", true, false, objects(func(s, p keywords) bool {
			p["later"] = keywords{"type": "string"}
			s["required"] = append(list(s["required"]), "later")
			return true
		})},
		{"require one that was optional", true, false, objects(func(s, p keywords) bool {
			for _, name := range slices.Sorted(maps.Keys(p)) {
				if !slices.Contains(list(s["required"]), any(name)) && p[name] != false {
					s["required"] = append(list(s["required"]), name)
					return true
				}
			}
			return false
		})},
		{"no longer require one", false, true, func(s keywords) bool {
			required := list(s["required"])
			if len(required) == 0 || s["additionalProperties"] != false {
				return false
			}
			s["required"] = required[:len(required)-1]
			return true
		}},
		{"remove a property", true, true, objects(func(s, p keywords) bool {
			for _, name := range slices.Sorted(maps.Keys(p)) {
				delete(p, name)
				s["required"] = slices.DeleteFunc(list(s["required"]), func(r any) bool { return r == name })
				return true
			}
			return false
		})},
		{"rename a property", true, true, objects(func(s, p keywords) bool {
			for _, name := range slices.Sorted(maps.Keys(p)) {
				p["renamed"] = p[name]
				delete(p, name)
				s["required"] = slices.DeleteFunc(list(s["required"]), func(r any) bool { return r == name })
				return true
			}
			return false
		})},
		{"a value more", false, true, func(s keywords) bool {
			values, ok := s["enum"].([]any)
			s["enum"] = append(slices.Clone(values), "later")
			return undo(s, "enum", ok)
		}},
		{"a value less", true, false, func(s keywords) bool {
			values, ok := s["enum"].([]any)
			s["enum"] = values[:max(0, len(values)-1)]
			return undo(s, "enum", ok)
		}},
		{"another value", true, true, func(s keywords) bool {
			_, ok := s["const"]
			s["const"] = "another"
			return undo(s, "const", ok)
		}},
		{"longer", false, true, limit("maxLength", 1)},
		{"shorter", true, false, limit("maxLength", -1)},
		{"longer at least", true, false, limit("minLength", 1)},
		{"more items", false, true, limit("maxItems", 1)},
		{"fewer items", true, false, limit("maxItems", -1)},
		{"greater", false, true, limit("maximum", 1)},
		{"smaller", true, false, limit("maximum", -1)},
		{"another pattern", true, true, func(s keywords) bool {
			was, ok := s["pattern"].(string)
			s["pattern"] = was + "|^$"
			return undo(s, "pattern", ok)
		}},
		{"no pattern", false, true, func(s keywords) bool {
			_, ok := s["pattern"]
			delete(s, "pattern")
			return ok
		}},
		{"another type", true, true, func(s keywords) bool {
			was, ok := s["type"].(string)
			s["type"] = map[bool]string{true: "null", false: "boolean"}[was == "boolean"]
			return undo(s, "type", ok && s["properties"] == nil && s["items"] == nil)
		}},
		{"a type more", false, true, func(s keywords) bool {
			was, ok := s["type"].(string)
			s["type"] = []any{was, "null"}
			return undo(s, "type", ok && was != "null")
		}},
		{"a keyword that the checker doesn't know", true, true, func(s keywords) bool {
			s["patternProperties"] = keywords{"^x": true}
			return true
		}},
	}
}

func undo(s keywords, keyword string, ok bool) bool {
	if !ok {
		delete(s, keyword)
	}
	return ok
}

func list(value any) []any {
	all, _ := value.([]any)
	return slices.Clone(all)
}

// places are the schemas of a file whose edit shows from outside: none under if, not or contains.
func places(value any) (all []keywords) {
	s, ok := value.(keywords)
	if !ok {
		return nil
	}
	all = append(all, s)
	for _, keyword := range []string{"additionalProperties", "items"} {
		all = append(all, places(s[keyword])...)
	}
	for _, keyword := range []string{"properties", "$defs"} {
		members, _ := s[keyword].(keywords)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			all = append(all, places(members[name])...)
		}
	}
	for _, keyword := range []string{"prefixItems"} {
		items, _ := s[keyword].([]any)
		for _, item := range items {
			all = append(all, places(item)...)
		}
	}
	return all
}

func growing(t require.TestingT, as growth.Direction) []string {
	if as == growth.Events {
		return []string{"outcomes/iris.claim.settled.v1.schema.json", "events/envelope.schema.json"}
	}
	var all []string
	for name := range published(t) {
		if !strings.HasPrefix(name, "events/") && !strings.HasPrefix(name, "outcomes/") {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// TestEveryEditOfEveryContract: each edit, at several places of each contract, is said to break those whom it breaks; one that
// breaks nobody gives no finding, and what the contract accepted it accepts.
func TestEveryEditOfEveryContract(t *testing.T) {
	t.Parallel()
	before := published(t)
	for _, as := range []growth.Direction{growth.Input, growth.Events} {
		done := map[string]int{}
		for _, name := range growing(t, as) {
			old, instances, here := before.compile(t, name), examples(t, name), map[string]int{}
			for i := range places(before[name]) {
				for _, e := range edits() {
					now := before.with(name)
					if here[e.name] == 6 || !e.apply(places(now[name])[i]) {
						continue
					}
					done[e.name], here[e.name] = done[e.name]+1, here[e.name]+1
					found, err := growth.Compare(before.version(name), now.version(name), as)
					require.NoError(t, err)
					breaks := map[growth.Direction]bool{growth.Input: e.input, growth.Events: e.events}[as]
					require.Equal(t, breaks, len(found) > 0, "%s: %s at %v as %s: %v", name, e.name, i, as, found)
					if as == growth.Input && !breaks && i%19 == 0 { // compiling is slow
						still := now.compile(t, name)
						for _, instance := range instances {
							require.NoError(t, old.Validate(instance), name)
							require.NoError(t, still.Validate(instance), "%s: %s at %d", name, e.name, i)
						}
					}
				}
			}
		}
		for _, e := range edits() {
			if as == growth.Input {
				require.NotZero(t, done[e.name], "%s is tried nowhere", e.name)
			}
		}
	}
}

// TestCompatibleEditsTakeWhatTheExamplesLead: several harmless edits at once, and instances that are drawn out of the examples.
func TestCompatibleEditsTakeWhatTheExamplesLead(t *testing.T) {
	t.Parallel()
	names := slices.DeleteFunc(growing(t, growth.Input), func(name string) bool { return len(examples(t, name)) == 0 })
	require.Greater(t, len(names), 7)
	before, compiled := published(t), map[string]*jsonschema.Schema{}
	for _, name := range names {
		compiled[name] = before.compile(t, name)
	}
	harmless := slices.DeleteFunc(edits(), func(e edit) bool { return e.input })
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "contract")
		now := before.with(name).with("vocabulary.schema.json")
		for range rapid.IntRange(1, 6).Draw(t, "edits") {
			file := rapid.SampledFrom([]string{name, name, "vocabulary.schema.json"}).Draw(t, "file")
			place := rapid.SampledFrom(places(now[file])).Draw(t, "place")
			rapid.SampledFrom(harmless).Draw(t, "edit").apply(place)
		}
		found, err := growth.Compare(before.version(name), now.version(name), growth.Input)
		require.NoError(t, err)
		require.Empty(t, found)
		still := now.compile(t, name)
		for range 10 {
			instance := bent(t, rapid.SampledFrom(examples(t, name)).Draw(t, "example"))
			if compiled[name].Validate(instance) == nil {
				require.NoError(t, still.Validate(instance))
			}
		}
	})
}

// bent is an example with something left out, or something of another kind in its place.
func bent(t *rapid.T, value any) any {
	switch value := value.(type) {
	case keywords:
		if len(value) == 0 {
			return value
		}
		all := maps.Clone(value)
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(value))).Draw(t, "property")
		if rapid.IntRange(0, 3).Draw(t, "how") == 0 {
			delete(all, name)
		} else {
			all[name] = bent(t, value[name])
		}
		return all
	case []any:
		if len(value) == 0 {
			return value
		}
		all := slices.Clone(value)
		i := rapid.IntRange(0, len(value)-1).Draw(t, "item")
		all[i] = bent(t, value[i])
		return all
	}
	return rapid.SampledFrom([]any{value, nil, "", "x", "profile", 1.0, true}).Draw(t, "value")
}

// FuzzWhatWasReleasedIsAccepted: whatever the released form of a contract accepts, the one of today accepts.
func FuzzWhatWasReleasedIsAccepted(f *testing.F) {
	released, err := growth.Released(os.DirFS(".."))
	require.NoError(f, err)
	before, now := folder{}, published(f)
	for _, name := range released {
		text, err := os.ReadFile(path.Join("..", growth.Folder, name))
		require.NoError(f, err)
		var doc any
		require.NoError(f, json.Unmarshal(text, &doc))
		before[name] = doc
	}
	type pair struct{ before, now *jsonschema.Schema }
	var pairs []pair
	for _, name := range released {
		if now[name] != nil && len(examples(f, name)) > 0 {
			pairs = append(pairs, pair{before.compile(f, name), now.compile(f, name)})
			for _, example := range examples(f, name) {
				f.Add([]byte(asJSON(f, example)))
			}
		}
	}
	require.Greater(f, len(pairs), 8)
	f.Fuzz(func(t *testing.T, data []byte) {
		instance, err := jsonschema.UnmarshalJSON(bytesOf(string(data)))
		if err != nil {
			return
		}
		for _, p := range pairs {
			if p.before.Validate(instance) == nil {
				require.NoError(t, p.now.Validate(instance))
			}
		}
	})
}
