package api

import (
	"encoding/base64"
	"unicode/utf8"

	"iris.example/iris/boundary"
	"iris.example/iris/events"
	"iris.example/iris/problems"
)

// intakeKeyAnswer is public: who knows it can seal and not open.
type intakeKeyAnswer struct {
	OrganizationID string `json:"organizationId"`
	Algorithm      string `json:"algorithm"`
	Recipient      string `json:"recipient"`
}

const sealAlgorithm = "age-x25519"

func (a *API) intakeKey(c *call) (answer, error) {
	key, err := a.cfg.Acts.IntakeKey(c.ctx, c.caller)
	return answer{body: intakeKeyAnswer{key.Organisation, sealAlgorithm, key.Recipient}}, err
}

type producerRequest struct {
	Producer string          `json:"producer"`
	Consumer events.Consumer `json:"consumer"`
}

// producerAnswer is all that a producer's program needs beside the broker's address. Credentials are the content of a .creds file.
type producerAnswer struct {
	Producer    string          `json:"producer"`
	Consumer    events.Consumer `json:"consumer"`
	PublicKey   string          `json:"publicKey"`
	Credentials string          `json:"credentials"`
	Subject     string          `json:"subject"`
	Outcomes    string          `json:"outcomes"`
	InboxPrefix string          `json:"inboxPrefix"`
	IntakeKey   string          `json:"intakeKey"`
}

type revokedAnswer struct {
	Producer   string `json:"producer"`
	State      string `json:"state"`
	Credential string `json:"credential"`
}

// What became of a revoked producer's credential at the broker. Claims are refused in either case.
const (
	credentialCutOff = "cut_off"
	credentialLeft   = "broker_administrator" // who has to take it out of the broker's configuration
)

func (a *API) addProducer(c *call) (answer, error) {
	var in producerRequest
	if err := boundary.Decode(c.body, &in); err != nil {
		return answer{}, err
	}
	added, err := a.cfg.Acts.AddProducer(c.ctx, c.caller, c.request, in.Producer, in.Consumer)
	org := c.caller.Organisation
	return answer{position: added.Position, body: producerAnswer{
		Producer: added.Name, Consumer: added.Consumer, PublicKey: added.PublicKey, Credentials: string(added.Credentials),
		Subject: events.ProposedSubject(org, added.Name), Outcomes: events.OutcomeSubject(org, added.Name),
		InboxPrefix: events.InboxPrefix(org, added.Name), IntakeKey: added.IntakeKey,
	}}, err
}

func (a *API) revokeProducer(c *call) (answer, error) {
	revoked, err := a.cfg.Acts.RevokeProducer(c.ctx, c.caller, c.request, c.part["producer"])
	credential := credentialLeft
	if revoked.CutOff {
		credential = credentialCutOff
	}
	return answer{position: revoked.Position, body: revokedAnswer{c.part["producer"], "revoked", credential}}, err
}

func (a *API) parkedClaims(c *call) (answer, error) {
	page, err := a.page(c)
	if err != nil {
		return answer{}, err
	}
	found, err := a.cfg.Acts.ParkedClaims(c.ctx, c.caller, page)
	return answer{body: list[events.Parked]{found.Items, a.next(c, found.Next)}}, err
}

// parkedAnswer has its content only where it was asked for. What isn't UTF-8 comes as base64.
type parkedAnswer struct {
	ParkedID      events.ID   `json:"parkedId"`
	Producer      string      `json:"producer"`
	Code          string      `json:"code"`
	ParkedAt      events.Time `json:"parkedAt"`
	ExpiresAt     events.Time `json:"expiresAt"`
	Content       *string     `json:"content"`
	ContentBase64 *string     `json:"contentBase64"`
}

// parkedClaim writes down who was shown what, and for which reference: the content may be anybody's words.
func (a *API) parkedClaim(c *call) (answer, error) {
	reveal, reference := c.query.Get("reveal") == "true", c.query.Get("reference")
	if reveal && reference == "" {
		return answer{}, problems.Refuse("reference_required")
	}
	found, err := a.cfg.Acts.ParkedClaim(c.ctx, c.caller, c.id, reveal)
	if err != nil {
		return answer{}, err
	}
	body := parkedAnswer{ParkedID: found.ID, Producer: found.Producer, Code: found.Code, ParkedAt: found.ParkedAt, ExpiresAt: found.ExpiresAt}
	if !reveal {
		return answer{body: body}, nil
	}
	a.cfg.Logger.Warn("parked claim revealed", "organisation", c.caller.Organisation, "client", c.caller.Principal.Client,
		"parked", string(c.id), "producer", found.Producer, "reference", reference)
	content := string(found.Content)
	if utf8.ValidString(content) {
		body.Content = &content
	} else {
		content = base64.StdEncoding.EncodeToString(found.Content)
		body.ContentBase64 = &content
	}
	return answer{body: body}, nil
}

// unparkedAnswer says where the claim went: received, as 9.1 names it, or discarded.
type unparkedAnswer struct {
	ParkedID events.ID `json:"parkedId"`
	State    string    `json:"state"`
}

func (a *API) retryParked(c *call) (answer, error) {
	done, err := a.cfg.Acts.RetryParked(c.ctx, c.caller, c.request, c.id)
	return answer{position: done.Position, body: unparkedAnswer{c.id, "received"}}, err
}

func (a *API) discardParked(c *call) (answer, error) {
	done, err := a.cfg.Acts.DiscardParked(c.ctx, c.caller, c.request, c.id)
	return answer{position: done.Position, body: unparkedAnswer{c.id, "discarded"}}, err
}

// referenceParameter takes a ticket's or incident's id. It stands in a log, so it is an id and no sentence.
func referenceParameter() Parameter {
	return Parameter{
		Name: "reference", Summary: "What the content is shown for: a ticket or incident, by its id.",
		check: func(value string) error { return boundary.Handle("reference", value) },
	}
}
