// Package asyncapi writes the contract of the broker, AsyncAPI 3.0, out of the code: a channel for each sort of subject (spec
// 9.2), messages that refer to the schema files beside the document, and who may send and receive what. It is the same for every
// process of a version, and committed as schemas/asyncapi.json; a test fails where the two differ.
//
// The document speaks for Iris: what Iris receives, a producer sends. A new event type needs nothing here, unless it begins with
// a word that no channel has: then it is an error until channelOf knows it.
package asyncapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"iris.example/iris/events"
)

// The channels. They name what is on a subject; the address says where it is.
const (
	claims        = "claims"
	outcomes      = "outcomes"
	member        = "member"
	session       = "session"
	organisation  = "organisation"
	role          = "role"
	recalls       = "recalls"
	acknowledging = "acknowledgement"
)

// channelOf says on whose subject a type of event is: the word after iris decides.
func channelOf(t events.Type) (string, error) {
	word, _, _ := strings.Cut(strings.TrimPrefix(string(t), "iris."), ".")
	if t == events.TypeRoleGiven || t == events.TypeRoleTaken { // a member holds a role; the organisation defines it
		return member, nil
	}
	switch word {
	case "organisation", "program", "terms", "producer", "client", "policy", "tenant", "role", "hold":
		return organisation, nil
	case "member", "membership", "inspection-role", "consent", "proposal", "memory", "promotion", "token", "data-rights", "opt-outs", "settings", "declined", "memories", "session-item", "session-entries":
		return member, nil
	case "share", "curation":
		return member, nil
	case "candidate", "contribution", "version":
		return role, nil
	case "session":
		return session, nil
	case "recall", "brief":
		return recalls, nil
	}
	return "", fmt.Errorf("asyncapi: no channel for events of type %s: say in channelOf on which subject they are", t)
}

// Document writes the contract.
func Document() ([]byte, error) {
	byChannel := map[string][]events.Type{}
	for _, t := range events.Types() {
		channel, err := channelOf(t)
		if err != nil {
			return nil, err
		}
		byChannel[channel] = append(byChannel[channel], t)
	}
	return indented(object{
		"asyncapi": "3.0.0",
		"info": object{
			"title": "Iris, by NATS", "version": "1",
			"description": "Governed memory of an organisation's members. " + events.FixedPhrase + " " + events.NoTraining +
				" Producers claim and hear what became of it; nobody else gets credentials. The streams of facts are described for those" +
				" who verify and restore them. Personal text stands only in sealed fields of facts, and never in a subject or a header." +
				" Readers ignore what they don't know: properties may be added, and types of events.",
		},
		"defaultContentType": "application/json",
		"servers":            servers(),
		"channels":           channels(byChannel),
		"operations":         operations(),
		"components":         object{"securitySchemes": securitySchemes()},
	})
}

type object = map[string]any

func ref(to string) object { return object{"$ref": "#/" + to} }

func servers() object {
	return object{
		"nats": object{
			"host": "127.0.0.1:4222", "protocol": "nats",
			"description": "NATS with JetStream. What is here is where `iris up` listens; a deployment says where its own is.",
			"security":    []any{ref("components/securitySchemes/producer"), ref("components/securitySchemes/iris")},
		},
	}
}

func securitySchemes() object {
	return object{
		"producer": object{
			"type": "asymmetricEncryption",
			"description": "A NATS credentials file: a JWT that an account of producers signed, and the nkey seed that answers the server's nonce." +
				" It opens the producer's one claims subject to publish, its outcomes and its reply prefix to subscribe, and nothing else.",
		},
		"iris": object{
			"type":        "asymmetricEncryption",
			"description": "The credentials of Iris's own processes, in an account of their own. They are made when a process starts and given to nobody.",
		},
	}
}

