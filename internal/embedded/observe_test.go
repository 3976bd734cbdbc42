package embedded_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"iris.example/iris/events"
	"iris.example/iris/internal/embedded"
	"iris.example/iris/metrics"
	"iris.example/iris/projections"
	"iris.example/iris/tracing/tracefile"
)

const observed = "zebrafinch-2b81aa"

// walk goes once through everything that counts: claims of each sort over NATS, an answer, recalls, a refusal, pages, bad input,
// with the canary in every text that a caller can write. It returns the ids that were handed out.
func (i *iris) walk() []string {
	i.t.Helper()
	p := i.producer()
	traced := func(id, body string) string {
		return strings.Replace(claim(id, body), `"datacontenttype"`, `"traceparent":"`+outside+`","datacontenttype"`, 1)
	}
	p.publish(traced("c-"+observed, "Calls the office "+observed+"."))
	heard := p.hears()
	require.Equal(i.t, "pending", heard["outcome"])
	p.publish(`{"id":"` + observed + `"}`)
	p.hears()
	p.publish(strings.Replace(claim("c-2", "Prefers tea."), "ada@acme", observed+"@acme", 1))
	p.hears()
	proposal := fmt.Sprint(heard["proposalId"])
	accepted := i.ask("member", "POST", "/v1/me/proposals/"+proposal+"/accept", "{}")
	require.Equal(i.t, 200, accepted.status, accepted.body)
	i.ask("member", "GET", "/v1/me/memory", "", "Iris-Wait", accepted.position)
	recalled := i.ask("assistant", "POST", "/v1/recall", strings.Replace(question, "tea or coffee", observed, 1), "traceparent", outside)
	require.Equal(i.t, 200, recalled.status, recalled.body)
	i.proves(recalled)
	require.Equal(i.t, 409, i.ask("member", "POST", "/v1/me/proposals/"+proposal+"/accept", "{}").status)
	// A surface of the caller's own invention is answered as shell is (spec 3.1).
	i.ask("assistant", "POST", "/v1/recall", strings.Replace(question, `"assistant","consumer"`, `"`+observed+`","consumer"`, 1))
	i.ask("member", "GET", "/v1/me/memory/"+observed, "")
	i.ask("member", "GET", "/v1/"+observed+"?"+observed+"=1", "")
	for _, path := range []string{"/memory", "/" + observed, "/static/" + observed} {
		response, err := http.Get(i.ready.HTTP + path)
		require.NoError(i.t, err)
		require.NoError(i.t, response.Body.Close())
	}
	return []string{proposal, fmt.Sprint(accepted.body["memoryId"]), fmt.Sprint(recalled.body["recallId"])}
}

const outside = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func (i *iris) scrape() string {
	i.t.Helper()
	response, err := http.Get(i.ready.HTTP + "/metrics")
	require.NoError(i.t, err)
	defer response.Body.Close()
	require.Equal(i.t, 200, response.StatusCode)
	require.Contains(i.t, response.Header.Get("Content-Type"), "text/plain; version=0.0.4")
	page, err := io.ReadAll(response.Body)
	require.NoError(i.t, err)
	return string(page)
}

// projected waits until every line of the organisation has come to the end of its stream.
func (i *iris) projected() {
	i.t.Helper()
	until(i.t, "every line stands at its stream's end", func() error {
		at := map[string]string{}
		for line := range strings.Lines(i.scrape()) {
			if found := sample.FindStringSubmatch(strings.TrimSpace(line)); found != nil {
				at[found[1]+" "+found[2]] = found[3]
			}
		}
		for _, line := range projections.Lines("acme") {
			head, position := at[`iris_stream_head stream="`+line.Stream+`"`], at[`iris_projection_position line="`+line.Name+`"`]
			if head == "" || head != position {
				return fmt.Errorf("%s stands at %q of %q", line.Name, position, head)
			}
		}
		return nil
	})
}

