package metrics_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"iris.example/iris/metrics"
)

// The documentation has the table as it is. go generate ./metrics writes it.
func TestTheDocumentationIsTheTable(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/operations.md")
	require.NoError(t, err)
	want, err := metrics.Replace(string(text))
	require.NoError(t, err)
	require.Equal(t, want, string(text))
	_, err = metrics.Replace("no section")
	require.Error(t, err)
}

// Every row says what it is, counters are named as counters, and an alarm names a metric that is there.
func TestTheTable(t *testing.T) {
	t.Parallel()
	name := regexp.MustCompile(`^iris_[a-z_]+$`)
	named := regexp.MustCompile(`iris_[a-z_]+`)
	all := map[string]metrics.Definition{}
	for _, d := range metrics.Table() {
		require.Regexp(t, name, d.Name)
		require.NotContains(t, all, d.Name)
		all[d.Name] = d
		require.True(t, strings.HasSuffix(d.Help, "."), d.Name)
		require.Equal(t, d.Kind == metrics.Counter, strings.HasSuffix(d.Name, "_total"), d.Name)
		require.True(t, d.Kind != metrics.Histogram || strings.HasSuffix(d.Name, "_seconds"), d.Name)
		for _, label := range d.Labels {
			require.NotContains(t, []string{"member", "subject", "principal", "organisation", "id", "producer", "client"}, label, "no metric per person")
		}
	}
	for _, d := range all {
		if d.Alarm == nil {
			continue
		}
		require.NotEmpty(t, d.Alarm.Why, d.Name)
		require.NotEmpty(t, d.Alarm.Do, d.Name)
		for _, used := range named.FindAllString(d.Alarm.When, -1) {
			used = strings.TrimSuffix(used, "_bucket")
			require.Contains(t, all, used, "alarm of %s", d.Name)
		}
	}
}

// A counter that appears with its first event has no increase in Prometheus's eyes: what an alarm counts stands at zero from the
// start.
func TestWhatAnAlarmCountsStandsAtZero(t *testing.T) {
	t.Parallel()
	counted := regexp.MustCompile(`increase\((iris_[a-z_]+)(?:\{([a-z]+="[a-z]+")\})?\[`)
	_, text, err := metrics.New("test").Write()
	require.NoError(t, err)
	found := 0
	for _, d := range metrics.Table() {
		if d.Alarm == nil {
			continue
		}
		for _, c := range counted.FindAllStringSubmatch(d.Alarm.When, -1) {
			found++
			require.Regexp(t, `\n`+c[1]+`(\{.*`+c[2]+`.*\})? 0\n`, string(text))
		}
	}
	require.Equal(t, 4, found)
}
