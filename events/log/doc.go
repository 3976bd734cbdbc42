// Package log appends commits to an organisation's stream, loads an aggregate back and follows a stream: the one place that
// knows NATS JetStream's ledger side (spec 9.2).
//
// It guarantees:
//   - one literal subject per aggregate, one message per commit, and every commit appended under the expected last sequence of
//     that subject; no wildcard, no message id, nothing that leans on the broker's duplicate window;
//   - a returned sequence is stored (and synced, when the server runs sync_interval: always: the server's setting, not ours);
//   - a fence is stored only while the aggregate's head is the one named, on one node and on three (spec 2.2);
//   - the head comes from the leader, and a load ends exactly at the head that was asked for, or fails. Only where no stream can have a
//     replica, by our configuration and by the server's own account, is a direct get as good: the leader is all there is (spec 9.2);
//   - a stream is created once, compared ever after, and never changed, purged or created again;
//   - what isn't a slug or a UUID never becomes part of a subject.
//
// It fails by saying which of three things is true: the write did not happen (ErrUnavailable, ErrTooLarge, ErrRefused,
// ErrMissingStream), or it may have happened (ErrConflict, ErrAmbiguous: read the subject from the expected sequence + 1 on and
// look for your own commit id), or the stream itself can't be trusted (ErrDrift).
//
// It holds no bodies in errors, counts nothing and logs nothing. Bodies are opaque bytes here; events.Codec knows them.
package log
