package recall

import (
	"fmt"
	"strings"

	"iris.example/iris/events"
)

// rationale says in one plain sentence why the entry stands where it stands. It is made from the ranker's numbers alone: no
// word of the body, the subject, the category or the query.
func (r *run) rationale(e *ranked) string {
	parts := []string{
		originPhrase(e.Origin),
		agePhrase(wholeMinutes(e.UpdatedAt.Time, r.now.Time) / (24 * 60)),
		r.semanticPhrase(e.semantic),
		usePhrase(e.ReferenceCount),
	}
	return strings.Join(parts, ", ") + "."
}

func originPhrase(origin events.Origin) string {
	switch origin {
	case events.OriginUserStated:
		return "Stated by the member"
	case events.OriginUserConfirmed:
		return "Confirmed by the member"
	case events.OriginImported:
		return "Imported by the member"
	case events.OriginSummarizedFromSession:
		return "Summed up from a session"
	case events.OriginModelInferred:
		return "Inferred by an assistant"
	case events.OriginOperatorCopilot:
		return "Noted by an operator's copilot"
	}
	return "Of unknown origin"
}

func agePhrase(days uint64) string {
	switch days {
	case 0:
		return "last changed within a day"
	case 1:
		return "last changed a day ago"
	}
	return fmt.Sprintf("last changed %d days ago", days)
}

func (r *run) semanticPhrase(semantic int64) string {
	switch {
	case r.request.Query == "":
		return "asked without a question"
	case semantic == 0:
		return "shares no word with the question"
	}
	return "shares words with the question"
}

func usePhrase(count int) string {
	switch {
	case count <= 0:
		return "not used before"
	case count == 1:
		return "used once before"
	}
	return fmt.Sprintf("used %d times before", count)
}
