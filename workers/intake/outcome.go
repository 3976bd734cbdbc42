package intake

import (
	"encoding/json"

	"iris.example/iris/acts"
	"iris.example/iris/events"
	eventlog "iris.example/iris/events/log"
)

// outcome is what a producer hears (spec 10.1): never a body. Claim is the producer's own CloudEvents id, on the producer's own
// subject, and stored nowhere.
type outcome struct {
	Claim      string              `json:"claim"`
	ProposalID events.ID           `json:"proposalId,omitempty"`
	Outcome    events.ClaimOutcome `json:"outcome"`
	Reason     string              `json:"reason,omitempty"`
	Warnings   []acts.Warning      `json:"warnings"`
	Position   string              `json:"position,omitempty"`
}

// told is the CloudEvents message around it.
type told struct {
	SpecVersion     string      `json:"specversion"`
	ID              events.ID   `json:"id"`
	Source          string      `json:"source"`
	Type            string      `json:"type"`
	Time            events.Time `json:"time"`
	DataContentType string      `json:"datacontenttype"`
	Data            outcome     `json:"data"`
}

func (w *Worker) tell(c eventlog.Claim, o outcome) {
	if c.Organisation == "" || c.Producer == "" {
		return
	}
	data, err := json.Marshal(told{
		SpecVersion: "1.0", ID: events.CommandID("outcome", c.Organisation, c.Producer, o.Claim), Source: "/organisations/" + c.Organisation,
		Type: "iris.claim.settled.v1", Time: events.At(w.cfg.Now()), DataContentType: "application/json", Data: o,
	})
	if err == nil {
		err = w.cfg.Outcomes.Publish(events.OutcomeSubject(c.Organisation, c.Producer), data)
	}
	w.check(c, "tell", err)
}

// peek reads the claim's id out of a message that the schema may refuse, so that the producer hears which one it was.
func peek(body []byte) message {
	var m struct {
		ID string `json:"id"`
	}
	_ = json.Unmarshal(body, &m)
	if len(m.ID) > 128 {
		m.ID = ""
	}
	return message{ID: m.ID}
}

// decode reads a message that the schema has let pass.
func decode(body []byte) (m message, err error) {
	err = json.Unmarshal(body, &m)
	return m, err
}
