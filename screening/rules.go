package screening

import (
	_ "embed"
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

//go:embed patterns.json
var patternsJSON []byte

// Kind is what a finding is about.
type Kind string

const (
	KindInvalid       Kind = "invalid_text"
	KindRecalled      Kind = "recalled_text"
	KindMarkup        Kind = "markup"
	KindRoleMarker    Kind = "role_marker"
	KindOverride      Kind = "instruction_override"
	KindImpersonation Kind = "impersonation"
	KindExfiltration  Kind = "exfiltration"
	KindCoercion      Kind = "tool_coercion"
	KindFormat        Kind = "output_format"
	KindVirtual       Kind = "virtualization"
	KindTurns         Kind = "fake_turns"
	KindSmuggling     Kind = "token_smuggling"
	KindPersistence   Kind = "persistence"
)

var kinds = [...]Kind{
	KindRecalled, KindMarkup, KindRoleMarker, KindOverride, KindImpersonation, KindExfiltration, KindCoercion, KindFormat,
	KindVirtual, KindTurns, KindSmuggling, KindPersistence,
}

// document is patterns.json. A pattern is RE2 over a folded view with two additions: a space outside a class stands for one or more
// characters that are neither letters nor digits, and {wN} for up to N words. {name} is replaced from Words.
type document struct {
	Words map[string]string `json:"words"`
	Rules []struct {
		ID       string `json:"id"`
		Kind     Kind   `json:"kind"`
		Severity string `json:"severity"` // high, the default, or low: counts beside a low one of another kind only
		View     string `json:"view"`     // text, the default, or squashed
		Pattern  string `json:"pattern"`
	} `json:"rules"`
	Turns []struct {
		ID     string   `json:"id"`
		Ask    []string `json:"ask"`
		Answer []string `json:"answer"`
		Asked  int      `json:"asked"`
		Open   bool     `json:"open"`
	} `json:"turns"`
}

type rule struct {
	id      string
	kind    Kind
	low     bool
	pattern *regexp.Regexp
	headed  bool // every match begins with one of the rule's literals: the pattern is tried there and nowhere else
	atWord  bool // and only at the beginning of a word
	atLine  bool // the pattern is tried where a line begins, without literals
	rare    bool // its literals are long enough not to turn up in nonsense
}

// ruleset finds rules in a view. Each rule has literals, read from its pattern, one of which stands in every match; only what
// lies within reach of a literal is given to RE2, and only where the pattern's other literals lie there too. That keeps a long
// text without any suspicion cheap.
type ruleset struct {
	rules  []rule
	atLine []int
	index  *index // of the literals; others may have words there too
}

// newRuleset makes the rules of a view and puts their literals into words; the caller makes the index when all are there.
func newRuleset(doc *document, f *folder, viewName string, words *gathering) (*ruleset, error) {
	set := &ruleset{}
	for _, r := range doc.Rules {
		if (r.View == "squashed") != (viewName == "squashed") {
			continue
		}
		if !slices.Contains(kinds[:], r.Kind) || r.Severity != "" && r.Severity != "low" {
			return nil, fmt.Errorf("load rule %s: unknown kind or severity", r.ID)
		}
		made := rule{id: r.ID, kind: r.Kind, low: r.Severity == "low"}
		if err := set.add(words, made, expand(r.Pattern, doc.Words, f)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// add splits a rule into its outermost alternatives, so that each is looked for by its own literals.
func (set *ruleset) add(words *gathering, r rule, source string) error {
	if _, err := syntax.Parse(source, syntax.Perl); err != nil {
		return fmt.Errorf("load rule %s: %w", r.id, err)
	}
	for _, branch := range branches(source) {
		if err := set.addBranch(words, r, branch); err != nil {
			return fmt.Errorf("load rule %s: %w", r.id, err)
		}
	}
	return nil
}

// branches cuts a well-formed pattern at its outermost bars. (The parser could, but writing its tree out again takes longer
// than all the compiling.)
func branches(source string) []string {
	if inner, ok := strings.CutPrefix(source, "(?:"); ok {
		if inner, ok = strings.CutSuffix(inner, ")"); ok && outermost(inner) != nil {
			source = inner
		}
	}
	var cut []string
	from := 0
	for _, bar := range outermost(source) {
		cut = append(cut, source[from:bar])
		from = bar + 1
	}
	return append(cut, source[from:])
}

// outermost returns where the bars outside groups and classes are; none where a group closes that was not opened.
func outermost(source string) []int {
	var bars []int
	depth, class := 0, false
	for i := 0; i < len(source); i++ {
		switch c := source[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth < 0 {
				return nil
			}
		case c == '|' && depth == 0:
			bars = append(bars, i)
		}
	}
	return bars
}

func (set *ruleset) addBranch(words *gathering, r rule, source string) (err error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return err
	}
	if r.atLine = tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpBeginLine; r.atLine {
		if r.pattern, err = regexp.Compile(`^(?:` + source + `)`); err == nil {
			set.atLine = append(set.atLine, len(set.rules))
			set.rules = append(set.rules, r)
		}
		return err
	}
	found := starts(tree)
	if r.headed = worthwhile(textsOf(found)) && !linewise(tree); r.headed {
		r.atWord = tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpWordBoundary
		source = "^(?:" + source + ")"
	} else {
		found = nil
		for _, text := range literalsOf(tree) {
			found = append(found, start{text: text})
		}
	}
	if !worthwhile(textsOf(found)) {
		return fmt.Errorf("no literal of two bytes stands in every match of %s", source)
	}
	if r.pattern, err = regexp.Compile(source); err != nil {
		return err
	}
	r.rare = max(shortest(textsOf(found)), shortest(literalsOf(tree))) > 3
	for _, s := range found {
		words.rule(len(set.rules), s)
	}
	set.rules = append(set.rules, r)
	return nil
}

// linewise reports whether a pattern asks where a line begins, which can't be seen in a piece that begins at a literal.
func linewise(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginLine || re.Op == syntax.OpBeginText || slices.ContainsFunc(re.Sub, linewise)
}

// separator and word are what a space and {wN} stand for. In a folded view every sign is ASCII.
const (
	separator = "(?:[ -/:-@[-`{-~\n]+)"
	word      = "[^ -&(-/:-@[-`{-~\n]+"
)

func expand(pattern string, words map[string]string, f *folder) string {
	for range 3 { // words may use words
		for name, value := range words {
			pattern = strings.ReplaceAll(pattern, "{"+name+"}", value)
		}
	}
	var b strings.Builder
	class, escaped := false, false
	for i, r := range pattern {
		if !escaped && (r == '[' || r == ']') {
			class = r == '['
		}
		escaped = !escaped && r == '\\'
		switch {
		case r == ' ' && !class:
			b.WriteString(separator)
		case r >= utf8.RuneSelf:
			b.WriteString(regexp.QuoteMeta(f.rune(r)))
		case r == '{' && strings.HasPrefix(pattern[i:], "{w"):
			b.WriteString("(?:" + separator + word + "){0,")
		case r == 'w' && i > 0 && pattern[i-1] == '{':
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
