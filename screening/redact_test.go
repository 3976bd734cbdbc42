package screening_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/screening"
)

func TestRedactNamesWhatItTakesOut(t *testing.T) {
	t.Parallel()
	screen := screening.New()
	const text = "Größe: write to ann@example.org, or call +49 30 901820."
	redacted, named := screening.Redact(text, screen.Scrub(text, screening.Known{}))
	require.Equal(t, "Größe: write to [email address], or call [phone number].", redacted)
	require.Len(t, named, 2)
	for _, leak := range named {
		require.Equal(t, "["+leak.Item.Words()+"]", string([]rune(redacted)[leak.Start:leak.End]))
	}
	require.Empty(t, screen.Scrub(redacted, screening.Known{}))

	same, none := screening.Redact("Check the units.", nil)
	require.Equal(t, "Check the units.", same)
	require.Empty(t, none)
}

// Whatever stands around them, nothing of what was found is left, and all the rest is.
func TestRedactLeavesTheRest(t *testing.T) {
	t.Parallel()
	screen := screening.New()
	rapid.Check(t, func(rt *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"units", "ann@example.org", "grün", "4111 1111 1111 1111", "before", "10.0.0.1"}), 1, 12).Draw(rt, "words")
		text := strings.Join(words, ", ")
		leaks := screen.Scrub(text, screening.Known{})
		redacted, named := screening.Redact(text, leaks)
		require.Len(rt, named, len(leaks))
		rest, kept := []rune(text), []rune(redacted)
		for i := len(leaks) - 1; i >= 0; i-- {
			rest = append(rest[:leaks[i].Start:leaks[i].Start], rest[leaks[i].End:]...)
			kept = append(kept[:named[i].Start:named[i].Start], kept[named[i].End:]...)
		}
		require.Equal(rt, string(rest), string(kept))
	})
}
