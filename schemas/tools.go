package schemas

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed tools/*.json
var toolFiles embed.FS

// toolsetsFile stands beside the specifications and is none.
const toolsetsFile = "tools/toolsets.json"

// Tools that have a specification in tools/ (spec 1.5).
const (
	ToolProposeNote      = "memory.propose_note"
	ToolProposePromotion = "memory.propose_promotion"
)

// Tool is the specification of a tool for assistants, in the form that a harness takes it in. The schemas refer to no other file: a
// harness has only this one.
type Tool struct {
	Name         string         `json:"name"`
	Title        string         `json:"title"`
	Description  string         `json:"description"`
	InputSchema  jsontext.Value `json:"inputSchema"`
	OutputSchema jsontext.Value `json:"outputSchema"`
}

// Toolsets are what a harness gives its assistant, by set, and what that one may call without asking anybody first.
type Toolsets struct {
	Sets          map[string][]string `json:"toolsets"`
	AlwaysAllowed []string            `json:"ALWAYS_ALLOWED_TOOLS"`
}

// Tools are all specifications, by name. That a tool has one doesn't mean that it stands in a toolset.
func Tools() (map[string]Tool, error) {
	names, err := fs.Glob(toolFiles, "tools/*.json")
	if err != nil {
		return nil, err
	}
	all := make(map[string]Tool, len(names))
	for _, name := range names {
		if name == toolsetsFile {
			continue
		}
		var tool Tool
		if err := readTool(name, &tool); err != nil {
			return nil, err
		}
		if tool.Name != strings.TrimSuffix(path.Base(name), ".json") {
			return nil, fmt.Errorf("tool %s has another name than its file", name)
		}
		all[tool.Name] = tool
	}
	return all, nil
}

// ReadToolsets reads the toolsets.
func ReadToolsets() (Toolsets, error) {
	var sets Toolsets
	return sets, readTool(toolsetsFile, &sets)
}

// OfferedTools are the specifications of what stands in a toolset, by name.
func OfferedTools() ([]Tool, error) {
	all, err := Tools()
	if err != nil {
		return nil, err
	}
	sets, err := ReadToolsets()
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(all))
	offered := []Tool{}
	for _, name := range names {
		if sets.has(name) {
			offered = append(offered, all[name])
		}
	}
	return offered, nil
}

func (s Toolsets) has(name string) bool {
	for _, set := range s.Sets {
		if slices.Contains(set, name) {
			return true
		}
	}
	return false
}

func readTool(name string, into any) error {
	text, err := fs.ReadFile(toolFiles, name)
	if err == nil {
		err = json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// compileTools adds what judges the arguments and the answer of each tool, under names that no file has.
func (c *Contract) compileTools(compiler *jsonschema.Compiler, known map[*jsonschema.Schema]*plain) error {
	all, err := Tools()
	if err != nil {
		return err
	}
	for name, tool := range all {
		for part, text := range map[string]jsontext.Value{argumentsOf(name): tool.InputSchema, answerOf(name): tool.OutputSchema} {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
			if err != nil {
				return fmt.Errorf("read schema %s: %w", part, err)
			}
			if err := compiler.AddResource(Base+part, doc); err != nil {
				return fmt.Errorf("read schema %s: %w", part, err)
			}
			if err := c.compile(compiler, part, part, known); err != nil {
				return err
			}
		}
	}
	return nil
}

func argumentsOf(tool string) string { return "tools/" + tool + "/arguments" }

func answerOf(tool string) string { return "tools/" + tool + "/answer" }

// CheckArguments judges what a tool is called with; the pointers of a refusal are those of the request's body.
func (c *Contract) CheckArguments(tool string, arguments []byte) error {
	return below(c.check(argumentsOf(tool), arguments), "/arguments")
}

// CheckToolAnswer judges what a tool answers.
func (c *Contract) CheckToolAnswer(tool string, answer []byte) error {
	return c.check(answerOf(tool), answer)
}
