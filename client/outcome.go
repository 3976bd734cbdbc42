package client

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Outcome is what became of a claim (spec 10.1): pending, kept, suppressed, rejected, kept-existing or duplicate, and never a body.
// Reason is the refusal's code.
type Outcome struct {
	Claim      string    `json:"claim"`
	ProposalID string    `json:"proposalId"`
	Outcome    string    `json:"outcome"`
	Reason     string    `json:"reason"`
	Warnings   []Warning `json:"warnings"`
	Position   string    `json:"position"`
}

// Warning says what was held back and for want of which consents.
type Warning struct {
	Code string   `json:"code"`
	Keys []string `json:"keys"`
}

// Outcomes hears the outcomes of this producer's claims from now on. They are not kept by the broker: what is told while nobody
// listens is read at GET /v1/proposals?claim=ID, or told again as a duplicate when the claim is sent again.
type Outcomes struct {
	subscription *nats.Subscription
}

// Outcomes subscribes, and returns when the broker has the subscription. Subscribe before you propose.
func (c *Client) Outcomes(ctx context.Context) (*Outcomes, error) {
	subscription, err := c.conn.SubscribeSync(c.who.outcomes())
	if err != nil {
		return nil, fmt.Errorf("listen for outcomes: %w", err)
	}
	if err := subscription.SetPendingLimits(1<<18, 64<<20); err != nil {
		return nil, fmt.Errorf("listen for outcomes: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, c.cfg.Patience)
	defer cancel()
	if err := c.conn.FlushWithContext(limited); err != nil {
		_ = subscription.Unsubscribe()
		return nil, fmt.Errorf("listen for outcomes: %w", err)
	}
	return &Outcomes{subscription}, nil
}

// Next waits for an outcome.
func (o *Outcomes) Next(ctx context.Context) (Outcome, error) {
	for {
		heard, err := o.subscription.NextMsgWithContext(ctx)
		if err != nil {
			return Outcome{}, fmt.Errorf("hear an outcome: %w", err)
		}
		var told struct {
			Type string  `json:"type"`
			Data Outcome `json:"data"`
		}
		if err := json.Unmarshal(heard.Data, &told); err != nil || told.Type != "iris.claim.settled.v1" {
			continue // of a later version: what this one can't read, it can't report
		}
		return told.Data, nil
	}
}

// Close stops listening.
func (o *Outcomes) Close() { _ = o.subscription.Unsubscribe() }
