package recall

import (
	"unicode/utf8"

	"iris.example/iris/policy"
)

//go:generate go run ./unicodegen

// minTokenLength is how many characters a token has at least before recall/1 compares it (spec 3.2: more than two).
const minTokenLength = 3

// Tokens are the words of recall/1, in the order of the text, of every length and unstemmed: lower-cased, split on everything
// that is not a letter or a digit of Unicode 15.0. What was declined or recalled before is known again by these (spec 1.8).
func Tokens(text string) []string {
	var tokens []string
	each(text, func(token []byte, _ int) { tokens = append(tokens, string(token)) })
	return tokens
}

// LongTokens leaves out the tokens of one or two characters, which the scorers don't compare.
func LongTokens(tokens []string) []string {
	var long []string
	for _, token := range tokens {
		if utf8.RuneCountInString(token) >= minTokenLength {
			long = append(long, token)
		}
	}
	return long
}

// each gives every token with its length in characters; the bytes are good until the next one. A byte that is no UTF-8 splits.
func each(text string, give func(token []byte, characters int)) {
	var token []byte
	characters := 0
	for _, r := range text {
		if r = lower(r); letterOrDigit(r) {
			token = utf8.AppendRune(token, r)
			characters++
			continue
		}
		if characters > 0 {
			give(token, characters)
			token, characters = token[:0], 0
		}
	}
	if characters > 0 {
		give(token, characters)
	}
}

// Jaccard is |A∩B| / |A∪B| of the long token sets of an entry's text and a query, with nine digits; 0 without a query. It is
// the definition of the scorer and the public seam for one entry (spec 3.2, given).
func Jaccard(entryText, query string) policy.Decimal {
	return policy.FromUnits(jaccard([]string{entryText}, query)[0])
}

// word is one that occurs in the query or in a body.
type word struct {
	asked bool
	last  int // number of the last body that had it
}

// jaccard scores all bodies against one query. Every word is stored once for all of them.
func jaccard(bodies []string, query string) []int64 {
	scores := make([]int64, len(bodies))
	words := make(map[string]*word)
	for _, token := range LongTokens(Tokens(query)) {
		words[token] = &word{asked: true}
	}
	asked := len(words)
	if asked == 0 {
		return scores
	}
	for i, body := range bodies {
		distinct, shared := overlap(body, i+1, words)
		scores[i] = ratio(uint64(shared), uint64(distinct+asked-shared))
	}
	return scores
}

// overlap counts the distinct long words of a body, and those of them that were asked for.
func overlap(body string, number int, words map[string]*word) (distinct, shared int) {
	each(body, func(token []byte, characters int) {
		if characters < minTokenLength {
			return
		}
		w, known := words[string(token)]
		if !known {
			w = new(word)
			words[string(token)] = w
		}
		if w.last == number {
			return
		}
		w.last = number
		distinct++
		if w.asked {
			shared++
		}
	})
	return distinct, shared
}
