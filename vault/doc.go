// Package vault holds every key and the member directory, in the database iris_keys and nowhere else (spec 9.4).
//
// It guarantees:
//   - Keys never leave: callers seal, open and fingerprint by reference (events.Keys). What stands in the database is wrapped:
//     a member's keys and the data-key rows by the organisation's key, that one by the master key (spec 5.3).
//   - A memory's data key is derived from two halves, the member's tier key and a row that knows nothing of the member.
//     Destroying either destroys it.
//   - A data-key row is durable before its id is handed out, and no failure deletes it (spec 5.3).
//   - An unwrapped key is used for less than a minute after it was read. Forget and Shred drop it at once, in this process.
//   - A member id is random; the identity behind it is kept as a keyed hash, and the first to register it wins (spec 9.4).
//
// It fails closed. A key that isn't there is events.ErrKeyUnavailable; one that is there and doesn't open the box is
// events.ErrTampered; a database that doesn't answer is ErrStore, which says nothing about the key. The vault doesn't know
// whether a missing key was erased: the erasure ledger does.
//
// Known not to work: for up to a minute another process may still seal under a key that was shredded here; what it sealed can
// never be opened, and its key is in the ledger like the rest. Go can't wipe a key schedule: dropped keys stay in memory until
// the garbage collector reuses it. Keys have generations, but nothing rotates them yet.
package vault