func channels(byChannel map[string][]events.Type) object {
	const org, producer = "{organisation}", "{producer}"
	return object{
		claims: object{
			"address": events.ProposedSubject(org, producer), "title": "What a producer claims",
			"description": "A work queue of 24 hours, bounded; a full one answers an error, so nothing is dropped in silence. Send no Nats-Msg-Id:" +
				" a claim is known by producer and CloudEvents id, and the same id again is a duplicate, however late.",
			"parameters": object{"organisation": theOrganisation(), "producer": theProducer()},
			"messages":   object{"claim": claim()},
			"x-stream":   events.InboxStream,
		},
		outcomes: object{
			"address": events.OutcomeSubject(org, producer), "title": "What became of a producer's claims",
			"description": "Core NATS, never stored: who wasn't listening asks GET /v1/proposals?claim=. No outcome in 24 hours: send the same claim again.",
			"parameters":  object{"organisation": theOrganisation(), "producer": theProducer()},
			"messages":    object{"settled": settled()},
		},
		acknowledging: object{
			"address": nil, "title": "That a claim is in the inbox",
			"description": "JetStream's answer on the reply subject, which begins with " + events.InboxPrefix(org, producer) +
				" for a producer's connection. With it the claim is received: durable, not yet recorded.",
			"messages": object{"received": received(), "full": full()},
		},
		member: object{
			"address": events.Subject(org, events.Member("{member}")), "title": "A member's book",
			"description": "All that is decided about one member together, in order. One message is one commit.",
			"parameters":  object{"organisation": theOrganisation(), "member": parameter("The member's opaque id.", "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e8f")},
			"messages":    object{"commit": commit("Commit to a member's book", byChannel[member])},
			"x-stream":    events.StreamFor(org),
		},
		session: object{
			"address": events.Subject(org, events.Session("{session}")), "title": "One session of a member's assistant",
			"description": "Turns and items of one session, in order, until it is closed. It is in no read model. One message is one commit.",
			"parameters":  object{"organisation": theOrganisation(), "session": parameter("The session's id.", "0193762e-5b7a-7c61-9d2f-3a4b5c6d7e91")},
			"messages":    object{"commit": commit("Commit to a session", byChannel[session])},
			"x-stream":    events.StreamFor(org),
		},
		organisation: object{
			"address": events.Subject(org, events.Organisation()), "title": "An organisation's definitions",
			"description": "Programs, published terms, producers, clients and the policy of an organisation, in order. One message is one commit.",
			"parameters":  object{"organisation": theOrganisation()},
			"messages":    object{"commit": commit("Commit to an organisation's definitions", byChannel[organisation])},
			"x-stream":    events.StreamFor(org),
		},
		role: object{
			"address": events.Subject(org, events.Role("{role}")), "title": "What everyone who holds a workbench role shares",
			"description": "Candidates, how they were curated, and the versions that came of them, in order. It names nobody who contributed.",
			"parameters":  object{"organisation": theOrganisation(), "role": parameter("The role's key.", "reviewer")},
			"messages":    object{"commit": commit("Commit to a role's memory", byChannel[role])},
			"x-stream":    events.StreamFor(org),
		},
		recalls: object{
			"address": events.RecallSubject(org), "title": "What was recalled",
			"description": "The envelope of every recall: with it the same answer can be computed again and compared. An envelope has no chain of versions.",
			"parameters":  object{"organisation": theOrganisation()},
			"messages":    object{"envelope": commit("Envelope of a recall", byChannel[recalls])},
			"x-stream":    events.AccessStreamFor(org),
		},
	}
}

func parameter(description string, examples ...string) object {
	return object{"description": description, "examples": examples}
}

func theOrganisation() object {
	return parameter("The organisation's slug: "+slug, "acme")
}

func theProducer() object { return parameter("The producer's slug: "+slug, "conversations") }

const slug = "[a-z0-9][a-z0-9-]{0,62}, none of the reserved words in, out, inbox, access, org, fence, sys."

const (
	cloudEvent = "application/cloudevents+json"
	batch      = "application/cloudevents-batch+json"
)

// payload names the draft that our files are written in; AsyncAPI's own default is an older one.
func payload(schema object) object {
	return object{"schemaFormat": "application/schema+json;version=draft-2020-12", "schema": schema}
}

