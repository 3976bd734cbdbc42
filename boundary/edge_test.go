package boundary_test

import (
	"bytes"
	"encoding/base64"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"iris.example/iris/boundary"
)

const someUUID = "0193c0de-7a1b-7c2d-8e3f-0123456789ab"

// hostile are ids that are refused wherever they come in.
func hostile() []string {
	return []string{
		"", " ", "*", ">", "a.b/c", "a*b", "a>", "a b", "a\tb", "a\r\nb", "a\n", "a\x00", "\xff", "-a", ".", "..", "../../x", "https://x",
		"a\u202eb", "a\u200bb", "\u0430cme", "acm\u00e9", "\uff41", strings.Repeat("a", 129), "%2e", "a,b", "a'b", `a"b`, "<script>", "a\\b",
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	checks := map[string]func(field, value string) error{
		"slug": boundary.Slug, "uuid": boundary.UUID, "token": boundary.SubjectToken, "handle": boundary.Handle,
	}
	for value, good := range map[string]string{ // value: the checks that accept it
		"acme":                                 "slug token handle",
		"a":                                    "slug token handle",
		"0-a-":                                 "slug token handle",
		strings.Repeat("a", 63):                "slug token handle",
		strings.Repeat("a", 64):                "handle",
		strings.Repeat("a", 128):               "handle",
		"in":                                   "handle",
		"out":                                  "handle",
		"inbox":                                "handle",
		"access":                               "handle",
		"org":                                  "handle",
		"fence":                                "handle",
		"sys":                                  "handle",
		"inn":                                  "slug token handle",
		"Acme":                                 "handle",
		"a.b":                                  "handle",
		"s-81:2_x.y":                           "handle",
		"a_b":                                  "handle",
		someUUID:                               "slug uuid token handle",
		strings.ToUpper(someUUID):              "handle",
		"{" + someUUID + "}":                   "",
		"urn:uuid:" + someUUID:                 "handle",
		strings.ReplaceAll(someUUID, "-", ""):  "slug token handle",
		"0193c0de7-a1b-7c2d-8e3f-0123456789ab": "slug token handle",
		"00000000-0000-0000-0000-000000000000": "slug handle",
		"ffffffff-ffff-ffff-ffff-ffffffffffff": "slug uuid token handle",
	} {
		for name, check := range checks {
			if err := check("/organizationId", value); strings.Contains(good, name) {
				require.NoError(t, err, "%s %q", name, value)
			} else {
				requireCode(t, boundary.InvalidID, err)
			}
		}
	}
	for _, value := range hostile() {
		for _, check := range checks {
			requireCode(t, boundary.InvalidID, check("id", value))
		}
	}
}

func TestIDErrorsNameTheFieldOnly(t *testing.T) {
	t.Parallel()
	err := boundary.Slug("/scope/sessionId", "Ann Lee")
	var refused *boundary.Error
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "/scope/sessionId", refused.Pointer)
	require.Contains(t, refused.Detail, "scope/sessionId")
	require.NotContains(t, err.Error(), "Lee")
	require.ErrorAs(t, boundary.UUID("id", "Ann Lee"), &refused)
	require.Empty(t, refused.Pointer)
}

func TestSubjectTokensStayOneToken(t *testing.T) {
	t.Parallel()
	pattern := regexp.MustCompile(`\A[a-z0-9][a-z0-9-]{0,62}\z`)
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z0-9.*>-]{0,66}`)).Draw(t, "value")
		if boundary.SubjectToken("id", value) == nil {
			require.Regexp(t, pattern, value)
		}
		if boundary.Handle("id", value) == nil {
			require.Regexp(t, `\A[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\z`, value)
		}
	})
}

func TestText(t *testing.T) {
	t.Parallel()
	got, err := boundary.Text("q", "cafe\u0301")
	require.NoError(t, err)
	require.Equal(t, "caf\u00e9", got)
	for _, bad := range []string{"a\x00", "\xff", "\xed\xa0\x80"} {
		_, err = boundary.Text("/q", bad)
		requireCode(t, boundary.InvalidText, err)
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{"": 50, "1": 1, "200": 200, "50": 50} {
		got, err := boundary.Limit(in)
		require.NoError(t, err, in)
		require.Equal(t, want, got)
	}
	for _, in := range []string{"-1", "0", "201", "1000000000", "99999999999999999999", "+5", "05", " 5", "5 ", "1e2", "5.0", "0x5", "٥", "all"} {
		_, err := boundary.Limit(in)
		requireCode(t, boundary.InvalidLimit, err)
	}
}

func cursors(t *testing.T, fill byte) boundary.Cursors {
	t.Helper()
	c, err := boundary.NewCursors(bytes.Repeat([]byte{fill}, 32))
	require.NoError(t, err)
	return c
}

func TestCursorsReturn(t *testing.T) {
	t.Parallel()
	c := cursors(t, 1)
	rapid.Check(t, func(t *rapid.T) {
		want := boundary.Cursor{
			Position: rapid.Uint64().Draw(t, "position"),
			ID:       rapid.StringN(0, 32, 128).Draw(t, "id"),
		}
		got, err := c.Decode("acme/memory", c.Encode("acme/memory", want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestForgedCursors(t *testing.T) {
	t.Parallel()
	c := cursors(t, 1)
	good := c.Encode("acme/memory", boundary.Cursor{Position: 1042, ID: someUUID})
	raw, err := base64.RawURLEncoding.DecodeString(good)
	require.NoError(t, err)
	for i := range len(raw) * 8 { // each bit
		flipped := bytes.Clone(raw)
		flipped[i/8] ^= 1 << (i % 8)
		_, err := c.Decode("acme/memory", base64.RawURLEncoding.EncodeToString(flipped))
		requireCode(t, boundary.InvalidCursor, err)
	}
	for _, bad := range []string{
		"", "a", "AQ", good[1:], good[:len(good)-1], good + "A", good + "=", good + "\n", good[:9] + "\r\n" + good[9:], "1042:" + someUUID,
		base64.RawURLEncoding.EncodeToString(raw[:len(raw)-16]), strings.Repeat("A", 10_000),
		c.Encode("acme/memory", boundary.Cursor{ID: strings.Repeat("a", 129)}),
	} {
		_, err := c.Decode("acme/memory", bad)
		requireCode(t, boundary.InvalidCursor, err)
	}
	for _, scope := range []string{"acme/proposals", "acme/memorz", "acme/memory\x01", ""} {
		_, err = c.Decode(scope, good)
		requireCode(t, boundary.InvalidCursor, err)
	}
	_, err = cursors(t, 2).Decode("acme/memory", good)
	requireCode(t, boundary.InvalidCursor, err)
}

func TestCursorsNeedAKey(t *testing.T) {
	t.Parallel()
	_, err := boundary.NewCursors(make([]byte, 31))
	require.Error(t, err)
	var none boundary.Cursors
	_, err = none.Decode("a", none.Encode("a", boundary.Cursor{Position: 1}))
	requireCode(t, boundary.InvalidCursor, err)
}

func FuzzCursor(f *testing.F) {
	c, err := boundary.NewCursors(make([]byte, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add("a", c.Encode("a", boundary.Cursor{Position: 7, ID: "b"}))
	f.Add("", "AQAAAA")
	f.Fuzz(func(t *testing.T, scope, s string) {
		if at, err := c.Decode(scope, s); err == nil {
			require.Equal(t, s, c.Encode(scope, at))
		}
	})
}
