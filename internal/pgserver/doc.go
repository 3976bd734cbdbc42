// Package pgserver runs a private PostgreSQL from the binaries this machine
// already has (spec 9.7). It never downloads anything.
//
// It guarantees:
//
//   - a data directory is never deleted, emptied or overwritten. A new one is
//     made beside its place and renamed into it; one of another major version,
//     or a directory that holds something else, is refused;
//   - nothing but a unix socket in a directory of mode 0700 leads to the
//     server: no TCP, so "trust" on the socket trusts only the operating
//     system user that runs it (and root);
//   - no statement, parameter or row value reaches the server's log
//     (log_error_verbosity=terse, log_min_error_statement=panic, spec 9.4);
//   - one process at a time owns a data directory (a lock beside it);
//   - when the process that started it dies, even by SIGKILL, the server stops
//     itself (Linux only: see tie);
//   - a postmaster that exits on its own is started again, and the log says so.
//
// It fails with an *Error: a stable code, the act, its input, what to do next.
// When the server is lost for good, Done is closed and Err says why.
//
// Known not to work: Windows (use an address of your own, IRIS_POSTGRES_URL).
// Access lists are not read when the way to the data directory is checked,
// only modes. After a reboot a stale postmaster.pid whose number now belongs
// to another process of the same user makes PostgreSQL refuse to start; the
// error names the number.
package pgserver
