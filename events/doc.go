// Package events says what happened: the vocabulary of the domain, the event types, the envelope they travel in and the one
// codec that turns a commit into bytes and back. It decides nothing and stores nothing; events/log appends, loads and replays.
//
// A commit is one message: a CloudEvents 1.0 JSON batch of 1…n events of one aggregate, canonical by RFC 8785, on that
// aggregate's one literal subject (spec 9.2, 9.3). Personal text and personal labels stand only inside sealed fields, each with
// a salted commitment beside it; everything else is types, opaque ids, tiers, kinds, times and versions.
package events
