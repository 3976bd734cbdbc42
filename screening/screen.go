package screening

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// MaxBody and MaxSubject are in Unicode code points of the clean text (spec 1.2); MaxNote is for a relationship note.
const (
	MaxBody    = 4000
	MaxSubject = 120
	MaxNote    = 500
)

// Code is the reason of a refusal (spec 10.1).
type Code string

const (
	CodeEmpty     Code = "body_empty"
	CodeTooLong   Code = "body_too_long"
	CodeInvalid   Code = "invalid_text"
	CodeInjection Code = "injection_suspected"
	CodeRecalled  Code = "recalled_text"
)

// Ids of the findings that no pattern makes.
const (
	idInvalid  = "invalid-text"
	idRecalled = "recalled-prefix"
	idEncoded  = "encoded-prose"
)

// Finding names a rule and the place, in bytes of the clean text, where it was found; the whole text where no place can be
// given. It never holds the text.
type Finding struct {
	Pattern string `json:"pattern"`
	Kind    Kind   `json:"kind"`
	Start   int    `json:"start"`
	End     int    `json:"end"`
}

// Refusal is the error of Body and Short. Findings is set for injection_suspected and recalled_text.
type Refusal struct {
	Code     Code
	Findings []Finding
}

// Error names the code and the rules, never the text.
func (r *Refusal) Error() string {
	ids := make([]string, 0, len(r.Findings))
	for _, f := range r.Findings {
		ids = append(ids, f.Pattern)
	}
	if len(ids) == 0 {
		return "screen a text: " + string(r.Code)
	}
	return fmt.Sprintf("screen a text: %s: %s", r.Code, strings.Join(ids, ", "))
}

// Screen holds the compiled rules, which don't change.
type Screen struct {
	rooms sync.Pool // of *room: three quarters of what reading a short text allocated

	folder   *folder
	text     *ruleset
	squashed *ruleset
	turns    []turns
	labels   map[string]bool
	lexicon  *lexicon
	scrub    *vocabulary
}

// New compiles the rules that the package carries. It takes about a tenth of a second and is called once.
func New() *Screen {
	s, err := compile(patternsJSON, confusablesJSON)
	if err != nil {
		panic("screening: the embedded rules are broken: " + err.Error()) // the package's own tests load the same bytes
	}
	return s
}

func compile(patterns, confusables []byte) (*Screen, error) {
	f, err := newFolder(confusables)
	if err != nil {
		return nil, err
	}
	var doc document
	if err := json.Unmarshal(patterns, &doc); err != nil {
		return nil, fmt.Errorf("read the patterns: %w", err)
	}
	s := &Screen{folder: f, rooms: sync.Pool{New: func() any { return &room{} }}}
	words, squashedWords := newGathering(), newGathering()
	if s.text, err = newRuleset(&doc, f, "text", words); err != nil {
		return nil, err
	}
	if s.squashed, err = newRuleset(&doc, f, "squashed", squashedWords); err != nil {
		return nil, err
	}
	if s.lexicon, err = newLexicon(conceptsJSON, f, words); err != nil {
		return nil, err
	}
	s.squashed.index, s.text.index = squashedWords.index(), words.index()
	s.lexicon.index = s.text.index
	s.turns, s.labels = newTurns(&doc, f)
	s.scrub, err = newVocabulary(scrubJSON, f)
	return s, err
}

// Text cleans s, reduces its markup and looks for what must not be remembered or said back. Any finding refuses the text, and is in
// the text that is answered with it; invalid text has the one finding of that kind and no clean form.
func (s *Screen) Text(text string) (string, []Finding) {
	text, ok := clean(text)
	if !ok {
		return "", []Finding{{Pattern: idInvalid, Kind: KindInvalid}}
	}
	return s.reduced(text)
}

// reduced looks at a text before and after its markup is reduced: marks may be what tells an order from a note, and may have hidden
// one.
func (s *Screen) reduced(text string) (string, []Finding) {
	if found := s.look(text); len(found) > 0 {
		return text, found
	}
	bare := plain(text)
	if bare == text {
		return text, nil
	}
	return bare, s.look(bare)
}

// Clean strips what can't be seen and reduces nothing: the text that Scrub's places are in; empty for text that is not valid.
func Clean(text string) string {
	text, ok := clean(text)
	if !ok {
		return ""
	}
	return text
}

// Suspicious reports whether Text finds anything: such a text is neither remembered nor said.
func (s *Screen) Suspicious(text string) bool {
	_, found := s.Text(text)
	return len(found) > 0
}

// LooksRecalled reports whether a text has the frame of a recalled block, <<<memory: (spec 1.8, 3.4), or what an assistant may take
// for it, in any of the readings that Text looks at.
func (s *Screen) LooksRecalled(text string) bool {
	_, found := s.Text(text)
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == KindRecalled })
}

// Body screens a memory's body: 1 to 4000 code points (spec 1.2).
func (s *Screen) Body(text string) (string, error) {
	text, ok := clean(text)
	switch {
	case !ok:
		return "", &Refusal{Code: CodeInvalid}
	case text == "":
		return "", &Refusal{Code: CodeEmpty}
	case utf8.RuneCountInString(text) > MaxBody:
		return "", &Refusal{Code: CodeTooLong}
	}
	text, err := s.refuse(text)
	switch { // a table's commas take more room than its bars
	case err != nil:
		return "", err
	case text == "":
		return "", &Refusal{Code: CodeEmpty}
	case utf8.RuneCountInString(text) > MaxBody:
		return "", &Refusal{Code: CodeTooLong}
	}
	return text, nil
}

