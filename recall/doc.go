// Package recall decides what may be said back: the nine stages, the ranker and the conflict rules (spec 1.6, 3.1, 3.2). It is
// pure. The same candidates, request, policy and instant give the same bytes on every machine: no clock, no randomness, no
// floating point, and no table that changes with the Go release.
//
// It can't fail: what it doesn't know (an adapter scope without a row, a consent nobody gave, an origin nobody ranked) closes
// and never opens. Refusals that come before anything is read are Admit's.
//
// Engine names the bytes. A change of them is a new engine beside this one, with golden files of its own; testdata/golden holds
// recall/1 to its word.
package recall

// Engine is what an envelope names, so that a recall is proved by the engine that made it (spec 3.2).
const Engine = "recall/1"
