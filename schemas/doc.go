// Package schemas is the contract: one JSON Schema (2020-12) per event type and version, the envelope of a commit, what a
// producer claims, what it hears of it and what requests say, with examples that are accepted and examples that are refused.
//
// The files lead, the Go structs follow; the tests hold them together in both directions. A sealed field stands here as it
// stands on the wire: key, box, commitment. What is inside a box, no schema sees.
//
// A file in events/ that was published never changes (spec 9.3): lock.json holds its hash, and a change is another version
// with an upcaster. The exception is events/envelope.schema.json, which like claims/, outcomes/, api/ and
// vocabulary.schema.json may grow but never narrow (spec 10): for those the lock keeps every valid example, which must stay
// valid, and package growth compares them with the forms that were last released.
//
// tools/ has the tools for assistants, each with the schema of its arguments and its answer, and the toolsets of harnesses. The
// lock keeps the valid examples of arguments; package growth doesn't read these files.
//
// A document that breaks its schema is a *Refusal: errors.Is ErrViolation, and a list of pointers and stable codes that quotes
// no value of the document. What the schemas can't say is judged elsewhere: duplicate keys, NUL, surrogates and the size of
// numbers by package boundary, lengths in normal form by the domain.
package schemas
