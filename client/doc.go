// Package client is what a producer uses to claim that something be remembered: it publishes to the producer's own inbox over NATS,
// seals the words to the organisation's intake key by default, and hears what became of them (spec 9.2, 10.1).
//
// It guarantees: a Receipt means that the claim is durable in the inbox; until then nothing is lost, because the caller still has
// it. Whatever is in doubt (no answer, a broken connection, a full inbox) is sent again under the same id, which makes one claim of
// it however often it arrives. It fails closed: without an intake key, or Plain said out loud, nothing is published.
//
// It knows nothing of the rest of Iris: anyone may import it.
package client
