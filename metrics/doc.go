// Package metrics is what /metrics shows: one table of names, help texts and labels, the observers that the rooms call, and the
// sources that are asked at each scrape (spec 9.6, "Operations").
//
// It guarantees: nothing is exposed that the table doesn't have, beside the runtime's own go_ and process_ metrics; every counter
// with a closed set of labels stands at zero from the start, so that an alarm on it has something to compare; no label value is
// made from what a caller or producer wrote. A value that isn't one of ours is counted as "unlisted".
//
// It fails soft: a source that doesn't answer a scrape within two seconds leaves its gauges out, and iris_scrape_unanswered
// says so. Every observer may be called on a nil *Metrics.
package metrics
