// Package identity says who calls: it turns an OpenID Connect bearer token into
// a [Principal] (spec 9.5).
//
// It guarantees that a Principal comes from a token that one configured issuer
// signed with RS256, ES256 or EdDSA for the configured audience, that is valid
// by the injected clock, and whose claims have the form the rest of the product
// relies on: an organisation that may stand in a subject, a subject, a client.
// The keys come from one configured place. Nothing in a token makes us fetch
// from an address in it, and unknown key ids cost at most one fetch per interval.
//
// It fails with an [*Error] in the family [ErrUnauthenticated]; on the wire all
// of them are 401 "unauthenticated". Errors quote nothing of the token. What a
// caller may do with a Principal is decided elsewhere, with [Principal.Has].
//
// [Login] signs people in at the same issuer, by authorization code with PKCE: what
// comes of it is an access token that the Verifier takes, or a [*LoginError].
//
// The signature is go-jose's and discovery is go-oidc's. go-oidc's own
// IDTokenVerifier isn't used: it matches claim names without regard to case, lets
// "nbf" lie five minutes ahead, fetches keys for every bad signature, and quotes
// the token in its errors.
//
// Not done: revocation. A token is good until it expires.
package identity
