// Package api is Iris over HTTP (spec 9.6, 10): transport only. What is done, and who may, stands in acts; what may come in, in
// boundary and schemas; what an error looks like, in problems.
//
// There is one table of routes. The mux, the checks of a request, the OpenAPI document and the test that walks every route are
// made from it. A request goes one way, in serve: the table's checks in their order, then one act, then one answer.
//
// It guarantees: no route but the public ones answers without a principal; nothing is done for a request that isn't wholly
// understood, down to its query parameters; every refusal is a problem document of one shape; nothing of a path, a query, a body
// or a person stands in a log. It fails closed: what panics is a 500 that says nothing.
//
// Left to whoever listens: TLS, the server's timeouts and header limits.
package api
