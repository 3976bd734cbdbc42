// Package testkit gives other rooms' tests the real stores: a private
// PostgreSQL for the test process with a fresh database per call, and an
// embedded NATS server per test.
//
// It offers nothing that waits by sleeping: await an event, not a time.
//
// Roles belong to the whole PostgreSQL server: two tests of one process that
// make the same role meet there, in whatever database they are.
package testkit
