package screening

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed scrub.json
var scrubJSON []byte

// vocabulary is scrub.json, folded as pages are: the words by which the scrubber tells one number from another.
type vocabulary struct {
	numerals []numeral
	papers   []paper

	phoneBefore, phoneAfter, notPhone phrases
	programWords, livesAt, bornInside phrases

	topLevel, topLevelOrFile, files, states map[string]bool
	is, ordinary, user                      map[string]bool
	secrets                                 map[string]bool
	born, months, datePart                  map[string]bool
	currencies, magnitudes                  map[string]bool
	streetAfter, streetBefore, particle     map[string]bool
	box, boxHead, boxAlone, zip, codeWord   map[string]bool
	streetEnds                              []string
	roots                                   []string
	prefixes                                []tokenPrefix
}

// tokenPrefix is how a maker's tokens begin, and how many signs follow at least.
type tokenPrefix struct {
	Head string `json:"head"`
	Rest int    `json:"rest"`
}

func newVocabulary(data []byte, f *folder) (*vocabulary, error) {
	var doc struct {
		Words    map[string]string `json:"words"`   // separated by bars
		Exactly  map[string]string `json:"exactly"` // the same, compared as they stand
		Prefixes []tokenPrefix     `json:"prefixes"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("read the scrubber's words: %w", err)
	}
	v := &vocabulary{prefixes: doc.Prefixes}
	for name, list := range map[string]*phrases{
		"phoneBefore": &v.phoneBefore, "phoneAfter": &v.phoneAfter, "notPhone": &v.notPhone, "programWords": &v.programWords, "livesAt": &v.livesAt,
		"bornInside": &v.bornInside,
	} {
		if doc.Words[name] == "" {
			return nil, fmt.Errorf("read the scrubber's words: no %s", name)
		}
		*list = newPhrases(f.words(doc.Words[name]))
	}
	for name, set := range map[string]*map[string]bool{
		"is": &v.is, "ordinary": &v.ordinary, "user": &v.user, "secrets": &v.secrets, "born": &v.born, "months": &v.months, "datePart": &v.datePart,
		"currencies": &v.currencies, "magnitudes": &v.magnitudes, "streetAfter": &v.streetAfter, "streetBefore": &v.streetBefore, "particle": &v.particle,
		"box": &v.box, "boxHead": &v.boxHead, "boxAlone": &v.boxAlone, "zip": &v.zip, "codeWord": &v.codeWord,
	} {
		if *set = setOf(f.words(doc.Words[name])); len(*set) == 0 {
			return nil, fmt.Errorf("read the scrubber's words: no %s", name)
		}
	}
	for name, set := range map[string]*map[string]bool{
		"topLevel": &v.topLevel, "topLevelOrFile": &v.topLevelOrFile, "files": &v.files, "states": &v.states,
	} {
		if *set = setOf(doc.Exactly[name]); len(*set) == 0 {
			return nil, fmt.Errorf("read the scrubber's words: no %s", name)
		}
	}
	v.roots = strings.Split(doc.Exactly["roots"], "|")
	v.streetEnds = strings.Split(f.words(doc.Words["streetEnds"]), "|")
	for _, n := range numerals {
		n.near = newPhrases(f.words(n.words))
		v.numerals = append(v.numerals, n)
	}
	for _, k := range papers {
		k.near = newPhrases(f.words(k.words))
		v.papers = append(v.papers, k)
	}
	return v, nil
}

// words folds words with bars between as a page folds its text.
func (f *folder) words(list string) string {
	folded := []rune(list)
	for i, r := range folded {
		folded[i] = f.single(plainSign(r))
	}
	return string(folded)
}

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.SplitSeq(list, "|") {
		if word != "" {
			set[word] = true
		}
	}
	return set
}

// streetEnding: Koskikatu, Hauptstraße; the ending alone is no name.
func (v *vocabulary) streetEnding(word string) bool {
	for _, end := range v.streetEnds {
		if strings.HasSuffix(word, end) && len(word) >= len(end)+2 {
			return true
		}
	}
	return false
}

// secretNamed says how many words from word i on name a secret, 0 if they don't, and whether an ordinary word may be one.
func (v *vocabulary) secretNamed(p *page, i int) (length int, strong bool) {
	word := p.text(p.words[i])
	if i+1 < len(p.words) && v.secrets[word+" "+p.text(p.words[i+1])] {
		return 2, true
	}
	if v.secrets[word] {
		return 1, true
	}
	return 0, false
}
