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

// reach is how far from its literal a match may lie, in bytes.
const reach = 160

// ruleset finds rules in a view. Each rule has literals, read from its pattern, one of which stands in every match; only what
// lies within reach of a literal is given to RE2. That keeps a long text without any suspicion cheap.
type ruleset struct {
	rules    []rule
	begin    [1 << 12]uint64 // bits: hashes of the first three bytes of literals
	literals map[[3]byte][]literal
	atLine   []int
}

type literal struct {
	text string
	rule int
}

func newRuleset(doc *document, f *folder, viewName string) (*ruleset, error) {
	set := &ruleset{literals: map[[3]byte][]literal{}}
	for _, r := range doc.Rules {
		if (r.View == "squashed") != (viewName == "squashed") {
			continue
		}
		if !slices.Contains(kinds[:], r.Kind) || r.Severity != "" && r.Severity != "low" {
			return nil, fmt.Errorf("load rule %s: unknown kind or severity", r.ID)
		}
		made := rule{id: r.ID, kind: r.Kind, low: r.Severity == "low"}
		if err := set.add(made, expand(r.Pattern, doc.Words, f)); err != nil {
			return nil, err
		}
	}
	return set, nil
}

// add splits a rule into its outermost alternatives, so that each is looked for by its own literals.
func (set *ruleset) add(r rule, source string) error {
	if _, err := syntax.Parse(source, syntax.Perl); err != nil {
		return fmt.Errorf("load rule %s: %w", r.id, err)
	}
	for _, branch := range branches(source) {
		if err := set.addBranch(r, branch); err != nil {
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

func (set *ruleset) addBranch(r rule, source string) (err error) {
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return err
	}
	found := headsOf(tree)
	if r.atLine = tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpBeginLine; r.atLine {
		if r.pattern, err = regexp.Compile(`^(?:` + source + `)`); err == nil {
			set.atLine = append(set.atLine, len(set.rules))
			set.rules = append(set.rules, r)
		}
		return err
	}
	if r.headed = shortest(found) > 1 && !linewise(tree); r.headed {
		r.atWord = tree.Op == syntax.OpConcat && tree.Sub[0].Op == syntax.OpWordBoundary
		source = "^(?:" + source + ")"
	} else {
		found = literalsOf(tree)
	}
	if shortest(found) < 2 {
		return fmt.Errorf("no literal of two bytes stands in every match of %s", source)
	}
	if r.pattern, err = regexp.Compile(source); err != nil {
		return err
	}
	r.rare = shortest(found) > 3
	slices.Sort(found)
	for _, text := range slices.Compact(found) {
		l := literal{text, len(set.rules)}
		if len(text) > 2 {
			set.index([3]byte([]byte(text[:3])), l)
			continue
		}
		for third := range 256 {
			set.index([3]byte{text[0], text[1], byte(third)}, l)
		}
	}
	set.rules = append(set.rules, r)
	return nil
}

// linewise reports whether a pattern asks where a line begins, which can't be seen in a piece that begins at a literal.
func linewise(re *syntax.Regexp) bool {
	return re.Op == syntax.OpBeginLine || re.Op == syntax.OpBeginText || slices.ContainsFunc(re.Sub, linewise)
}

func (set *ruleset) index(head [3]byte, l literal) {
	h := hash(head)
	set.begin[h>>6] |= 1 << (h & 63)
	set.literals[head] = append(set.literals[head], l)
}

func hash(b [3]byte) uint32 {
	return (uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16) * 2654435761 >> 14
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

// literalsOf returns strings one of which stands in whatever re matches, the longest it can find; none where it can't tell.
func literalsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpCapture, syntax.OpPlus:
		return literalsOf(re.Sub[0])
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			some := literalsOf(sub)
			if len(some) == 0 {
				return nil
			}
			all = append(all, some...)
		}
		return all
	case syntax.OpConcat:
		var best []string
		for i := range re.Sub {
			if some := heads(re.Sub[i:]); shortest(some) > shortest(best) {
				best = some
			}
			if some := literalsOf(re.Sub[i]); shortest(some) > shortest(best) {
				best = some
			}
		}
		return best
	}
	some := headsOf(re)
	if shortest(some) == 0 {
		return nil
	}
	return some
}

// maxHeads bounds the product of alternatives that follow one another.
const maxHeads = 400

// heads returns strings with one of which every match of the sequence begins.
func heads(parts []*syntax.Regexp) []string {
	all := []string{""}
	for _, part := range parts {
		some := headsOf(part)
		if len(all)*len(some) > maxHeads {
			return all
		}
		all = product(all, some)
		if !exact(part) {
			return all
		}
	}
	return all
}

func product(first, then []string) []string {
	var all []string
	for _, a := range first {
		for _, b := range then {
			all = append(all, a+b)
		}
	}
	return all
}

