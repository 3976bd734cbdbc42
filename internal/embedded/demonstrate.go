package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go"

	"iris.example/iris/acts"
	"iris.example/iris/demo"
	"iris.example/iris/events"
	"iris.example/iris/identity"
)

// demonstrate plays the conversation as its parties would: the producer publishes over NATS with its own credentials and hears
// the outcomes, the members answer. It is played once; a start that was interrupted plays it again, which changes nothing that
// was done, because claims and answers carry their ids.
func (i *Instance) demonstrate(ctx context.Context) error {
	marker := i.cfg.path("demonstration")
	if _, err := os.Stat(marker); err == nil {
		return nil
	}
	lines, err := demo.Lines()
	if err != nil {
		return err
	}
	stage := &stage{i: i, producers: map[string]*producer{}, proposals: map[string]events.ID{}}
	defer stage.close()
	for _, line := range lines {
		if err := stage.play(ctx, line); err != nil {
			return err
		}
	}
	if err := i.visible(ctx, stage.last); err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o600)
}

// visible waits until the read models hold what was recorded last, so that the first page shows it.
func (i *Instance) visible(ctx context.Context, last map[string]uint64) error {
	for org, position := range last {
		if err := i.marks.Wait(ctx, org, events.StreamFor(org), position); err != nil {
			return err
		}
	}
	return nil
}

type stage struct {
	i         *Instance
	producers map[string]*producer // by organisation
	proposals map[string]events.ID // by organisation and claim
	last      map[string]uint64
}

type producer struct {
	conn     *nats.Conn
	outcomes *nats.Subscription
	subject  string
}

func (s *stage) close() {
	for _, p := range s.producers {
		p.conn.Close()
	}
}

func (s *stage) play(ctx context.Context, line demo.Line) error {
	switch {
	case line.Claim != nil:
		return s.claim(ctx, *line.Claim)
	case line.Answer != nil:
		return s.answer(ctx, *line.Answer)
	}
	return nil
}

func (s *stage) producer(org string) (*producer, error) {
	if p, ok := s.producers[org]; ok {
		return p, nil
	}
	who := producerOf(org)
	conn, err := nats.Connect(s.i.NATS.URL(), nats.UserCredentials(s.i.credentialsPath(org)), nats.CustomInboxPrefix(who.InboxPrefix()))
	if err != nil {
		return nil, fmt.Errorf("connect as the producer of %s: %w", org, err)
	}
	outcomes, err := conn.SubscribeSync(who.Outcomes())
	if err != nil {
		conn.Close()
		return nil, err
	}
	s.producers[org] = &producer{conn, outcomes, who.Subject()}
	return s.producers[org], conn.Flush()
}

func (s *stage) claim(ctx context.Context, c demo.Claim) error {
	p, err := s.producer(c.Organisation)
	if err != nil {
		return err
	}
	c.Data.Member = &acts.MemberRef{Subject: s.subject(c.Organisation, c.Person)}
	message, err := json.Marshal(map[string]any{
		"specversion": "1.0", "id": c.ID, "source": "/producers/" + producerName, "type": "iris.memory.proposed.v1",
		"datacontenttype": "application/json", "data": c.Data,
	})
	if err != nil {
		return err
	}
	if _, err := p.conn.RequestWithContext(ctx, p.subject, message); err != nil {
		return fmt.Errorf("publish claim %s: %w", c.ID, err)
	}
	heard, err := p.hears(ctx, c.ID)
	if err != nil {
		return fmt.Errorf("hear the outcome of claim %s: %w", c.ID, err)
	}
	s.proposals[c.Organisation+"/"+c.ID] = heard.ProposalID
	s.recorded(c.Organisation, heard.Position)
	return nil
}

type outcome struct {
	Claim      string    `json:"claim"`
	ProposalID events.ID `json:"proposalId"`
	Position   uint64    `json:"position,string"`
}

// hears waits for the outcome of a claim. That of an earlier one may come twice.
func (p *producer) hears(ctx context.Context, claim string) (outcome, error) {
	for {
		message, err := p.outcomes.NextMsgWithContext(ctx)
		if err != nil {
			return outcome{}, err
		}
		var told struct {
			Data outcome `json:"data"`
		}
		if err := json.Unmarshal(message.Data, &told); err != nil || told.Data.Claim == claim {
			return told.Data, err
		}
	}
}

func (s *stage) recorded(org string, position uint64) {
	if s.last == nil {
		s.last = map[string]uint64{}
	}
	s.last[org] = max(s.last[org], position)
}

func (s *stage) answer(ctx context.Context, a demo.Answer) error {
	caller, err := s.i.Acts.Identify(ctx, identity.Principal{
		Issuer: s.i.Acts.Issuer, Subject: s.subject(a.Organisation, a.Person), Client: pageClient, Organisation: a.Organisation,
	})
	if err != nil {
		return err
	}
	proposal := s.proposals[a.Organisation+"/"+a.Claim]
	request := acts.Request{Route: "demonstration/" + a.Do + "/" + string(proposal), Key: a.Claim, Received: events.At(s.i.Now())}
	switch a.Do {
	case "accept":
		kept, err := s.i.Acts.Accept(ctx, caller, request, proposal, a.Acceptance)
		s.recorded(a.Organisation, kept.Position)
		return wrap(err, "accept claim "+a.Claim)
	case "decline":
		done, err := s.i.Acts.Decline(ctx, caller, request, proposal, acts.Refusal{})
		s.recorded(a.Organisation, done.Position)
		return wrap(err, "decline claim "+a.Claim)
	}
	return errors.New("the conversation asks for an answer that doesn't exist: " + a.Do)
}

func (s *stage) subject(org, role string) string {
	for _, p := range people(org) {
		if p.role == role {
			return p.subject
		}
	}
	return ""
}

func wrap(err error, act string) error {
	if err != nil {
		return fmt.Errorf("%s: %w", act, err)
	}
	return nil
}

func absolute(path string) (string, error) { return filepath.Abs(path) }
