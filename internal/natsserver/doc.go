// Package natsserver runs a NATS server with JetStream inside this process
// (spec 9.2, 9.7) and hands out its credentials.
//
// It guarantees:
//
//   - an acknowledged message is on the disk (sync always);
//   - one process at a time owns a store directory;
//   - the keys that name the accounts are made once, together with an empty
//     store. A store without its keys, or with another encryption key, is
//     refused: the broker itself would start and show no streams;
//   - the server listens on loopback, or with TLS, or not at all;
//   - nobody may delete, purge or edit a stream or a message: Iris's own
//     connection lacks the right, and only a provisioner may update a stream;
//   - a producer may publish one literal subject and subscribe to its own inbox
//     and outcomes, nothing else. A revoked one is cut off at once and stays
//     revoked over restarts;
//   - no payload, client name or refused subject reaches the log.
//
// Why there are two accounts. A publisher chooses the reply subject, and the
// broker sends JetStream's acknowledgement there without asking whether the
// publisher may. Measured: in one account a producer's "reply" wrote a message
// into a member's subject of the ledger. So producers live in PRODUCERS, which
// has no JetStream and imports the inbox as a service: an acknowledgement can't
// leave that account, and one that comes back to an inbox subject isn't taken
// up again.
//
// A cluster of three has the same two accounts and the same rights from a
// file, deploy/nats/cluster.conf; natscluster starts it for tests.
//
// Known not to work: within PRODUCERS a producer can have its own
// acknowledgement ({"stream","seq"}, nothing it chose) delivered to another
// producer's inbox or outcome subject. Clients must not trust what is no
// outcome. A seed in the key directory is as good as the account: the directory
// is 0700, the files 0600. Windows is not supported (the lock).
package natsserver
