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

// What was looked for stands under the search, not under a list of all filters; and a search that finds little never reads as if that
// were all that is remembered.
func TestASearchShowsWhatItFoundAndSaysThatItLeftOutTheRest(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	b.consent("ann", "grant", events.PurposeDataProcessing, events.PurposeDataStorage)
	b.remember("ann", "Prefers metric units.", events.CategoryPreference)
	b.remember("ann", "Drinks tea.", events.CategoryPreference)
	v := b.signedIn("ann")
	for path, shows := range map[string]struct {
		has   []string
		hasNo []string
	}{
		"/memory":                      {[]string{`<p class="counts">2 memories, 0 waiting for your decision</p>`, "<summary>Filter</summary>"}, []string{"Show everything"}},
		"/memory?q=tea":                {[]string{"1 memory matches what you asked to see", `<a href="/memory">Show everything</a>`}, []string{"Nothing matches"}},
		"/memory?q=coffee":             {[]string{"0 memories match what you asked to see", "Nothing matches", `<a href="/memory">Show everything</a>`}, []string{"0 memories<"}},
		"/memory?q=%2B":                {[]string{"Nothing was searched."}, []string{`class="counts"`}},
		"/memory?state=active":         {[]string{"2 memories match what you asked to see", "<summary>Filter: In use</summary>"}, nil},
		"/memory?show=forgotten&q=tea": {[]string{`<a href="/memory?show=forgotten">Show everything</a>`}, []string{`<a href="/memory">Show everything</a>`}},
	} {
		page := v.get(path)
		require.NotContains(t, page.body, `class="filters" open`, path)
		for _, part := range shows.has {
			require.Contains(t, page.body, part, path)
		}
		for _, part := range shows.hasNo {
			require.NotContains(t, page.body, part, path)
		}
	}
}

// A wrong choice is marked where it is made, in the form that has it.
func TestAFieldThatIsWrongIsMarked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.member("ann")
	v := b.signedIn("ann")
	form := v.get("/memory/new").form(t, "/memory")
	form.Set("answer", "remember")
	form.Set("body", "Rides to work.")
	form.Set("kind", "preference")
	page := v.post("/memory", form)
	require.Equal(t, 422, page.status)
	require.Contains(t, page.body, `<select id="category" name="category" aria-invalid="true">`)
	require.Contains(t, page.body, "Rides to work.", "nothing that was typed is lost")
}
