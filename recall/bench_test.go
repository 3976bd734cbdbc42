package recall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"iris.example/iris/events"
	"iris.example/iris/policy"
	"iris.example/iris/recall"
)

// A thousand memories of some thirty words and a question: the budget is 10 ms.
func BenchmarkResolveThousand(b *testing.B) {
	words := strings.Fields("the table should use metric units and show the median beside the mean with notes on sampling for reviewers who read drafts late at night in green ink over tea")
	list := make([]recall.Candidate, 1000)
	for i := range list {
		list[i] = memory(events.ID(fmt.Sprintf("m%04d", i)))
		list[i].Subject = fmt.Sprintf("subject %d", i%900)
		list[i].ScopeKey = list[i].Scope.Key(member)
		list[i].UpdatedAt = noon().Plus(-time.Duration(i*97) * time.Minute)
		list[i].Body = strings.Join(words[i%7:], " ") + fmt.Sprintf(" item%d of batch%d", i, i%31)
	}
	q, p := request(), policy.Default()
	q.Query = "which units should the table use for reviewers?"
	b.ReportAllocs()
	for b.Loop() {
		recall.Resolve(list, q, p, noon())
	}
}
