package screening

import (
	_ "embed"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

//go:embed testdata/scrub_benign.txt
var scrubBenign string

//go:embed testdata/scrub.json
var scrubStories []byte

var known = Known{
	Organisations: []string{"Acme Corp", "org-7f"}, Programs: []string{"default", "Blue Heron"}, Members: []string{"Ada Lovelace", "Zoë Müller", "Will Page"},
	Handles: []string{"@ada_l", "grace.hopper"}, MemberIDs: []string{"m-abc-1"}, Refs: []string{"case/4711"},
}

// marked reads a story: what stands in brackets is to be found.
func marked(story string) (text string, want []piece) {
	var b strings.Builder
	at, start := 0, 0
	for _, r := range strings.NewReplacer("[at]", "\x01at\x02").Replace(story) {
		switch r {
		case '[':
			start = at
			continue
		case ']':
			want = append(want, piece{start, at})
			continue
		case 1:
			r = '['
		case 2:
			r = ']'
		}
		b.WriteRune(r)
		at++
	}
	return b.String(), want
}

// One test per scrubber item (spec 1.7, 1.9).
func TestScrub(t *testing.T) {
	t.Parallel()
	var stories map[Item][]string
	require.NoError(t, json.Unmarshal(scrubStories, &stories))
	for _, item := range Items() {
		t.Run(string(item), func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, stories[item])
			for _, story := range stories[item] {
				text, want := marked(story)
				var places []piece
				for _, l := range shared().Scrub(text, known) {
					if l.Item == item {
						places = append(places, piece{l.Start, l.End})
					}
				}
				if len(places) == 0 || !covers(places, want) {
					t.Errorf("%s: %q: want %v, found %v", item, text, want, shared().Scrub(text, known))
				}
			}
		})
	}
}

func covers(found, want []piece) bool {
	for _, w := range want {
		ok := false
		for _, f := range found {
			ok = ok || f == w
		}
		if !ok {
			return false
		}
	}
	return true
}

func requireLeaks(t require.TestingT, text string, leaks []Leak) {
	cleaned, ok := clean(text)
	if !ok {
		require.Equal(t, []Leak{{Item: ItemInvalid}}, leaks)
		return
	}
	end := 0
	for _, l := range leaks {
		require.Contains(t, Items(), l.Item)
		require.True(t, end <= l.Start && l.Start < l.End && l.End <= utf8.RuneCountInString(cleaned), "%v after %d", l, end)
		end = l.End
	}
}

// Leaks lie in the text, in its order, and beside one another; cleaning first changes nothing.
func TestLeaksAreInRange(t *testing.T) {
	t.Parallel()
	var stories map[Item][]string
	require.NoError(t, json.Unmarshal(scrubStories, &stories))
	var pieces []string
	for _, item := range Items() {
		for _, story := range stories[item] {
			text, _ := marked(story)
			pieces = append(pieces, text)
		}
	}
	odd := rapid.StringOf(rapid.OneOf(rapid.SampledFrom([]rune("@.:/-+ ()0123456789abcxXYZ\n\u200b\u0301é٣木１")), rapid.Rune()))
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pieces), odd)).Draw(t, "text"), rapid.SampledFrom([]string{" ", "", "\n"}).Draw(t, "joint"))
		leaks := shared().Scrub(text, known)
		requireLeaks(t, text, leaks)
		if cleaned, ok := clean(text); ok {
			require.Equal(t, leaks, shared().Scrub(cleaned, known))
		}
	})
}

func TestNothingToScrub(t *testing.T) {
	t.Parallel()
	for _, text := range lines(scrubBenign) {
		require.Empty(t, shared().Scrub(text, known), text)
	}
	require.Equal(t, []Leak{{Item: ItemInvalid}}, shared().Scrub("a\x00", known))
	require.Empty(t, shared().Scrub("", known))
}

func FuzzScrub(f *testing.F) {
	var stories map[Item][]string
	require.NoError(f, json.Unmarshal(scrubStories, &stories))
	for _, all := range stories {
		for _, story := range all {
			f.Add(story)
		}
	}
	f.Fuzz(func(t *testing.T, text string) { requireLeaks(t, text, shared().Scrub(text, known)) })
}
