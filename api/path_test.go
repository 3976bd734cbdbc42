package api

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every name in braces of the table is one that is checked, and a value can't be read as another name.
func TestEveryPartOfAPathIsChecked(t *testing.T) {
	t.Parallel()
	for _, route := range Routes() {
		require.Len(t, partsOf(route.Pattern), strings.Count(route.Pattern, "{"), route.Pattern)
	}
	for _, part := range pathParts() {
		for _, value := range []string{"", "{id}", "a/b", "a b", "Ann Lee", strings.Repeat("a", 129), "*", ">", "\u202e"} {
			require.Error(t, part.check(part.name, value), "%s: %q", part.name, value)
		}
	}
	require.Equal(t, "/v1/a/x/y", concrete("/v1/a/{role}/{program}", map[string]string{"role": "x", "program": "y"}))
}