// Short screens a label on one line: a subject, a relationship note, a handle. Empty, too long and more than one line are
// invalid_text: the body_… codes speak of bodies.
func (s *Screen) Short(text string, most int) (string, error) {
	text, ok := clean(text)
	if !ok || text == "" || utf8.RuneCountInString(text) > most || strings.ContainsAny(text, "\n\t") {
		return "", &Refusal{Code: CodeInvalid}
	}
	text, err := s.refuse(text)
	if err == nil && text == "" {
		return "", &Refusal{Code: CodeInvalid}
	}
	return text, err
}

func (s *Screen) refuse(text string) (string, error) {
	text, found := s.reduced(text)
	if len(found) == 0 {
		return text, nil
	}
	code := CodeInjection
	if slices.ContainsFunc(found, func(f Finding) bool { return f.Kind == KindRecalled }) {
		code = CodeRecalled
	}
	return "", &Refusal{Code: code, Findings: found}
}

// look reads the clean text in every way and returns what counts, in the order of the text.
func (s *Screen) look(text string) []Finding {
	c := &collector{room: s.rooms.Get().(*room)}
	defer s.rooms.Put(c.room)
	folded := s.folder.fold(text)
	s.read(c, folded)
	s.readLeet(c, folded)
	c.spots = s.squashed.index.spots(c.spots[:0], squashedText(folded.text))
	if len(c.spots) > 0 {
		letters := squash(folded)
		s.squashed.scan(letters, c, c.has, c.adder(letters))
	}
	if strings.ContainsAny(folded.text, latin) {
		s.readAlien(c, rot13(folded))
	}
	s.readAlien(c, reverse(folded))
	if plain, changed := unescaped(text); changed {
		v := s.folder.fold(plain)
		v.at, v.to = nil, len(text)
		s.read(c, v)
	}
	for _, r := range decoded(text) {
		if strings.Count(r.text, " ") > 1 {
			c.add(idEncoded, KindSmuggling, false, r.from, r.to)
		}
		v := s.folder.fold(r.text)
		v.at, v.from, v.to = nil, r.from, r.to
		s.read(c, v)
	}
	return c.counted()
}

// read looks for every kind of finding in a reading that is plain language.
func (s *Screen) read(c *collector, v view) {
	c.spots = s.text.index.spots(c.spots[:0], v.text)
	s.text.scan(v, c, c.has, s.unnegated(c, v))
	s.lexicon.scan(v, c.spots, false, c.combined(v))
	s.readTurns(c, v)
	if start, end, ok := recalled(v.text); ok {
		from, to := v.span(start, end)
		c.add(idRecalled, KindRecalled, false, from, to)
	}
}

// readLeet reads a one as an i, and as an l where that makes a difference.
func (s *Screen) readLeet(c *collector, folded view) {
	i, changed := leet(folded, 'i')
	if !changed {
		return
	}
	s.read(c, i)
	if l, _ := leet(folded, 'l'); l.text != i.text {
		s.read(c, l)
	}
}

// readAlien looks for telling phrases only, in a reading that turns ordinary text into nonsense; and for ideas in words too long to
// come about by chance.
func (s *Screen) readAlien(c *collector, v view) {
	c.spots = s.text.index.spots(c.spots[:0], v.text)
	s.text.scan(v, c, func(r *rule) bool { return r.low || !r.rare || c.has(r) }, s.unnegated(c, v))
	s.lexicon.scan(v, c.spots, true, c.combined(v))
}

// unnegated adds what a rule finds, but for an override or a betrayal behind a word for not: "don't forget the rules" and "never share
// your password" are good advice.
func (s *Screen) unnegated(c *collector, v view) func(*rule, int, int) bool {
	add := c.adder(v)
	return func(r *rule, start, end int) bool {
		if (r.kind == KindOverride || r.kind == KindExfiltration) && s.lexicon.negated(v.text, start, end) {
			return false
		}
		return add(r, start, end)
	}
}

// collector keeps the first finding of each rule.
type collector struct {
	found []Finding
	low   []bool
	*room
}

// room is what a reading works in: places and no text. The next reading finds it as it was left.
type room struct {
	spots []spot  // of the reading at hand
	near  []int32 // of a search
}

func (c *collector) has(r *rule) bool {
	return slices.ContainsFunc(c.found, func(f Finding) bool { return f.Pattern == r.id })
}

func (c *collector) add(id string, kind Kind, low bool, from, to int) {
	if slices.ContainsFunc(c.found, func(f Finding) bool { return f.Pattern == id && (id != idEncoded || f.Start == from) }) {
		return
	}
	c.found = append(c.found, Finding{id, kind, from, to})
	c.low = append(c.low, low)
}

func (c *collector) combined(v view) func(id string, kind Kind, start, end int) {
	return func(id string, kind Kind, start, end int) {
		from, to := v.span(start, end)
		c.add(id, kind, false, from, to)
	}
}

func (c *collector) adder(v view) func(*rule, int, int) bool {
	return func(r *rule, start, end int) bool {
		from, to := v.span(start, end)
		c.add(r.id, r.kind, r.low, from, to)
		return true
	}
}

// counted drops a low finding that has no low one of another kind beside it.
func (c *collector) counted() []Finding {
	var counted []Finding
	for i, f := range c.found {
		if !c.low[i] || c.otherLow(f.Kind) {
			counted = append(counted, f)
		}
	}
	slices.SortStableFunc(counted, func(a, b Finding) int { return a.Start - b.Start })
	return counted
}

func (c *collector) otherLow(kind Kind) bool {
	for i, f := range c.found {
		if c.low[i] && f.Kind != kind {
			return true
		}
	}
	return false
}
