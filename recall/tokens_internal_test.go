package recall

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The table of recall/1 never changes. As long as Go has the Unicode version that it was made from, the two are compared.
func TestCharactersAreThoseOfUnicode15(t *testing.T) {
	t.Parallel()
	digest := sha256.New()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		fmt.Fprintf(digest, "%t %d\n", letterOrDigit(r), lower(r))
		if unicode.Version == "15.0.0" && (letterOrDigit(r) != (unicode.IsLetter(r) || unicode.IsDigit(r)) || lower(r) != unicode.ToLower(r)) {
			t.Fatalf("%U: not as in Unicode 15.0.0", r)
		}
	}
	require.Equal(t, "c36449a742fa9da7b126a252ba713b41655a7186a1408868ce62b990383d690f", hex.EncodeToString(digest.Sum(nil)))
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                          nil,
		"Metric units, please!":     {"metric", "units", "please"},
		"it's 5°C – or 41 °F":       {"it", "s", "5", "c", "or", "41", "f"},
		"snake_case and kebab-case": {"snake", "case", "and", "kebab", "case"},
		"ÄRGER Straße ΣΊΣΥΦΟΣ İstanbul": {"ärger", "straße", "σίσυφοσ", "istanbul"},
		"日本語 テスト":                       {"日本語", "テスト"},
		"٣ ½ ²":                         {"٣"},
		"a\xffb\x00c":                   {"a", "b", "c"},
		"tea tea":                       {"tea", "tea"},
	} {
		require.Equal(t, want, Tokens(text), text)
	}
	require.Equal(t, []string{"日本語", "tea"}, LongTokens([]string{"日本語", "日本", "tea", "te", "é"}))
}

func TestJaccard(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ body, query, want string }{
		{"", "", "0.000000000"},
		{"green tea", "", "0.000000000"},
		{"", "green tea", "0.000000000"},
		{"green tea", "a, of, to", "0.000000000"},
		{"green tea", "Tea! GREEN", "1.000000000"},
		{"green tea green tea", "tea", "0.500000000"},
		{"prefers green tea", "green tea or coffee", "0.500000000"},
		{"one two three", "one four five six seven", "0.142857143"},
	} {
		require.Equal(t, c.want, string(Jaccard(c.body, c.query)), c.body)
	}
}

// The scorer of many bodies gives each what the sets say, whatever stands beside it.
func TestJaccardOfManyIsTheSetsOfEach(t *testing.T) {
	t.Parallel()
	texts := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"tea", "Tea", "green", "of", "units", "ÉTÉ", "été", "x1y", "-", "日本語"}), 0, 12).Draw(t, "words"), " ")
	})
	rapid.Check(t, func(t *rapid.T) {
		bodies, query := rapid.SliceOfN(texts, 0, 8).Draw(t, "bodies"), texts.Draw(t, "query")
		scores := jaccard(bodies, query)
		for i, body := range bodies {
			require.Equal(t, naiveJaccard(body, query), scores[i])
		}
	})
}

func tokenSet(text string) []string {
	tokens := Tokens(text)
	slices.Sort(tokens)
	return slices.Compact(tokens)
}

func naiveJaccard(body, query string) int64 {
	union, shared := map[string]bool{}, uint64(0)
	asked := map[string]bool{}
	for _, token := range LongTokens(tokenSet(query)) {
		union[token], asked[token] = true, true
	}
	for _, token := range LongTokens(tokenSet(body)) {
		union[token] = true
		if asked[token] {
			shared++
		}
	}
	if len(asked) == 0 {
		return 0
	}
	return ratio(shared, uint64(len(union)))
}

func FuzzTokens(f *testing.F) {
	f.Add("Metric units, İstanbul 日本語 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		tokens := Tokens(text)
		require.Equal(t, tokens, Tokens(strings.Join(tokens, " ")), "tokens are made of tokens")
		require.LessOrEqual(t, Jaccard(text, text), Jaccard("one", "one"))
	})
}
