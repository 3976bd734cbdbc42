package problems

import "net/http"

const (
	codeInternal        = "internal"
	codeNotFound        = "not_found"
	codeUnauthenticated = "unauthenticated"
)

// row is what stands behind a code. as: the code that is answered in its place.
type row struct {
	status int
	retry  int // seconds
	title  string
	detail string
	as     string
}

// rows is the table of everything that a caller can be told. Each detail says what happened, why, and what to do next.
var rows = map[string]row{
	// Who asks (spec 9.5).
	codeUnauthenticated: {status: http.StatusUnauthorized, title: "Not authenticated",
		detail: "The request has no valid bearer token of this deployment's issuer. Get a fresh token and repeat."},
	"permission_missing": {status: http.StatusForbidden, title: "Permission missing",
		detail: "The token doesn't hold the permission that this call takes. Ask the organisation's administrator for it."},
	"claim_mismatch": {status: http.StatusForbidden, title: "Another identity than the credential's",
		detail: "The body names a member, tenant, consumer or principal other than the token's. Leave it out: the token says who calls."},
	"member_required": {status: http.StatusForbidden, title: "A member is required",
		detail: "The call concerns a member's own memory, and the token's person is no member. Use a member's token, or name the member where a service may."},
	"consumer_not_allowed": {status: http.StatusForbidden, title: "Consumer not allowed",
		detail: "The client's consumer may not use this scope. Use a scope that the policy opens to it."},
	"surface_not_allowed": {status: http.StatusForbidden, title: "Surface not allowed",
		detail: "The consumer may not ask on this surface, or the surface takes a granted inspection. Use a surface of the consumer."},

	"rate_limited": {status: http.StatusTooManyRequests, retry: 1, title: "Too many requests",
		detail: "This caller has asked more often than one may. Nothing was done; wait as many seconds as Retry-After says, then repeat with the same Idempotency-Key."},

	// What isn't there, or isn't the caller's: one answer for both (spec 9.5).
	codeNotFound: {status: http.StatusNotFound, title: "Not found",
		detail: "There is nothing of yours under this address. Check the id."},
	"member_unknown":       {as: codeNotFound},
	"memory_unknown":       {as: codeNotFound},
	"proposal_unknown":     {as: codeNotFound},
	"consent_unknown":      {as: codeNotFound},
	"organisation_unknown": {as: codeNotFound},
	"record_gone": {status: http.StatusGone, title: "No longer kept",
		detail: "The record has left its stream by the age limit of this deployment. What was noted elsewhere about it can still be read."},

	// The form of a request (spec 9.3, 9.6).
	"invalid_json": {status: http.StatusBadRequest, title: "Not JSON",
		detail: "The body is not one JSON document. Nothing was done; send valid JSON."},
	"duplicate_key": {status: http.StatusBadRequest, title: "Duplicate key",
		detail: "An object has the same key twice, so that it can't be read in one way only. Nothing was done."},
	"number_out_of_range": {status: http.StatusBadRequest, title: "Number out of range",
		detail: "A number is beyond 2^53 or fits no 64-bit float. Nothing was done; send decimals as strings."},
	"nesting_too_deep": {status: http.StatusBadRequest, title: "Nested too deep",
		detail: "The document has more levels than are read. Nothing was done."},
	"unknown_field": {status: http.StatusBadRequest, title: "Unknown field",
		detail: "The body has a field that this call doesn't know. Nothing was done; leave it out."},
	"wrong_type": {status: http.StatusBadRequest, title: "Wrong type",
		detail: "A value is of another JSON type than its field. Nothing was done."},
	"schema_violation": {status: http.StatusBadRequest, title: "The body breaks its schema",
		detail: "The body is not what the published schema of this call describes. Nothing was done; see errors."},
	"body_too_large": {status: http.StatusRequestEntityTooLarge, title: "Body too large",
		detail: "The body is longer than is read. Nothing was done; send less at a time."},
	"body_not_expected": {status: http.StatusBadRequest, title: "No body expected",
		detail: "This call takes no body. Nothing was done; put what you mean into the address, or leave it out."},
	"body_unreadable": {status: http.StatusBadRequest, title: "Body unreadable",
		detail: "The body ended before it was whole. Nothing was done; repeat the request."},
	"unsupported_media_type": {status: http.StatusUnsupportedMediaType, title: "Unsupported media type",
		detail: "The body must be application/json in UTF-8, without a content encoding. Nothing was done."},
	"method_not_allowed": {status: http.StatusMethodNotAllowed, title: "Method not allowed",
		detail: "This address has no such method. The header Allow lists those that it has."},
	"invalid_id": {status: http.StatusBadRequest, title: "Invalid id",
		detail: "An id has not the form that ids have. Nothing was done; use the id as it was given to you."},
	"invalid_limit": {status: http.StatusBadRequest, title: "Invalid limit",
		detail: "The limit of a list is 1 to 200, in plain digits."},
	"invalid_cursor": {status: http.StatusBadRequest, title: "Invalid cursor",
		detail: "The cursor was not given out for this list and these filters. Begin at the first page."},
	"unknown_parameter": {status: http.StatusBadRequest, title: "Unknown parameter",
		detail: "The address has a query parameter that this call doesn't know. Nothing was done; leave it out."},
	"invalid_parameter": {status: http.StatusBadRequest, title: "Invalid parameter",
		detail: "A query parameter is missing, stands twice or has a value that it can't have. Nothing was done; see errors."},
	"invalid_idempotency_key": {status: http.StatusBadRequest, title: "Invalid Idempotency-Key",
		detail: "Idempotency-Key must be one header of 1 to 128 visible ASCII characters. Nothing was done."},
	"precondition_required": {status: http.StatusPreconditionRequired, title: "If-Match required",
		detail: "An edit names the revision that it changes. Nothing was done; send the memory's revisionId as If-Match, in quotes."},
	"invalid_if_match": {status: http.StatusBadRequest, title: "Invalid If-Match",
		detail: "If-Match must be one revisionId in quotes. Nothing was done."},
	"invalid_position": {status: http.StatusBadRequest, title: "Invalid position",
		detail: "Iris-Wait must be one position as Iris-Position gave it: plain decimal digits."},

	// What a claim or the member's words say (spec 1.2 to 1.8, 10.1).
	"kind_not_admitted": {status: http.StatusUnprocessableEntity, title: "Kind not admitted",
		detail: "This tier doesn't hold memories of this kind. Choose a kind that the tier admits."},
	"tier_not_admitted": {status: http.StatusUnprocessableEntity, title: "Tier not admitted",
		detail: "What is proposed or stated is kept in tier individual, in a scope that holds it. The other tiers are reached by promotion and curation."},
	"origin_not_admitted": {status: http.StatusUnprocessableEntity, title: "Origin not admitted",
		detail: "This caller may not claim this origin: user-* comes only from the member's own act."},
	"category_unknown": {status: http.StatusUnprocessableEntity, title: "Category unknown",
		detail: "The category is none of the twenty-nine. Nothing was kept."},
	"program_unknown": {status: http.StatusUnprocessableEntity, title: "Program unknown",
		detail: "The organisation has no such program. Leave it out for the program default."},
	"not_in_program": {status: http.StatusUnprocessableEntity, title: "Not in the program",
		detail: "The member doesn't belong to the program. Leave it out for the program default."},
	"scope_invalid": {status: http.StatusUnprocessableEntity, title: "Scope not possible",
		detail: "The scope has not exactly the ids of its kind, or is none in which this can be kept."},
	"adapter_scope_invalid": {status: http.StatusUnprocessableEntity, title: "Adapter scope not possible",
		detail: "The adapter scope is no view of this scope. Leave it out for that of the scope's kind."},
	"ref_required": {status: http.StatusUnprocessableEntity, title: "Reference required",
		detail: "An episodic memory is a reference and a summary, and the reference is missing."},
	"body_too_long": {status: http.StatusUnprocessableEntity, title: "Body too long",
		detail: "The body has more than 4000 characters. Nothing was kept; shorten it."},
	"body_empty": {status: http.StatusUnprocessableEntity, title: "Body empty",
		detail: "The body is empty once what can't be seen is taken away. Nothing was kept."},
	"invalid_text": {status: http.StatusUnprocessableEntity, title: "Invalid text",
		detail: "A text holds NUL or is not UTF-8, or a label is empty, too long or on several lines. It is not repaired; nothing was kept."},
	"injection_suspected": {status: http.StatusUnprocessableEntity, title: "Not plain text",
		detail: "The text could be taken for markup or for instructions to an assistant. It was not kept; put it in plain words."},
	"recalled_text": {status: http.StatusUnprocessableEntity, title: "Recalled text",
		detail: "The text says what is remembered already, or repeats a recalled block. It was not proposed again."},
	"declined_before": {status: http.StatusUnprocessableEntity, title: "Declined before",
		detail: "The member has said no to this and is not asked again."},
	"opted_out": {status: http.StatusUnprocessableEntity, title: "Opted out",
		detail: "The member takes no proposals of this category, producer or program."},
	"duplicate": {status: http.StatusConflict, title: "Remembered already",
		detail: "The same is remembered already. Nothing was changed."},
	"kept-existing": {status: http.StatusConflict, title: "Another memory stands",
		detail: "A memory about the same stands, and by the rules of conflict it stays. Nothing was changed."},

	// Consent (spec 2).
	"consent_required": {status: http.StatusUnprocessableEntity, title: "Consent required",
		detail: "Keeping this takes consents that are not granted; errors lists their keys. Grant them with the answer, or before."},
	"consent_revoked": {status: http.StatusUnprocessableEntity, title: "Consent taken back",
		detail: "The member has taken back a consent that this needs. It was not proposed."},
	"consent_not_granted": {status: http.StatusConflict, title: "Not a standing grant",
		detail: "What the id names is no grant that stands, so there is nothing to withdraw."},
	"consent_key_unknown": {status: http.StatusUnprocessableEntity, title: "Consent key unknown",
		detail: "The key is neither one of the five purposes nor a category."},
	"consent_source_unknown": {status: http.StatusUnprocessableEntity, title: "Consent source unknown",
		detail: "The source is none of inline-prompt, settings-toggle and dsar-import."},
	"terms_unknown": {status: http.StatusUnprocessableEntity, title: "Terms unknown",
		detail: "No text was published under this id and version. GET /v1/terms lists those that were."},
	"expiry_in_the_past": {status: http.StatusUnprocessableEntity, title: "Expiry in the past",
		detail: "A grant can't end before it begins. Name a later instant, or none."},
	"terms_immutable": {status: http.StatusConflict, title: "Terms are immutable",
		detail: "This version was published with another text. Publish the text as a new version."},

	// Producers and their claims (spec 9.2, 10.1).
	"sealed_unreadable": {status: http.StatusUnprocessableEntity, title: "Seal unreadable",
		detail: "What is sealed doesn't open under the organisation's intake key, or is not what a claim's seal holds. Fetch /v1/intake-key and seal again."},
	"producer_revoked": {status: http.StatusForbidden, title: "Producer revoked",
		detail: "The producer's credentials were revoked, so that its claims are not taken. An administrator can add it again, with new ones."},
	"producer_exists": {status: http.StatusConflict, title: "Producer exists",
		detail: "A producer of this name stands; its credentials were shown once. Revoke it first to give it others."},
	"producer_unknown": {as: codeNotFound},
	"credentials_unmanaged": {status: http.StatusNotImplemented, title: "Credentials are made elsewhere",
		detail: "This process can't make or revoke the broker's credentials. Nothing was done; use the process that runs the broker."},
	"reference_required": {status: http.StatusBadRequest, title: "Reference required",
		detail: "Revealing a parked claim takes a reference: the ticket or incident it is read for. Nothing was shown."},
	"inbox_full": {status: http.StatusServiceUnavailable, retry: 5, title: "Inbox full",
		detail: "The producer's inbox holds as many claims as it may. The claim stays parked; repeat when intake has caught up."},

	// What stands in the way (spec 1.2, 1.5, 9.2).
	"proposal_answered": {status: http.StatusConflict, title: "Answered already",
		detail: "The member has answered this proposal. Nothing was changed."},
	"proposal_lapsed": {status: http.StatusConflict, title: "Lapsed",
		detail: "The proposal has lapsed without an answer and can't be answered any more."},
	"invalid_lifecycle_transition": {status: http.StatusConflict, title: "Not possible in this state",
		detail: "The memory is in a state from which this can't be done. Read it again."},
	"revision_conflict": {status: http.StatusPreconditionFailed, title: "Changed meanwhile",
		detail: "The memory has changed since the revision that If-Match names. Nothing was done; look at both revisions and edit the current one."},
	"query_without_words": {status: http.StatusUnprocessableEntity, title: "No words",
		detail: "The query has no word to look for. Search for whole words."},
	"pause_end_in_the_past": {status: http.StatusUnprocessableEntity, title: "The pause is over",
		detail: "A pause can't end before it begins. Name a later instant, or none to pause until it is resumed."},
	"idempotency_key_reused": {status: http.StatusUnprocessableEntity, title: "Idempotency-Key reused",
		detail: "The key came before with another body. Nothing was done; use a new key for a new request."},
	"hard_delete_unavailable": {status: http.StatusUnprocessableEntity, title: "Hard delete unavailable",
		detail: "This version can't yet destroy a memory's key on request. Nothing was done; mode=soft hides it at once."},
	"policy_invalid": {status: http.StatusUnprocessableEntity, title: "Policy invalid",
		detail: "The policy document is malformed or weakens a given rule. It was not applied; iris policy check says where."},
	"consumer_unknown": {status: http.StatusUnprocessableEntity, title: "Consumer unknown",
		detail: "The consumer is none of those that the specification names."},

	// Recall (spec 3.1).
	"invalid_scope": {status: http.StatusUnprocessableEntity, title: "Scope not possible",
		detail: "The scope has not exactly the ids of its kind, or the adapter scope is no view of it. Nothing was recalled."},
	"invalid_context": {status: http.StatusUnprocessableEntity, title: "Context unknown",
		detail: "A context is none of the nine. Nothing was recalled."},
	"purpose_not_permitted": {status: http.StatusUnprocessableEntity, title: "Purpose not permitted",
		detail: "Memory is recalled for the purposes of the policy only, never for training, tuning, evaluation or scoring of people."},
	"recall_engine_unknown": {status: http.StatusNotImplemented, title: "Engine unknown",
		detail: "The recall was resolved by an engine that this version doesn't have, so that it can't be checked here. Use the version that has it."},

	// What may be otherwise in a moment.
	"consent_state_unavailable": {status: http.StatusServiceUnavailable, retry: 1, title: "Consent can't be known now",
		detail: "Whether the member's consents stand can't be known now, so nothing is said. Repeat in a moment."},
	"outcome_unknown": {status: http.StatusServiceUnavailable, retry: 1, title: "Outcome unknown",
		detail: "The request may have been carried out or not. Repeat with the same Idempotency-Key: it is done once at most."},
	"projection_behind": {status: http.StatusServiceUnavailable, retry: 1, title: "Not visible yet",
		detail: "The read models have not reached the position that Iris-Wait names. What was answered is stored; read again in a moment."},
	"store_unavailable": {status: http.StatusServiceUnavailable, retry: 2, title: "Store unavailable",
		detail: "A store can't be reached now. Nothing was stored; repeat with the same Idempotency-Key."},
	"not_ready": {status: http.StatusServiceUnavailable, retry: 2, title: "Not ready",
		detail: "Something that this process needs doesn't answer; errors lists what. Its log says why."},

	// Our own faults.
	"command_unknown": {as: codeInternal},
	codeInternal: {status: http.StatusInternalServerError, title: "Internal error",
		detail: "Something went wrong here that shouldn't. The log has it under the request id in the header Iris-Request."},
}
