package screening

import (
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// A character that is called settled must be one that nothing strips, and that composes with nothing before it.
func TestSettledNeedsNothing(t *testing.T) {
	t.Parallel()
	for r := range rune(unicode.MaxRune + 1) {
		if unsettled(r) {
			continue
		}
		is := norm.NFC.PropertiesString(string(r))
		require.False(t, invisible(r) || lineBreak(r) || unicode.Is(unicode.M, r), "%U", r)
		require.True(t, is.BoundaryBefore() && norm.NFC.IsNormalString(string(r)), "%U", r)
	}
	require.False(t, unsettled('a') || unsettled('木') || unsettled('ж') || unsettled('ي'))
}

// Whether a text is looked at rune by rune or let through as a whole, it is cleaned the same.
func TestStrippedAnswersTheTextItselfOnlyWhereNothingGoes(t *testing.T) {
	t.Parallel()
	odd := rapid.SampledFrom([]rune("a \n\u200b\u202e\u0316\u0301\u094d\u093e\r\u2028é木ي"))
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOfN(odd, 0, 30).Draw(t, "text"))
		kept, marks := []rune{}, 0
		for i, r := range []rune(text) {
			if unicode.Is(unicode.M, r) {
				marks++
			} else if !invisible(r) || lineBreak(r) {
				marks = 0
			}
			switch {
			case lineBreak(r):
				if next := append([]rune(text), 0)[i+1]; r != '\r' || next != '\n' {
					kept = append(kept, '\n')
				}
			case !invisible(r) && marks <= maxMarks:
				kept = append(kept, r)
			}
		}
		require.Equal(t, string(kept), stripped(text))
	})
}