// headsOf is heads for one part; the empty string where nothing is known.
func headsOf(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return classHeads(re.Rune)
	case syntax.OpQuest:
		if exact(re.Sub[0]) {
			return append([]string{""}, headsOf(re.Sub[0])...)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return headsOf(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return headsOf(re.Sub[0])
		}
	case syntax.OpConcat:
		return heads(re.Sub)
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, headsOf(sub)...)
		}
		return all
	}
	return []string{""}
}

// exact reports whether headsOf(re) is all that re matches, so that what follows may be joined to it.
func exact(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral, syntax.OpEmptyMatch, syntax.OpWordBoundary, syntax.OpBeginLine, syntax.OpBeginText:
		return true
	case syntax.OpCharClass:
		return len(classHeads(re.Rune)[0]) > 0
	case syntax.OpCapture, syntax.OpQuest:
		return exact(re.Sub[0])
	case syntax.OpConcat, syntax.OpAlternate:
		for _, sub := range re.Sub {
			if !exact(sub) {
				return false
			}
		}
		return re.Op == syntax.OpAlternate || len(heads(re.Sub)) <= maxHeads && fits(re.Sub)
	}
	return false
}

// fits reports whether heads of the sequence was not cut short by maxHeads.
func fits(parts []*syntax.Regexp) bool {
	n := 1
	for _, part := range parts {
		n *= len(headsOf(part))
	}
	return n <= maxHeads
}

func classHeads(ranges []rune) []string {
	var all []string
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > 3 || len(all) > 8 {
			return []string{""}
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			all = append(all, string(r))
		}
	}
	return all
}

func shortest(s []string) int {
	if len(s) == 0 {
		return 0
	}
	n := len(s[0])
	for _, one := range s {
		n = min(n, len(one))
	}
	return n
}

type window struct{ from, to int }

// widest is how far windows that touch grow together: in longer pieces RE2's fast way gives up.
const widest = 3 * reach

// search is one scan of one view. Most texts hold no literal at all, so what is kept for each rule is made when the first needs it.
type search struct {
	set  *ruleset
	text string
	skip func(r *rule) bool
	hit  func(r *rule, start, end int)
	done []int
	open []window // of the rules that are not headed: the piece to look at, which grows while literals lie close together
}

// scan tells found of each rule that matches in v, once, and doesn't look for those that skip names.
func (set *ruleset) scan(v view, skip func(r *rule) bool, found func(r *rule, start, end int)) {
	s := &search{set: set, text: v.text, skip: skip, hit: found}
	for i := 0; i+3 <= len(v.text); i++ {
		if i == 0 || v.text[i-1] == '\n' {
			s.line(i)
		}
		head := [3]byte{v.text[i], v.text[i+1], v.text[i+2]}
		if h := hash(head); set.begin[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, l := range set.literals[head] {
			if strings.HasPrefix(v.text[i:], l.text) && s.wanted(l.rule) {
				s.literal(l, i)
			}
		}
	}
	for k := range s.open {
		s.look(k)
	}
}

// wanted says whether rule k may still be found.
func (s *search) wanted(k int) bool { return !s.skip(&s.set.rules[k]) && !slices.Contains(s.done, k) }

// literal tries the rule where its literal was found at i, or keeps the place to be looked at.
func (s *search) literal(l literal, i int) {
	r := &s.set.rules[l.rule]
	if !r.headed {
		from, to := around(s.text, i, i+len(l.text))
		if s.open == nil {
			s.open = make([]window, len(s.set.rules))
		}
		if w := &s.open[l.rule]; w.to >= from && to-w.from <= widest {
			w.to = to
			return
		}
		s.look(l.rule)
		s.open[l.rule] = window{from, to}
		return
	}
	if r.atWord && i > 0 && asciiWord(s.text[i-1]) {
		return
	}
	_, to := around(s.text, i, i+reach)
	s.try(l.rule, i, to)
}

func (s *search) line(i int) {
	_, to := around(s.text, i, i+reach)
	for _, k := range s.set.atLine {
		if s.wanted(k) {
			s.try(k, i, to)
		}
	}
}

func (s *search) look(k int) {
	if w := s.open[k]; w.to > 0 && s.wanted(k) {
		s.try(k, w.from, w.to)
	}
}

func (s *search) try(k, from, to int) {
	r := &s.set.rules[k]
	if m := r.pattern.FindStringIndex(s.text[from:to]); m != nil {
		s.done = append(s.done, k)
		s.hit(r, from+m[0], from+m[1])
	}
}

// asciiWord is what \b goes by.
func asciiWord(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '_' }

// around widens from … to by reach, to the next beginning of a word where one is near, else of a rune.
func around(text string, from, to int) (int, int) {
	from, to = max(0, from-reach), min(len(text), to+reach)
	for near := max(0, from-24); from > near && text[from-1] != ' ' && text[from-1] != '\n'; {
		from--
	}
	for from > 0 && !utf8.RuneStart(text[from]) {
		from--
	}
	for to < len(text) && !utf8.RuneStart(text[to]) {
		to++
	}
	return from, to
}
