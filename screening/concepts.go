package screening

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

//go:embed concepts.json
var conceptsJSON []byte

// lexicon finds ideas rather than phrases. A concept is a list of words for one thing in many languages: to disregard, what one was
// told, a secret, to ask for. A combination is a finding where words for each of its concepts stand close together, in whatever
// order. That is how a rule holds for a wording, and often for a language, that nobody wrote down.
//
// A word that ends in * stands for all that begin so, one that begins with ^ counts at the head of a clause only, where orders stand. A
// word for disregarding doesn't count behind a word for not, "don't forget the rules" is good advice, nor where it is said of somebody
// else: "why do people ignore the rules" orders nothing. A concept may be named in vain: a password manager asks for no password.
type lexicon struct {
	index            *index // of the words
	combinations     []combination
	concepts         map[string]int
	negators         []string // and words for somebody else, or for thinking of it
	negatedAfter     []string
	vain, vainBehind [][]string // by concept: words behind it, and words it stands behind, that make another thing of it
	drop             int        // the concept that can be negated
}

type conceptWord struct {
	concept int
	bound   boundary
	clause  bool
	latin   bool
}

// boundary says what may stand beside a word.
type boundary int

const (
	boundBoth  boundary = iota // a word of its own
	boundStart                 // the beginning of a word
	boundNone                  // anywhere: scripts without blanks, and those that join small words to the next
)

type combination struct {
	id     string
	kind   Kind
	needs  []int
	within int
}

// maxConcepts bounds the hits of one reading that combinations are sought among.
const maxHits = 4096