var (
	sample = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	label  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\]|\\.)*)"`)
	uuid   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}`)
)

// After a run of the whole every metric of the table is exposed, and no label of any is an id, a text, a category, a subject or a
// person.
func TestMetricsOfTheWhole(t *testing.T) {
	t.Parallel()
	i, _ := start(t, func(c *embedded.Config) { c.NoDemo = true })
	ids := i.walk()
	i.projected()
	page := i.scrape()
	for _, never := range append(ids, observed) {
		require.False(t, strings.Contains(page, never), "%s is on the page", never)
	}
	forbidden := []string{"ada", "ada@acme.example", "acme", "tea"}
	for _, category := range events.Categories() {
		forbidden = append(forbidden, string(category))
	}
	labels := map[string][]string{} // by metric, of its samples
	values := map[string]string{}
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		found := sample.FindStringSubmatch(line)
		require.NotNil(t, found, line)
		values[strings.TrimSuffix(line, " "+found[3])] = found[3]
		var names []string
		for _, l := range label.FindAllStringSubmatch(found[2], -1) {
			names = append(names, l[1])
			require.NotRegexp(t, uuid, l[2], line)
			require.NotContains(t, forbidden, l[2], line)
			require.NotContains(t, l[2], "iris.org.", line)
			require.NotContains(t, l[2], "@", line)
			require.Less(t, len(l[2]), 100, line)
		}
		labels[found[1]] = names
	}
	table := metrics.Table()
	for _, d := range table {
		name := d.Name
		if d.Kind == metrics.Histogram {
			name += "_count"
		}
		got, exposed := labels[name]
		require.True(t, exposed, "%s is not exposed", d.Name)
		require.ElementsMatch(t, d.Labels, got, d.Name)
	}
	for name := range labels {
		ours := slices.ContainsFunc(table, func(d metrics.Definition) bool {
			return name == d.Name || d.Kind == metrics.Histogram && strings.HasPrefix(name, d.Name+"_")
		})
		require.True(t, ours || !strings.HasPrefix(name, "iris_"), "%s is not in the table", name)
	}
	for series, want := range map[string]string{
		`iris_claims_total{code="",outcome="pending"}`:                                   "1",
		`iris_claims_total{code="not_found",outcome="rejected"}`:                         "1",
		`iris_claims_total{code="schema_violation",outcome="parked"}`:                    "1",
		`iris_refusals_total{aggregate="member",code="proposal_answered"}`:               "1",
		`iris_http_requests_total{method="POST",route="/v1/recall",status="200"}`:        "2",
		`iris_http_requests_total{method="GET",route="/v1/me/memory/{id}",status="400"}`: "1",
		`iris_recall_seconds_count{surface="assistant"}`:                                 "1",
		`iris_recall_seconds_count{surface="unlisted"}`:                                  "1",
		`iris_projection_following{line="IRIS_ACME"}`:                                    "1",
		`iris_projection_parked{line="IRIS_ACCESS_ACME"}`:                                "0",
		`iris_projection_missing_positions{line="IRIS_ACME"}`:                            "0",
		`iris_claim_oldest_seconds`:                                                      "0",
		`iris_ready{check="nats"}`:                                                       "1",
		`iris_ready{check="streams_of_acme"}`:                                            "1",
		`iris_scrape_unanswered{source="streams"}`:                                       "0",
		`iris_scrape_unanswered{source="standing"}`:                                      "0",
		`iris_scrape_unanswered{source="inbox"}`:                                         "0",
	} {
		require.Equal(t, want, values[series], series)
	}
	head, position := values[`iris_stream_head{stream="IRIS_ACME"}`], values[`iris_projection_position{line="IRIS_ACME"}`]
	require.NotEmpty(t, head)
	require.Equal(t, head, position, "everything that was waited for is visible")
}

// One claim over NATS is one trace, from its producer's span to the read models, and so is a recall. Nothing in a span is a text.
func TestOneTraceFromClaimToProjection(t *testing.T) {
	t.Parallel()
	var path string
	dir := directory(t)
	path = filepath.Join(dir, "traces.jsonl")
	instance, err := embedded.Start(context.Background(), embedded.Config{
		DataDir: filepath.Join(dir, "iris"), HTTP: "127.0.0.1:0", NATS: "127.0.0.1:0", UnsafeNoSync: true, NoDemo: true, TraceFile: path,
	})
	require.NoError(t, err)
	i := &iris{t, instance.Ready, dir}
	ids := i.walk()
	i.projected()
	require.NoError(t, instance.Stop(context.Background()))

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, never := range append(ids, observed, "ada@", "acme", "tea") {
		require.False(t, strings.Contains(string(content), never), "%s is in the traces", never)
	}
	byStep, bySpan := map[string][]tracefile.Line{}, map[string]tracefile.Line{}
	for scanner := bufio.NewScanner(strings.NewReader(string(content))); scanner.Scan(); {
		var l tracefile.Line
		require.NoError(t, json.Unmarshal(scanner.Bytes(), &l))
		for key, value := range l.Attributes {
			require.Contains(t, []string{"iris.types", "iris.aggregate", "iris.route", "iris.status", "iris.outcome", "iris.position", "iris.attempt"}, key)
			require.NotRegexp(t, uuid, fmt.Sprint(value))
		}
		require.Less(t, l.Took, time.Minute)
		bySpan[l.Span] = l
		if l.Trace == "4bf92f3577b34da6a3ce929d0e0e4736" {
			byStep[l.Step] = append(byStep[l.Step], l)
		}
	}
	require.Len(t, byStep["intake"], 1)
	require.Equal(t, "00f067aa0ba902b7", byStep["intake"][0].Parent, "the producer's span")
	require.Len(t, byStep["recall"], 1)
	require.Len(t, byStep["project"], 3, "the claim's commit, on the line of the lists and the line of the search, and the recall's envelope")
	ways := []string{}
	for _, project := range byStep["project"] {
		way := project.Step
		for at := bySpan[project.Parent]; at.Span != ""; at = bySpan[at.Parent] {
			way = at.Step + " → " + way
		}
		ways = append(ways, way)
	}
	require.ElementsMatch(t, []string{"intake → act → project", "intake → act → project", "http → recall → project"}, ways)
	for _, step := range []string{"decide", "append"} {
		require.NotEmpty(t, byStep[step], step)
		require.Contains(t, []string{"act", "recall"}, bySpan[byStep[step][0].Parent].Step, step)
	}
}
