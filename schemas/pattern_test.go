package schemas

import (
	"encoding/json"
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// patterns are all that stand in the schemas, and some that are no chains but look like one.
func patterns(t *testing.T) []string {
	all := []string{`^a*b$`, `^[ab]{1,3}b$`, `^[ab]{2}[bc]{0,}$`, `^(?i)a$`, `^a|b$`, `a$`, `^a`, `^é{2}$`, `^[^a]{2}$`, `^ab{2}$`, `^$`, `(?m)^a$`, `^[a-c]{2,2}x[0-9]{1,}$`,
		`^(a|b[0-9]{2}|)x$`, `^(ab|ac)?[x-z]+$`, `^(a|b){2}$`, `^(a|[bc]{1,2})$`, `^(a|[bc]{1,2})d$`, `^a?b?c?$`, `^(a(b|c)|d)*$`, `^(?:a|b)[c]*$`, `^a??b$`, `^(|a)(|b)(|c)(|d)(|e)$`}
	require.NoError(t, fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := files.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range regexp.MustCompile(`"pattern": ("[^\n]*")`).FindAllStringSubmatch(string(data), -1) {
			var pattern string
			if err := json.Unmarshal([]byte(m[1]), &pattern); err != nil {
				return err
			}
			all = append(all, pattern)
		}
		return nil
	}))
	require.Greater(t, len(all), 40)
	return all
}

// TestChainsMatchAsRegexp holds the fast way to package regexp: on strings of the pattern, on strings of the pattern with one
// byte changed, and on any strings.
func TestChainsMatchAsRegexp(t *testing.T) {
	t.Parallel()
	all := patterns(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(all).Draw(t, "pattern")
		fast, err := compilePattern(text)
		require.NoError(t, err)
		slow := regexp.MustCompile(text)
		value := rapid.OneOf(rapid.StringMatching(strings.TrimPrefix(text, `(?m)`)), rapid.StringN(0, 40, 80), rapid.StringMatching(`[a-z0-9.\n-]{0,50}`)).Draw(t, "value")
		if cut := rapid.IntRange(-1, len(value)).Draw(t, "cut"); cut >= 0 {
			value = value[:cut] + rapid.SampledFrom([]string{"", "a", "-", "\n", "é", "\x00", "\xff"}).Draw(t, "with") + value[min(cut+1, len(value)):]
		}
		require.Equal(t, slow.MatchString(value), fast.MatchString(value), "%q", value)
		require.Equal(t, slow.MatchString(value), fast.(pattern).Match([]byte(value)), "%q", value)
	})
}

func TestWhatIsAChain(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		`^[0-9a-f]{8}-[0-9a-f]{4}$`: true, `^[A-Za-z0-9_-]{38,}$`: true, `^[a-z0-9][a-z0-9-]{0,62}$`: true,
		`^(a|b)?$`: true, `^memory/(individual|person)/[0-9a-f]{8}$`: true, `^(0|[1-9][0-9]{0,19})$`: true, `^[0-9]+$`: true,
		`^[a-z]{1,3}b$`: false, `[a-z]`: false, `^.$`: false, `^([a-z]{1,2}|x)b$`: false, `^(a|b)*$`: false, `^(|a)(|b)(|c)(|d)(|e)$`: false,
	} {
		re, err := compilePattern(pattern)
		require.NoError(t, err)
		_, is := re.(*chains)
		require.Equal(t, want, is, pattern)
	}
	_, err := compilePattern(`[`)
	require.Error(t, err)
}
