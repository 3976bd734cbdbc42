package screening

import "strings"

// phrases are words and rows of up to four words, looked for in a text that has one blank around each of its words. Phrases of
// scripts without blanks may stand inside a word.
type phrases struct {
	whole  map[string]bool
	inside []string
}

const longestPhrase = 4 // words

func newPhrases(list string) phrases {
	p := phrases{whole: map[string]bool{}}
	for phrase := range strings.SplitSeq(list, "|") {
		switch {
		case phrase == "":
		case unspaced([]rune(phrase)[0]):
			p.inside = append(p.inside, phrase)
		default:
			p.whole[phrase] = true
		}
	}
	return p
}

func (p phrases) in(text string) bool {
	for from := 1; from < len(text); {
		to := from
		for range longestPhrase {
			end := strings.IndexByte(text[to:], ' ')
			if end < 0 {
				break
			}
			if p.whole[text[from:to+end]] {
				return true
			}
			to += end + 1
		}
		next := strings.IndexByte(text[from:], ' ')
		if next < 0 {
			break
		}
		from += next + 1
	}
	if len(p.inside) == 0 || isASCII(text) {
		return false
	}
	for _, phrase := range p.inside {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
