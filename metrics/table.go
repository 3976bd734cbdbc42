package metrics

// Kind is how a metric behaves.
type Kind string

const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram" // in seconds
)

// Definition is one row of the table: everything that is exposed under our own names stands here, and nothing else.
type Definition struct {
	Name   string
	Kind   Kind
	Labels []string
	Help   string
	Alarm  *Alarm // nil: to look at, not to be woken by
}

// Alarm is a row of the runbook.
type Alarm struct {
	When string // an expression, as Prometheus reads it
	Why  string
	Do   string
}

const (
	commands      = "iris_commands_total"
	commits       = "iris_commits_total"
	conflicts     = "iris_commit_conflicts_total"
	ambiguous     = "iris_commit_ambiguous_total"
	commitSeconds = "iris_commit_seconds"
	refusals      = "iris_refusals_total"

	snapshotsTotal = "iris_snapshots_total"

	published      = "iris_published_messages_total"
	publishSeconds = "iris_publish_seconds"

	recallsTotal  = "iris_recalls_total"
	recallSeconds = "iris_recall_seconds"

	claimsTotal = "iris_claims_total"

	claimsParked = "iris_claims_parked_total"
	claimSeconds = "iris_claim_seconds"
	claimOldest  = "iris_claim_oldest_seconds"

	httpRequests = "iris_http_requests_total"
	httpSeconds  = "iris_http_seconds"
	httpProblems = "iris_http_problems_total"

	streamHead   = "iris_stream_head"
	linePosition = "iris_projection_position"
	lineFollows  = "iris_projection_following"
	lineLag      = "iris_projection_lag_positions"
	lineLate     = "iris_projection_lag_seconds"
	lineCommits  = "iris_projection_commits_total"
	lineParked   = "iris_projection_parked"
	lineMissing  = "iris_projection_missing_positions"
	outdated     = "iris_read_models_outdated"

	ready       = "iris_ready"
	unanswered  = "iris_scrape_unanswered"
	information = "iris_build_info"
)

