package web_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
)

func TestAMemoryIsFoundByTierAndState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	used := b.remember("ann", "Prefers metric units.", events.CategoryPreference)
	paused := b.remember("ann", "Drinks tea.", events.CategoryPreference)
	b.pause("ann", paused)
	v := b.signedIn("ann")
	for path, shows := range map[string][]events.ID{
		"/memory":                              {used, paused},
		"/memory?state=active":                 {used},
		"/memory?state=paused":                 {paused},
		"/memory?state=superseded":             {},
		"/memory?state=draft":                  {used, paused}, // no state that can be asked for
		"/memory?tier=individual&state=active": {used},
		"/memory?tier=person":                  {},
	} {
		page := v.get(path)
		for _, id := range []events.ID{used, paused} {
			if slices.Contains(shows, id) {
				require.NotEmpty(t, page.words(id), path)
			} else {
				require.NotContains(t, page.body, `id="m-`+string(id), path)
			}
		}
	}

	// A filter keeps the others, and can be taken off alone.
	page := v.get("/memory?tier=individual&state=active")
	require.Contains(t, page.body, `href="/memory?program=atlas&amp;state=active&amp;tier=individual"`)
	require.Contains(t, page.body, `<a href="/memory?state=active&amp;tier=individual" aria-current="true">In use</a>`)
	require.Contains(t, page.body, `<a href="/memory?tier=individual">Show all</a>`)
	require.Contains(t, page.body, `<input type="hidden" name="state" value="active">`)
}
