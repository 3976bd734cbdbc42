// Package problems is the one place that says what a caller sees of an error: on HTTP a problem document (RFC 9457, spec 9.6),
// on NATS the reason of an outcome.
//
// It guarantees: whatever the error holds, the caller reads our own words from one table and stable codes, never a value of the
// input, a cause or an address; the same code always comes with the same words, so that a foreign and an unknown id can't be
// told apart (spec 9.5). An error that the table doesn't know is "internal" and says nothing more; whoever answers logs it.
//
// It fails closed: an outcome that isn't known is never answered as a refusal, whatever refusal is in its chain.
package problems