// Table is every metric of ours, in the order of the documentation. No label is an id, a text, a category or a subject, and none
// names a person: aggregate is a kind, code one of the codes that a caller can be told, line and stream one per organisation.
func Table() []Definition {
	return []Definition{
		{Name: commits, Kind: Counter, Labels: []string{"aggregate"}, Help: "Commits stored, by kind of aggregate."},
		{Name: commands, Kind: Counter, Labels: []string{"aggregate", "result"},
			Help: "Commands, by what became of them: committed, unchanged, repeated, refused, unknown, unavailable, failed.",
			Alarm: &Alarm{`increase(iris_commands_total{result="unknown"}[10m]) > 0`,
				"The broker took an append and never said what became of it, five times in a row.",
				"Callers repeat with the same Idempotency-Key and lose nothing. Look at `iris_publish_seconds` and at the broker's disk."}},
		{Name: conflicts, Kind: Counter, Labels: []string{"aggregate"}, Help: "Appends refused because another writer was first; each was decided again."},
		{Name: ambiguous, Kind: Counter, Labels: []string{"aggregate"}, Help: "Appends without an answer; each was looked for on the stream.",
			Alarm: &Alarm{"rate(iris_commit_ambiguous_total[5m]) > 0.1", "Appends time out: the broker is slow, gone, or without a leader.",
				"See `iris_ready`. Nothing is doubled or lost by it; if it lasts, restart the broker node that doesn't answer."}},
		{Name: commitSeconds, Kind: Histogram, Labels: []string{"aggregate"}, Help: "From a command's arrival at its aggregate to the synced commit.",
			Alarm: &Alarm{"histogram_quantile(0.99, rate(iris_commit_seconds_bucket[5m])) > 0.5", "Deciding is microseconds, so the time is the broker's sync or the vault's.",
				"Compare `iris_publish_seconds`. If that is fine, look at the vault's PostgreSQL; a member's very first load after a start may be long."}},
		{Name: refusals, Kind: Counter, Labels: []string{"aggregate", "code"}, Help: "Refusals decided by an aggregate, by code."},

		{Name: snapshotsTotal, Kind: Counter, Labels: []string{"aggregate", "result"},
			Help: "Snapshots of folded books, by what became of them: used, saved, failed, unreadable, mismatch.",
			Alarm: &Alarm{`increase(iris_snapshots_total{result="mismatch"}[1h]) > 0`,
				"A snapshot isn't of the stream beside it: one of the two was put back to an older copy, or changed. It was dropped and the book folded from its first event.",
				"No answer is wrong by it. Find out who restored what: if nobody did, compare the streams with their backup (see [above](#a-stream-that-isnt-what-it-was))."}},

		{Name: published, Kind: Counter, Labels: []string{"to", "result"},
			Help: "Messages published, to ledger, access, fence or inbox, by result: stored, conflict, ambiguous, refused."},
		{Name: publishSeconds, Kind: Histogram, Labels: []string{"to"}, Help: "From publishing to the broker's synced acknowledgement; a batch counts once.",
			Alarm: &Alarm{"histogram_quantile(0.99, rate(iris_publish_seconds_bucket[5m])) > 0.25", "The disk under the streams takes its time to sync.",
				"Move the streams to a faster disk, or what else writes there away. Never switch `sync_interval: always` off."}},

		{Name: recallsTotal, Kind: Counter, Labels: []string{"surface", "severity"}, Help: "Recalls answered, by surface and severity."},
		{Name: recallSeconds, Kind: Histogram, Labels: []string{"surface"}, Help: "From a recall's ask to its recorded answer.",
			Alarm: &Alarm{"histogram_quantile(0.99, rate(iris_recall_seconds_bucket[5m])) > 0.5", "The heads, the fold or the envelope's sync is slow.",
				"See `iris_publish_seconds{to=\"access\"}`. A recall that can't record its envelope in time refuses; nobody is answered without one."}},

		{Name: claimsTotal, Kind: Counter, Labels: []string{"outcome", "code"},
			Help: "Claims taken from the inbox, by outcome (pending, suppressed, rejected, duplicate, kept, kept-existing, parked, again) and the code of its reason."},
		{Name: claimsParked, Kind: Counter, Help: "Claims that were parked because they couldn't be read.",
			Alarm: &Alarm{`increase(iris_claims_parked_total[1h]) > 0`, "A producer sends what can't be read, or seals to another key.",
				"`iris parked list` names producer and code. Let the producer fetch `/v1/intake-key` and send again; then retry or discard within 14 days."}},
		{Name: claimSeconds, Kind: Histogram, Help: "From received (durable in the inbox) to settled: recorded on the organisation's stream, parked or refused."},
		{Name: claimOldest, Kind: Gauge, Help: "How long the oldest claim that is received and not settled has waited.",
			Alarm: &Alarm{"iris_claim_oldest_seconds > 300", "Intake doesn't keep up, or doesn't run. After an hour `/readyz` turns red; after a day the inbox drops what it holds.",
				"Look for `claim not recorded` in the log: its code names the store that doesn't answer. Otherwise start more intake workers."}},

		{Name: httpRequests, Kind: Counter, Labels: []string{"method", "route", "status"}, Help: "Requests to API and pages, by the pattern of the route.",
			Alarm: &Alarm{`sum(rate(iris_http_requests_total{status=~"5.."}[5m])) / sum(rate(iris_http_requests_total[5m])) > 0.01`,
				"More than one request in a hundred fails here, not at the caller.",
				"`iris_http_problems_total` says with which codes; each code stands in the alarms above or is `internal`, which is a fault to report."}},
		{Name: httpSeconds, Kind: Histogram, Labels: []string{"route"}, Help: "How long requests took, by the pattern of the route."},
		{Name: httpProblems, Kind: Counter, Labels: []string{"code"}, Help: "Problems that the API answered, by code.",
			Alarm: &Alarm{`increase(iris_http_problems_total{code="internal"}[10m]) > 0`, "Something happened that no rule foresees.",
				"The log has it under the request id of the header `Iris-Request`. Report it."}},

		{Name: streamHead, Kind: Gauge, Labels: []string{"stream"}, Help: "The last position of a stream.",
			Alarm: &Alarm{"delta(iris_stream_head[10m]) < 0", "A stream became shorter: something that was acknowledged is gone.",
				"Stop writing. Restore the streams from the newest backup and compare; nothing here shortens a stream."}},
		{Name: linePosition, Kind: Gauge, Labels: []string{"line"}, Help: "How far a projection line has come."},
		{Name: lineFollows, Kind: Gauge, Labels: []string{"line"}, Help: "1 while a projection line follows its stream, 0 while it retries or is stopped.",
			Alarm: &Alarm{"iris_projection_following == 0", "The read models' database doesn't answer, or a commit stopped the line.",
				"`/readyz` and the log name the position. Recall and answers go on. Start the database, or keep the stream and report the commit."}},
		{Name: lineLag, Kind: Gauge, Labels: []string{"line"}, Help: "Positions between a projection line and its stream's head.",
			Alarm: &Alarm{"iris_projection_lag_positions > 10000", "The projector is slower than who writes.", "It catches up by itself in batches of 500. If it doesn't, look at the database's disk."}},
		{Name: lineLate, Kind: Gauge, Labels: []string{"line"}, Help: "How long the first commit that is recorded and not visible has stood on the stream.",
			Alarm: &Alarm{"iris_projection_lag_seconds > 30", "What was answered isn't visible: lists are old, reads with `Iris-Wait` answer 503 `projection_behind`.",
				"See `iris_projection_following`. Nothing is lost meanwhile."}},
		{Name: lineCommits, Kind: Counter, Labels: []string{"line"}, Help: "Commits that a projection line has applied since it began."},
		{Name: lineParked, Kind: Gauge, Labels: []string{"line"}, Help: "Commits that a projection line has set aside.",
			Alarm: &Alarm{"iris_projection_parked > 0", "A commit couldn't be applied; its aggregate's later ones wait behind it.",
				"`iris parked commits` shows position and code. Retry after the repair, or discard with a reason."}},
		{Name: lineMissing, Kind: Gauge, Labels: []string{"line"}, Help: "Positions that were missing on the stream when a line passed them.",
			Alarm: &Alarm{"iris_projection_missing_positions > 0", "Messages are gone from a stream that deletes nothing: a damaged block, or somebody with a hand in the store.",
				"Stop writing to the organisation, restore the stream from a backup, rebuild the read models and compare."}},
		{Name: outdated, Kind: Gauge, Help: "1 while what is read was filled before an update that brought it something which past events fill.",
			Alarm: &Alarm{"iris_read_models_outdated == 1", "Lists lack what the update brought, for everything recorded before it.",
				"`iris rebuild`, once no older process runs; nobody waits for it. `iris up` begins it by itself, and the log says why it ended otherwise."}},

		{Name: ready, Kind: Gauge, Labels: []string{"check"}, Help: "1 where a check of /readyz is well, else 0.",
			Alarm: &Alarm{"iris_ready == 0", "A part that this process needs doesn't answer.", "The log says `not ready` with the check and its cause."}},
		{Name: unanswered, Kind: Gauge, Labels: []string{"source"}, Help: "1 where a source of this page didn't answer in time, so that its metrics are missing: streams, standing, edition, inbox.",
			Alarm: &Alarm{"iris_scrape_unanswered == 1", "The broker or the read models' database doesn't answer the process that is scraped.", "See `iris_ready`. A gauge that is missing is not a gauge that is well."}},
		{Name: information, Kind: Gauge, Labels: []string{"version"}, Help: "Always 1; which version runs."},
	}
}