func claim() object {
	return object{
		"name": "iris.memory.proposed.v1", "title": "A claim", "contentType": cloudEvent,
		"summary": "Something that a producer learned about a member and that may be worth remembering. Nothing is remembered by it: the member is asked.",
		"payload": payload(object{"$ref": "claims/envelope.schema.json"}),
	}
}

func settled() object {
	return object{
		"name": "iris.claim.settled.v1", "title": "The outcome of a claim", "contentType": cloudEvent,
		"summary": "pending, kept, suppressed, rejected, kept-existing or duplicate, with the reason's code. It never holds a body.",
		"payload": payload(object{"$ref": "outcomes/iris.claim.settled.v1.schema.json"}),
	}
}

func received() object {
	return object{
		"name": "received", "title": "Received", "summary": "The claim is durable at this place of the inbox.",
		"payload": payload(object{
			"type": "object", "required": []string{"stream", "seq"},
			"properties": object{"stream": object{"const": events.InboxStream}, "seq": object{"type": "integer", "minimum": 1}},
		}),
	}
}

func full() object {
	return object{
		"name": "full", "title": "Refused", "summary": "The claim is not in the inbox, which may be full: send it again later, with the same id.",
		"payload": payload(object{
			"type": "object", "required": []string{"error"},
			"properties": object{"error": object{
				"type": "object", "required": []string{"code"},
				"properties": object{"code": object{"type": "integer"}, "err_code": object{"type": "integer"}, "description": object{"type": "string"}},
			}},
		}),
	}
}

// commit is the envelope, and the schema of each event that can be in it. A type that isn't listed may come and passes.
func commit(title string, types []events.Type) object {
	known := []any{}
	for _, t := range types {
		known = append(known, object{
			"if":   object{"properties": object{"type": object{"const": string(t)}}},
			"then": object{"properties": object{"data": object{"$ref": "events/" + string(t) + ".schema.json"}}},
		})
	}
	return object{
		"name": "commit", "title": title, "contentType": batch,
		"summary": "The events of one decision, as a CloudEvents batch in RFC 8785 bytes. The hashed bytes are the stored bytes.",
		"payload": payload(object{"$ref": "events/envelope.schema.json", "items": object{"allOf": known}}),
	}
}

func operations() object {
	theirs, ours := []any{ref("components/securitySchemes/producer")}, []any{ref("components/securitySchemes/iris")}
	return object{
		"receiveClaim": object{
			"action": "receive", "channel": ref("channels/" + claims), "security": theirs, "summary": "Take up what a producer claims",
			"messages": []any{ref("channels/" + claims + "/messages/claim")},
			"reply": object{
				"channel":  ref("channels/" + acknowledging),
				"messages": []any{ref("channels/" + acknowledging + "/messages/received"), ref("channels/" + acknowledging + "/messages/full")},
			},
		},
		"sendOutcome":              operation("send", outcomes, "settled", "Tell a producer what became of its claim", theirs),
		"appendMemberCommit":       operation("send", member, "commit", "Record a decision about a member", ours),
		"followMember":             operation("receive", member, "commit", "Fold a member's book, and project it", ours),
		"appendSessionCommit":      operation("send", session, "commit", "Record what was said in a session, and that it ended", ours),
		"followSession":            operation("receive", session, "commit", "Fold a session", ours),
		"appendOrganisationCommit": operation("send", organisation, "commit", "Record a decision about an organisation", ours),
		"followOrganisation":       operation("receive", organisation, "commit", "Fold an organisation's definitions, and project them", ours),
		"appendRoleCommit":         operation("send", role, "commit", "Record a decision about a role's memory", ours),
		"followRole":               operation("receive", role, "commit", "Fold a role's memory, and project it", ours),
		"appendRecallEnvelope":     operation("send", recalls, "envelope", "Put a recall on record before it is answered", ours),
		"followRecalls":            operation("receive", recalls, "envelope", "List recalls, and prove them", ours),
	}
}

func operation(action, channel, message, summary string, security []any) object {
	return object{
		"action": action, "channel": ref("channels/" + channel), "messages": []any{ref("channels/" + channel + "/messages/" + message)},
		"summary": summary, "security": security,
	}
}

func indented(document any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(document)
	return b.Bytes(), err
}
