// Package boundary says what may come in: the JSON bodies, ids, list limits and
// cursors that HTTP, NATS, MCP and the command line hand us.
//
// It guarantees, of whatever it accepts:
//
//   - JSON is one value, with no duplicate key at any depth, no NUL, no lone
//     surrogate, no invalid UTF-8, no number beyond 2^53 or outside float64, at
//     most 64 levels deep and at most one MiB long (spec 9.3);
//   - a decoded body has only the fields of its struct, matched to the letter;
//   - an id that becomes a subject token is a slug that is not reserved, or a
//     UUID in lower case (spec 9.2).
//
// PostgreSQL refuses most of the first list only when a row is written, long
// after the fact was accepted; an event that no projector can apply must
// therefore be refused here.
//
// It fails with an [*Error] that carries a stable code and never quotes a
// value of the input; errors.Is(err, [ErrRefused]) holds for every one. Any
// other error is the caller's mistake (a target that can't be decoded into) or
// a reader that broke, and must not be answered as bad input.
//
// The package is pure: no clock, no network, no state.
package boundary