// newLexicon puts its words into words; the caller makes the index when all are there.
func newLexicon(data []byte, f *folder, words *gathering) (*lexicon, error) {
	var doc struct {
		Negators     string                       `json:"negators"`
		NegatedAfter string                       `json:"negatedAfter"`
		Others       string                       `json:"others"`
		Vain         map[string]string            `json:"vain"`
		VainBehind   map[string]string            `json:"vainBehind"`
		Concepts     map[string]map[string]string `json:"concepts"` // by language, words with bars between
		Combinations []struct {
			ID     string   `json:"id"`
			Kind   Kind     `json:"kind"`
			All    []string `json:"all"`
			Within int      `json:"within"` // bytes of the folded text, for Latin script
		} `json:"combinations"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read the concepts: %w", err)
	}
	l := &lexicon{concepts: map[string]int{}, drop: -1}
	l.negators, l.negatedAfter = foldAll(f, strings.Split(doc.Negators+"|"+doc.Others, "|")), foldAll(f, strings.Split(doc.NegatedAfter, "|"))
	for _, name := range sortedWords(doc.Concepts) {
		k := len(l.concepts)
		l.concepts[name] = k
		if name == "drop" {
			l.drop = k
		}
		for language, list := range doc.Concepts[name] {
			for word := range strings.SplitSeq(list, "|") {
				text, w, err := newConceptWord(f, word, k)
				if err != nil {
					return nil, fmt.Errorf("read the concepts: %s in %s: %w", name, language, err)
				}
				words.concept(text, w)
			}
		}
	}
	var err error
	if l.vain, err = l.byConcept(doc.Vain, f); err != nil {
		return nil, err
	}
	if l.vainBehind, err = l.byConcept(doc.VainBehind, f); err != nil {
		return nil, err
	}
	for _, c := range doc.Combinations {
		made := combination{id: c.ID, kind: c.Kind, within: c.Within}
		for _, name := range c.All {
			k, ok := l.concepts[name]
			if !ok {
				return nil, fmt.Errorf("read the concepts: %s needs %s, which isn't there", c.ID, name)
			}
			made.needs = append(made.needs, k)
		}
		if len(made.needs) < 2 || c.Within < 1 || !slices.Contains(kinds[:], c.Kind) {
			return nil, fmt.Errorf("read the concepts: %s can't be a combination", c.ID)
		}
		l.combinations = append(l.combinations, made)
	}
	return l, nil
}

func (l *lexicon) byConcept(lists map[string]string, f *folder) ([][]string, error) {
	made := make([][]string, len(l.concepts))
	for name, list := range lists {
		k, ok := l.concepts[name]
		if !ok {
			return nil, fmt.Errorf("read the concepts: %s can be in vain, but isn't there", name)
		}
		made[k] = foldAll(f, strings.Split(list, "|"))
	}
	return made, nil
}

func newConceptWord(f *folder, word string, concept int) (string, conceptWord, error) {
	stem, open := strings.CutSuffix(word, "*")
	stem, clause := strings.CutPrefix(stem, "^")
	text := f.fold(stem).text
	w := conceptWord{concept: concept, clause: clause, latin: isASCII(text)}
	if len(text) < 2 {
		return "", w, fmt.Errorf("a word of fewer than two bytes")
	}
	first, _ := utf8.DecodeRuneInString(stem)
	letters := utf8.RuneCountInString(text)
	switch {
	case unspaced(first), unicode.In(first, unicode.Arabic, unicode.Hebrew) && letters > 4:
		w.bound = boundNone
	case open, unicode.In(first, unicode.Devanagari, unicode.Bengali, unicode.Tamil) && letters > 3:
		w.bound = boundStart
	}
	return text, w, nil
}

// conceptHit has a width beside its place: how many bytes its script takes for what Latin says in one.
type conceptHit struct{ concept, from, to, width int }

func width(lead byte) int {
	switch {
	case lead < 0xc0:
		return 1
	case lead == 0xe0: // Devanagari, Bengali, Tamil, Thai
		return 3
	}
	return 2
}

// scan calls found for every combination in a reading, where it first stands. In an alien reading the short words don't count, nor
// those of scripts that it leaves as they are.
func (l *lexicon) scan(v view, spots []spot, alien bool, found func(id string, kind Kind, start, end int)) {
	hits, seen := l.hits(v.text, spots, alien)
	for i := range l.combinations {
		c := &l.combinations[i]
		if slices.ContainsFunc(c.needs, func(k int) bool { return !seen[k] }) {
			continue
		}
		if start, end, ok := c.in(hits); ok {
			found(c.id, c.kind, start, end)
		}
	}
}

func (l *lexicon) hits(text string, spots []spot, alien bool) (hits []conceptHit, seen []bool) {
	seen = make([]bool, len(l.concepts))
	first := 0
	for i, s := range spots {
		if i > 0 && spots[i-1].from < s.from {
			slices.Reverse(hits[first:]) // the longest first: a finding covers it
			if first = len(hits); first >= maxHits {
				break
			}
		}
		from := int(s.from)
		for _, w := range l.index.told[s.what].concepts {
			if alien && (!w.latin || int(s.to)-from < 4) {
				continue
			}
			if end, ok := w.at(text, from, int(s.to)); ok && !l.inVain(w.concept, text, from, end) {
				hits = append(hits, conceptHit{w.concept, from, end, width(text[from])})
				seen[w.concept] = true
			}
		}
	}
	slices.Reverse(hits[first:])
	return hits, seen
}

// inVain: a word for disregarding that is no order, or one that the words beside it make something else of.
func (l *lexicon) inVain(concept int, text string, from, to int) bool {
	if concept == l.drop && l.negated(text, from, to) {
		return true
	}
	return l.vain[concept] != nil && beginsWith(text[to:min(len(text), to+24)], l.vain[concept]) ||
		l.vainBehind[concept] != nil && endsWith(text[max(0, from-24):from], l.vainBehind[concept])
}

func beginsWith(text string, words []string) bool {
	text = strings.TrimLeft(text, " -_\n")
	return slices.ContainsFunc(words, func(word string) bool {
		rest, ok := strings.CutPrefix(text, word)
		return ok && (rest == "" || !wordByte(rest[0]) || word[0] >= utf8.RuneSelf)
	})
}

// endsWith reports whether text ends with one of words, blanks aside.
func endsWith(text string, words []string) bool {
	text = strings.TrimRight(text, " \n")
	return slices.ContainsFunc(words, func(word string) bool {
		rest, ok := strings.CutSuffix(text, word)
		return ok && (rest == "" || !wordByte(rest[len(rest)-1]) || word[0] >= utf8.RuneSelf)
	})
}

// at reports whether the word counts where it stands, from … to, and where its finding ends.
func (w *conceptWord) at(text string, from, to int) (end int, ok bool) {
	if w.bound != boundNone && from > 0 && w.goesOn(text[from-1]) {
		return 0, false
	}
	if w.clause && !clauseHead(text, from) {
		return 0, false
	}
	whole := to
	for whole < len(text) && w.goesOn(text[whole]) {
		whole++
	}
	if w.bound == boundStart { // the finding covers the word, not its stem
		return whole, true
	}
	return to, w.bound == boundNone || whole == to
}

// goesOn reports whether the word goes on with c. A Latin word ends where another script begins.
func (w *conceptWord) goesOn(c byte) bool {
	if w.latin {
		return asciiAlnum(rune(c))
	}
	return wordByte(c)
}

// clauseHead reports whether a clause begins at i: behind a sign of punctuation, or a word with which orders are joined or softened.
func clauseHead(text string, i int) bool {
	before := strings.TrimRight(text[max(0, i-24):i], " \n")
	if before == "" || !wordByte(before[len(before)-1]) && before[len(before)-1] != '\'' {
		return true
	}
	last := before[strings.LastIndexAny(before, " \n")+1:]
	return slices.Contains(orderly[:], last)
}

var orderly = [...]string{"please", "now", "and", "then", "just", "instead", "simply", "only", "kindly", "must", "y", "e", "et", "und", "ahora", "bitte", "и", "dan", "at"}

// negated: a word for not, or for somebody else, stands before, or an ending that says so behind.
func (l *lexicon) negated(text string, from, to int) bool {
	if endsWith(text[max(0, from-24):from], l.negators) {
		return true
	}
	after := text[to:min(len(text), to+24)]
	return slices.ContainsFunc(l.negatedAfter, func(ending string) bool { return strings.HasPrefix(after, ending) })
}

// in finds the first place where all that the combination needs lies within its reach.
func (c *combination) in(hits []conceptHit) (start, end int, ok bool) {
	for i, first := range hits {
		need := slices.Index(c.needs, first.concept)
		if need < 0 {
			continue
		}
		var met uint
		for _, next := range hits[i:] {
			if next.from-first.from > c.within*first.width {
				break
			}
			if k := slices.Index(c.needs, next.concept); k >= 0 {
				met |= 1 << k
				end = max(end, next.to)
			}
			if met == 1<<len(c.needs)-1 {
				return first.from, end, true
			}
		}
		end = 0
	}
	return 0, 0, false
}
